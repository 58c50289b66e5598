"""sSelect: features that agree with the graph of all samples and with the labels of some.

Z. Zhao and H. Liu, "Semi-supervised feature selection via spectral analysis", SDM 2007; Eq. 2.16
of the dissertation: ``mix phi(F) + (1 - mix) (1 - NMI(F, y))``. The normalized mutual information
is that of L. Yu and H. Liu, "Efficient feature selection via analysis of relevance and redundancy",
JMLR 5, 2004: the symmetrical uncertainty ``2 I(F, y) / (H(F) + H(y))``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike, Span
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.distances import median_bandwidth, rbf, squared_distances
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.graph.spectral import DIRECT_LIMIT, lanczos, leading
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.kernel import center
from sfs_cli.methods.shared import require_variation
from sfs_cli.methods.spectral import PHI2, SpecScorer

MIXES = tuple(step / 10 for step in range(11))
"""Values of the mix that the cut value chooses from."""
MAX_ITERATIONS = 1000
_TIE = 1e-12
"""Cuts whose gains differ by at most this share are equal."""
TO_CHOOSE = "scores and disagreements, to choose lambda="


class SSelectScorer(Scorer):
    """``mix phi + (1 - mix) (1 - NMI)`` of every feature; smaller is better.

    phi is SPEC's phi2 on all samples. It lies between the second smallest and the largest
    eigenvalue of the normalized Laplacian, and is rescaled from there to [0, 1]. NMI is computed on
    the labeled samples, with the feature cut into as many clusters of values as there are classes.
    """

    larger_is_better = False

    def __init__(self, problem: Problem, mix: float) -> None:
        super().__init__()
        self.mix = mix
        self.labeled = np.flatnonzero(problem.codes >= 0)
        classes, self.codes = np.unique(problem.codes[self.labeled], return_inverse=True)
        if len(classes) < 2:
            raise InputError(
                f"sSelect needs labeled samples of at least two classes; the {len(self.labeled):,} "
                f"of {len(problem.codes):,} samples that have a label are of {len(classes)}",
                hint="label samples of another class, or use spec, which needs no labels",
            )
        self.spec = SpecScorer(replace(problem, options=PHI2))
        self.low, high = phi2_range(NormalizedLaplacian(problem.similarity))
        self.width = high - self.low
        self.dtype = self.spec.dtype
        self.facts = {"labelled": len(self.labeled), "phi_range": [self.low, high]}

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score`` and ``status`` of a block, each (b,); may overwrite it.

        Also its terms, the rescaled ``phi`` and ``disagreement``, ``1 - NMI``.
        """
        # taken first, because SPEC overwrites the block
        known = block.values[:, self.labeled].astype(np.float64)
        c = int(self.codes.max()) + 1
        clusters = two_means(known) if c == 2 else quantile_means(known, c)
        disagreement = 1 - symmetrical_uncertainty(clusters, self.codes)
        found = self.spec.score_block(block)
        phi, status = found["score"], found["status"]
        phi -= self.low
        if self.width > 0:
            phi /= self.width
        np.clip(phi, 0, 1, out=phi)  # rounding
        disagreement[status != Status.OK] = np.nan
        score = self.mix * phi + (1 - self.mix) * disagreement
        return {"score": score, "status": status, "phi": phi, "disagreement": disagreement}


def prepare(problem: Problem) -> Scorer:
    """Return the scorer of sSelect.

    With ``variant="cut-value"`` the mix is chosen first, as in the dissertation, which takes a pass
    over the matrix and reads a few hundred features again. On labeled data sets its lists are worse
    than those of the F-test, because the graph of few features of one kind has a small cut value.

    Parameters
    ----------
    problem : Problem
        With the similarity, the labels (-1 where there is none), and the options ``variant``,
        ``lambda_`` (the mix, 0 to 1, of ``variant="fixed"``) and ``select`` (how many features the
        cut value is that of).

    Raises
    ------
    InputError
        If the labeled samples are not of two classes or more.
    """
    mix = problem.options["lambda_"]
    # both terms are computed apart from the mix, so any will do until it is chosen
    scorer = SSelectScorer(problem, mix)
    if problem.options["variant"] == "cut-value":
        n = problem.n_samples
        what = f"choosing the mix by graphs of all {n:,} samples needs"
        hint = "give lambda= and not variant=cut-value, or allow more with --memory"
        check_memory(what, 6 * 8 * n * n, problem.memory, hint, "variant")
        scorer.mix, cuts = choose_mix(scorer, problem.engine, int(problem.options["select"]))
        scorer.facts["lambda"] = scorer.mix  # in place of the option
        scorer.facts["cut_values"] = {f"{tried:g}": cut for tried, cut in zip(MIXES, cuts)}
    scorer.facts["mix"] = scorer.mix
    return scorer


