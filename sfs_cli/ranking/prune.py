"""Pruning of a ranking: features that repeat a better one go behind those that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfs_cli.ranking.table import Picked, Ranking

KEPT_AT_ONCE = 256
"""Kept features that a task correlates a batch with."""

InOrder = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Calls a function on many items and gives the results in their order: `map`, or threads."""


@dataclass(frozen=True)
class Pruned:
    """What became of the examined features, the first ones of a ranking.

    Attributes
    ----------
    kept : ndarray of int, shape (k,)
        Rows of the ranking, ascending.
    moved : ndarray of int, shape (q,)
        The others, ascending.
    representative : ndarray of int, shape (q,)
        For each moved one, which of the given features and, after those, of `kept` it repeats:
        the first one.
    """

    kept: np.ndarray
    moved: np.ndarray
    representative: np.ndarray

    @property
    def examined(self) -> int:
        """Number of features that were examined."""
        return len(self.kept) + len(self.moved)


def standardized(values: np.ndarray) -> np.ndarray:
    """Return features (b, n) centered and of unit norm, in float64; constant ones are zero.

    Inner products of the rows are then Pearson correlations. Every row is reduced by itself, so it
    does not depend on the others in its block, and is scaled by a power of two first, so that no
    square over- or underflows.
    """
    peak = np.abs(values).max(axis=1, keepdims=True)
    rows = np.ldexp(values.astype(np.float64), -np.frexp(peak)[1])
    rows -= rows[:, :1].copy()  # a constant feature becomes exactly zero
    rows -= rows.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    norm[norm == 0] = 1
    rows /= norm
    return rows


def prune(
    take: Callable[[int, int], np.ndarray],
    count: int,
    max_correlation: float,
    values: np.ndarray,
    batch: int,
    in_order: InOrder = map,
    given: int = 0,
) -> Pruned:
    """Go down a ranking and keep the features that do not repeat a better one that was kept.

    This is the greedy filter by correlation: a feature is kept if its absolute Pearson correlation
    with each given feature, and with each kept one before it, is at most `max_correlation`. It ends
    when `values` is full.

    Parameters
    ----------
    take : callable
        Returns the features of the rows from the first to before the second number of a ranking,
        shape (b, n), `standardized`.
    count : int
        Features to examine at most, from the best on.
    max_correlation : float
        Between 0 and 1.
    values : ndarray, shape (g + l, n), float64
        Receives the kept features behind those that are given; l is the number of features to keep
        at most.
    batch : int
        Features examined at a time. As matrix products are rounded by their shape, it must not
        depend on memory or threads.
    in_order : callable
        Calls a function on several items, perhaps in threads.
    given : int
        Number of features g, `standardized`, that `values` begins with.

    Returns
    -------
    Pruned
        Which features were kept, and which repeat one of those.
    """
    kept: list[int] = []
    full = given
    found: list[np.ndarray] = []  # for each examined feature the one of `values` it repeats, or -1
    for lo in range(0, count, batch):
        rows = take(lo, min(lo + batch, count))
        earlier = _first_repeated(rows, values[:full], max_correlation, in_order)
        repeats = np.abs(rows @ rows.T) > max_correlation
        at = 0
        while full < len(values):
            free = np.flatnonzero(earlier[at:] < 0)
            if not len(free):
                at = len(rows)
                break
            at += int(free[0]) + 1
            values[full] = rows[at - 1]
            later = earlier[at:]
            later[(later < 0) & repeats[at - 1, at:]] = full
            kept.append(lo + at - 1)
            full += 1
        found.append(earlier[:at])
        if full == len(values):
            break
    repeated = np.concatenate(found)
    moved = np.flatnonzero(repeated >= 0)
    return Pruned(np.array(kept, np.int64), moved, repeated[moved])


def _first_repeated(
    rows: np.ndarray, values: np.ndarray, max_correlation: float, in_order: InOrder
) -> np.ndarray:
    """Return for each row (b, n) the first of `values` (k, n) that it repeats, -1 for none."""

    def first(lo: int) -> np.ndarray:
        repeats = np.abs(rows @ values[lo : lo + KEPT_AT_ONCE].T) > max_correlation
        return np.where(repeats.any(axis=1), lo + repeats.argmax(axis=1), -1)

    out = np.full(len(rows), -1, np.int64)
    for some in in_order(first, range(0, len(values), KEPT_AT_ONCE)):
        np.copyto(out, some, where=out < 0)
    return out


def pruned_ranking(ranking: Ranking, pruned: Pruned, given: Sequence[str] = ()) -> Ranking:
    """Return a ranking with the kept features first, then those that repeat one of them.

    Features that were not examined follow in their order. The column ``representative`` has the
    id of the given or kept feature that a moved one repeats; it is empty for all others. `given`
    are the ids of the features that were kept before the ranking.
    """
    k, examined = len(pruned.kept), pruned.examined
    rows = np.concatenate([pruned.kept, pruned.moved, np.arange(examined, len(ranking))])
    names = ["", *given, *ranking.feature.reordered(pruned.kept)]
    places = np.zeros(len(ranking), np.int32)
    places[k:examined] = pruned.representative + 1
    made = ranking.reordered(rows)
    return replace(made, extra=made.extra | {"representative": Picked(names, places)}, n_kept=k)
