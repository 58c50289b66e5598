"""What a matrix of counts says: size factors, and the dispersion.

Library sizes do not tell samples apart that differ in a few features of large counts: these take
their share from all others. Factors come from what most features say instead.

- Trimmed mean of M-values (TMM): M. D. Robinson and A. Oshlack, "A scaling normalization method for
  differential expression analysis of RNA-seq data", Genome Biol. 11, R25, 2010; the numbers are
  those of ``calcNormFactors`` of edgeR 3.40.2.
- Median of ratios: S. Anders and W. Huber, "Differential expression analysis for sequence count
  data", Genome Biol. 11, R106, 2010, equation 5; those of ``estimateSizeFactors`` of DESeq2 1.38.3.
- Common dispersion: median of the moment estimates of features by equations 7 and 8 there.

A factor of a sample takes all of its features, which no block has: some samples at a time are
gathered from the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import Arrays, Span
from sfs_cli.errors import InputError
from sfs_cli.store.quantile import each, gathered, sample_groups

Counts = Callable[[Span], np.ndarray]
"""From a span to its counts (b, n)."""

LOG_RATIO_TRIM, ABUNDANCE_TRIM = 0.3, 0.05
"""Parts of the features that TMM leaves out at each end: of log ratios, and of abundances."""
UPPER_QUARTILE = 0.75
COUNTED = 5.0
"""Mean normalized count of a feature that has a part in the dispersion."""
LEAST_DISPERSION = 1e-4
"""Counts that vary less are taken as this: of none, values would be square roots far from log2."""
_EQUAL = 1e-6
"""If no log ratio is larger, two samples are the same up to their library sizes."""


def tmm_factors(passes: Engine, read: Counts, memory: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the total counts of the samples and their TMM factors, whose product is 1.

    Parameters
    ----------
    passes : Engine
        Over the m features of n samples, by which some samples at a time are gathered.
    read : callable
        From a span to its counts (b, n): not negative, none missing, 0 in features that take no
        part.
    memory : int
        Bytes of the run, of which a part may be used.

    Returns
    -------
    totals, factors : ndarray, shape (n,)
        The factors are 1 if a total is 0. Their bytes depend on neither memory nor threads.
    """
    groups = sample_groups(passes, memory)
    found: list[tuple[float, ...]] = []
    for group in groups:
        counts, counted = gathered(passes, partial(_with_counted, read), group)
        found += each(passes, partial(_measured, counts, counted), len(group))
    totals, quartiles, roots = np.array(found).T
    if not totals.all():
        return totals, np.ones(len(totals))
    reference = tmm_reference(quartiles, roots, totals)
    factors: list[float] = []
    for group in groups:
        at = reference
        if len(groups) > 1:  # otherwise the counts of all samples are here still
            at = len(group)
            counts, _ = gathered(passes, partial(_with_counted, read), np.append(group, reference))
        compared = partial(_compared, counts, counts[at], totals[group], float(totals[reference]))
        factors += each(passes, compared, len(group))
    return totals, normalized(np.array(factors))


