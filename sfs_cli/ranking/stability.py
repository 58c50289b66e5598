"""How far a list of features depends on the samples: stability, and bounds on false selections.

A ranking is made on many subsets of the samples, and the first features of each are a list.

Stability: S. Nogueira, K. Sechidis and G. Brown, "On the stability of feature selection
algorithms", JMLR 18 (174), 2018. False selections: R. D. Shah and R. J. Samworth, "Variable
selection with error control: another look at stability selection", J. R. Stat. Soc. B 75, 2013.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

NORMAL_95 = 1.959963984540054
"""97.5 % of the standard normal distribution lie below it."""
FEW_LISTS = 30
"""Of fewer lists the variance is itself uncertain, and the normal interval too narrow."""
UNIMODAL_UP_TO = 1 / math.sqrt(3)
"""The unimodal bound holds for lists of at most this part of the features."""
GRID, REFINED = 16, 10
"""Arguments at which a function is looked at, and how often on a finer grid around the best."""
NEARLY = 0.98
"""Families of distributions whose best on the first grid comes so near the best are refined."""
LOG_RANGE, HALVINGS = (-20.0, 14.0), 55
"""Logarithms of the parameter of the extreme distributions: from a spike at 0 to a constant."""


@dataclass(frozen=True)
class Stability:
    """Nogueira's measure: 1 for equal lists, 0 on average for lists drawn at random.

    Attributes
    ----------
    value : float
        The estimate, Phi.
    variance : float
        Its variance, as estimated from the lists.
    count : int
        M, the number of lists.
    """

    value: float
    variance: float
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval, from -1 to 1 at most.

        It is the normal one of the paper, and of fewer than `FEW_LISTS` lists that of Student's t
        with M - 1 degrees of freedom: of 10 simulated lists the normal one holds the true value in
        82 to 88 % of the cases, and this one in 88 to 92 %.
        """
        quantile = NORMAL_95
        if self.count < FEW_LISTS:
            from scipy.special import stdtrit

            quantile = float(stdtrit(self.count - 1, 0.975))
        half = quantile * math.sqrt(self.variance)
        return max(self.value - half, -1.0), min(1.0, self.value + half)


def frequencies(lists: Sequence[np.ndarray], m: int) -> np.ndarray:
    """Return the share of the lists that each of m features is in, shape (m,).

    `lists` hold features by index, each at most once.
    """
    return np.bincount(np.concatenate(lists), minlength=m) / len(lists)


def nogueira(lists: Sequence[np.ndarray], d: int) -> Stability:
    """Return the stability of lists of features (Definition 4 and Theorem 7 of the paper).

    With M lists of k_i features each, k their mean and p_f the share of the lists that have
    feature f, it is ``1 - M / (M - 1) sum_f p_f (1 - p_f) / d / (k/d (1 - k/d))``. Its variance is
    ``4 / M^2`` times the sum of squares of ``Phi_i`` around their mean, with ``Phi_i = [sum_f z_if
    p_f / d - k_i k / d^2 + Phi / 2 (2 k_i k / d^2 - k_i / d - k / d + 1)] / (k/d (1 - k/d))``.

    Parameters
    ----------
    lists : sequence of ndarray
        Features by index; two lists or more.
    d : int
        Number of features that could be in a list.

    Returns
    -------
    Stability
        NaN where every list has all features, or none.
    """
    count = len(lists)
    size = max(int(each.max(initial=-1)) for each in lists) + 1
    p = frequencies(lists, size)
    lengths = np.array([len(each) for each in lists]) / d
    mean = float(lengths.mean())
    scale = mean * (1 - mean)
    if not scale > 0:
        return Stability(math.nan, math.nan, count)
    spread = count / (count - 1) * float((p * (1 - p)).sum()) / d
    value = 1 - spread / scale
    shared = np.array([float(p[each].sum()) for each in lists]) / d
    own = shared - lengths * mean + value / 2 * (2 * lengths * mean - lengths - mean + 1)
    own /= scale
    variance = 4 / count**2 * float(((own - own.mean()) ** 2).sum())
    return Stability(value, variance, count)


@dataclass(frozen=True)
class FalseSelections:
    """Upper bounds on the expected number of features that are selected often by chance.

    Those are the features whose chance to be in the list of a half-sample is at most q / p, with q
    the mean length of the lists and p the number of features: no better than a random choice.

    Attributes
    ----------
    any : float
        Whatever the distribution of how often they are selected (Theorem 1).
    unimodal : float or None
        If that of the share of pairs with both halves is unimodal (Theorem 2); None where the
        theorem says nothing.
    r_concave : float
        If that distribution is -1/2-concave, and that of the share of half-samples -1/4-concave
        (Equation 8).
    """

    any: float
    unimodal: float | None
    r_concave: float


