"""The mutual information of a feature and the classes, or an outcome (information gain).

B. C. Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9, 2014, as
scikit-learn implements it: from the distances to the 3 nearest samples of the class, without
bins. scikit-learn searches a tree for one feature at a time, which takes 10 ms however few samples
there are; here the features of a block are sorted together, for the same numbers. Of an outcome:
A. Kraskov, H. Stoegbauer and P. Grassberger, "Estimating mutual information", Phys. Rev. E 69,
2004, by scikit-learn itself.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.base import BlockLike, Problem, Scorer, Status
from sfs_cli.methods.blocks import center
from sfs_cli.methods.shared import class_counts, require_sklearn, unit_outcome

NEIGHBORS = 3
NOISE = 1e-10
"""Standard deviation of the noise against ties, relative to the mean absolute value."""
_TEMPORARY = 65_536
"""Values that are sorted at a time, so that they stay in a cache."""


class MutualInfoScorer(Scorer):
    """Mutual information of a feature and the classes, or an outcome, in nats; larger is better.

    A little noise is added against ties, as scikit-learn does. Every feature gets the same noise,
    so that its score depends neither on other features nor on the block size.

    Raises
    ------
    InputError
        If a label is missing, there are fewer than two classes, or one has a single sample; if all
        outcomes are the same, or there are fewer than four.
    MissingExtraError
        If scikit-learn is not installed, for an outcome.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        assert problem.codes is not None
        self.outcome = problem.outcome
        if self.outcome is None:
            class_counts(problem.codes, "the mutual information", each=2)
        else:
            require_sklearn("the mutual information of an outcome")
            self.outcome = unit_outcome(self.outcome, "the mutual information", 4)
        self.codes = problem.codes
        self.seed = problem.context.seed
        self.noise = np.random.RandomState(self.seed).standard_normal(problem.n_samples)
        self.facts |= {"neighbors": NEIGHBORS, "seed": self.seed}

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; overwrites it."""
        centered = center(block)
        status = centered.status(centered.square)
        score = np.full(len(status), np.nan)
        usable = np.flatnonzero(status == Status.OK)
        step = 1 if self.outcome is not None else max(1, _TEMPORARY // len(self.codes))
        for lo in range(0, len(usable), step):
            rows = usable[lo : lo + step]
            score[rows] = self._scores(centered.values[rows].astype(np.float64))
        return score, status

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """Return the mutual information of features, (b, n); of an outcome, of one feature."""
        if self.outcome is not None:
            from sklearn.feature_selection import mutual_info_regression

            # one at a time: for a whole block the noise of a feature would depend on its neighbors
            return mutual_info_regression(
                values.T, self.outcome, discrete_features=False, random_state=self.seed
            )
        values /= np.abs(values).max(axis=1, keepdims=True)  # squares of tiny values are zero
        values /= values.std(axis=1, keepdims=True)
        size = np.maximum(1, np.abs(values).mean(axis=1, keepdims=True))
        return mutual_information(values + NOISE * size * self.noise, self.codes)


def mutual_information(values: np.ndarray, codes: np.ndarray, k: int = NEIGHBORS) -> np.ndarray:
    """Return the mutual information of features and classes in nats, shape (b,), at least 0.

    It is psi(n) + <psi(k_i)> - <psi(n_i)> - <psi(m_i)>, means over the samples i: n_i are those of
    its class, k_i is k or n_i - 1 if that is less, and m_i are all those, itself included, that are
    nearer than its k_i-th neighbor in its class (Ross 2014, Eq. 2).

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features, best without ties.
    codes : ndarray of int, shape (n,)
        Classes of two samples or more each.
    k : int
        Number of neighbors.
    """
    from scipy.special import digamma

    radius = np.empty_like(values)
    near, members = np.empty(len(codes)), np.empty(len(codes))
    for code in np.unique(codes):
        inside = np.flatnonzero(codes == code)
        near[inside], members[inside] = min(k, len(inside) - 1), len(inside)
        radius[:, inside] = kth_distances(values[:, inside], min(k, len(inside) - 1))
    within = counts_within(values, np.nextafter(radius, 0))
    known = digamma(len(codes)) + digamma(near).mean() - digamma(members).mean()
    return np.maximum(0, known - digamma(within).mean(axis=1))


def kth_distances(values: np.ndarray, k: int) -> np.ndarray:
    """Return the distance of each value to the k-th nearest other one of its row, shape (b, n)."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    n = values.shape[1]
    # the k nearest of a sorted value are next to it: they and it are k + 1 values in a row
    nearest = np.full(values.shape, np.inf)
    for below in range(k + 1):
        own = slice(below, n - k + below)
        down = ordered[:, own] - ordered[:, : n - k]
        up = ordered[:, k:] - ordered[:, own]
        np.minimum(nearest[:, own], np.maximum(down, up), out=nearest[:, own])
    found = np.empty_like(nearest)
    np.put_along_axis(found, order, nearest, axis=1)
    return found


def counts_within(values: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return how many values of its row, itself included, lie within the radius of each, (b, n)."""
    ordered = np.sort(values, axis=1)
    padded = np.pad(ordered, ((0, 0), (1, 1)), constant_values=(-np.inf, np.inf))

    def distance(at: np.ndarray) -> np.ndarray:
        # of the sorted value `at`, -1 and n being infinitely far
        return np.abs(np.take_along_axis(padded, at + 1, axis=1) - values)

    # the sums round, and the neighbor that gave the radius lies at its border: so the ends are
    # moved until they agree with the differences
    first = _positions(ordered, values - radius)
    last = _positions(ordered, values + radius) - 1
    for end, inward in ((first, 1), (last, -1)):
        while (move := distance(end - inward) <= radius).any():
            end -= inward * move
        while (move := distance(end) > radius).any():
            end += inward * move
    return last - first + 1


def _positions(ordered: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return how many sorted values of its row are at most each wanted one, shape (b, n)."""
    b, n = ordered.shape
    order = np.argsort(np.concatenate([ordered, wanted], axis=1), axis=1, kind="stable")
    found = np.empty((b, 2 * n), np.int64)
    np.put_along_axis(found, order, np.cumsum(order < n, axis=1), axis=1)
    return found[:, n:]
