"""Accuracy of classifiers on samples that they have not seen.

Each knows samples by their features, or by their inner products alone, which blocks of a million
features add up to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

NEIGHBORS = {"1-NN": 1, "5-NN": 5}
CLASSIFIERS = (*NEIGHBORS, "linear SVM")
"""Nearest neighbors by Euclidean distance (the k-NN of fewer than k training samples asks all of
them), and the support vector machine with a linear kernel, C = 1, one against one."""
TRIES = 100
"""Times that whole donors are dealt anew until every fold has every class."""


class Fold(NamedTuple):
    """A split of the samples: indices, ascending."""

    repeat: int  # from 1
    number: int  # from 1, in its repeat
    train: np.ndarray
    test: np.ndarray


def folds_of(
    codes: np.ndarray, splits: int, repeats: int, seed: int, donors: np.ndarray | None = None
) -> Iterator[Fold]:
    """Yield stratified folds, those of scikit-learn's `RepeatedStratifiedKFold`.

    The samples of one donor are all in one fold, that of `StratifiedGroupKFold`. Where a fold lacks
    a class then, because donors have several, they are dealt anew, up to `TRIES` times.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample; every class has `splits` samples or more.
    splits, repeats : int
        Folds of a split, and number of splits.
    seed : int
        Random seed.
    donors : ndarray of int, shape (n,), optional
        Donor of each sample, from 0; every class is that of `splits` donors or more.
    """
    from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

    if donors is None:
        made = RepeatedStratifiedKFold(n_splits=splits, n_repeats=repeats, random_state=seed)
        for i, (train, test) in enumerate(made.split(codes, codes)):
            yield Fold(i // splits + 1, i % splits + 1, train, test)
        return
    everyone, count = np.arange(len(codes)), len(np.unique(codes))
    for repeat in range(1, repeats + 1):
        rng = np.random.default_rng([seed, repeat - 1])
        for _ in range(TRIES):
            state = int(rng.integers(1 << 32))
            split = StratifiedGroupKFold(splits, shuffle=True, random_state=state)
            tested = [test for _, test in split.split(codes, codes, donors)]
            if all(len(np.unique(codes[test])) == count for test in tested):
                break
        for number, test in enumerate(tested, 1):
            yield Fold(repeat, number, np.setdiff1d(everyone, test), test)


def standardized(values: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return features less their mean and over their standard deviation in training samples.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features x samples, float64.
    train : ndarray of int, shape (l,)
        The training samples; the deviation divides by l. A feature that does not vary among them
        but for rounding becomes zero in all samples: they say nothing of it.
    """
    known = values[:, train]
    mean = known.mean(axis=1, keepdims=True)
    known = known - mean
    size = np.abs(mean[:, 0])
    deviation = np.sqrt(np.vecdot(known, known) / len(train))
    flat = deviation <= 10 * np.finfo(np.float64).eps * size
    return (values - mean) * np.where(flat, 0, 1 / np.where(flat, 1, deviation))[:, None]


def accuracies(
    samples: np.ndarray,
    codes: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    *,
    products: bool = False,
) -> np.ndarray:
    """Train each of `CLASSIFIERS` and test it.

    Parameters
    ----------
    samples : ndarray, shape (n, k)
        Samples x features; with `products`, the inner products of the samples, shape (n, n), which
        blocks of any number of features add up to.
    codes : ndarray of int, shape (n,)
        Their classes.
    train, test : ndarray of int
        Indices of the samples that classifiers learn from, and of those they are asked about.
    products : bool
        What `samples` holds. Guesses of the machine are the same either way but where rounding
        decides, because its solver keeps inner products in single precision.

    Returns
    -------
    ndarray, shape (3, 2)
        Of each classifier the accuracy, and the balanced one (`accuracy`).
    """
    from sklearn.svm import SVC

    if products:
        known, asked = samples[np.ix_(train, train)], samples[np.ix_(test, train)]
        inner, norms = asked, np.diag(known)
    else:
        known, asked = samples[train], samples[test]
        inner, norms = asked @ known.T, np.vecdot(known, known)
    # the squared norm of a test sample is the same for all its neighbors
    nearest = np.argsort(norms - 2 * inner, axis=1, kind="stable")
    near = codes[train][nearest[:, : max(NEIGHBORS.values())]]
    votes = near[:, :, None] == np.arange(codes.max() + 1)
    # the most frequent class of k neighbors: the smallest code of those that tie
    found = [votes[:, :k].sum(axis=1).argmax(axis=1) for k in NEIGHBORS.values()]
    model = SVC(kernel="precomputed" if products else "linear")
    found.append(model.fit(known, codes[train]).predict(asked))
    return np.array([accuracy(codes[test], guess) for guess in found])


def accuracy(truth: np.ndarray, guess: np.ndarray) -> tuple[float, float]:
    """Return the share of guessed classes that are right, and its mean over the true classes."""
    right = truth == guess
    of_classes = [right[truth == each].mean() for each in np.unique(truth)]
    return float(right.mean()), float(np.mean(of_classes))


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean of values, shape (r,); NaN for a single one."""
    if len(values) < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(len(values)))
