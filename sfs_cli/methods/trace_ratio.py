"""Trace Ratio: the set of features with the largest ratio of scatters.

F. Nie, S. Xiang, Y. Jia, C. Zhang and S. Yan, "Trace ratio criterion for feature selection",
AAAI 2008; Section 3.5 of the dissertation (Eq. 3.19-3.21).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.methods.base import BlockLike, Context, Solution, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.fisher import FisherScorer

Scatter = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Per feature: b and w in the units of the centred values, their scale, and the status."""


class Optimum(NamedTuple):
    """The best set of a given size.

    Attributes
    ----------
    order : ndarray of int
        All features, best first; the set is the first of them.
    score : ndarray
        ``b - ratio w`` of each feature.
    ratios : list of float
        ``sum b / sum w`` of the set at each iteration, never falling.
    """

    order: np.ndarray
    score: np.ndarray
    ratios: list[float]


def maximize_ratio(b: np.ndarray, w: np.ndarray, select: int) -> Optimum:
    """Maximize ``sum_I b / sum_I w`` over all sets I of `select` features.

    From the set of the largest ``b / w`` on, the ratio of the set is taken as lambda and the set
    as the largest ``b - lambda w`` in turn (Newton's method on a convex piecewise linear
    function). The ratio grows until the set is optimal among all, after finitely many steps.

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
        if ratio <= ratios[-1] * (1 + 4 * select * np.finfo(np.float64).eps):
            return Optimum(order, score, ratios)
        ratios.append(ratio)
    # enough features have no w at all: they come first, and the others as lambda grows
    return Optimum(np.lexsort((-b, w)), np.where(w == 0, b, -np.inf), ratios)


def _ratio(b: np.ndarray, w: np.ndarray, chosen: np.ndarray) -> float:
    below = float(w[chosen].sum())
    return float(b[chosen].sum()) / below if below > 0 else np.inf


@dataclass(frozen=True)
class _Fisher:
    """Scatter between and within classes (Eq. 3.12)."""

    scorer: FisherScorer

    def __call__(self, block: BlockLike) -> Scatter:
        return self.scorer.scatter(block)


@dataclass(frozen=True)
class _Laplacian:
    """``L_w = D - S`` and ``L_b = D - D 1 1' D / 1'D1``, the scatter around the D-weighted mean."""

    laplacian: NormalizedLaplacian

    def __call__(self, block: BlockLike) -> Scatter:
        centred = center(block, self.laplacian.degrees)
        G = centred.values
        G *= self.laplacian.root
        square = np.vecdot(G, G)
        within = self.laplacian.form(G, 1)
        rounding = 4 * self.laplacian.n * np.finfo(np.float64).eps * square
        within[np.abs(within) <= rounding] = 0
        return square, within, centred.scale, centred.status(square, self.laplacian.volume)


def _variant(context: Context) -> Callable[[BlockLike], Scatter]:
    if context.options["variant"] == "laplacian":
        assert context.similarity is not None
        return _Laplacian(NormalizedLaplacian(context.similarity))
    assert context.codes is not None
    sizes = np.unique(context.codes, return_counts=True)[1]
    if len(sizes) < 2 or sizes.max() < 2:
        raise InputError(
            "the trace ratio needs two classes or more, and two samples in one of them; there "
            f"are {len(sizes):,} classes of {len(context.codes):,} samples",
            hint="check which column holds the labels, or take --variant laplacian",
        )
    return _Fisher(FisherScorer(context))


def solve(context: Context) -> Solution:
    """Find the features of the largest trace ratio; one pass over the matrix.

    Raises
    ------
    InputError
        When there are too few classes, or the similarity has negative entries that make a
        within-scatter negative.
    """
    assert context.engine is not None
    m = context.engine.source.n_features
    b, w, status = np.zeros(m), np.zeros(m), np.empty(m, np.int8)
    for span, found in context.engine.run(_variant(context), np.dtype(np.float64)):
        here = slice(span.lo, span.hi)
        with np.errstate(over="ignore"):
            b[here], w[here] = found[0] * found[2] ** 2, found[1] * found[2] ** 2
        status[here] = found[3]
    usable = np.flatnonzero(status == Status.OK)
    _check(b[usable], w[usable])
    return _solution(context, b[usable], w[usable], usable, status)


def _check(b: np.ndarray, w: np.ndarray) -> None:
    if (w < 0).any():
        raise InputError(
            f"{int((w < 0).sum()):,} features have a negative scatter within the sample graph, so "
            "the trace ratio has no maximum",
            hint="take a similarity without negative entries, such as rbf or knn",
        )
    if not np.isfinite(b).all() or not (b + w > 0).all():
        raise InputError(
            "the squares of some features are beyond the range of float64",
            hint="bring the features to one scale, for example with --transform zscore",
        )


def _solution(
    context: Context, b: np.ndarray, w: np.ndarray, usable: np.ndarray, status: np.ndarray
) -> Solution:
    select = int(context.options["select"])
    score = np.full(len(status), np.nan)
    if not len(usable):
        return Solution(score, status, stop="no feature varies")
    taken = min(select, len(usable))
    best = maximize_ratio(b, w, taken)
    score[usable] = best.score
    warnings = []
    if select > taken:
        warnings.append(f"{select:,} features were asked for and only {taken:,} vary: all are in")
    return Solution(
        score,
        status,
        order=usable[best.order],
        objective=best.ratios,
        stop="no other set of as many features has a larger ratio",
        facts={"selected": taken, "ratio": best.ratios[-1], "iterations": len(best.ratios)},
        warnings=warnings,
    )
