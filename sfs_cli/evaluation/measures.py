"""Measures of a list of features: its redundancy, the samples as it shows them, known features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sfs_cli.ranking.prune import standardized

NEIGHBORHOOD = 5
"""Neighbors of a sample, itself left out, whose overlap the Jaccard score counts."""
STARTS = 10
"""Times that k-means begins anew."""


def redundancy(values: np.ndarray) -> float:
    """Return the mean absolute Pearson correlation of pairs of features; NaN for a single one.

    Parameters
    ----------
    values : ndarray, shape (l, n)
        Features x samples. Of a feature that does not vary every correlation is 0.

    Notes
    -----
    The redundancy rate RED of Z. Zhao, dissertation, Arizona State University 2010, Section 4.3,
    with absolute correlations and the mean over pairs.
    """
    count = len(values)
    if count < 2:
        return float("nan")
    rows = standardized(values)
    total = np.abs(rows @ rows.T)
    return float(total[np.triu_indices(count, 1)].mean())


def jaccard(K: np.ndarray, whole: np.ndarray) -> float:
    """Return the Jaccard score of the neighborhoods of samples in two similarities.

    Parameters
    ----------
    K, whole : ndarray, shape (n, n)
        Inner products of the samples by a list of features, and by all features.

    Returns
    -------
    float
        Mean over the samples of the size of the intersection of both neighborhoods over that of
        their union (Z. Zhao, dissertation, Arizona State University 2010, Section 4.3). Equal
        similarities keep the order of the samples.
    """
    k = min(NEIGHBORHOOD, len(K) - 1)
    shared = np.array(
        [len(np.intersect1d(a, b)) for a, b in zip(neighborhoods(K, k), neighborhoods(whole, k))]
    )
    return float(np.mean(shared / (2 * k - shared)))


def neighborhoods(K: np.ndarray, k: int) -> np.ndarray:
    """Return the k most similar other samples of each, shape (n, k)."""
    others = -K.astype(np.float64)
    np.fill_diagonal(others, np.inf)
    return np.argsort(others, axis=1, kind="stable")[:, :k]


def clustering(points: np.ndarray, codes: np.ndarray, seed: int) -> tuple[float, float]:
    """Return how far clusters of the samples agree with their classes.

    K-means with as many clusters as classes, the best of `STARTS` starts.

    Parameters
    ----------
    points : ndarray, shape (n, r)
        Coordinates of the samples.
    codes : ndarray of int, shape (n,)
        Their classes.
    seed : int
        Random seed.

    Returns
    -------
    nmi, ari : float
        Normalized mutual information, and adjusted Rand index.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
    from threadpoolctl import threadpool_limits

    model = KMeans(len(np.unique(codes)), n_init=STARTS, random_state=seed)
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        # threads would add up in the order in which they end; fewer clusters are an answer, too
        warnings.simplefilter("ignore")
        found = model.fit_predict(points)
    return (
        float(normalized_mutual_info_score(codes, found)),
        float(adjusted_rand_score(codes, found)),
    )


def points_of(K: np.ndarray) -> np.ndarray:
    """Return points (n, r) with the inner products (n, n), positive semidefinite of rank r.

    Where all products are 0, as of features that do not vary, r is 1 and all points are one.
    """
    values, vectors = np.linalg.eigh(K)
    kept = values > len(K) * np.finfo(np.float64).eps * values[-1]
    kept[-1] = True
    return vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0))


class Enrichment(NamedTuple):
    """How many members of a set are among the first features, and how likely that is by chance."""

    name: str
    size: int  # members among the ranked features
    overlap: int  # members among the first
    expected: float  # as many by chance
    p_value: float
    q_value: float
    members: list[str]  # those among the first, best first


def enrichment(
    ranked: Sequence[str], length: int, sets: Mapping[str, Sequence[str]]
) -> list[Enrichment]:
    """Test the over-representation of sets among the first of ranked features.

    Parameters
    ----------
    ranked : sequence of str, length m
        Features from best to worst: the background.
    length : int
        Number of the first features.
    sets : mapping
        From names to features; those that are not ranked do not count, and a set of which none is
        ranked is not tested.

    Returns
    -------
    list of Enrichment
        By p-value, the upper tail of the hypergeometric distribution; q-values are those of
        Benjamini and Hochberg (1995) over all tested sets. Sets of equal p-values keep their order.
    """
    from scipy.stats import false_discovery_control, hypergeom

    place = {name: i for i, name in enumerate(ranked)}
    known = {
        name: sorted({place[each] for each in members if each in place})
        for name, members in sets.items()
    }
    known = {name: places for name, places in known.items() if places}
    if not known:
        return []
    top = [[i for i in places if i < length] for places in known.values()]
    sizes, counts = (np.array([*map(len, each)]) for each in (known.values(), top))
    p = np.asarray(hypergeom.sf(counts - 1, len(ranked), sizes, length))
    numbers = (sizes, counts, length * sizes / len(ranked), p, false_discovery_control(p))
    members = ([ranked[i] for i in first] for first in top)
    found = [Enrichment(*row) for row in zip(known, *(each.tolist() for each in numbers), members)]
    return sorted(found, key=lambda each: each.p_value)


class Overlap(NamedTuple):
    """What two lists of the same length have in common."""

    shared: int  # features of both
    jaccard: float  # over those of either
    by_chance: float  # expected number shared by random lists


def overlap(a: np.ndarray, b: np.ndarray, background: int) -> Overlap:
    """Compare two lists of k different features, of so many that there are, by their indices."""
    k, shared = len(a), len(np.intersect1d(a, b))
    return Overlap(shared, shared / (2 * k - shared), k * k / background)