def false_selections(q: float, p: int, threshold: float, pairs: int) -> FalseSelections:
    """Return bounds on false selections among complementary pairs of half-samples.

    Parameters
    ----------
    q : float
        Mean number of features of a list.
    p : int
        Number of features that could be in a list.
    threshold : float
        Share of the half-samples from which a feature is selected, above 1/2.
    pairs : int
        Number of pairs.
    """
    halves, theta = 2 * pairs, q / p
    needed = math.ceil(threshold * halves - 1e-9)  # lists that a selected feature is in
    reached = needed / halves
    bound = theta * q / (2 * reached - 1)
    tail = min(
        tail_bound(theta**2, needed - pairs, pairs, -1 / 2),
        tail_bound(theta, needed, halves, -1 / 4),
    )
    unimodal = _unimodal(q, theta, reached, pairs)
    # an r-concave distribution is unimodal
    least = bound if unimodal is None else min(bound, unimodal)
    return FalseSelections(bound, unimodal, min(tail * p, least))


def _unimodal(q: float, theta: float, threshold: float, pairs: int) -> float | None:
    """Return the bound of Theorem 2, for a threshold that is a multiple of 1 / (2 pairs)."""
    step = 1 / (2 * pairs)
    least = max(0.5 + 2 * step, 0.5 + min(theta**2, step + 0.75 * theta**2))
    if theta > UNIMODAL_UP_TO or threshold < least - 1e-12:
        return None
    if threshold <= 0.75:
        factor = 1 / (2 * (2 * threshold - 1 - step))
    else:
        factor = 4 * (1 - threshold + step) / (1 + 2 * step)
    return factor * theta * q


def tail_bound(mean: float, t: int, B: int, r: float) -> float:
    """Return the largest ``P(X >= t / B)`` of an r-concave X on 0, 1/B, ..., 1 with this mean.

    A probability function f is r-concave, for r < 0, if ``f^r`` is convex. The largest tail belongs
    to ``f(i) ~ (a + i)^(1/r)`` for i = 0..k with a point of less mass at k + 1 (Shah and Samworth,
    Appendix A4): a and k are one parameter, as the mean fixes that mass. It is 1 where the theory
    says nothing, below about twice the mean.

    Parameters
    ----------
    mean : float
        E X at most.
    t : int
        B times the threshold.
    B : int
        Number of steps.
    r : float
        Negative.
    """
    if mean <= 0:
        return 0.0
    if mean >= 0.5 or t < 1:
        return 1.0
    target = mean * B
    first = math.ceil(2 * target) + 1  # the constant function on fewer points has a smaller mean
    if t < first or first > B:
        return 1.0
    steps = np.arange(B + 1.0)
    # where the mass behind the points 0..k is 0: there the points alone have the mean
    alone = [_decay_of_mean(steps[: k + 1], target, r) for k in range(first - 1, B + 1)]
    families = [
        (steps[: k + 1], low, high)
        for k, low, high in zip(range(first - 1, B), alone[1:], alone)
        if k + 1 >= t  # else nothing of it is in the tail
    ]

    def largest(points: np.ndarray, low: float, high: float, times: int) -> float:
        return _largest(partial(_tails, points, target, t, r), low, high, times)

    found = np.array([largest(*each, 1) for each in families])
    near = [each for each, tail in zip(families, found) if tail >= NEARLY * found.max()]
    return min(1.0, max(largest(*each, REFINED) for each in near))


def _weights(log_a: np.ndarray, points: np.ndarray, r: float) -> np.ndarray:
    """Return ``(1 + i / a)^(1/r)``, a row for each a: 1 at 0, whatever a is."""
    return (1 + points * np.exp(-log_a)[:, None]) ** (1 / r)


def _decay_of_mean(points: np.ndarray, target: float, r: float) -> float:
    """Return the log of the a for which ``(a + i)^(1/r)`` on the points has the mean `target`."""
    low, high = LOG_RANGE
    for _ in range(HALVINGS):  # the mean grows with a
        middle = (low + high) / 2
        f = _weights(np.array([middle]), points, r)[0]
        if float(f @ points) < target * float(f.sum()):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _tails(points: np.ndarray, target: float, t: int, r: float, log_a: np.ndarray) -> np.ndarray:
    """Return ``P(X >= t)`` for each a, of the weights on the points and a mass behind them."""
    f, behind = _weights(log_a, points, r), len(points)
    whole = f @ (behind - points) / (behind - target)  # with the mass that makes the mean
    return 1 - f[:, :t].sum(axis=1) / whole


def _largest(
    function: Callable[[np.ndarray], np.ndarray], low: float, high: float, times: int
) -> float:
    """Return the largest value between two arguments, by ever finer grids."""
    found = 0.0
    for _ in range(times):
        at = np.linspace(low, high, GRID)
        values = function(at)
        i = int(values.argmax())
        found = max(found, float(values[i]))
        low, high = at[max(0, i - 1)], at[min(GRID - 1, i + 1)]
    return found