def choose_mix(scorer: SSelectScorer, engine: Engine, count: int) -> tuple[float, list[float]]:
    """Choose the mix by footnote 17 of the dissertation.

    Select features with each of `MIXES`, and compute the cut value of the samples on these features
    only. The mix with the smallest cut value is chosen; of equal ones the smallest.

    Parameters
    ----------
    scorer : SSelectScorer
        Computes both terms.
    engine : Engine
        Makes a pass for them, and reads the selected features.
    count : int
        Number of features to select.

    Returns
    -------
    mix : float
    cuts : list of float
        The cut value of each of `MIXES`.

    Raises
    ------
    InputError
        If no feature can be scored, or over half of the pairs of samples are equal.
    """
    engine = engine.at(TO_CHOOSE)
    found = engine.columns(scorer.score_block, scorer.dtype)
    phi, disagreement, status = found["phi"], found["disagreement"], found["status"]
    require_variation(status)
    usable = np.flatnonzero(status == Status.OK)
    known: dict[bytes, float] = {}  # several mixes often select the same features
    cuts = []
    for mix in MIXES:
        score = mix * phi[usable] + (1 - mix) * disagreement[usable]
        # sorted: one set of features is one key, in whatever order its scores are
        chosen = np.sort(usable[np.argsort(score, kind="stable")[:count]])
        key = chosen.tobytes()
        if key not in known:
            rows = np.empty((len(chosen), engine.source.n_samples))
            for row, i in zip(rows, chosen):
                block = engine.source.read(Span(int(i), int(i) + 1), DOUBLE)
                row[:] = center(block).values[0]
            engine.count(len(chosen))
            known[key] = cut_value(rows)
        cuts.append(known[key])
    return MIXES[int(np.argmin(cuts))], cuts


def cut_value(features: np.ndarray) -> float:
    """Return the second smallest eigenvalue of the normalized Laplacian of a Gaussian graph.

    Parameters
    ----------
    features : ndarray, shape (s, n)
        Centered features. The bandwidth is the median distance between samples on them.

    Raises
    ------
    InputError
        If over half of the pairs of samples are equal in all these features.
    """
    d2 = squared_distances(features.T @ features)
    S = rbf(d2, median_bandwidth(d2))
    return float(leading(NormalizedLaplacian(DenseSimilarity(S)), 2).values[1])


def two_means(values: np.ndarray) -> np.ndarray:
    """Cut each feature in two so that the sum of squares within both parts is smallest.

    All cuts of the sorted values are compared; of equal ones the lowest is taken. Values that are
    all equal form one cluster.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features.

    Returns
    -------
    ndarray of int, shape (b, n)
        0 below the cut, 1 above it.
    """
    n = values.shape[1]
    centered = values - values.mean(axis=1, keepdims=True)
    ordered = np.sort(centered, axis=1)
    below = np.arange(1, n)
    sums = np.cumsum(ordered, axis=1)[:, :-1]
    # of centered values, the scatter between both parts: one cumulative sum gives it for every cut
    gain = sums * sums * (1 / below + 1 / (n - below))
    gain[ordered[:, 1:] <= ordered[:, :-1]] = -1  # equal values cannot be cut apart
    best = gain.max(axis=1, keepdims=True, initial=-1)
    cut = np.argmax(gain >= best - _TIE * np.abs(best), axis=1)
    return (centered > np.take_along_axis(ordered, cut[:, None], axis=1)).astype(np.int64)


