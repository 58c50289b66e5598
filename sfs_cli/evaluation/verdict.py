"""Intervals and verdicts for means over repeated splits into training and test samples.

C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003: the
values of several splits of the same samples are dependent, because their training samples overlap,
and the error that they would have if they were independent is too small. Their corrected resampled
t-test takes the correlation of two splits for the share of test samples. R. R. Bouckaert and E.
Frank, PAKDD 2004, use it for repeated cross-validation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
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
    p_value: float  # two-sided, of a mean of the population that is 0


def corrected_interval(values: np.ndarray, ratio: float, size: float | None = None) -> Interval:
    """Return the corrected resampled t interval of a mean over J splits.

    With s^2 the variance of the J values (over J - 1), the mean has the variance ``(1/J + n_test /
    n_train) s^2`` (Nadeau and Bengio, section 3), and over its root it has about the t distribution
    of J - 1 degrees of freedom.

    Parameters
    ----------
    values : ndarray, shape (J,)
        The measure in each split, or differences of two lists in the same splits; J is 2 or more.
    ratio : float
        ``n_test / n_train`` of the samples, or of donors where splits take whole ones: ``1 / (K -
        1)`` in K-fold cross-validation, repeated or not.
    size : float, optional
        Of the numbers that the values are differences of; of the values themselves otherwise.

    Returns
    -------
    Interval
        Where all values are equal the limits are the mean, and the p-value is 1 if that is 0, else
        NaN: nothing is known of the variation.

    Notes
    -----
    The correction is an approximation: no estimate of this variance is unbiased (Y. Bengio and Y.
    Grandvalet, J. Mach. Learn. Res. 5, 2004). The mean is that of rankings and classifiers that
    learn from as many samples as in the folds.
    """
    from scipy.special import stdtr, stdtrit

    size = float(np.abs(values).max()) if size is None else size
    count, mean = len(values), float(values.mean())
    if np.ptp(values) <= ROUNDING * size:
        return Interval(mean, mean, mean, 1.0 if abs(mean) <= ROUNDING * size else math.nan)
    error = math.sqrt((1 / count + ratio) * float(values.var(ddof=1)))
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2)) * error
    p = 2 * float(stdtr(count - 1, -abs(mean) / error))
    return Interval(mean, mean - half, mean + half, p)


class Verdict(NamedTuple):
    """Which of two lists is better by a measure, as far as the splits show it."""

    a: str  # names
    b: str
    mean_a: float  # over the splits
    mean_b: float
    difference: Interval  # of a less b
    p_value: float  # the p-value of the difference, adjusted for the pairs (`holm`)
    pairs: int  # that were compared, this one included
    splits: int

    @property
    def better(self) -> str:
        """The name of the better list; empty where no difference is shown."""
        if not self.p_value <= 1 - LEVEL:  # NaN shows nothing
            return ""
        return self.a if self.difference.mean > 0 else self.b

    def sentence(self, measure: str) -> str:
        """Say it in a sentence, with the numbers; the better list first."""
        if self.better == self.b:
            mean, low, high, p = self.difference
            opposite = Interval(-mean, -high, -low, p)
            swapped = (self.b, self.a, self.mean_b, self.mean_a, opposite, *self[5:])
            return Verdict(*swapped).sentence(measure)
        said = f"no difference between {self.a} and {self.b} is shown"
        if self.better:
            said = f"{self.a} is better than {self.b}"
        said += f": {measure} {self.mean_a:.3f} and {self.mean_b:.3f}, difference "
        said += _signed(self.difference.mean)
        of_splits = counted(self.splits, "split")
        if math.isnan(self.p_value):
            return f"{said}, the same in all {of_splits}, which tell nothing of chance"
        shown = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        shown += f" adjusted for {self.pairs} pairs (Holm)" if self.pairs > 1 else ""
        limits = f"{_signed(self.difference.low)} to {_signed(self.difference.high)}"
        return f"{said} ({100 * LEVEL:g}% interval {limits}, {shown}, {of_splits})"


def verdict(a: str, b: str, of_a: np.ndarray, of_b: np.ndarray, ratio: float) -> Verdict:
    """Compare two lists, named a and b, by their values in the same J splits, shape (J,) each.

    `ratio` is that of `corrected_interval`. Of several pairs each has its own chance of a wrong
    verdict; see `holm`.
    """
    size = float(max(np.abs(of_a).max(), np.abs(of_b).max()))
    difference = corrected_interval(of_a - of_b, ratio, size)
    means = float(np.mean(of_a)), float(np.mean(of_b))
    return Verdict(a, b, *means, difference, difference.p_value, 1, len(of_a))


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
    return [each._replace(p_value=x, pairs=count) for each, x in zip(verdicts, p.tolist())]


def verdicts_of(
    values: Mapping[str, np.ndarray], controls: Sequence[str], ratio: float
) -> list[Verdict]:
    """Compare each list with each other one, and with each control.

    P-values are adjusted over the pairs of lists ("which is the best?"), and over the controls of
    each list ("is it any good?").

    Parameters
    ----------
    values : mapping
        From the name of a list or control to its measure in the J splits, shape (J,).
    controls : sequence of str
        The names of controls.
    ratio : float
        As in `corrected_interval`.
    """
    lists = [name for name in values if name not in controls]
    there = [name for name in controls if name in values]
    families = [[*combinations(lists, 2)], *([(a, b) for b in there] for a in lists)]
    return [
        each
        for pairs in families
        for each in holm([verdict(a, b, values[a], values[b], ratio) for a, b in pairs])
    ]


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return text[1:] if float(text) == 0 else text
