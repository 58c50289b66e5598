"""Markers of each class: tests of one class against the rest.

``t`` is the t-test of a linear model of class, covariates and blocks, with one variance; ``welch``
that of B. L. Welch (Biometrika 34, 1947), of two variances, which scanpy calls ``t-test``; and
``wilcoxon`` the rank-sum test (F. Wilcoxon, Biometrics Bull. 1, 1945) in its normal approximation,
corrected for ties but not for continuity, as scanpy has it with ``tie_correct``; of features that
have no value in a quarter of the samples or more, the p-value is not below that of the moments of
the squared statistic over all orders of the samples. Within blocks it is the test of P. van Elteren
(Bull. Inst. Int. Stat. 37, 1960).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import Arrays
from sfs_cli.errors import InputError
from sfs_cli.methods.classical import class_columns
from sfs_cli.methods.rank_tests import COMMON, LARGE_P
from sfs_cli.methods.shared import class_counts, least_p_value
from sfs_cli.methods.significance.moments import Powers, RatioMoments

if TYPE_CHECKING:
    from scipy.sparse import csr_array

POWERS = (2, 3, 4, 5, 6, 8)
"""Of ranks, whose sums tell the moments over all orders of the samples."""


class MarkerTests:
    """Compares each class of the samples with all others, feature by feature.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..c-1.
    test : {"t", "welch", "wilcoxon"}
        The test.
    design : ndarray, shape (r, n)
        Orthonormal covariates and blocks, each with the sum 0, for ``t``.
    blocks : ndarray, shape (n,)
        The block of each sample, for ``wilcoxon``; the same for all where there are none.

    Raises
    ------
    InputError
        When a class, or all others, have fewer than two samples, or covariates explain a class.
    """

    def __init__(self, codes: np.ndarray, test: str, design: np.ndarray, blocks: np.ndarray):
        from scipy.sparse import csr_array

        n, self.test, self.design = len(codes), test, design
        counts = class_counts(codes, "a test of each class against the rest", each=2)
        self.sizes = np.stack([counts, n - counts])[:, None]  # (2, 1, c)
        self.members = csr_array((np.ones(n), codes, np.arange(n + 1)), (n, len(counts)))
        inside = [codes == k for k in range(len(counts))]
        self.least = np.array([least_p_value(each, blocks) for each in inside])
        self.blocks = [np.flatnonzero(blocks == each) for each in np.unique(blocks)]
        self.freedom = n - 2.0 - len(design)
        self.moments: list[RatioMoments] = []
        if test == "wilcoxon" and len(self.blocks) == 1:
            own = (class_columns(each.astype(int)) for each in inside)
            self.moments = [RatioMoments.of_columns(columns) for columns in own]
        if test == "t":
            self.along = np.hstack([class_columns(each.astype(int), design) for each in inside])
            if self.along.shape != self.members.shape or self.freedom <= 0:
                raise InputError(
                    "covariates or blocks explain a class, or leave no degrees of freedom",
                    hint="a block needs samples of several classes: name fewer columns",
                    option=("block", "adjust"),
                )
            self.along *= np.sign(self.members.multiply(self.along).sum(axis=0))

    def measure(self, X: csr_array) -> Arrays:
        """Return columns of ``markers.tsv`` by name, of features (b, n): each is (b, c).

        The statistic is positive where the class is higher than the rest and 0 where a feature does
        not vary. The p-value is two-sided; where nothing varies beside the classes, it is the least
        of any order of them.
        """
        from scipy.special import stdtr

        parts: Any = (X, X * X, X != 0)
        sums = np.stack([(each @ self.members).toarray() for each in parts])
        total = sums.sum(axis=-1, keepdims=True)
        mean, square, share = np.stack([sums, total - sums], axis=1) / self.sizes
        mean[share == 0] = 0  # not what rounding leaves of a difference
        n = self.members.shape[0]
        # squares that are no more than the rounding of sums
        small = n * EPS * total[1]
        freedom: Any = np.inf
        with np.errstate(all="ignore"):  # of features that do not vary
            if self.test == "wilcoxon":
                statistic, powers, sparse = self._rank_sums(X)
            elif self.test == "t":
                slope = X @ self.along
                explained = np.square(X @ self.design.T).sum(axis=1, keepdims=True)
                left = total[1] - total[0] ** 2 / n - explained - slope**2
                left[left <= small] = 0
                slope[slope**2 <= small * EPS] = 0
                freedom = self.freedom
                statistic = slope / np.sqrt(left / freedom)
            else:
                noise = square - mean**2
                noise[noise * self.sizes <= small] = 0
                away = mean[0] - mean[1]
                away[away**2 <= n * EPS**2 * total[1]] = 0
                error = noise / (self.sizes - 1)
                statistic = away / np.sqrt(error.sum(axis=0))
                freedom = error.sum(axis=0) ** 2 / (error**2 / (self.sizes - 1)).sum(axis=0)
        statistic[np.isnan(statistic)] = 0
        p = np.where(statistic == 0, 1, 2 * stdtr(freedom, -np.abs(statistic)))
        for k, moments in enumerate(self.moments):
            at = np.flatnonzero(p[sparse, k] < LARGE_P)
            part = statistic[sparse[at], k] ** 2 / (n - 1)
            by_moments = moments.tested(-part, Powers(*(each[at] for each in powers)))[0]
            p[sparse[at], k] = np.fmax(p[sparse[at], k], by_moments)
        p = np.where(np.isinf(statistic), self.least, p)
        found = {"statistic": statistic, "p_value": p, "mean": mean[0], "mean_rest": mean[1]}
        return found | {"share": share[0], "share_rest": share[1]}

    def _rank_sums(self, X: csr_array) -> tuple[np.ndarray, Powers, np.ndarray]:
        """Return van Elteren's standardized rank sums, which are Wilcoxon's of one block.

        The powers of the ranks in the last block follow, of the features that they are given for,
        those of one value in a `COMMON`-th of its samples or more.

        ``sum_b w_b (R_b - n_kb (n_b + 1) / 2) / (sum_b w_b^2 V_b)^1/2`` of the rank sums R_b of
        class k within the blocks b, with ``w_b = 1 / (n_b + 1)`` and ``V_b = n_kb (n_b - n_kb) S_b
        / (n_b (n_b - 1))`` for the sum S_b of the squares of the ranks around their mean.
        """
        away = spread = np.zeros(1)
        for inside in self.blocks:
            size, members = len(inside), self.members[inside]
            counts = members.sum(axis=0)
            sums, powers, common = rank_sums(X[:, inside], members)
            away = away + (sums / (size + 1) - counts) / 2
            shares = counts * (size - counts) / max(size * (size - 1), 1) / (size + 1) ** 2
            spread = spread + np.outer(powers[0], shares / 4)
        sparse = np.flatnonzero((common * COMMON >= size) & (common < size))
        square, *others = powers[:, sparse]
        by_norm = (of / square ** (p / 2) for of, p in zip(others, POWERS[1:]))
        return away / np.sqrt(spread), Powers(*by_norm), sparse


def rank_sums(X: csr_array, members: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sums of the ranks of each feature in classes, (b, c), which are exact.

    With them the sums of the `POWERS` of all ranks around their mean, (6, b), and how many samples
    have the most common value, (b,). Ranks are doubled, so that they are integers. Zeros that are
    not stored are put in order as one value.
    """
    b, n = X.shape
    stored = np.diff(X.indptr)
    row = np.repeat(np.arange(b), stored)
    # complex numbers are in the order of their real parts, rows, and of values within them
    keys = np.concatenate([row + 1j * X.data, np.arange(b)])
    group, of = np.unique(keys, return_inverse=True)
    size = np.bincount(of, np.concatenate([np.ones(len(row)), n - stored]))
    lower = np.cumsum(size) - size - n * group.real
    of_group = 2 * lower + size + 1
    doubled = of_group[of]
    zero = doubled[len(row) :]
    above = type(X)((doubled[: len(row)] - zero[row], X.indices, X.indptr), X.shape)
    sums = (above @ members).toarray() + np.outer(zero, members.sum(axis=0))
    around, rows = of_group - (n + 1), group.real.astype(int)
    powers = np.array([np.bincount(rows, size * around**p) for p in POWERS])
    return sums, powers, np.maximum.reduceat(size, np.flatnonzero(np.diff(rows, prepend=-1)))