def quantile_means(values: np.ndarray, k: int) -> np.ndarray:
    """Cluster the values of each feature by k-means, started from quantiles.

    The centers start at the quantiles (j + 1/2) / k, and Lloyd's iterations run until no value
    changes its cluster. A value in the middle of two centers belongs to the lower one; a cluster
    that loses all its values keeps its center.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features.
    k : int
        Number of clusters.

    Returns
    -------
    ndarray of int, shape (b, n)
        0..k-1, ascending with the values.
    """
    centered = values - values.mean(axis=1, keepdims=True)
    ordered = np.sort(centered, axis=1)
    # a cluster of sorted values is a range: its mean is a difference of two cumulative sums
    sums = np.pad(np.cumsum(ordered, axis=1), ((0, 0), (1, 0)))
    centers = np.quantile(ordered, (np.arange(k) + 0.5) / k, axis=1).T.copy()
    ends = _ends(ordered, centers)
    moving = np.arange(len(values))
    for _ in range(MAX_ITERATIONS):
        before = ends[moving]
        counts = np.diff(before, axis=1)
        parts = np.diff(np.take_along_axis(sums[moving], before, axis=1), axis=1)
        np.divide(parts, counts, out=parts, where=counts > 0)
        centers[moving] = np.where(counts > 0, parts, centers[moving])
        ends[moving] = _ends(ordered[moving], centers[moving])
        moving = moving[(ends[moving] != before).any(axis=1)]
        if not len(moving):
            break
    bounds = (centers[:, 1:] + centers[:, :-1]) / 2
    return (centered[:, :, None] > bounds[:, None, :]).sum(axis=2)


def _ends(ordered: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the borders of the clusters among the sorted values, shape (b, k + 1)."""
    bounds = (centers[:, 1:] + centers[:, :-1]) / 2
    b, n = ordered.shape
    ends = np.empty((b, centers.shape[1] + 1), np.int64)
    ends[:, 0], ends[:, -1] = 0, n
    ends[:, 1:-1] = (ordered[:, :, None] <= bounds[:, None, :]).sum(axis=1)
    return ends


def symmetrical_uncertainty(clusters: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return ``2 I(F, y) / (H(F) + H(y))`` of discrete features and the classes.

    Parameters
    ----------
    clusters : ndarray of int, shape (b, n)
        Features with values 0, 1, ...
    codes : ndarray of int, shape (n,)
        Class of each sample, 0, 1, ...; at least two classes.

    Returns
    -------
    ndarray, shape (b,)
        From 0 to 1.
    """
    from scipy.special import entr

    n = len(codes)
    members = np.eye(int(codes.max()) + 1)[codes]
    values = range(int(clusters.max()) + 1)
    counts = np.stack([(clusters == value) @ members for value in values], axis=1)
    joint = entr(counts.reshape(len(clusters), -1) / n).sum(axis=1)
    of_feature = entr(counts.sum(axis=2) / n).sum(axis=1)
    of_class = entr(members.mean(axis=0)[None]).sum(axis=1)
    shared = np.maximum(of_feature + of_class - joint, 0)
    return np.minimum(2 * shared / (of_feature + of_class), 1)


def phi2_range(laplacian: NormalizedLaplacian) -> tuple[float, float]:
    """Return the range of phi2: the second smallest and the largest eigenvalue of N.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        n x n, n at least 2.

    Raises
    ------
    NotConvergedError
        When Lanczos iterations do not find them.
    """
    n = laplacian.n
    if n > DIRECT_LIMIT:

        def multiply(row: np.ndarray) -> np.ndarray:
            # moves the trivial eigenvector to 0, below the largest of the others
            return laplacian.apply(row) - (row @ laplacian.trivial) * laplacian.trivial

        largest = lanczos(
            multiply, n, 1, hint="use another similarity", tol=1e-12, return_eigenvectors=False
        )
        return float(leading(laplacian, 2).values[1]), float(largest[0])
    matrix = laplacian.smooth_matrix()
    # moves the trivial eigenvector, at 0 here, away from the others, which are at 1 - lambda
    matrix += 4 * linalg.norm(matrix, np.inf) * np.outer(laplacian.trivial, laplacian.trivial)
    values = 1 - linalg.eigvalsh(matrix, overwrite_a=True)[: n - 1]
    return float(values[-1]), float(values[0])
