"""How far the p-values of normal noise hold for features that are not normal."""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.significance.gaussian import RatioDistribution
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import Permutations, unusual
from sfs_cli.methods.significance.ratios import Ratio
from sfs_cli.methods.significance.tested import few_valued

STATISTICS, FEWEST = 200_000, 20_000
"""Permuted ratios from which the rates of small p-values of normal noise are taken, and how few."""
SURE = 2.5
"""Standard errors of these rates that are taken for chance."""
LOOKING, SHUFFLED = 4e9, 20
"""Multiplications at most, and how many of them the shuffling of a value is worth."""
HELD = 1_000_000
"""Numbers of one array at a time."""
NOISE, OF_ORDERS = 100, 1000
"""Where moments are used: normal features that others are compared with, and permutations of those
of few values."""


def more_often(
    distribution: RatioDistribution, ratio: Ratio, values: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many times as often features get small p-values as normal noise would.

    The samples of each feature are permuted: the p-values that normal noise gives to these are
    counted. Of large dense graphs so many ratios take too long: there the probability in all orders
    is that of the moments, beside which of normal noise is 1 whatever the graph is; only features
    of few values are permuted.

    Parameters
    ----------
    distribution : RatioDistribution
        Of normal noise on the graph.
    ratio : Ratio
        What is tested.
    values : ndarray, shape (b, n)
        Centered features. Those that do not vary are left out.
    levels : ndarray, shape (k,)
        The p-values up to which they are called small.

    Returns
    -------
    times : ndarray, shape (k,)
        The mean over the features of the probability, in all orders of their samples, of a ratio
        that normal noise has with the probability of a level; over that.
    chance : ndarray, shape (k,)
        What of this may be chance: `SURE` standard errors for the orders that were drawn, and one
        for the features. These are most of those that are tested, if not all.
    """
    sizes = np.linalg.norm(values, axis=1)
    x = values[sizes > 0] / sizes[sizes > 0, None]
    if not len(x):
        return np.ones(len(levels)), np.zeros(len(levels))
    cost = len(x) * (ratio.numerator.entries_held + SHUFFLED * ratio.n)
    orders = int(min(-(-STATISTICS // len(x)), LOOKING // cost))
    if orders * len(x) >= FEWEST:
        p = _by_permuting(distribution, ratio, x, levels, orders)
    else:
        p = _by_moments(distribution, ratio, x, levels)
        orders = OF_ORDERS
    chance = SURE * np.sqrt(levels / (orders * len(x))) + p.std(axis=0) / np.sqrt(len(x))
    return p.mean(axis=0) / levels, chance / levels


def _by_permuting(
    distribution: RatioDistribution, ratio: Ratio, x: np.ndarray, levels: np.ndarray, orders: int
) -> np.ndarray:
    """Return how often the permuted features (b, n) have p-values up to levels (k,), (b, k)."""
    rng, permutations = np.random.default_rng(0), Permutations(ratio, orders, orders, 0)
    t, rows = np.empty((len(x), orders)), max(1, HELD // ratio.n)
    for f, found in zip(x, t):
        for low in range(0, orders, rows):
            part = found[low : low + rows]
            part[:] = permutations.ratios(rng.permuted(np.tile(f, (len(part), 1)), axis=1))
    p = distribution.interpolated(t.ravel()).reshape(t.shape)
    return np.array([(p <= level).mean(axis=1) for level in levels]).T


def _by_moments(
    distribution: RatioDistribution, ratio: Ratio, x: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """Return the probabilities of the same by moments over all orders, shape (b, k)."""
    moments = RatioMoments.of(ratio)
    noise = np.random.default_rng(0).normal(size=(NOISE, ratio.n))
    noise -= noise.mean(axis=1, keepdims=True)
    of_noise = Powers.of(noise / np.linalg.norm(noise, axis=1, keepdims=True))
    low, high = (np.full(len(levels), end) for end in distribution.ends)
    for _ in range(60):
        middle = (low + high) / 2
        small = distribution.interpolated(middle) <= levels
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    powers = Powers.of(x)
    few = few_valued(unusual(x), powers)
    permutations = Permutations(ratio, OF_ORDERS, OF_ORDERS, 0)
    p = np.empty((len(x), len(levels)))
    for k, t in enumerate(low.tolist()):
        usual = moments.tested(np.full(NOISE, t), of_noise)[0].mean()
        p[:, k] = moments.tested(np.full(len(x), t), powers)[0] * levels[k] / usual
        if few.any():
            p[few, k] = permutations.below(x[few], t)
    return p
