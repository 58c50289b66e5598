"""Precision weights of counts: how much less certain the log of a small count is than of a large.

The variance of a log count depends on its size. It is estimated from all features: that of the
residuals of each feature is smoothed over its mean log count, and each single count gets the
inverse of the variance that the smooth line has where the model expects it to be.

C. W. Law, Y. Chen, W. Shi and G. K. Smyth, "voom: precision weights unlock linear model analysis
tools for RNA-seq read counts", Genome Biol. 15, R29, 2014. The numbers are those of ``voom`` of
limma 3.54.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.lowess import lowess

SPAN = 0.5
"""Part of the features that the line at a point is fitted to."""
_DEPENDENT = 1e-7
"""A direction of the design matrix with less than this part of the largest one is none."""
_LEAST_SD = 1e-3
"""A smaller part of the largest value of the line is none: weights would be infinite."""
_LOG2_MILLION = float(np.log2(1e6))


def log_cpm(counts: np.ndarray, library_sizes: np.ndarray) -> np.ndarray:
    """Return ``log2((count + 0.5) / (library size + 1) * 10^6)`` (Law et al. 2014, Methods).

    Parameters
    ----------
    counts : ndarray, shape (b, n)
    library_sizes : ndarray, shape (n,)
        Total counts of the samples, times their normalization factors if there are any.

    Returns
    -------
    ndarray, shape (b, n)
        Log2 counts per million, float64.
    """
    per_million = np.log2(np.asarray(library_sizes, np.float64) + 1) - _LOG2_MILLION
    return np.log2(np.asarray(counts, np.float64) + 0.5) - per_million


@dataclass(frozen=True)
class MeanVarianceTrend:
    """The square root of the standard deviation of log2 counts, by their mean.

    Attributes
    ----------
    log_count : ndarray, shape (k,)
        Mean log2 counts, ascending.
    root_sd : ndarray, shape (k,)
        What the line is there; between them it is straight, beyond them constant.
    """

    log_count: np.ndarray
    root_sd: np.ndarray

    def __call__(self, log_count: np.ndarray) -> np.ndarray:
        """Return the square root of the standard deviation at log2 counts of any shape."""
        return np.interp(log_count, self.log_count, self.root_sd)


class PrecisionWeights:
    """Finds the weights of counts that come in blocks of features.

    `measure` each block, `fit_trend` once to what this gave of all, then take each block
    `weighted`. What a feature gets does not depend on the block that it is in.

    Parameters
    ----------
    design : ndarray, shape (n, p)
        The design matrix with its intercept; columns may depend on each other.
    library_sizes : ndarray, shape (n,)
        Total counts of the samples, times their normalization factors if there are any; positive.

    Attributes
    ----------
    residual_df : int
        Number of samples less the rank of the design.
    """

    def __init__(self, design: np.ndarray, library_sizes: np.ndarray) -> None:
        self.library_sizes = np.asarray(library_sizes, np.float64)
        self._basis = _orthonormal(np.asarray(design, np.float64))
        self.residual_df = len(self.library_sizes) - len(self._basis)
        self._log_sizes = np.log2(self.library_sizes + 1)

    def measure(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean log2 count and the square root of the residual standard deviation.

        Parameters
        ----------
        counts : ndarray, shape (b, n)
            NaN where they are missing.

        Returns
        -------
        log_count : ndarray, shape (b,)
            Mean log2 of the counts with 0.5 added, at the mean log library size.
        root_sd : ndarray, shape (b,)
            NaN for features that have no part in the trend: without any count, or with a missing
            one; of all features if no degrees of freedom are left.
        """
        y, fitted = self._fit(counts)
        residual = y - fitted
        log_count = y.mean(axis=1) + self._log_sizes.mean() - _LOG2_MILLION
        if not self.residual_df:
            return log_count, np.full(len(y), np.nan)
        root_sd = (np.vecdot(residual, residual) / self.residual_df) ** 0.25
        root_sd[~np.asarray(counts).any(axis=1)] = np.nan
        return log_count, root_sd

    def weighted(
        self, counts: np.ndarray, trend: MeanVarianceTrend | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log2 counts per million and their weights, the inverses of their variances.

        Parameters
        ----------
        counts : ndarray, shape (b, n)
        trend : MeanVarianceTrend or None

        Returns
        -------
        y, weights : ndarray, shape (b, n)
            Weights are 1 everywhere without a trend, and NaN for features with a missing count.
        """
        y, fitted = self._fit(counts)
        if trend is None:
            return y, np.where(np.isnan(fitted), np.nan, 1.0)
        return y, trend(fitted + self._log_sizes - _LOG2_MILLION) ** -4.0

    def _fit(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log2 counts per million and what the model expects of them, both (b, n)."""
        y = log_cpm(counts, self.library_sizes)
        # one feature after the other: BLAS would round by where a feature is in the block
        coefficients = np.matmul(self._basis[None], y[:, :, None])
        return y, np.matmul(coefficients.transpose(0, 2, 1), self._basis[None])[:, 0]


def fit_trend(
    log_count: np.ndarray, root_sd: np.ndarray, span: float = SPAN
) -> MeanVarianceTrend | None:
    """Fit the trend to what `PrecisionWeights.measure` gave of all features.

    Parameters
    ----------
    log_count, root_sd : ndarray, shape (m,)
        Those with NaN have no part.
    span : float
        Part of the features that the line at a point is fitted to.

    Returns
    -------
    MeanVarianceTrend or None
        None if fewer than two features have a standard deviation, or all are 0: all weights are 1
        then. Where the line falls below a thousandth of its largest value, it is that.
    """
    used = ~(np.isnan(log_count) | np.isnan(root_sd))
    if used.sum() < 2:
        return None
    x, y = log_count[used], root_sd[used]
    at, first = np.unique(x, return_index=True)
    line = lowess(x, y, span)[first]
    largest = float(line.max())
    if not largest > 0:
        return None
    return MeanVarianceTrend(at, np.maximum(line, _LEAST_SD * largest))


def _orthonormal(design: np.ndarray) -> np.ndarray:
    """Return orthonormal rows, shape (r, n), that span the columns of a design (n, p)."""
    size = np.linalg.norm(design, axis=0)
    columns = design[:, size > 0] / size[size > 0]
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.ascontiguousarray(left[:, singular > _DEPENDENT * singular[0]].T)
