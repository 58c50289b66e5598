"""The accuracy of lists of several lengths, and which length to take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

DEVIATIONS = 2.5
"""An accuracy is above chance if it is so many standard deviations above it."""


class Curve(NamedTuple):
    """Accuracy by the length of a list."""

    mean: np.ndarray  # (l,): over all folds
    error: np.ndarray  # (l,): its standard error
    best: int  # index of the best length, the shortest of several
    chosen: int  # index of the shortest length within a standard error of the best


def curve_of(found: np.ndarray) -> Curve:
    """Return the mean accuracy of each length, and the length by the one-standard-error rule.

    L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone, Classification and Regression Trees,
    1984, section 3.4.3: the simplest model whose accuracy is within one standard error of the best.
    The error is the deviation between the K folds of a split over the root of K, its square
    averaged over the splits: further splits of the same samples are no further samples, so that it
    does not shrink with their number.

    Parameters
    ----------
    found : ndarray, shape (R, K, l)
        The accuracy in each of K folds of R splits, by length, ascending.
    """
    mean = found.mean(axis=(0, 1))
    error = np.sqrt(found.var(axis=1, ddof=1).mean(axis=0) / found.shape[1])
    best = int(mean.argmax())
    chosen = int(np.argmax(mean >= mean[best] - error[best]))
    return Curve(mean, error, best, chosen)


def chance_accuracy(counts: Sequence[int]) -> tuple[float, float]:
    """Return the balanced accuracy by chance, and what it rarely exceeds where nothing is learned.

    Every sample is predicted by others. Of c classes of n_l independent samples a guess is right
    once in c times, with the variance ``(c - 1) / c^2 / n_l`` of the share of class l, and the
    balanced accuracy is the mean of these shares. The limit is `DEVIATIONS` above it, one of them
    for the best of several lengths. Repeats and classifiers of the same samples add next to no
    information, and are not counted.
    """
    c = len(counts)
    error = math.sqrt(sum((c - 1) / c**2 / n for n in counts)) / c
    return 1 / c, 1 / c + DEVIATIONS * error
