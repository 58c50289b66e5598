"""What is measured on held-out samples: accuracy of classes, R2 of numbers, concordance of times.

Numbers and times are predicted by ridge regression (A. E. Hoerl and R. W. Kennard, Technometrics
12, 1970), of times that of the martingale residuals of the training samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sfs_cli.evaluation.classify import CLASSIFIERS, accuracies
from sfs_cli.evaluation.concordance import concordance_index
from sfs_cli.evaluation.measures import points_of

RIDGE = "ridge regression"
PENALTIES = 10.0 ** np.arange(-5, 3)
"""Penalties that are tried, as parts of the sum of squares of the training features."""


class Task(NamedTuple):
    """What is predicted: the models that do it, and the measures of their predictions."""

    models: tuple[str, ...]  # messages are about the last one
    measures: tuple[str, ...]  # lists are compared by the last one
    words: str  # what messages call that one

    @property
    def best_known(self) -> str:
        """What messages are about: the last measure of the last model."""
        return f"{self.words} of a {self.models[-1]}"

    def named(self, found: Iterable[Iterable[float]]) -> dict[tuple[str, str], float]:
        """Return values, (models, measures), by measure and model."""
        return {
            (measure, model): float(value)
            for model, of_model in zip(self.models, found)
            for measure, value in zip(self.measures, of_model)
        }


CLASSES = Task(CLASSIFIERS, ("accuracy", "balanced_accuracy"), "balanced accuracy")
NUMBERS = Task((RIDGE,), ("spearman", "r2"), "R2")
TIMES = Task((RIDGE,), ("concordance",), "concordance")


def predicted(
    task: Task,
    samples: np.ndarray,
    learned: np.ndarray,
    truth: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    *,
    products: bool = False,
) -> dict[tuple[str, str], float]:
    """Measure how well models that have learned from training samples predict others.

    Parameters
    ----------
    task : Task
        What is predicted.
    samples : ndarray, shape (n, k)
        Samples x features; with `products`, their inner products, shape (n, n).
    learned : ndarray
        The classes of all samples, (n,), or the outcome of the training samples, (l,).
    truth : ndarray
        The same classes; or numbers, (1, n); or times, events and strata of all samples, (3, n).
    train, test : ndarray of int, shapes (l,) and (t,)
        Indices of the samples.
    products : bool
        What `samples` holds.

    Returns
    -------
    dict
        By the measure and the model.
    """
    if task is CLASSES:
        return task.named(accuracies(samples, learned, train, test, products=products))
    guess = ridge(samples, learned, train, test, products=products)
    if task is NUMBERS:
        return task.named([fit_of(truth[0, test], guess, learned.mean())])
    time, event, strata = truth[:, test]
    return task.named([[concordance_index(time, event, guess, strata)]])


def ridge(
    samples: np.ndarray,
    outcome: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    *,
    products: bool = False,
) -> np.ndarray:
    """Return the predictions (t,) of a ridge regression on the training samples.

    The coefficients minimize ``||y - Z b||^2 + a ||b||^2`` around the means of the training
    samples. Of `PENALTIES` times ``||Z||^2`` the penalty a is that of the smallest sum of squared
    leave-one-out errors ``(y_i - yhat_i) / (1 - h_i)`` of the training samples, where h is the
    diagonal of the hat matrix with its intercept (G. H. Golub, M. Heath and G. Wahba, Technometrics
    21, 1979): scikit-learn's `RidgeCV`.

    Parameters
    ----------
    samples : ndarray, shape (n, k)
        Samples x features, each feature with the mean 0 over the training samples; with `products`,
        their inner products, shape (n, n).
    outcome : ndarray, shape (l,)
        The outcome of the training samples.
    train, test : ndarray of int, shapes (l,) and (t,)
        Indices of the samples.
    products : bool
        What `samples` holds.
    """
    from sklearn.linear_model import RidgeCV

    points = points_of(samples) if products else samples
    known = points[train]
    model = RidgeCV(PENALTIES * ((known**2).sum() or 1)).fit(known, outcome)
    return np.asarray(model.predict(points[test]))


def fit_of(truth: np.ndarray, guess: np.ndarray, baseline: float) -> np.ndarray:
    """Return Spearman's correlation and R2 of predicted numbers (t,), shape (2,).

    R2 is ``1 - sum (y - guess)^2 / sum (y - baseline)^2``, the baseline being the mean of the
    training samples: 0 for predictions as good as that, below 0 for worse ones. Equal predictions
    have the correlation 0.
    """
    from scipy.stats import rankdata

    a, b = rankdata([truth, guess], axis=1) - (len(truth) + 1) / 2
    spearman = a @ b / (np.sqrt((a @ a) * (b @ b)) or 1)
    return np.array([spearman, 1 - ((truth - guess) ** 2).sum() / ((truth - baseline) ** 2).sum()])
