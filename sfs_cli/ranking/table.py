"""The ranking: the one table that every method fills and every writer writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfs_cli.ranking.picked import Picked


@dataclass(frozen=True)
class Ranking:
    """Features from best to worst; those without a score come last.

    Attributes
    ----------
    feature : sequence of str, length m
        Ids, best first.
    score : ndarray, shape (m,)
        The method's own number, NaN where there is none.
    status : sequence of str, length m
        ``ok``, or why there is no score.
    larger_is_better : bool
        Direction of the scores.
    order : ndarray of int, shape (m,)
        Position in the input of each.
    extra : dict
        The method's own columns, in the same order.
    """

    feature: Picked
    score: np.ndarray
    status: Picked
    larger_is_better: bool
    order: np.ndarray
    extra: dict[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def n_scored(self) -> int:
        """How many features have a score."""
        return int(np.count_nonzero(~np.isnan(self.score)))

    def columns(
        self, lo: int = 0, hi: int | None = None
    ) -> dict[str, Sequence[object] | np.ndarray]:
        """Return the columns of the table, or of rows `lo` to `hi`, in the order of writing."""
        rows = slice(*slice(lo, hi).indices(len(self)))
        return {
            "rank": np.arange(rows.start + 1, rows.stop + 1),
            "feature": self.feature[rows],
            "score": self.score[rows],
            "status": self.status[rows],
            **{name: column[rows] for name, column in self.extra.items()},
        }

    def unscored(self) -> dict[str, int]:
        """Count the features without a score by the reason."""
        codes = self.status.places[self.n_scored :]
        values, first, counts = np.unique(codes, return_index=True, return_counts=True)
        by_place = np.argsort(first)
        names = self.status.names
        return {names[int(values[i])]: int(counts[i]) for i in by_place}


def rank_features(
    features: Sequence[str],
    score: np.ndarray,
    status: np.ndarray,
    status_names: Sequence[str],
    *,
    larger_is_better: bool,
    order: np.ndarray | None = None,
    extra: dict[str, np.ndarray] | None = None,
) -> Ranking:
    """Order features by score, or by the order in which a method selected them.

    Equal scores keep the order of the input, and features without a score follow all others.

    Parameters
    ----------
    features : sequence of str, length m
        Ids in the order of the input.
    score : ndarray, shape (m,)
        NaN where there is none.
    status : ndarray of int, shape (m,)
        Index into `status_names` of each.
    status_names : sequence of str
        ``ok`` and the reasons for having no score.
    larger_is_better : bool
        Direction.
    order : ndarray of int, optional
        Features from best to worst, where the scores do not tell. What it leaves out follows in
        the order of the input.
    extra : dict of ndarray, shape (m,), optional
        More columns.
    """
    if order is None:
        # NaN sorts last in either direction, and a stable sort keeps equal scores in input order
        order = np.argsort(-score if larger_is_better else score, kind="stable")
    else:
        order = _completed(order, score)
    if len(order) <= np.iinfo(np.int32).max:
        order = order.astype(np.int32)  # half the memory of what stays
    return Ranking(
        feature=Picked(features, order),
        score=score[order],
        status=Picked(status_names, status[order]),
        larger_is_better=larger_is_better,
        order=order,
        extra={name: column[order] for name, column in (extra or {}).items()},
    )


def _completed(order: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Append the features that an order leaves out, and put those without a score last."""
    left_out = np.ones(len(score), bool)
    left_out[order] = False
    order = np.concatenate([order, np.flatnonzero(left_out)])
    return order[np.argsort(np.isnan(score[order]), kind="stable")]
