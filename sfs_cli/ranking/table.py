"""The ranking: one table that every method fills and every writer writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np

CHUNK = 65_536
"""Number of strings made at a time by an iteration over all."""
SAME = 1e-12
"""Scores that differ by at most this part are the same but for rounding."""


class Picked(Sequence[str]):
    """The strings ``names[positions[0]], names[positions[1]], ...``, made when they are needed.

    Ten million feature ids in the order of a ranking take the memory of `positions` only.

    Parameters
    ----------
    names : sequence of str
        The strings to pick from.
    positions : ndarray of int, shape (m,)
        Their positions.
    """

    def __init__(self, names: Sequence[str], positions: np.ndarray) -> None:
        self.names = names
        self.positions = positions

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        """Return a string, or a list of strings."""
        if isinstance(at, int | np.integer):
            return self.names[int(self.positions[at])]
        positions = self.positions[at]
        take = getattr(self.names, "take", None)  # many at a time, as `FeatureIds` does
        return take(positions) if take else [self.names[i] for i in positions.tolist()]

    def reordered(self, rows: np.ndarray) -> Picked:
        """Return the strings of some rows, shape (l,)."""
        return Picked(self.names, self.positions[rows])

    def __iter__(self) -> Iterator[str]:
        for lo in range(0, len(self), CHUNK):
            yield from self[lo : lo + CHUNK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Ranking:
    """Features from best to worst; those without a score are last.

    Attributes
    ----------
    feature : sequence of str, length m
        Ids, best first.
    score : ndarray, shape (m,)
        The score of the method, NaN where there is none.
    status : sequence of str, length m
        ``ok``, or why there is no score.
    larger_is_better : bool
        Direction of the scores.
    order : ndarray of int, shape (m,)
        Position of each feature in the input.
    extra : dict
        More columns of the method, in the same order.
    n_kept : int, optional
        Of a pruned ranking: number of features that were kept. They are first, and after them the
        scores do not follow the ranks.
    direction : ndarray, shape (m,), optional
        1 or -1: in which of two classes a feature is higher.
    top : int, optional
        Number of rows that a table of it has at most; by default it has all.
    """

    feature: Picked
    score: np.ndarray
    status: Picked
    larger_is_better: bool
    order: np.ndarray
    extra: dict[str, np.ndarray | Picked] = field(default_factory=dict)
    n_kept: int | None = None
    direction: np.ndarray | None = None
    top: int | None = None

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def n_scored(self) -> int:
        """Number of features with a score."""
        return int(np.count_nonzero(~np.isnan(self.score)))

    @property
    def n_written(self) -> int:
        """Number of rows of its table."""
        return len(self) if self.top is None else min(self.top, len(self))

    @property
    def curve(self) -> np.ndarray:
        """The scores from the best to the worst: of a pruned ranking, those of kept features."""
        return self.score[: self.n_scored if self.n_kept is None else self.n_kept]

    def columns(
        self, lo: int = 0, hi: int | None = None
    ) -> dict[str, Sequence[object] | np.ndarray]:
        """Return the columns of rows `lo` to `hi` (by default all), in the order of writing."""
        rows = slice(*slice(lo, hi).indices(len(self)))
        return {
            "rank": np.arange(rows.start + 1, rows.stop + 1),
            "feature": self.feature[rows],
            "score": self.score[rows],
            "status": self.status[rows],
            **{name: column[rows] for name, column in self.extra.items()},
        }

    def reordered(self, rows: np.ndarray) -> Ranking:
        """Return the same features in another order, by their rows here, shape (m,)."""
        return replace(
            self,
            feature=self.feature.reordered(rows),
            score=self.score[rows],
            status=self.status.reordered(rows),
            order=self.order[rows],
            direction=None if self.direction is None else self.direction[rows],
            extra={name: _ordered(column, rows) for name, column in self.extra.items()},
        )

    def unscored(self) -> dict[str, int]:
        """Count the features without a score by the reason, in the order of the table."""
        codes = self.status.positions[self.n_scored :]
        values, first, counts = np.unique(codes, return_index=True, return_counts=True)
        names = self.status.names
        return {names[int(values[i])]: int(counts[i]) for i in np.argsort(first)}


def rank_features(
    features: Sequence[str],
    score: np.ndarray,
    status: np.ndarray,
    status_names: Sequence[str],
    *,
    larger_is_better: bool,
    order: np.ndarray | None = None,
    extra: Mapping[str, np.ndarray | Picked] | None = None,
) -> Ranking:
    """Order features by score, or by the order in which a method selected them.

    Equal scores keep the order of the input, and are marked where there are some: the column
    ``tied`` is the number of features that have this score, 1 for a feature that has a score of its
    own and 0 for one without. Scores that differ by rounding alone (`SAME`) are made equal, because
    sums round by where a feature is in its block: two copies of a feature are tied wherever they
    are. Features without a score are last.

    Parameters
    ----------
    features : sequence of str, length m
        Ids in the order of the input.
    score : ndarray, shape (m,)
        NaN where there is none.
    status : ndarray of int, shape (m,)
        Index into `status_names`.
    status_names : sequence of str
        ``ok`` and the reasons for having no score.
    larger_is_better : bool
        Direction of the scores.
    order : ndarray of int, optional
        Features from best to worst, for methods that select features together. Features that it
        omits follow in the order of the input.
    extra : mapping of ndarray or Picked, length m, optional
        More columns.
    """
    by_score = order is None
    if order is None:
        # NaN is last in both directions; equal scores get the order of the input below
        order = np.argsort(-score if larger_is_better else score)
        order[np.count_nonzero(~np.isnan(score)) :].sort()
    else:
        omitted = np.ones(len(score), bool)
        omitted[order] = False
        order = np.concatenate([order, np.flatnonzero(omitted)])
        order = order[np.argsort(np.isnan(score[order]), kind="stable")]
    if len(order) <= np.iinfo(np.int32).max:
        order = order.astype(np.int32)  # half of the memory
    score = score[order]
    marked: dict[str, np.ndarray | Picked] = {}
    starts, sizes = tie_blocks(score) if by_score else (np.empty(0, int), np.empty(0, int))
    if (sizes > 1).any():
        tied, scored = np.zeros(len(score), np.int32), int(sizes.sum())
        tied[:scored] = np.repeat(sizes, sizes)
        rows, first = np.flatnonzero(tied > 1), np.repeat(starts, sizes)
        first = first[rows]
        order[rows] = order[rows][np.lexsort((order[rows], first))]
        score[rows] = score[first]
        marked["tied"] = tied
    return Ranking(
        feature=Picked(features, order),
        score=score,
        status=Picked(status_names, status[order]),
        larger_is_better=larger_is_better,
        order=order,
        extra=marked | {name: _ordered(column, order) for name, column in (extra or {}).items()},
    )


def tie_blocks(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each block of equal scores starts, and how many there are in it.

    `score`, shape (m,), is sorted in either direction, with NaN last, which is in no block. Scores
    that differ by rounding alone (`SAME`) are equal.
    """
    scored = len(score) - int(np.count_nonzero(np.isnan(score)))
    one, other = score[1:scored], score[: max(scored - 1, 0)]
    with np.errstate(invalid="ignore", over="ignore"):  # infinity less infinity, and huge scores
        equal = np.abs(one - other) < SAME * np.abs(one)
    equal |= one == other
    starts = np.concatenate([np.arange(min(scored, 1)), np.flatnonzero(~equal) + 1])
    return starts, np.diff(starts, append=scored)


def _ordered(column: np.ndarray | Picked, order: np.ndarray) -> np.ndarray | Picked:
    return column.reordered(order) if isinstance(column, Picked) else column[order]
