"""The ranking: the one table that every method fills and every writer writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Ranking:
    """Features from best to worst; those without a score come last.

    Attributes
    ----------
    feature : list of str, length m
        Ids, best first.
    score : ndarray, shape (m,)
        The method's own number, NaN where there is none.
    status : list of str, length m
        ``ok``, or why there is no score.
    larger_is_better : bool
        Direction of the scores.
    order : ndarray of int, shape (m,)
        Position in the input of each.
    extra : dict
        The method's own columns, in the same order.
    """

    feature: list[str]
    score: np.ndarray
    status: list[str]
    larger_is_better: bool
    order: np.ndarray
    extra: dict[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def n_scored(self) -> int:
        """How many features have a score."""
        return int(np.count_nonzero(~np.isnan(self.score)))

    def columns(self) -> dict[str, Sequence[object] | np.ndarray]:
        """Return the columns of the table in the order they are written."""
        return {
            "rank": np.arange(1, len(self) + 1),
            "feature": self.feature,
            "score": self.score,
            "status": self.status,
            **self.extra,
        }

    def unscored(self) -> dict[str, int]:
        """Count the features without a score by the reason."""
        counts: dict[str, int] = {}
        for status in self.status[self.n_scored :]:
            counts[status] = counts.get(status, 0) + 1
        return counts


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
    return Ranking(
        feature=[features[i] for i in order],
        score=score[order],
        status=[status_names[i] for i in status[order]],
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
