"""Graphs of classes, paths and diffusion: label, ReliefF, geodesic and diffusion."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, log2
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.graph.distances import median_bandwidth, rbf
from sfs_cli.graph.neighbors import smallest_in_rows
from sfs_cli.graph.similarity import (
    THIN,
    DenseSimilarity,
    FactoredSimilarity,
    SparseSimilarity,
    check_degrees,
    name_samples,
    symmetrized,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SMALL_FACTOR = 1_000_000
"""Entries up to which the factor of a graph of labels is held with its zeros."""


def label_similarity(codes: np.ndarray, weights: np.ndarray | None = None) -> FactoredSimilarity:
    """Return the similarity 1/n_l within class l, 0 between classes (Eq. 3.13).

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample.
    weights : ndarray, shape (n,), optional
        How many samples each one counts as in n_l; 1 by default.

    Returns
    -------
    FactoredSimilarity
        Its factor has the shape (n, number of classes), and is sparse where it is large: column l
        is the indicator of class l divided by sqrt(n_l). Every degree is 1 without weights.

    Raises
    ------
    InputError
        When a code is negative (a sample without a label).
    """
    check_labeled(codes)
    classes, column = np.unique(codes, return_inverse=True)
    sizes, n = np.bincount(column, weights), len(codes)
    values = 1.0 / np.sqrt(sizes[column])
    degrees = np.ones(n) if weights is None else None
    if len(classes) <= THIN and n * len(classes) <= SMALL_FACTOR:
        # without SciPy, which takes longer to import than a typical matrix to rank
        factor = np.zeros((n, len(classes)))
        factor[np.arange(n), column] = values
        return FactoredSimilarity(factor, degrees)
    from scipy.sparse import csr_array

    thin = csr_array((values, column, np.arange(n + 1)), (n, len(classes)))
    return FactoredSimilarity(thin, degrees)


def outcome_distances(outcome: np.ndarray) -> np.ndarray:
    """Return the squared differences (n, n) of an outcome, shape (n,).

    Raises InputError when it is NaN somewhere (a sample without a label).
    """
    check_labeled(np.where(np.isfinite(outcome), 0, -1))
    return np.square(outcome[:, None] - outcome)


def outcome_bandwidth(d2: np.ndarray) -> float:
    """Return the median distance over the pairs of samples whose outcomes differ.

    Outcomes have ties, ordered classes nothing else: a median over all pairs is often zero.
    """
    return median_bandwidth(np.where(d2 > 0, d2, np.inf))


def check_labeled(codes: np.ndarray) -> None:
    """Raise an InputError for negative class codes, which stand for missing labels."""
    missing = np.flatnonzero(np.asarray(codes) < 0)
    if missing.size:
        raise InputError(
            f"{missing.size:,} of {len(codes):,} samples have no label",
            where=name_samples(missing),
            hint="label these samples, or leave them out",
        )


def geodesic_similarity(lengths: csr_array) -> DenseSimilarity:
    """Return the Gaussian similarity of shortest paths over the neighbor graph (Isomap).

    The papers call it "Dijkstra".

    Parameters
    ----------
    lengths : csr_array, shape (n, n)
        Symmetric edge lengths, as `sfs_cli.graph.neighbors.knn_lengths` gives them.

    Returns
    -------
    DenseSimilarity
        exp(-path^2 / (2 delta^2)), delta the median path over connected pairs i < j; 1 on the
        diagonal, 0 between connected components.

    Raises
    ------
    InputError
        When the median path has length 0.
    """
    from scipy.sparse.csgraph import dijkstra

    paths = dijkstra(lengths)  # infinite between connected components, where S becomes 0
    # the two directions of a path are summed in opposite orders, and their roundings differ
    np.minimum(paths, paths.T, out=paths)
    d2 = np.square(paths, out=paths)
    return DenseSimilarity(rbf(d2, median_bandwidth(d2)))


TAYLOR_LIMIT = 1e-20


def diffusion_similarity(knn: SparseSimilarity, beta: float = 1.0) -> DenseSimilarity:
    """Return the diffusion kernel expm(-beta N) of a graph (Kondor & Lafferty 2002).

    With A = D^-1/2 S D^-1/2 it is exp(-beta) expm(beta A). A has no negative entry, so that the
    terms of the Taylor series do not cancel, and each costs one sparse product. Above beta = 1 the
    series is summed for a fraction of beta, and the result is squared.

    Parameters
    ----------
    knn : SparseSimilarity
        Neighbor graph with non-negative weights.
    beta : float
        Diffusion time, positive.

    Returns
    -------
    DenseSimilarity
        The kernel, symmetric to the last bit; D^1/2 1 is its eigenvector to the eigenvalue 1.

    Raises
    ------
    InputError
        When a sample has no positive degree.
    """
    # terms of the series grow before they fall when beta is large: its root is summed and squared
    halvings = max(0, ceil(log2(beta)))
    kernel = _series(_normalized(knn), beta / 2.0**halvings)
    for _ in range(halvings):
        kernel = symmetrized(kernel @ kernel)
    return DenseSimilarity(kernel)


def _normalized(knn: SparseSimilarity) -> csr_array:
    """Return ``D^-1/2 S D^-1/2`` of a graph without isolated samples."""
    from scipy.sparse import diags_array

    check_degrees(knn, None, "knn")
    scale = diags_array(1.0 / np.sqrt(knn.degrees))
    return (scale @ knn.matrix @ scale).tocsr()


def _series(A: csr_array, beta: float) -> np.ndarray:
    """Return exp(-beta) expm(beta A) for beta <= 1; the spectrum of A lies in [-1, 1]."""
    term = exp(-beta) * np.eye(A.shape[0])
    total = term.copy()
    size, order = 1.0, 0
    while size > TAYLOR_LIMIT:
        order += 1
        size *= beta / order
        term = A @ term
        term *= beta / order
        total += term
    return symmetrized(total)


def relieff_similarity(
    d2: np.ndarray, codes: np.ndarray, k: int, class_names: Sequence[str]
) -> SparseSimilarity:
    """Return the signed similarity whose phi1 is the ReliefF criterion (Zhao & Liu 2007, Eq. 12).

    Row i of A has 1 at i, +1/k at the k nearest samples of its own class and -1/((c-1)k) at the k
    nearest of each of the c-1 other classes; S = (A + A')/2. For a small class, k is one less than
    its size. Rows of A sum to 1, but degrees of S
    may be negative. The dissertation prints the signs reversed (Eq. 3.17); with phi1 minimized
    they must be these.

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances; equal ones are ordered by the index of the sample.
    codes : ndarray of int, shape (n,)
        Class of each sample.
    k : int
        Number of nearest hits, and of nearest misses per other class.
    class_names : sequence of str
        Name of class 0, 1, ... for messages.

    Returns
    -------
    SparseSimilarity
        S, about n k c entries.

    Raises
    ------
    InputError
        When there are fewer than two classes, a class has one sample, or a label is missing.
    """
    from scipy.sparse import csr_array, eye_array

    codes = np.asarray(codes)
    neighbors = nearest_by_class(d2, codes, k, class_names)
    others = len(np.unique(codes)) - 1
    hits = codes[neighbors] == codes[:, None]
    weights = np.where(hits, 1.0, -1.0 / others) / neighbor_counts(codes, k)[codes[neighbors]]
    n, per_row = neighbors.shape
    ends = np.arange(n + 1) * per_row
    A = csr_array((weights.ravel(), neighbors.ravel(), ends), shape=(n, n))
    return SparseSimilarity((symmetrized(A) + eye_array(n)).tocsr())


def nearest_by_class(
    distances: np.ndarray, codes: np.ndarray, k: int, class_names: Sequence[str]
) -> np.ndarray:
    """Return the nearest samples in each class, themselves excluded.

    The shape is (n, sum of `neighbor_counts`): those of the first class are in the first columns,
    and so on. Equal distances, (n, n), are ordered by the index of the sample. Raises the errors of
    `class_members`.
    """
    members, counts = class_members(codes, class_names), neighbor_counts(codes, k)
    found = []
    for code, inside in members.items():
        among = distances[:, inside]  # a copy, because it is indexed by an array
        among[inside, np.arange(inside.size)] = np.inf  # no sample is its own neighbor
        nearest, _ = smallest_in_rows(among, int(counts[code]))
        found.append(inside[nearest])
    return np.hstack(found)


def neighbor_counts(codes: np.ndarray, k: int) -> np.ndarray:
    """Return how many nearest samples are taken of each class 0, 1, ..., shape (c,): at most k.

    Each sample of a class of s samples has s - 1 others; so many are taken of it by all samples.
    """
    return np.minimum(k, np.bincount(codes) - 1)


def fewer_neighbors(codes: np.ndarray, k: int, class_names: Sequence[str]) -> str:
    """Return a warning about classes with too few samples for k neighbors; empty without any."""
    sizes = np.bincount(codes)
    small = np.flatnonzero((sizes > 0) & (sizes <= k))
    if not small.size:
        return ""
    names = [repr(class_names[c]) for c in small.tolist()]
    return (
        f"ReliefF takes fewer than {k} neighbors of small classes ({listed(names)}), one less than "
        f"the size of each; neighbors={int(sizes[small].min()) - 1} takes as many of every class"
    )


def class_members(codes: np.ndarray, class_names: Sequence[str]) -> dict[int, np.ndarray]:
    """Return the samples of every class, at least two classes with two samples each.

    Raises
    ------
    InputError
        When there are fewer than two classes, a class has one sample, or a label is missing.
    """
    check_labeled(codes)
    members = {int(code): np.flatnonzero(codes == code) for code in np.unique(codes)}
    if len(members) < 2:
        raise InputError(
            "ReliefF needs at least two classes",
            hint="check which column holds the labels",
            option="labels",
        )
    for code, inside in members.items():
        if inside.size < 2:
            raise InputError(
                f"class {class_names[code]!r} has one sample, which has no nearest hit for ReliefF",
                hint="leave the class out, or join it to another one",
                option="labels",
            )
    return members
