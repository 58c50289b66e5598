"""Size factors of samples, and which features have counts enough, from a matrix of counts.

Library sizes do not tell samples apart that differ in a few features of large counts: these take
their share from all others. Factors come from what most features say instead.

- Trimmed mean of M-values (TMM): M. D. Robinson and A. Oshlack, "A scaling normalization method for
  differential expression analysis of RNA-seq data", Genome Biol. 11, R25, 2010; the numbers are
  those of ``calcNormFactors`` of edgeR 3.40.2.
- Median of ratios: S. Anders and W. Huber, "Differential expression analysis for sequence count
  data", Genome Biol. 11, R106, 2010, equation 5; those of ``estimateSizeFactors`` of DESeq2 1.38.3.
- Features with counts enough: Y. Chen, A. T. L. Lun and G. K. Smyth, "From reads to genes to
  pathways", F1000Research 5, 1438, 2016; those of ``filterByExpr`` of edgeR 3.40.2.

Counts are given feature by feature, shape (m, n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.errors import InputError

LOG_RATIO_TRIM, ABUNDANCE_TRIM = 0.3, 0.05
"""Parts of the features that TMM leaves out at each end: of log ratios, and of abundances."""
ABUNDANCE_CUTOFF = -1e10
"""TMM leaves out features whose mean log2 share of the library is not above this."""
UPPER_QUARTILE = 0.75
_EQUAL = 1e-6
"""If no log ratio is larger, two samples are the same up to their library sizes."""
_ROUNDING = 1e-14


def tmm_factors(counts: np.ndarray, library_sizes: np.ndarray | None = None) -> np.ndarray:
    """Return TMM normalization factors, whose product is 1.

    The effective library size of a sample is its library size times its factor.

    Parameters
    ----------
    counts : ndarray, shape (m, n)
        Not negative, none missing.
    library_sizes : ndarray, shape (n,), optional
        The total counts otherwise.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    InputError
        If a count is negative or missing, or a library size is not above 0.
    """
    _check(counts)
    sizes = _sizes(counts, library_sizes)
    n = counts.shape[1]
    counted = (counts > 0).any(axis=1)
    if not counted.any() or n == 1:
        return np.ones(n)
    kept = counts[counted]
    reference = tmm_reference(
        np.array([np.quantile(sample, UPPER_QUARTILE) for sample in kept.T]),
        np.array([np.sqrt(sample, dtype=np.float64).sum() for sample in kept.T]),
        sizes,
    )
    factors = [
        tmm_factor(kept[:, j], kept[:, reference], float(sizes[j]), float(sizes[reference]))
        for j in range(n)
    ]
    return normalized(np.array(factors))


def tmm_reference(
    upper_quartiles: np.ndarray, root_sums: np.ndarray, library_sizes: np.ndarray
) -> int:
    """Return the sample that others are compared with.

    It is the one whose upper quartile, as a share of its library, is nearest to the mean of all
    samples; where most upper quartiles are 0, the one with the largest sum of square roots.

    Parameters
    ----------
    upper_quartiles : ndarray, shape (n,)
        Of the counts of each sample, over the features that have a count in any.
    root_sums : ndarray, shape (n,)
        Sums of the square roots of the counts.
    library_sizes : ndarray, shape (n,)
    """
    shares = upper_quartiles / library_sizes
    if np.median(shares) < 1e-20:
        return int(root_sums.argmax())
    return int(np.abs(shares - shares.mean()).argmin())


def tmm_factor(
    sample: np.ndarray,
    reference: np.ndarray,
    library_size: float,
    reference_size: float,
    *,
    log_ratio_trim: float = LOG_RATIO_TRIM,
    abundance_trim: float = ABUNDANCE_TRIM,
    abundance_cutoff: float = ABUNDANCE_CUTOFF,
) -> float:
    """Return the factor of one sample against the reference (Robinson and Oshlack 2010, Methods).

    It is 2 to the mean log ratio of the features that both have, less the extreme ones, with the
    inverse of the approximate variances as weights.

    Parameters
    ----------
    sample, reference : ndarray, shape (m,)
        Counts.
    library_size, reference_size : float
    log_ratio_trim, abundance_trim : float
        Parts of the features that are left out at each end.
    abundance_cutoff : float
        Mean log2 share of the library above which features are used.
    """
    both = (sample > 0) & (reference > 0)
    y, r = sample[both].astype(np.float64), reference[both].astype(np.float64)
    ratio = np.log2((y / library_size) / (r / reference_size))
    abundance = (np.log2(y / library_size) + np.log2(r / reference_size)) / 2
    variance = (library_size - y) / library_size / y + (reference_size - r) / reference_size / r
    used = abundance > abundance_cutoff
    ratio, abundance, variance = ratio[used], abundance[used], variance[used]
    if not len(ratio) or np.abs(ratio).max() < _EQUAL:
        return 1.0
    kept = _untrimmed(ratio, log_ratio_trim) & _untrimmed(abundance, abundance_trim)
    with np.errstate(divide="ignore", invalid="ignore"):  # a variance of 0: one feature has it all
        mean = np.nansum(ratio[kept] / variance[kept]) / np.nansum(1 / variance[kept])
    return 1.0 if np.isnan(mean) else float(2**mean)


def normalized(factors: np.ndarray) -> np.ndarray:
    """Return factors divided by their geometric mean, so that their product is 1."""
    return np.asarray(factors / np.exp(np.log(factors).mean()))


def _untrimmed(values: np.ndarray, trim: float) -> np.ndarray:
    """Return which values have a rank, the mean rank if tied, that is not at an end."""
    from scipy.stats import rankdata

    lowest = np.floor(len(values) * trim) + 1
    ranks = rankdata(values)
    return np.asarray((ranks >= lowest) & (ranks <= len(values) + 1 - lowest))


def median_of_ratios(counts: np.ndarray) -> np.ndarray:
    """Return the size factor of each sample: the median ratio of its counts to those of a mean one.

    The mean sample has the geometric mean of each feature that has a count in every sample. Counts
    are divided by the factors; library sizes have no part.

    Parameters
    ----------
    counts : ndarray, shape (m, n)
        Not negative, none missing.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    InputError
        If a count is negative or missing, or each feature has a count of 0.
    """
    _check(counts)
    everywhere = (counts > 0).all(axis=1)
    if not everywhere.any():
        raise InputError(
            "each feature has a count of 0 in a sample: there are no ratios to take a median of",
            hint="use TMM factors, or leave out samples of few counts",
        )
    logs = np.log(counts[everywhere], dtype=np.float64)
    logs -= logs.mean(axis=1, keepdims=True)
    return np.asarray(np.exp(np.median(logs, axis=0)))


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
    min_total : float
        Total count to reach.
    """

    per_million: np.ndarray
    cutoff: float
    samples: float
    min_total: float

    @classmethod
    def of(
        cls,
        library_sizes: np.ndarray,
        *,
        groups: np.ndarray | None = None,
        design: np.ndarray | None = None,
        min_count: float = 10.0,
        min_total: float = 15.0,
        large_n: float = 10.0,
        min_part: float = 0.7,
    ) -> CountRule:
        """Return the rule for samples.

        Parameters
        ----------
        library_sizes : ndarray, shape (n,)
            Total counts, times the normalization factors if there are any.
        groups : ndarray, shape (n,), optional
            The group of each sample; all are one group without it and without a design.
        design : ndarray, shape (n, p), optional
            In place of groups; the smallest group has ``1 / max h`` samples then, with the leverage
            h of the samples.
        min_count : float
            The count that is enough in a sample of median library size.
        min_total : float
            The total count that is enough.
        large_n, min_part : float
            Of the samples of the smallest group beyond the first `large_n`, this part is enough.

        Raises
        ------
        InputError
            If a library size is not above 0.
        """
        sizes = np.asarray(library_sizes, np.float64)
        _check_sizes(sizes)
        if groups is not None:
            samples = float(np.unique(groups, return_counts=True)[1].min())
        elif design is not None:
            samples = 1 / float(_leverage(np.asarray(design, np.float64)).max())
        else:
            samples = float(len(sizes))
        if samples > large_n:
            samples = large_n + (samples - large_n) * min_part
        # multiplied and divided in the order of edgeR, for a count of exactly `min_count` is kept
        # or not by rounding
        return cls(1e6 / sizes, min_count / float(np.median(sizes)) * 1e6, samples, min_total)

    def keeps(self, counts: np.ndarray) -> np.ndarray:
        """Return which features of a block of counts, shape (b, n), are kept, shape (b,)."""
        counts = np.asarray(counts, np.float64)
        enough = (counts * self.per_million >= self.cutoff).sum(axis=1)
        total = counts.sum(axis=1)
        return np.asarray(
            (enough >= self.samples - _ROUNDING) & (total >= self.min_total - _ROUNDING)
        )


