"""Which features take part, by their ids and by their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.compute.matrix import LeftOut, Span

if TYPE_CHECKING:
    from sfs_cli.store.size_factors import CountRule


@dataclass(frozen=True)
class FeatureFilter:
    """What a feature needs to take part.

    Values count as they are before the transformation, in the samples that are used; missing ones
    do not count, whether they are filled or not. A block holds whole features, so no pass is needed
    to know them.

    Attributes
    ----------
    by_id : ndarray of int8, shape (m,), or None
        The reasons (`LeftOut`) to leave features out whatever their values, 0 for the others.
    min_samples : int or None
        Samples in which the feature has a measured value that is not zero, at least.
    min_count : float or None
        Count that is enough in a sample of median library size (`CountRule`, which takes a pass).
    group : float
        Samples of the smallest group, in so many of which counts have to be enough.
    """

    by_id: np.ndarray | None = None
    min_samples: int | None = None
    min_count: float | None = None
    group: float = 1.0

    @property
    def active(self) -> bool:
        """Whether a feature could be left out."""
        return any(each is not None for each in (self.by_id, self.min_samples, self.min_count))

    def of_some(self, features: np.ndarray) -> FeatureFilter:
        """Return the filter of a view of some features, given by index."""
        return self if self.by_id is None else replace(self, by_id=self.by_id[features])

    def reasons(
        self,
        span: Span,
        values: np.ndarray,
        samples: np.ndarray | slice,
        sums: Callable[[np.ndarray], np.ndarray],
        rule: CountRule | None,
        missing: Callable[[], np.ndarray] | None,
    ) -> np.ndarray:
        """Return why features of a span are left out, shape (b,), 0 for those that take part.

        `values` are all of the block, or those that are stored, and `samples` the positions of
        their last axis; `sums` adds up an array of their shape for each feature, to shape (b,).
        `rule` tells which counts are enough, where some have to be; `missing`, which is called
        last, which features are left out for values that are missing.
        """
        by_id = np.zeros(span.size, np.int8)
        if self.by_id is not None:
            by_id = self.by_id[span.lo : span.hi]
        why = by_id.copy()

        def measured() -> np.ndarray:
            return np.where(np.isnan(values), 0, values)  # `nan_to_num` takes four times as long

        if self.min_samples is not None:
            why[(why == 0) & (sums(measured() != 0) < self.min_samples)] = LeftOut.FEW_SAMPLES
        if rule is not None:
            counts = measured()
            enough = rule.keeps(sums(rule.reach(counts, samples)), sums(counts))
            why[(why == 0) & ~enough] = LeftOut.LOW_COUNTS
        if missing is not None:
            why[missing() & (by_id == 0)] = LeftOut.MISSING
        return why


EVERYTHING = FeatureFilter()
"""The filter that leaves no feature out."""