def ratio_factors(passes: Engine, read: Counts, memory: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the total counts of the samples and the factors of their medians of ratios.

    A size factor is the median ratio of the counts of a sample to those of a mean one, which has
    the geometric mean of each feature with a count in every sample. Counts over size factors are
    proportional to counts over totals times these factors, whose product is 1 like that of
    `tmm_factors`. Parameters and results are those of that function.

    Raises
    ------
    InputError
        If each feature has a count of 0 in some sample.
    """
    found: list[tuple[float, ...]] = []
    for group in sample_groups(passes, memory):
        counts, means = gathered(passes, partial(_with_log_means, read), group)
        everywhere = np.isfinite(means)
        if not everywhere.any():
            raise InputError(
                "--transform by medians of ratios: each feature has a count of 0 in a sample, so "
                "that there are no ratios to take a median of",
                hint="use TMM factors (tmm), or leave out samples of few counts",
                option="transform",
            )
        found += each(passes, partial(_median_ratio, counts, everywhere, means), len(group))
    totals, ratios = np.array(found).T
    return totals, normalized(ratios / totals)


def common_dispersion(passes: Engine, read: Counts, inverse: np.ndarray) -> float:
    """Return a dispersion alpha for all features: counts have variance ``mu + alpha mu^2``.

    Of each feature with a mean normalized count of `COUNTED` or more, w is the variance and u the
    mean of its normalized counts, and ``z = u mean(1 / s)`` what Poisson counts of these size
    factors s would have. Its estimate is ``(w / c - z) / u^2``. c is the median of chi-square over
    its n - 1 degrees of freedom: without it most estimates from a few samples are too small. The
    median over features is not changed by some that differ between groups of samples.

    Parameters
    ----------
    passes : Engine
        Over the m features of n samples.
    read : callable
        From a span to its counts (b, n), 0 in features that take no part.
    inverse : ndarray, shape (n,)
        1 over the size factors.

    Returns
    -------
    float
        `LEAST_DISPERSION` or more. Its bytes depend on neither blocks nor threads.

    Raises
    ------
    InputError
        If there is one sample, or no feature has counts enough.
    """
    from scipy.special import chdtri

    n = len(inverse)

    def estimates(span: Span) -> Arrays:
        q = read(span) * inverse
        mean = q.mean(axis=1, keepdims=True)
        used = mean[:, 0] >= COUNTED
        u = mean[used]
        w = (q[used] / u).var(axis=1, ddof=1)  # of q / u: squares of large counts overflow
        return {"estimates": w * (n - 1) / chdtri(n - 1, 0.5) - inverse.mean() / u[:, 0]}

    found = passes.joined(estimates, passes.spans())["estimates"] if n > 1 else np.zeros(0)
    if not len(found):
        raise InputError(
            "--transform vst: no dispersion can be estimated: no feature has a mean count of "
            f"{COUNTED:g} or more in two samples or more",
            hint="use log2cpm:tmm or pearson-residuals, which estimate none",
            option="transform",
        )
    return max(LEAST_DISPERSION, float(np.median(found)))


FACTORS = {"tmm": tmm_factors, "ratios": ratio_factors}
"""Normalization factors of samples: a library size times its factor is an effective one."""


def _with_counted(read: Counts, span: Span) -> tuple[np.ndarray, np.ndarray]:
    """Return counts, and which features have one in any sample."""
    counts = read(span)
    return counts, np.asarray((counts > 0).any(axis=1))


def _with_log_means(read: Counts, span: Span) -> tuple[np.ndarray, np.ndarray]:
    """Return counts, and mean logarithms, which are -inf where a sample has no count."""
    counts = read(span)
    with np.errstate(divide="ignore"):
        return counts, np.log(counts).mean(axis=1)


def _measured(counts: np.ndarray, counted: np.ndarray, at: int) -> tuple[float, ...]:
    """Return the total count, the upper quartile and the sum of square roots of a sample."""
    kept = counts[at, counted]
    quartile = np.quantile(kept, UPPER_QUARTILE) if len(kept) else 0.0
    return float(kept.sum()), float(quartile), float(np.sqrt(kept).sum())


def _compared(
    counts: np.ndarray, reference: np.ndarray, totals: np.ndarray, of_reference: float, at: int
) -> float:
    return tmm_factor(counts[at], reference, float(totals[at]), of_reference)


def _median_ratio(
    counts: np.ndarray, everywhere: np.ndarray, means: np.ndarray, at: int
) -> tuple[float, ...]:
    """Return the total count of a sample and its median ratio."""
    logs = np.log(counts[at, everywhere]) - means[everywhere]
    return float(counts[at].sum()), float(np.exp(np.median(logs)))


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
) -> float:
    """Return the factor of one sample against the reference (Robinson and Oshlack 2010, Methods).

    It is 2 to the mean log ratio of the features that both have, less the extreme ones, with the
    inverse of the approximate variances as weights.

    Parameters
    ----------
    sample, reference : ndarray, shape (m,)
        Counts.
    library_size, reference_size : float
    """
    both = (sample > 0) & (reference > 0)
    y, r = sample[both].astype(np.float64), reference[both].astype(np.float64)
    ratio = np.log2((y / library_size) / (r / reference_size))
    abundance = (np.log2(y / library_size) + np.log2(r / reference_size)) / 2
    variance = (library_size - y) / library_size / y + (reference_size - r) / reference_size / r
    if not len(ratio) or np.abs(ratio).max() < _EQUAL:
        return 1.0
    kept = _untrimmed(ratio, LOG_RATIO_TRIM) & _untrimmed(abundance, ABUNDANCE_TRIM)
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
