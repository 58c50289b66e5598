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

from sfs_cli.compute.limits import EPS
from sfs_cli.methods.base import BlockLike, Problem, Scorer, Status
from sfs_cli.methods.blocks import center
from sfs_cli.methods.shared import class_counts, require_sklearn, unit_outcome

NEIGHBORS = 3
SAME = 1e-9
"""Distances that differ by this part are the same but for rounding."""
NOISE = 1e-10
"""Standard deviation of the noise against ties in tests, relative to the mean absolute value."""
_TEMPORARY = 65_536
"""Values that are sorted at a time, so that they stay in a cache."""
LOOKED_UP = 1000
"""Up to so many samples what permuted classes need of a feature is looked up in a table."""


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
            require_sklearn("the mutual information of an outcome")
            self.outcome = unit_outcome(self.outcome, "the mutual information", 4)
        self.codes = problem.codes
        self.seed = problem.context.seed
        # of permuted outcomes alone, which are compared with an estimate that has it, too
        self.noise = np.random.RandomState(self.seed).standard_normal(problem.n_samples)
        self.facts |= {"neighbors": NEIGHBORS}

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; overwrites it."""
        centered = center(block)
        status = centered.status(centered.square)
        score = np.full(len(status), np.nan)
        usable = np.flatnonzero(status == Status.OK)
        step = 1 if self.outcome is not None else max(1, _TEMPORARY // len(self.codes))
        for lo in range(0, len(usable), step):
            rows = usable[lo : lo + step]
            values = _standardized(centered.values[rows].astype(np.float64))
            if self.outcome is None:
                score[rows] = mutual_information(values, self.codes)
            else:
                score[rows] = max(0.0, estimated_of_outcome(values[0], self.outcome))
        return score, status

    def permuted(self, values: np.ndarray, orders: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return estimates of features with the labels in other orders, shape (b, B).

        They are not cut at 0, and are of values without ties, which the noise breaks: scores are
        cut, and those of classes count all samples that are equally near. To be compared with the
        estimate of the own order that is made in the same way.

        Parameters
        ----------
        values : ndarray, shape (b, n), float64
            Features around their means, which vary.
        orders : ndarray of int, shape (B, n)
            Permutations of the samples.
        noise : ndarray, shape (b, n)
            Noise of each feature against ties, of deviation 1, where there is an outcome.
        """
        classes = self.outcome is None
        values = _standardized(values.copy()) if classes else _without_ties(values.copy(), noise)
        found = np.empty((len(values), len(orders)))
        if classes and values.shape[1] > LOOKED_UP:
            step = max(1, _TEMPORARY // values.shape[1])
            for lo in range(0, len(values), step):
                for column, order in zip(found[lo : lo + step].T, orders):
                    column[:] = estimated(values[lo : lo + step], self.codes[order])
            return found
        if self.outcome is None:
            labels = self.codes.astype(np.int16)  # which are sorted fast
        else:
            labels = _without_ties(self.outcome[None].copy(), self.noise)[0]
        estimate = of_permuted_classes if classes else of_permuted_outcomes
        permuted = labels[orders]
        for row, feature in zip(found, values):
            order = np.argsort(feature)
            row[:] = estimate(feature[order], permuted[:, order])
        return found


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return centered rows of values (b, n) in units of their deviation; overwrites them."""
    values /= np.abs(values).max(axis=1, keepdims=True)  # squares of tiny values are zero
    values /= values.std(axis=1, keepdims=True)
    return values


def _without_ties(values: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return centered rows of values (b, n) in units of their deviation, and noise; overwrites."""
    values = _standardized(values)
    size = np.maximum(1, np.abs(values).mean(axis=1, keepdims=True))
    return values + NOISE * size * noise


def mutual_information(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the mutual information of features and classes in nats, shape (b,), at least 0."""
    return np.maximum(0, estimated(values, codes))


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


def of_permuted_classes(values: np.ndarray, codes: np.ndarray, k: int = NEIGHBORS) -> np.ndarray:
    """Return the mutual information of one feature and permuted classes, shape (B,), not cut at 0.

    The numbers are those of `estimated`. Which samples are at most as far from a sample as another
    one is does not depend on the classes; it is found once, and looked up.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The feature, ascending.
    codes : ndarray of int, shape (B, n)
        Classes of these samples; each row has the same number of samples of each class.
    k : int
        Number of neighbors.
    """
    from scipy.special import digamma

    B, n = codes.shape
    known = digamma(np.arange(1, n + 1))
    counts, first = _as_far(values)
    # without ties each neighbor adds one; the counts of each sample begin with 2
    ties = int(counts.sum(dtype=np.int64)) > n * ((n + 1) * n // 2)
    # of one sample, more samples lie in a wider range: the order is that of the distances
    places = (counts.astype(np.int32) * n + first if ties else counts).ravel()
    # sorted by class, and in a class by position; (n, B)
    positions = np.ascontiguousarray(np.argsort(codes, axis=1, kind="stable").T)
    found, lo = np.full(B, known[-1]), 0
    for size in np.unique(codes[0], return_counts=True)[1].tolist():
        near, inside = min(k, size - 1), positions[lo : lo + size]
        row = inside * n
        within = np.full(inside.shape, np.iinfo(places.dtype).max, places.dtype)
        # the k nearest are next to it: the k-th one is at an end of one of these windows
        for below in range(near + 1):
            own, first_own = slice(below, size - near + below), slice(size - near)
            ends = [first_own] if below == near else [slice(near, None)]
            if 0 < below < near:
                ends.append(first_own)
            farther = places.take(row[own] + inside[ends[0]])
            for end in ends[1:]:
                np.maximum(farther, places.take(row[own] + inside[end]), out=farther)
            np.minimum(within[own], farther, out=within[own])
        found -= size / n * known[size - 1]
        if ties:
            within, begin = np.divmod(within, n)
            before = np.zeros((n + 1, B), np.int16)  # of the class, before each position
            np.put_along_axis(before[1:], inside, 1, axis=0)
            np.cumsum(before, axis=0, out=before)
            among = np.take_along_axis(before, begin + within, axis=0)
            among -= np.take_along_axis(before, begin, axis=0)
            found += known.take(among - 2).sum(axis=0) / n
        else:
            found += size / n * known[near - 1]
        found -= known.take(within - 2).sum(axis=0) / n
        lo += size
    return found


def _as_far(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many samples, i and j included, are at most as far from i as j is, (n, n).

    Then the first of them. `values` are ascending; the diagonal holds the equal ones.
    """
    n, at = len(values), np.arange(len(values))
    radius = np.abs(values[:, None] - values) * (1 + SAME)
    first = np.searchsorted(values, (values[:, None] - radius).ravel()).reshape(n, n)
    last = np.searchsorted(values, (values[:, None] + radius).ravel(), "right").reshape(n, n)
    # sums round, and the neighbor that gives the radius lies at the border
    first, last = np.minimum(first, at), np.maximum(last, at + 1)
    return (last - first).astype(np.int16), first.astype(np.int16)


def of_permuted_outcomes(
    values: np.ndarray, outcomes: np.ndarray, k: int = NEIGHBORS
) -> np.ndarray:
    """Return the mutual information of one feature and permuted outcomes, shape (B,), not cut at 0.

    It is psi(n) + psi(k) - <psi(x_i) + psi(y_i)>: x_i and y_i are the numbers of samples, itself
    included, that are nearer in the feature, and in the outcome, than the k-th nearest sample is in
    the larger of the two distances (Kraskov et al. 2004, Eq. 8).

    Parameters
    ----------
    values : ndarray, shape (n,)
        The feature, ascending and without ties.
    outcomes : ndarray, shape (B, n)
        The outcomes of these samples, without ties; each row has the same ones.
    k : int
        Number of neighbors.
    """
    from scipy.special import digamma

    n = len(values)
    y = np.ascontiguousarray(outcomes.T)
    radius = _kth_in_the_plane(values, y, k)
    # the neighbor at the border is not counted, however the sums are rounded
    radius -= 8 * EPS * max(np.abs(values).max(), np.abs(y).max())
    np.maximum(radius, 0, out=radius)
    known = digamma(np.arange(1, n + 1))
    found = np.full(len(outcomes), known[-1] + known[k - 1])
    for at, ordered in ((values[:, None], values), (y, np.sort(y[:, 0]))):
        last = np.searchsorted(ordered, (at + radius).ravel(), side="right")
        first = np.searchsorted(ordered, (at - radius).ravel(), side="left")
        found -= known[last - first - 1].reshape(radius.shape).mean(axis=0)
    return found


def _kth_in_the_plane(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Return the distance of each point to the k-th nearest one, shape (n, B).

    The points are those of an ascending x (n,) with each column of y (n, B), and a distance is the
    larger one of the two coordinates.
    """
    nearest = [np.full(y.shape, np.inf) for _ in range(k)]  # ascending
    for apart in range(1, len(x)):
        gap = x[apart:] - x[:-apart]
        far = nearest[-1].max(axis=1)
        near = np.flatnonzero(gap < np.maximum(far[:-apart], far[apart:]))
        if not len(near):
            break  # and those farther apart are not nearer either
        lo, hi = near[0], near[-1] + 1
        distance = np.abs(y[lo + apart : hi + apart] - y[lo:hi])
        np.maximum(distance, gap[lo:hi, None], out=distance)
        for rows in (slice(lo, hi), slice(lo + apart, hi + apart)):
            pushed = distance
            for each in nearest[:-1]:
                own = each[rows]
                farther = np.maximum(own, pushed)
                np.minimum(own, pushed, out=own)
                pushed = farther
            np.minimum(nearest[-1][rows], pushed, out=nearest[-1][rows])
    return nearest[-1]
