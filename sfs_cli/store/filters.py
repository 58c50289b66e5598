"""Which features take part, by their ids and by their values.

Counts enough (`CountRule`): Y. Chen, A. T. L. Lun and G. K. Smyth, "From reads to genes to
pathways", F1000Research 5, 1438, 2016; the numbers are those of ``filterByExpr`` of edgeR 3.40.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sfs_cli.compute.matrix import LeftOut, Span

MIN_TOTAL = 15.0
"""The total count of a feature that is enough, as edgeR has it."""
LARGE_N, MIN_PART = 10.0, 0.7
"""Of the samples of the smallest group beyond the first so many, this part is enough."""
_ROUNDING = 1e-14


@dataclass(frozen=True)
class CountRule:
    """Which features have counts enough: the rule can be asked about one block after the other.

    A feature is kept if as many samples as the smallest group has are above a number of counts per
    million, and if its total count is not too small. The groups are not looked at, so that the
    choice does not depend on a difference between them.

    Attributes
    ----------
    per_million : ndarray, shape (n,)
        ``10^6`` over the library size of each sample.
    cutoff : float
        Counts per million to reach: `min_count` at the median library size.
    samples : float
        How many samples have to.
    """

    per_million: np.ndarray
    cutoff: float
    samples: float

    @classmethod
    def of(
        cls,
        library_sizes: np.ndarray,
        samples: float,
        min_count: float,
    ) -> CountRule:
        """Return the rule for samples.

        Parameters
        ----------
        library_sizes : ndarray, shape (n,)
            Total counts, above 0, times the normalization factors if there are any.
        samples : float
            Samples of the smallest group (`smallest_group`). Beyond the first `LARGE_N` of them the
            part `MIN_PART` is enough.
        min_count : float
            The count that is enough in a sample of median library size.
        """
        sizes = np.asarray(library_sizes, np.float64)
        if samples > LARGE_N:
            samples = LARGE_N + (samples - LARGE_N) * MIN_PART
        # multiplied and divided in the order of edgeR, for a count of exactly `min_count` is kept
        # or not by rounding
        return cls(1e6 / sizes, min_count / float(np.median(sizes)) * 1e6, samples)

    def reach(self, counts: np.ndarray, samples: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return which counts are enough, of bool and their shape.

        Their last axis is the samples, all or those at the positions that are given.
        """
        return np.asarray(counts.astype(np.float64) * self.per_million[samples] >= self.cutoff)

    def keeps(self, enough: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return which features are kept, shape (b,).

        Parameters
        ----------
        enough : ndarray of int, shape (b,)
            How many of their counts are enough.
        total : ndarray, shape (b,)
            The sum of their counts.
        """
        return np.asarray((enough >= self.samples - _ROUNDING) & (total >= MIN_TOTAL - _ROUNDING))


def smallest_group(
    n: int, *, groups: np.ndarray | None = None, design: np.ndarray | None = None
) -> float:
    """Return how many samples the smallest group has: all n without groups and without a design.

    Parameters
    ----------
    n : int
    groups : ndarray, shape (n,), optional
        The group of each sample.
    design : ndarray, shape (n, p), optional
        In place of groups; the smallest one has ``1 / max h`` samples then, with the leverage h of
        the samples.
    """
    if groups is not None:
        return float(np.unique(groups, return_counts=True)[1].min())
    if design is not None:
        return 1 / float(_leverage(np.asarray(design, np.float64)).max())
    return float(n)


def _leverage(design: np.ndarray) -> np.ndarray:
    """Return the leverage of samples in a regression on a design (n, p) and an intercept."""
    columns = np.column_stack([np.ones(len(design)), design])
    size = np.linalg.norm(columns, axis=0)
    left, singular, _ = np.linalg.svd(columns[:, size > 0] / size[size > 0], full_matrices=False)
    basis = left[:, singular > 1e-7 * singular[0]]
    return np.vecdot(basis, basis)


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
        return not (self.by_id is None and self.min_samples is None and self.min_count is None)

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
