"""How often tests by theory have small p-values of features with nothing to find.

A test is tried on features of the matrix in random orders of the samples. The F-test, and orders of
the samples themselves, take the variances of the classes for equal: G. E. P. Box, "Some theorems on
quadratic forms applied in the study of analysis of variance problems", Ann. Math. Stat. 25, 1954.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import Block
from sfs_cli.methods.base import Scorer
from sfs_cli.methods.significance.permutation import Orders

LEVELS = {0.05: 1.1, 0.01: 1.2, 0.001: 1.5}
"""How many times as often p-values up to these levels may come up by theory. Permutations do not
exceed what they should but by chance."""
TESTS, FEWEST = 50_000, 5_000
"""Tests from which the rates are taken; with fewer they are not known."""
WORK, HELD = 200_000_000, 2_000_000
"""Values that are tested at most, and those of one block."""


def false_positives(
    scorer: Scorer, values: np.ndarray, design: np.ndarray | None, blocks: np.ndarray | None
) -> dict[float, tuple[float, float]]:
    """Return how many times too often a test has p-values up to each of `LEVELS`, and the error.

    Parameters
    ----------
    scorer : Scorer
        Of a test; its facts and warnings become those of these tests.
    values : ndarray, shape (b, n)
        Features with nothing to find in them.
    design : ndarray, shape (r, n), optional
        Covariates, which are taken out again of permuted features.
    blocks : ndarray of int, shape (n,), optional
        Block of each sample; values are permuted within blocks.

    Returns
    -------
    dict
        For each level the rate and its standard error over the orders, which are the same for all
        features, both over the level. Empty where too few features, or samples too many, are there.
    """
    b, n = values.shape
    count = min(-(-TESTS // b), WORK // (b * n)) if b else 0
    if count * b < FEWEST:
        return {}
    rng, found = np.random.default_rng(0), []
    orders, at_once = Orders(n, blocks), max(1, HELD // (b * n))
    for low in range(0, count, at_once):
        x = values[:, orders.drawn(rng, min(at_once, count - low))].reshape(-1, n)
        if design is not None:
            x -= (x @ design.T) @ design
        columns = scorer.columns(scorer.score_block(Block(x)))
        if "p_value" not in columns:  # of the Fisher Score, where each class is one sample
            return {}
        found.append(columns["p_value"].reshape(b, -1))
    p = np.concatenate(found, axis=1)
    rates = {level: np.mean(p <= level, axis=0) / level for level in LEVELS}
    return {
        level: (float(each.mean()), float(each.std() / np.sqrt(count)))
        for level, each in rates.items()
    }


def variances(values: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the variance of each class relative to the pooled one, and its error, each (c,).

    They are means over features (b, n) of the deviations of each sample from the mean of its class,
    so that the error, which comes from the samples, does not take features for independent ones. A
    class of one sample has the pooled variance.
    """
    counts = np.bincount(codes)
    members = (codes == np.arange(len(counts))[:, None]).astype(np.float64)
    x = values - (values @ members.T / counts) @ members
    pooled = np.vecdot(x, x) / (len(codes) - len(counts))
    x, pooled = x[pooled > 0], pooled[pooled > 0]
    if not len(x):
        return np.ones(len(counts)), np.zeros(len(counts))
    deviations = (x * x / pooled[:, None]).mean(axis=0)
    of_class, errors = np.ones(len(counts)), np.zeros(len(counts))
    for code in np.flatnonzero(counts > 1):
        own = deviations[codes == code] * counts[code] / (counts[code] - 1)
        of_class[code], errors[code] = own.mean(), own.std(ddof=1) / np.sqrt(len(own))
    return of_class, errors


def too_often_by_variances(values: np.ndarray, codes: np.ndarray, level: float) -> float:
    """Return how many times as often the F-test has small p-values as classes differ in variance.

    Where means are equal and variances are not, the mean square between classes is larger than that
    within them by ``sum_l (1 - n_l / n) s_l^2 / (c - 1)`` in units of the pooled variance (Box
    1954). It is taken one standard error smaller than measured.
    """
    from scipy.special import fdtrc, fdtri

    counts = np.bincount(codes)
    n, c = len(codes), len(counts)
    shares = (1 - counts / n) / (c - 1)
    of_class, errors = variances(values, codes)
    factor = float(shares @ of_class - np.linalg.norm(shares * errors))
    bound = fdtri(c - 1, n - c, 1 - level)
    return float(fdtrc(c - 1, n - c, bound / max(factor, 1e-9))) / level
