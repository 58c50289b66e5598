"""Which features take part, by their ids and by their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sfs_cli.compute.matrix import LeftOut, Span


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
    min_total : float or None
        Sum of its measured values, at least.
    min_count : float or None
        Count that is enough in a sample of median library size (`CountRule`, which takes a pass).
    group : float
        Samples of the smallest group, in so many of which counts have to be enough.
    """

    by_id: np.ndarray | None = None
    min_samples: int | None = None
    min_total: float | None = None
    min_count: float | None = None
    group: float = 1.0

    @property
    def active(self) -> bool:
        """Whether a feature could be left out."""
        return any(
            each is not None
            for each in (self.by_id, self.min_samples, self.min_total, self.min_count)
        )

    def of_some(self, features: np.ndarray) -> FeatureFilter:
        """Return the filter of a view of some features, given by index."""
        return self if self.by_id is None else replace(self, by_id=self.by_id[features])

    def reasons(
        self,
        span: Span,
        nonzeros: Callable[[], np.ndarray],
        totals: Callable[[], np.ndarray],
        counted: Callable[[], np.ndarray] | None,
        missing: Callable[[], np.ndarray] | None,
    ) -> np.ndarray:
        """Return why features of a span are left out, shape (b,), 0 for those that take part.

        `nonzeros` and `totals` return how many measured values of each feature are not zero, and
        the sum of the measured ones; `counted` which features have counts enough, where they need
        some; `missing`, which is called last, those that are left out for
        values that are missing.
        """
        by_id = np.zeros(span.size, np.int8)
        if self.by_id is not None:
            by_id = self.by_id[span.lo : span.hi]
        why = by_id.copy()
        if self.min_samples is not None:
            why[(why == 0) & (nonzeros() < self.min_samples)] = LeftOut.FEW_SAMPLES
        if self.min_total is not None:
            why[(why == 0) & (totals() < self.min_total)] = LeftOut.LOW_TOTAL
        if counted is not None:
            why[(why == 0) & ~counted()] = LeftOut.LOW_COUNTS
        if missing is not None:
            why[missing() & (by_id == 0)] = LeftOut.MISSING
        return why


EVERYTHING = FeatureFilter()
"""The filter that leaves no feature out."""
