"""How much features vary for their mean, as tables of highly variable genes say it.

Zheng et al., "Massively parallel digital transcriptional profiling of single cells", Nature
Communications 8, 2017: the dispersion of a gene is its variance by its mean, and it is normalized
by the genes of similar mean, by their median and their median absolute deviation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_PERCENTS = np.arange(10, 100, 5)
"""Genes are compared with those of the same bin of the mean; these percentiles are the edges."""
_NORMAL = 1.482602218505602
"""By so much the standard deviation of normal values is larger than their median deviation."""


class Moments:
    """Means and variances of features, from blocks of samples or of features.

    Parameters
    ----------
    n_features : int
        How many features there are (m).
    """

    def __init__(self, n_features: int) -> None:
        self.count = 0
        self.smallest = np.inf
        self._sums = np.zeros(n_features)
        self._squares = np.zeros(n_features)  # sum of squared differences from the mean

    def add_samples(self, block: Any) -> None:
        """Add samples with all their features, shape (rows, m), dense or sparse."""
        n = block.shape[0]
        sums, squares = self._of(block)
        if self.count:
            step = sums / n - self.means
            squares += step**2 * (self.count * n / (self.count + n))
        self._sums += sums
        self._squares += squares
        self.count += n

    def set_features(self, start: int, block: Any) -> None:
        """Set the moments of features from all their samples, shape (rows, n)."""
        rows = slice(start, start + block.shape[0])
        self._sums[rows], self._squares[rows] = self._of(block.T)
        self.count = block.shape[1]

    @property
    def means(self) -> np.ndarray:
        """The means, shape (m,): sums by the number of samples, so that equal ones are equal."""
        return self._sums / self.count

    @property
    def variances(self) -> np.ndarray:
        """The unbiased variances, shape (m,); NaN of a single sample."""
        with np.errstate(invalid="ignore"):
            return self._squares / (self.count - 1 if self.count > 1 else np.nan)

    def _of(self, block: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of columns, and the sums of squared differences from their means."""
        n = block.shape[0]
        if hasattr(block, "tocsr"):
            values = block.astype(np.float64)
            sums = np.asarray(values.sum(axis=0)).ravel()
            squares = np.asarray(values.multiply(values).sum(axis=0)).ravel() - sums**2 / n
            squares = np.maximum(squares, 0)  # rounding
            smallest = values.data.min(initial=0)
        else:
            values = np.asarray(block, np.float64)
            sums = values.sum(axis=0)
            squares = ((values - sums / n) ** 2).sum(axis=0)
            smallest = np.nanmin(values, initial=np.inf)
        self.smallest = min(self.smallest, float(smallest))
        return sums, squares


def dispersions(means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the dispersions of features and the normalized ones, shape (m,) each.

    NaN is that of a feature whose mean is zero or NaN; normalized also where half of the features
    of its bin have the same dispersion. Means and variances have shape (m,).
    """
    known = np.isfinite(means) & (means > 0)
    found = np.full(len(means), np.nan)
    found[known] = variances[known] / means[known]
    normalized = np.full(len(means), np.nan)
    if not known.any():
        return found, normalized
    edges = np.percentile(means[known], _PERCENTS)
    places = np.searchsorted(edges, means)  # a mean that is an edge is in the lower bin
    for place in np.unique(places[known]):
        of_bin = known & (places == place)
        values = found[of_bin]
        middle = np.median(values)
        spread = _NORMAL * np.median(np.abs(values - middle))
        if spread > 0:
            normalized[of_bin] = (values - middle) / spread
    return found, normalized
