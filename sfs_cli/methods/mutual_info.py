"""The mutual information of a feature and the classes, or an outcome (information gain).

B. C. Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9, 2014, as
scikit-learn implements it: from the distances to the 3 nearest samples of the class, without
bins. scikit-learn searches a tree for one feature at a time, which takes 10 ms however few samples
there are; here the features of a block are sorted together, for the same numbers. Of an outcome:
A. Kraskov, H. Stoegbauer and P. Grassberger, "Estimating mutual information", Phys. Rev. E 69,
2004.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.kernel import center
from sfs_cli.methods.shared import class_counts, unit_outcome

NEIGHBORS = 3
SAME = 1e-9
"""Distances that differ by this part are the same but for rounding."""
_TEMPORARY = 65_536
"""Values that are sorted at a time, so that they stay in a cache."""


class MutualInfoScorer(Scorer):
    """Mutual information of a feature and the classes, or an outcome, in nats; larger is better.

    Equal values are counted as such, so that nothing is drawn; without ties the numbers are those
    of scikit-learn, which adds a little noise against them. Of features with many ties, such as
    counts, the estimate is rough, of which a warning tells.

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
        self.outcome = problem.outcome
        if self.outcome is None:
            class_counts(problem.codes, "the mutual information", each=2)
        else:
            self.outcome = unit_outcome(self.outcome, "the mutual information", 4)
        self.codes = problem.codes
        self.facts |= {"neighbors": NEIGHBORS}

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score`` and ``status`` of a block, each (b,); overwrites it."""
        centered = center(block)
        status = centered.status
        score = np.full(len(status), np.nan)
        usable = np.flatnonzero(status == Status.OK)
        step = 1 if self.outcome is not None else max(1, _TEMPORARY // len(self.codes))
        for lo in range(0, len(usable), step):
            rows = usable[lo : lo + step]
            values = _standardized(centered.values[rows].astype(np.float64))
            if self.outcome is None:
                score[rows] = np.maximum(estimated(values, self.codes), 0)
            else:
                score[rows] = max(0.0, estimated_of_outcome(values[0], self.outcome))
        return {"score": score, "status": status}


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return centered rows of values (b, n) in units of their deviation; overwrites them."""
    values /= np.abs(values).max(axis=1, keepdims=True)  # squares of tiny values are zero
    values /= values.std(axis=1, keepdims=True)
    return values


def estimated(values: np.ndarray, codes: np.ndarray, k: int = NEIGHBORS) -> np.ndarray:
    """Return the estimate of the mutual information of features and classes in nats, shape (b,).

    It is psi(n) + <psi(k_i)> - <psi(n_i)> - <psi(m_i)>, means over the samples i: n_i are those of
    its class; k_i and m_i are how many others of its class, and of all, are at most as far as its
    k-th neighbor in its class, or its last one of fewer (Ross 2014, Eq. 2). Without ties k_i is k;
    with them all that are equally near count, as W. Gao, S. Kannan, S. Oh and P. Viswanath do
    ("Estimating mutual information for discrete-continuous mixtures", NIPS 2017), and the estimate
    for few values is that from their frequencies. Of features that have nothing to do with the
    classes half are below 0.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features.
    codes : ndarray of int, shape (n,)
        Classes of two samples or more each.
    k : int
        Number of neighbors.
    """
    from scipy.special import digamma

    radius, near = np.empty_like(values), np.empty(values.shape, np.int64)
    members = np.empty(len(codes))
    for code in np.unique(codes):
        inside = np.flatnonzero(codes == code)
        members[inside], at = len(inside), min(k, len(inside) - 1)
        own = values[:, inside]
        radius[:, inside] = reach = kth_distances(own, at) * (1 + SAME)
        near[:, inside] = at
        if len(inside) > at + 1:
            tied = np.flatnonzero((kth_distances(own, at + 1) <= reach).any(axis=1))
            near[np.ix_(tied, inside)] = counts_within(own[tied], reach[tied]) - 1
    within = counts_within(values, radius) - 1
    known = digamma(len(codes)) - digamma(members).mean()
    return known + (digamma(near) - digamma(within)).mean(axis=1)


def estimated_of_outcome(x: np.ndarray, y: np.ndarray) -> float:
    """Return the estimate of the mutual information of two variables (n,) in nats.

    It is psi(n) + <psi(k_i)> - <psi(x_i) + psi(y_i)>, means over the samples i (Kraskov et al.
    2004, Eq. 8): k_i is how many others are at most as far as the k-th neighbor, distances being
    the larger of those in both variables, each in units of its deviation. x_i and y_i are how many
    others are at most as far in that variable alone, and one more where none of them is just as
    far. Without ties k_i is k, and x_i and y_i are one more than those that are nearer.
    """
    from scipy.special import digamma
    from sklearn.neighbors import KDTree

    points = np.column_stack([x / x.std(), y / y.std()])
    tree = KDTree(points, metric="chebyshev")
    distance = tree.query(points, NEIGHBORS + 1)[0][:, -1]  # the nearest is the sample itself
    radius = distance * (1 + SAME)
    known = digamma(tree.query_radius(points, radius, count_only=True) - 1)
    for axis in points.T:
        nearer = counts_within(axis[None], (distance * (1 - SAME))[None])[0]
        others = counts_within(axis[None], radius[None])[0] - 1
        known -= digamma(np.maximum(others, np.where(distance > 0, nearer, 1)))
    return float(digamma(len(x)) + known.mean())


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
    first = _positions(ordered, values - radius, 0)
    last = _positions(ordered, values + radius, 1) - 1
    for end, inward in ((first, 1), (last, -1)):
        while (move := distance(end - inward) <= radius).any():
            end -= inward * move
        while (move := distance(end) > radius).any():
            end += inward * move
    return last - first + 1


def _positions(ordered: np.ndarray, wanted: np.ndarray, equal: int) -> np.ndarray:
    """Return how many sorted values of its row are below each wanted one, shape (b, n).

    With `equal` those that are equal to it are counted too.
    """
    b, n = ordered.shape
    both = [ordered, wanted] if equal else [wanted, ordered]
    order = np.argsort(np.concatenate(both, axis=1), axis=1, kind="stable")
    found = np.empty((b, 2 * n), np.int64)
    np.put_along_axis(found, order, np.cumsum((order < n) == equal, axis=1), axis=1)
    return found[:, n:] if equal else found[:, :n]
