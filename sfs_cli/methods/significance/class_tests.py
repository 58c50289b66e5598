"""How far tests of class means hold for the values and the groups at hand.

The F-test takes the values for normal ones of one variance. Skewed values matter where groups are
unequal in size, and so do variances that differ between them: G. E. P. Box, "Some theorems on
quadratic forms applied in the study of analysis of variance problems", Ann. Math. Stat. 25, 1954.
Both are measured on features of the matrix itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfs_cli.methods.moderated import fit_prior
from sfs_cli.methods.welch import welch

TESTS = 50_000
"""Statistics of permuted values from which the rate of small p-values is taken."""
INFINITE = 1e9
"""Degrees of freedom of a prior that are as good as infinite ones."""
FEWEST = 5_000
"""With fewer the rate is not known."""
WORK, HELD = 1e9, 1_000_000
"""Multiplications at most, and numbers of one array at a time."""


def too_often(
    values: np.ndarray, columns: np.ndarray, within: float, level: float, *, moderated: bool = False
) -> float:
    """Return how many times as often as `level` the F-test has such p-values of unrelated features.

    What the groups, or the outcome, leave of the features is shuffled: it is as skewed as they are.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features around their means.
    columns : ndarray, shape (n, q)
        Orthonormal columns, each with the sum 0, whose span the means of the groups, or the line of
        an outcome, are in.
    within : float
        Degrees of freedom of the noise.
    level : float
        The p-value that is called small.
    moderated : bool
        Whether variances are shrunk towards a prior, which is that of these features.

    Returns
    -------
    float
        1 where too few features, or samples too many, are there to measure it.
    """
    from scipy.special import fdtri

    x = values - (values @ columns) @ columns.T
    square = np.vecdot(x, x)
    x, square = x[square > 0], square[square > 0]
    n, q = columns.shape
    added = freedom = 0.0  # to the sum of squares within, and to its degrees of freedom
    if moderated and len(x):
        prior = fit_prior(square / within, within)
        freedom = min(prior.df, INFINITE)
        added = freedom * float(prior.variance[0])
    total = within + freedom
    bound = q / total * fdtri(q, total, 1 - level)  # of between / within sums of squares

    def is_small(orders: np.ndarray) -> np.ndarray:
        shuffled = np.moveaxis(columns[orders], 0, 1).reshape(n, -1)  # (n, orders q)
        found = (x @ shuffled).reshape(len(x), len(orders), q)
        between = np.vecdot(found, found)
        return between > bound * (added + square[:, None] - between)

    return times_as_often(is_small, n, q, len(x), level)


def too_often_by_welch(values: np.ndarray, codes: np.ndarray, level: float) -> float:
    """Return the same of Welch's test of the classes, given by codes 0..c-1, shape (n,).

    Shuffled samples get the variance of the class that they come into, as a small class that varies
    more than others has the higher rate; it is taken one standard error nearer to the pooled one.
    """
    from scipy.special import fdtrc

    n, counts = len(codes), np.bincount(codes)
    of_class, errors = variances(values, codes)
    deviations = np.sqrt(of_class + np.clip(1 - of_class, -errors, errors))
    x = values.copy()
    for code, deviation in enumerate(deviations):
        inside = codes == code
        x[:, inside] -= x[:, inside].mean(axis=1, keepdims=True)
        x[:, inside] /= deviation or 1  # of a class that is constant in all features
    x = x[np.vecdot(x, x) > 0]
    squares = x * x

    def is_small(orders: np.ndarray) -> np.ndarray:
        placed = codes[orders].T  # (n, orders)
        sums, within = [], []
        for code, count in enumerate(counts.tolist()):
            inside = (placed == code).astype(np.float64)
            total, deviation = x @ inside, deviations[code]
            sums.append(deviation * total / count)
            within.append(deviation**2 * np.maximum(squares @ inside - total**2 / count, 0))
        means, spread = (
            np.stack(each, axis=-1).reshape(-1, len(counts)) for each in (sums, within)
        )
        found = welch(means, spread, counts, np.zeros(len(means)))
        p = fdtrc(len(counts) - 1.0, found.freedom, found.statistic)
        return (p <= level).reshape(len(x), len(orders))

    return times_as_often(is_small, n, len(counts) - 1, len(x), level)


def times_as_often(
    is_small: Callable[[np.ndarray], np.ndarray], n: int, q: int, features: int, level: float
) -> float:
    """Return how many times as often as `level` p-values are small in random orders of the samples.

    `is_small` tells it of orders (r, n). They are as many as make `TESTS` statistics of so many
    features, or `WORK` allows; where those are too few, 1 is returned.
    """
    count = int(min(-(-TESTS // features), WORK // (features * n * q))) if features else 0
    if count * features < FEWEST:
        return 1.0
    rows = max(1, int(HELD // (max(n, features) * q)))
    rng, own, small = np.random.default_rng(0), np.arange(n, dtype=np.int32), 0
    for low in range(0, count, rows):
        orders = rng.permuted(np.tile(own, (min(rows, count - low), 1)), axis=1)
        small += int(np.count_nonzero(is_small(orders)))
    return small / (count * features) / level


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
