"""How much features vary for their mean, as tables of highly variable genes say it.

Zheng et al., "Massively parallel digital transcriptional profiling of single cells", Nature
Communications 8, 2017: the dispersion of a gene is its variance by its mean, and it is normalized
by the genes of similar mean, by their median and their median absolute deviation.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

_PERCENTS = np.arange(10, 100, 5)
"""Genes are compared with those of the same bin of the mean; these percentiles are the edges."""
_NORMAL = 1.482602218505602
"""By so much the standard deviation of normal values is larger than their median deviation."""


class Moments(NamedTuple):
    """Means and unbiased variances of features, shape (m,) each, and the smallest value of all."""

    means: np.ndarray
    variances: np.ndarray
    smallest: float


def moments(blocks: Iterable[Any], *, of_samples: bool) -> Moments:
    """Return the moments of features from blocks of samples, (rows, m), or of features, (rows, n).

    Blocks are dense or sparse. The variance of one sample is NaN.
    """
    if of_samples:
        n, sums, squares, smallest = reduce(_together, map(_sums, blocks))
    else:
        counts, *parts = zip(*(_sums(block.T) for block in blocks))
        n, (sums, squares), smallest = counts[0], map(np.concatenate, parts[:2]), min(parts[2])
    return Moments(sums / n, squares / (n - 1 if n > 1 else np.nan), smallest)


def _sums(block: Any) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Return number, sums and sums of squared differences from the mean of samples; the least."""
    n = block.shape[0]
    if not isinstance(block, np.ndarray):
        values = block.astype(np.float64)
        sums = values.sum(axis=0)
        squares = values.multiply(values).sum(axis=0) - sums**2 / n
        return n, sums, np.maximum(squares, 0), values.data.min(initial=0)  # below 0 by rounding
    values = np.asarray(block, np.float64)
    sums = values.sum(axis=0)
    return n, sums, ((values - sums / n) ** 2).sum(axis=0), np.nanmin(values, initial=np.inf)


def _together(one: Any, other: Any) -> Any:
    """Return the sums of samples of two blocks."""
    (n, sums, squares, least), (k, more, others, smallest) = one, other
    apart = (more / k - sums / n) ** 2 * (n * k / (n + k))
    return n + k, sums + more, squares + others + apart, min(least, smallest)


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
        apart = found[of_bin] - np.median(found[of_bin])
        spread = _NORMAL * np.median(np.abs(apart))
        if spread > 0:
            normalized[of_bin] = apart / spread
    return found, normalized
