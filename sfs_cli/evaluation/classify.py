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
EXCHANGES = 500
"""Exchanges of donors that are tried before it is said that no way was found to deal them."""


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
    a class then, because donors have several, donors are exchanged until every fold has every
    class, or no way to do that is found.

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
    classes = np.unique(codes, return_inverse=True)[1]
    has = np.zeros((donors.max() + 1, classes.max() + 1), np.int64)
    has[donors, classes] = 1
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        split = StratifiedGroupKFold(splits, shuffle=True, random_state=int(rng.integers(1 << 32)))
        place = np.empty(donors.max() + 1, np.int64)
        for number, (_, test) in enumerate(split.split(classes, classes, donors)):
            place[donors[test]] = number
        place = with_every_class(place, has, splits, rng)
        for number in range(splits):
            tested = place[donors] == number
            yield Fold(repeat + 1, number + 1, np.flatnonzero(~tested), np.flatnonzero(tested))


def with_every_class(
    place: np.ndarray,
    has: np.ndarray,
    parts: int,
    rng: np.random.Generator,
    movable: np.ndarray | None = None,
) -> np.ndarray:
    """Exchange donors at random until each part has a donor of every class, or return the best.

    Nothing is drawn where each part has every class already. An exchange is kept where no more
    classes are lacking after it; so plateaus are crossed. Donors only move alone to a smaller part.

    Parameters
    ----------
    place : ndarray of int, shape (d,)
        The part of each donor, from 0; -1 for those in none.
    has : ndarray of int, shape (d, c)
        Which classes each donor has, as 0 and 1.
    parts : int
        Number of parts, such as folds.
    rng : Generator
        Draws the exchanges.
    movable : ndarray of int, optional
        The donors that may be exchanged; by default all.
    """
    free = np.arange(len(place)) if movable is None else movable

    def lacking_in(place: np.ndarray) -> np.ndarray:
        held = np.zeros((parts, has.shape[1]), np.int64)
        np.add.at(held, place[place >= 0], has[place >= 0])
        return np.argwhere(held == 0)

    lacking = lacking_in(place)
    for _ in range(EXCHANGES):
        if not len(lacking):
            break
        part, wanted = rng.choice(lacking)
        givers = free[has[free, wanted] > 0]
        if not len(givers):
            continue
        donor = rng.choice(givers)
        others = free[place[free] == part].tolist()
        if np.count_nonzero(place == part) < np.count_nonzero(place == place[donor]):
            others.append(donor)  # it moves alone
        if not others:
            continue
        tried = place.copy()
        tried[others[rng.integers(len(others))]] = place[donor]
        tried[donor] = part
        after = lacking_in(tried)
        if len(after) <= len(lacking):
            place, lacking = tried, after
    return place


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
