"""Intervals and verdicts for means over repeated splits into training and test samples.

C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003: the
values of several splits of the same samples are dependent, because their training samples overlap,
and the error that they would have if they were independent is too small. Their corrected resampled
t-test takes the correlation of two splits for the share of test samples. R. R. Bouckaert and E.
Frank, PAKDD 2004, use it for repeated cross-validation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sfs_cli.errors import counted

LEVEL = 0.95
"""Confidence level of intervals; a difference is shown by a p-value up to 1 less this."""
ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""Values that differ by no more than this part of their size are equal."""


class Interval(NamedTuple):
    """The mean over the splits, its confidence interval, and a test of it."""

    mean: float
    low: float
    high: float
    p_value: float  # two-sided, of a mean of the population that is the expected one
    splits: int


def corrected_interval(
    values: np.ndarray,
    test: np.ndarray | float,
    train: np.ndarray | float,
    size: float | None = None,
) -> Interval:
    """Return the corrected resampled t interval of a mean over J splits.

    With s^2 the variance of the J values (over J - 1), the mean has the variance ``(1/J + n_test /
    n_train) s^2`` (Nadeau and Bengio, section 3), and over its root it has about the t distribution
    of J - 1 degrees of freedom. The ratio is that of the sums over the splits: ``1 / (K - 1)`` in
    K-fold cross-validation, repeated or not.

    Parameters
    ----------
    values : ndarray, shape (J,)
        The measure in each split, or differences of two lists in the same splits
        (`paired_interval`).
    test, train : ndarray, shape (J,), or float
        Numbers of test and of training samples of the splits; of donors where splits take whole
        ones.
    size : float, optional
        Of the numbers that the values are differences of; of the values themselves otherwise.

    Returns
    -------
    Interval
        Without limits and p-value (NaN) where there is one split. Where all values are equal the
        limits are the mean, and the p-value is 1 if that is 0, else NaN: nothing is known of the
        variation.

    Raises
    ------
    ValueError
        When there are no values.

    Notes
    -----
    The correction is an approximation: no estimate of this variance is unbiased (Y. Bengio and Y.
    Grandvalet, J. Mach. Learn. Res. 5, 2004). The mean is that of rankings and classifiers that
    learn from `train` samples, as in the folds.
    """
    from scipy.special import stdtr, stdtrit

    values = np.asarray(values, np.float64)
    size = float(np.abs(values).max(initial=0)) if size is None else size
    count = len(values)
    if not count:
        raise ValueError("there are no splits")
    mean = float(values.mean())
    if count == 1:
        return Interval(mean, math.nan, math.nan, math.nan, 1)
    if np.ptp(values) <= ROUNDING * size:
        same = abs(mean) <= ROUNDING * size
        return Interval(mean, mean, mean, 1.0 if same else math.nan, count)
    ratio = float(np.sum(test)) / float(np.sum(train))
    error = math.sqrt((1 / count + ratio) * float(values.var(ddof=1)))
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2)) * error
    p = 2 * float(stdtr(count - 1, -abs(mean) / error))
    return Interval(mean, mean - half, mean + half, p, count)


def paired_interval(
    a: np.ndarray,
    b: np.ndarray,
    test: np.ndarray | float,
    train: np.ndarray | float,
) -> Interval:
    """Return the interval of the mean of ``a - b``, two lists in the same J splits, shape (J,).

    See `corrected_interval`; the p-value is that of no difference.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    return corrected_interval(a - b, test, train, size)


@dataclass(frozen=True)
class Verdict:
    """Which of two lists is better by a measure, as far as the splits show it.

    Attributes
    ----------
    a, b : str
        Names of the lists.
    measure : str
        In words, such as ``balanced accuracy``.
    mean_a, mean_b : float
        Means over the splits.
    difference : Interval
        Of a less b.
    p_adjusted : float, optional
        The p-value adjusted for the other pairs that were compared (`holm`).
    pairs : int
        How many these are, itself included.
    """

    a: str
    b: str
    measure: str
    mean_a: float
    mean_b: float
    difference: Interval
    p_adjusted: float | None = None
    pairs: int = 1

    @property
    def p_value(self) -> float:
        """The p-value that decides: the adjusted one, if there is one."""
        return self.difference.p_value if self.p_adjusted is None else self.p_adjusted

    @property
    def better(self) -> str:
        """The name of the better list; empty where no difference is shown."""
        # as far as the p-value is known: NaN shows nothing
        if not self.p_value <= 1 - LEVEL:
            return ""
        return self.a if self.difference.mean > 0 else self.b

    def sentence(self) -> str:
        """Say it in a sentence, with the numbers; the better list first."""
        first, second, difference = self.a, self.b, self.difference
        means, sign = (self.mean_a, self.mean_b), 1
        if self.better == self.b:
            first, second, means, sign = second, first, means[::-1], -1
        said = f"no difference between {first} and {second} is shown"
        if self.better:
            said = f"{first} is better than {second}"
        numbers = (
            f"{self.measure} {means[0]:.3f} and {means[1]:.3f}, "
            f"difference {_signed(sign * difference.mean)}"
        )
        of_splits = counted(difference.splits, "split")
        if math.isnan(difference.low):
            return f"{said}: {numbers}, and {of_splits} cannot tell how far it varies"
        if math.isnan(difference.p_value):
            return f"{said}: {numbers}, the same in all {of_splits}, which tell nothing of chance"
        low, high = sorted((sign * difference.low, sign * difference.high))
        of_pairs = f" adjusted for {self.pairs} pairs (Holm)" if self.pairs > 1 else ""
        return (
            f"{said}: {numbers} ({100 * LEVEL:g}% interval {_signed(low)} to {_signed(high)}, "
            f"{_p_value(self.p_value)}{of_pairs}, {of_splits})"
        )


def verdict(
    a: str,
    b: str,
    of_a: np.ndarray,
    of_b: np.ndarray,
    test: np.ndarray | float,
    train: np.ndarray | float,
    *,
    measure: str,
) -> Verdict:
    """Compare two lists, named a and b, by their values in the same J splits, shape (J,) each.

    `test` and `train` are as in `corrected_interval`. Of several pairs each has its own chance of a
    wrong verdict; see `holm`.
    """
    difference = paired_interval(of_a, of_b, test, train)
    means = float(np.mean(of_a)), float(np.mean(of_b))
    return Verdict(a, b, measure, *means, difference)


def holm(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return verdicts whose p-values are adjusted for each other: few of them are wrong at all.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6, 1979: the
    i-th smallest of c p-values becomes the largest of ``(c - j + 1) p_(j)``, j up to i, at most 1.
    A pair without a p-value keeps none, and is not counted. Intervals stay those of single pairs.
    """
    p = np.array([each.difference.p_value for each in verdicts])
    count = int(np.isfinite(p).sum())
    order = np.argsort(p)[:count]  # NaN is last
    stepped = np.maximum.accumulate(p[order] * np.arange(count, 0, -1))
    p[order] = np.minimum(stepped, 1)
    return [replace(e, p_adjusted=x, pairs=count) for e, x in zip(verdicts, p.tolist())]


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