def _leverage(design: np.ndarray) -> np.ndarray:
    """Return the leverage of samples in a regression on a design (n, p) and an intercept."""
    columns = np.column_stack([np.ones(len(design)), design])
    size = np.linalg.norm(columns, axis=0)
    left, singular, _ = np.linalg.svd(columns[:, size > 0] / size[size > 0], full_matrices=False)
    basis = left[:, singular > 1e-7 * singular[0]]
    return np.vecdot(basis, basis)


def _sizes(counts: np.ndarray, library_sizes: np.ndarray | None) -> np.ndarray:
    """Return library sizes, the total counts if none are given."""
    if library_sizes is None:
        library_sizes = counts.sum(axis=0, dtype=np.float64)
    sizes = np.asarray(library_sizes, np.float64)
    _check_sizes(sizes)
    return sizes


def _check_sizes(sizes: np.ndarray) -> None:
    if not ((sizes > 0) & np.isfinite(sizes)).all():
        at = int(np.argmin((sizes > 0) & np.isfinite(sizes)))
        raise InputError(
            f"the library size of a sample is {sizes[at]:g}, not a number above 0",
            where=f"sample at position {at}",
            hint="leave the sample out",
        )


def _check(counts: np.ndarray) -> None:
    if not ((counts >= 0) & (counts < np.inf)).all():
        raise InputError(
            "size factors need counts of 0 or more, none of them missing",
            hint="give raw counts, without a transformation",
        )
