"""Trace Ratio: the set of features with the largest ratio of scatters.

F. Nie, S. Xiang, Y. Jia, C. Zhang and S. Yan, "Trace ratio criterion for feature selection",
AAAI 2008; Section 3.5 of the dissertation (Eq. 3.19-3.21).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike
from sfs_cli.errors import InputError
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.classical import class_columns
from sfs_cli.methods.kernel import CenteredBlock, center, split
from sfs_cli.methods.shared import warn_of_fewer


class Optimum(NamedTuple):
    """The best set of a given size."""

    order: np.ndarray  # all features, best first; the set is the first of them
    score: np.ndarray  # ``b - ratio w`` of each feature
    ratios: list[float]  # ``sum b / sum w`` of the set at each iteration, never falling


def maximize_ratio(b: np.ndarray, w: np.ndarray, select: int) -> Optimum:
    """Maximize ``sum_I b / sum_I w`` over all sets I of `select` features.

    The first set has the largest ``b / w``. Then, in turn, lambda is the ratio of the set, and the
    set has the largest ``b - lambda w`` (Newton's method on a convex piecewise linear function).
    The ratio grows until no other set has a larger one, after finitely many steps.

    Parameters
    ----------
    b, w : ndarray, shape (p,)
        Not negative, and not both 0.
    select : int
        From 1 to p.
    """
    with np.errstate(divide="ignore"):
        chosen = np.argsort(-(b / w), kind="stable")[:select]
    ratios = [_ratio(b, w, chosen)]
    while np.isfinite(ratios[-1]):
        score = b - ratios[-1] * w
        order = np.argsort(-score, kind="stable")
        ratio = _ratio(b, w, order[:select])
        # only a gain above the rounding of the sums counts, or two equal sets alternate for ever
        if ratio <= ratios[-1] * (1 + 4 * select * EPS):
            return Optimum(order, score, ratios)
        ratios.append(ratio)
    # enough features have w = 0: they come first, then the others as lambda grows
    return Optimum(np.lexsort((-b, w)), np.where(w == 0, b, -np.inf), ratios)


def _ratio(b: np.ndarray, w: np.ndarray, chosen: np.ndarray) -> float:
    below = float(w[chosen].sum())
    return float(b[chosen].sum()) / below if below > 0 else np.inf


def scatter_of(problem: Problem) -> Callable[[BlockLike], Arrays]:
    """Return what finds the scatters between and within of a block, and the statuses, each (b,).

    With the graph (``laplacian``) the first is that around the D-weighted mean and the second that
    along the edges: ``L_b = D - D 1 1' D / 1'D1`` and ``L_w = D - S``. With classes (``fisher``)
    they are those between and within the classes.
    """
    if problem.options["variant"] == "laplacian":
        laplacian = NormalizedLaplacian(problem.similarity)

        def of_graph(block: BlockLike) -> Arrays:
            centered = center(block, laplacian.degrees, rooted=True)
            square, within = centered.square, laplacian.form(centered.values, 1)
            within[np.abs(within) <= 4 * laplacian.n * EPS * square] = 0
            return _in_units(centered, square, within)

        return of_graph
    sizes = np.unique(problem.codes, return_counts=True)[1]
    if len(sizes) < 2 or sizes.max() < 2:
        raise InputError(
            "the trace ratio needs two classes or more, and two samples in one of them; there "
            f"are {len(sizes):,} classes of {len(problem.codes):,} samples",
            hint="check which column holds the labels, or use variant=laplacian",
        )
    columns = class_columns(problem.codes)

    def of_classes(block: BlockLike) -> Arrays:
        centered = center(block)
        means, within = split(centered.values, columns)
        return _in_units(centered, np.vecdot(means, means), within)

    return of_classes


def _in_units(centered: CenteredBlock, between: np.ndarray, within: np.ndarray) -> Arrays:
    """Return scatters (b,) in the units of the input, because features are added up, and statuses.

    Features whose squares float64 does not hold are refused later.
    """
    with np.errstate(over="ignore"):
        units = centered.scale**2
        b, w = between * units, within * units
    return {"between": b, "within": w, "status": centered.status}


def solve(problem: Problem) -> Solution:
    """Find the features of the largest trace ratio; one pass over the matrix.

    Raises
    ------
    InputError
        When there are too few classes, or the similarity has negative entries that make a
        within-scatter negative.
    """
    found = problem.engine.columns(scatter_of(problem), DOUBLE)
    status = found["status"]
    usable = np.flatnonzero(status == Status.OK)
    b, w = found["between"][usable], found["within"][usable]
    if (w < 0).any():
        raise InputError(
            f"{int((w < 0).sum()):,} features have a negative scatter within the sample graph, so "
            "the trace ratio has no maximum",
            hint="use a similarity without negative entries, such as rbf or knn",
        )
    if not np.isfinite(b).all() or not (b + w > 0).all():
        raise InputError(
            "the squares of some features are beyond the range of float64",
            hint="bring the features to one scale, for example with --transform zscore",
        )
    select = int(problem.options["select"])
    score = np.full(len(status), np.nan)
    if not len(usable):
        return Solution(score, status, stop="no feature varies")
    taken = min(select, len(usable))
    best = maximize_ratio(b, w, taken)
    score[usable] = best.score
    return Solution(
        score,
        status,
        order=usable[best.order],
        objective=best.ratios,
        stop="no other set of as many features has a larger ratio",
        facts={"selected": taken, "ratio": best.ratios[-1], "iterations": len(best.ratios)},
        warnings=warn_of_fewer(select, taken),
    )
