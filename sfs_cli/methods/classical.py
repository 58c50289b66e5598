"""Classical rankings of features by themselves: Fisher Score, F-test, t-test and variance.

They need no graph. The Fisher Score is Eq. 3.12 of Z. Zhao's dissertation (Arizona State University
2010); the t statistic is that of B. L. Welch, "The generalization of 'Student's' problem when
several different population variances are involved", Biometrika 34, 1947.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import BlockLike
from sfs_cli.errors import InputError
from sfs_cli.methods.base import NonZeroScorer, Problem
from sfs_cli.methods.blocks import CenteredBlock, CenteredScorer, Measured
from sfs_cli.methods.low_rank import LowRankScores, Sums, without
from sfs_cli.methods.shared import class_counts
from sfs_cli.methods.sparse import NonZeroVariance

_EPS = float(np.finfo(np.float64).eps)


class ClassScatter:
    """``sum_l n_l (mu_l - mu)^2`` and ``sum_l n_l sigma_l^2`` of features in blocks.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..c-1.
    """

    def __init__(self, codes: np.ndarray) -> None:
        self.codes = codes
        self.counts = np.bincount(codes).astype(np.float64)
        self.members = np.zeros((len(codes), len(self.counts)))
        self.members[np.arange(len(codes)), codes] = 1

    def __call__(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the total, between and within scatter of centered rows (b, n); overwrites them."""
        square = np.vecdot(F, F)
        means = F @ self.members / self.counts
        between = (means * means) @ self.counts
        F -= means[:, self.codes]
        within = np.vecdot(F, F)
        within[within <= (len(self.codes) * _EPS) ** 2 * square] = 0  # the rounding of the means
        return square, between, within


class FisherScorer(CenteredScorer):
    """``sum_l n_l (mu_l - mu)^2 / sum_l n_l sigma_l^2`` for every feature; larger is better.

    A feature that is constant within each class but not between them scores infinity.
    """

    ratio = 1.0

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        assert problem.codes is not None
        self.scatter = ClassScatter(problem.codes)
        counts, n = self.scatter.counts, problem.n_samples
        # projections on the columns are sqrt(n_l) mu_l, and u of them is sqrt(n) mu
        columns = self.scatter.members / np.sqrt(counts)
        self.low_rank = LowRankScores(np.ones(n), without(columns, np.sqrt(counts / n)))
        self.dtype = problem.lossless_dtype

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block."""
        score, status = self.low_rank.score_block(block, self._of_sums, self.score_centered)
        score *= self.ratio
        return score, status

    @staticmethod
    def _of_sums(sums: Sums) -> tuple[np.ndarray, np.ndarray]:
        between = sums.projected()
        within = sums.square - between
        return between / within, within

    def measure(self, centered: CenteredBlock) -> Measured:
        """Return the ratio of the scatters of centered features."""
        square, between, within = self.scatter(centered.values)
        return Measured(between / within, square)


class FTestScorer(FisherScorer):
    """Mean square between the classes over that within them; larger is better.

    It is the Fisher Score times ``(n - c) / (c - 1)``.

    Raises
    ------
    InputError
        When a label is missing, there are fewer than two classes, or no class has two samples.
    """

    def __init__(self, problem: Problem) -> None:
        assert problem.codes is not None
        n, c = len(problem.codes), len(class_counts(problem.codes, "the F-test"))
        if n <= c:
            raise InputError(
                f"the F-test of {c} classes needs more than {n} samples",
                hint="check which column holds the labels: does it name each sample?",
            )
        super().__init__(problem)
        self.ratio = (n - c) / (c - 1)
        self.facts["degrees_of_freedom"] = [c - 1, n - c]


class TTestScorer(CenteredScorer):
    """``|mu_1 - mu_2| / sqrt(s_1^2 / n_1 + s_2^2 / n_2)``; larger is better.

    Variances are unbiased and not pooled. A feature that is constant within both classes but not
    between them scores infinity.

    Raises
    ------
    InputError
        When a label is missing, there are not two classes, or one has fewer than two samples.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        assert problem.codes is not None
        self.counts = class_counts(problem.codes, "the t-test", each=2)
        if len(self.counts) != 2:
            raise InputError(
                f"the t-test compares two classes, and there are {len(self.counts)}",
                hint="use the F-test (f-test), or keep the samples of two classes",
            )
        self.members = [np.flatnonzero(problem.codes == code) for code in (0, 1)]
        self.facts["variances"] = "not pooled"

    def measure(self, centered: CenteredBlock) -> Measured:
        """Return the absolute t statistics of centered features."""
        square = centered.square
        means, squares = [], np.zeros(len(square))
        for inside, count in zip(self.members, self.counts):
            group = centered.values[:, inside]
            mean = group.mean(axis=1)
            group -= mean[:, None]
            within = np.vecdot(group, group)
            within[within <= (centered.volume * _EPS) ** 2 * square] = 0  # the mean's rounding
            means.append(mean)
            squares += within / ((count - 1) * count)
        return Measured(np.abs(means[0] - means[1]) / np.sqrt(squares), square)


class MeanDifference(CenteredScorer):
    """``mu_2 - mu_1`` of two classes, of which only the sign is meant; 0 if it is rounding.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        0 or 1 for each sample.
    """

    def __init__(self, codes: np.ndarray) -> None:
        super().__init__()
        n_2 = int(codes.sum())
        self.contrast = np.where(codes == 1, 1 / n_2, -1 / (len(codes) - n_2))

    def measure(self, centered: CenteredBlock) -> Measured:
        """Return the differences of centered features."""
        square = centered.square
        difference = centered.values @ self.contrast
        difference[np.abs(difference) <= 8 * _EPS * np.sqrt(square)] = 0
        return Measured(difference, square)


class VarianceScorer(CenteredScorer):
    """Unbiased variance, in the squared units of the values; larger is better."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.n = problem.n_samples
        self.low_rank = LowRankScores(np.ones(self.n), np.empty((self.n, 0)))
        self.dtype = problem.lossless_dtype

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block."""
        return self.low_rank.score_block(block, self._of_sums, self.score_centered)

    def on_nonzeros(self) -> NonZeroScorer:
        """Return the scorer of stored values alone."""
        return NonZeroVariance(self.n)

    def _of_sums(self, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
        return sums.square / (self.n - 1), sums.square

    def measure(self, centered: CenteredBlock) -> Measured:
        """Return the variances of centered features; that of huge values is infinite."""
        square = centered.square
        return Measured(square / (self.n - 1) * centered.scale * centered.scale, square)
