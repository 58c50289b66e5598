"""p-values by permuting the samples of the features, with a generalized Pareto tail.

T. A. Knijnenburg, L. F. A. Wessels, M. J. T. Reinders and I. Shmulevich, "Fewer permutations, more
accurate P-values", Bioinformatics 25, 2009, for the tail; J. R. M. Hosking and J. R. Wallis,
"Parameter and quantile estimation for the generalized Pareto distribution", Technometrics 29, 1987,
for its estimation by probability-weighted moments, which needs no iterations.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.significance.ratios import Ratio

FEW = 10
"""A feature that fewer permutations are as good as gets the p-value of the tail."""
TAIL = 250
"""Permuted ratios that the tail is fitted to, of a quarter of the permutations at most."""
LEAST_TAIL = 50
"""With fewer no tail is fitted."""
TIE = 1e-9
"""Ratios that differ by this part of the largest one are equal: sums in another order differ."""
DENSE = 500
"""Up to so many samples a dense matrix multiplies faster than a sparse one."""
HELD = 4_000_000
"""Permuted ratios that are held together."""


def permuted(x: np.ndarray, ratio: Ratio, count: int, seed: int) -> np.ndarray:
    """Test features by permutations, which are the same for all features.

    Parameters
    ----------
    x : ndarray, shape (b, n), float64
        Features around their means, of unit norm.
    ratio : Ratio
        What is tested; smaller is better.
    count : int
        Number of permutations.
    seed : int
        Random seed.

    Returns
    -------
    ndarray, shape (b, 2)
        The p-values, and the effects: by how many standard deviations of the permuted ratios the
        ratio is below their mean.
    """
    observed = _ratios(x, ratio)
    found = np.empty((len(x), 2))
    rows = max(1, HELD // count)
    for low in range(0, len(x), rows):
        part = slice(low, low + rows)
        values = np.empty((count, len(x[part])))
        for k in range(count):
            # a permutation by its own number: the same for whatever block it is made again
            order = np.random.default_rng((seed, k)).permutation(x.shape[1])
            values[k] = _ratios(x[part][:, order], ratio)
        deviation = values.std(axis=0)
        found[part, 0] = _p_values(values.T, observed[part])
        found[part, 1] = (values.mean(axis=0) - observed[part]) / deviation
    return found


def _ratios(x: np.ndarray, ratio: Ratio) -> np.ndarray:
    form = ratio.numerator.form(x)
    if ratio.even:  # permutations do not change the denominator
        return form * ((ratio.n - 1) / ratio.denominator.trace)
    degrees = ratio.degrees
    return form / ((x * x) @ degrees - (x @ degrees) ** 2 / degrees.sum())


def _p_values(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return p-values from permuted ratios (b, count) and observed ones (b,)."""
    count = values.shape[1]
    allowed = TIE * np.maximum(np.abs(values).max(axis=1), np.abs(observed))
    better = (values <= (observed + allowed)[:, None]).sum(axis=1)
    p = (1 + better) / (count + 1)
    size = min(TAIL, count // 4)
    few = np.flatnonzero(better < FEW)
    if size >= LEAST_TAIL and len(few):
        p[few] = np.minimum(p[few], tail(values[few], observed[few], size))
    return p


def tail(values: np.ndarray, observed: np.ndarray, size: int) -> np.ndarray:
    """Return ``P(value <= observed)`` from the tail of the smallest values of each row.

    The smallest `size` of the values (b, count) exceed a threshold, half-way to the next one, by
    y. They follow a generalized Pareto distribution, ``P(Y > y) = (1 - k y / scale)^(1/k)``.
    One with k > 0 ends at ``scale / k``, which is no reason to call an observation (b,) beyond it
    impossible: from half of the way on the tail goes on as an exponential one.
    """
    count = values.shape[1]
    lowest = np.sort(np.partition(values, size, axis=1)[:, : size + 1], axis=1)
    threshold = lowest[:, size - 1 :].mean(axis=1)
    excess = threshold[:, None] - lowest[:, :size]  # from the largest to the smallest
    mean = excess.mean(axis=1)
    # of the ascending y_(i): a_1 = mean of (1 - p_i) y_(i), p_i = (i - 0.35) / size
    rank = np.arange(size, 0, -1)
    first = ((1 - (rank - 0.35) / size) * excess).mean(axis=1)
    y = threshold - observed
    with np.errstate(all="ignore"):
        k = mean / (mean - 2 * first) - 2
        k = np.where(np.isfinite(k), k, 0.0)
        reached = k * y / ((1 + k) * mean)  # the scale is (1 + k) times the mean
        far = np.maximum(reached - 0.5, 0) / 0.5  # the slope of the logarithm at half of the way
        long = np.exp((np.log1p(-np.minimum(reached, 0.5)) - far) / k)
        beyond = np.where(np.abs(k) < 1e-8, np.exp(-y / mean), long)
    return np.where(mean > 0, size / count * beyond, np.inf)
