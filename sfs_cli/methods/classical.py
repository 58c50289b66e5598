"""Classical rankings of features by themselves: Fisher Score, F-test, t-test and variance.

They need no graph. With an outcome (numeric labels) the F-test is that of linear regression. The
Fisher Score is Eq. 3.12 of Z. Zhao's dissertation (Arizona State University 2010); the t statistic
is that of B. L. Welch, "The generalization of 'Student's' problem when several different population
variances are involved", Biometrika 34, 1947.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.errors import InputError, counted
from sfs_cli.graph.laplacian import without
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.class_means import ClassMeans, ProjectedMeans
from sfs_cli.methods.kernel import KernelScorer, Sums, Thin
from sfs_cli.methods.shared import (
    class_counts,
    f_tests,
    least_p_value,
    require_weight,
    unit_outcome,
    warn_of_infinite,
)
from sfs_cli.methods.stored import SparseBlocks, StoredScorer
from sfs_cli.methods.welch import WelchScorer

EXPLAINED = 1e-8
"""Classes of which covariates leave a smaller part are explained by them."""


def class_columns(
    codes: np.ndarray, design: np.ndarray | None = None, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return orthonormal columns (n, q), each with the sum 0, of the differences between classes.

    The squared projections of a centered feature on them add up to ``sum_l n_l (mu_l - mu)^2``, and
    the rest of its squares are ``sum_l n_l sigma_l^2``. q is c - 1, less what covariates explain
    completely.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..c-1.
    design : ndarray, shape (r, n), optional
        Orthonormal covariates that are taken out of the features: the columns are what these leave.
    weights : ndarray, shape (n,), optional
        w: how many samples each one counts as; 1 by default. With weights, features are
        ``w^1/2 (f - mean)``, n_l is the weight of class l, and means and variances are weighted.
    """
    counts = np.bincount(codes, weights).astype(np.float64)
    members = np.zeros((len(codes), len(counts)))
    members[np.arange(len(codes)), codes] = 1 if weights is None else np.sqrt(weights)
    # projections on these are sqrt(n_l) mu_l, and those on the shares of the classes sqrt(n) mu
    columns = without(members / np.sqrt(counts), np.sqrt(counts / counts.sum()))
    if design is None:
        return columns
    left = columns - design.T @ (design @ columns)
    left -= design.T @ (design @ left)  # once more, as the rounding of the first may matter
    vectors, sizes, _ = np.linalg.svd(left, full_matrices=False)
    return vectors[:, sizes > EXPLAINED]


class FisherScorer(KernelScorer):
    """``sum_l n_l (mu_l - mu)^2 / sum_l n_l sigma_l^2`` for every feature; larger is better.

    A feature that is constant within each class but not between them scores infinity. The score is
    ``(c - 1) / (n - c)`` times the F statistic of one-way analysis of variance, so it has the
    p-value of that, or of an infinite score the least one of any order of the labels. There is none
    where no class has two samples. With weights other than 1 it follows no F distribution: a sample
    of weight 10 is no 10 independent samples. Further columns are the p-value and the q-value
    (Benjamini and Hochberg, over the features that have a score).

    With r covariates the scatter between classes is what they add to the fit of the covariates, of
    q degrees of freedom, and that within them what both leave, of n - 1 - r - q: the test of nested
    models, or analysis of covariance.
    """

    ratio = 1.0  # score of a feature whose scatters are equal

    thin: Thin

    def __init__(self, problem: Problem, columns: np.ndarray | None = None) -> None:
        super().__init__()
        self.threads = problem.engine.executor.nearby.workers
        self.least = least_p_value(problem.labels.target, problem.context.blocks)
        self.weights, self.dtype = problem.sample_weights, problem.lossless_dtype
        self.rooted = self.weights is not None
        if columns is None:
            design = problem.context.design if problem.context.covariates else None
            columns = class_columns(problem.codes, design, self.weights)
        weights = np.ones(problem.n_samples) if self.weights is None else self.weights
        self.thin = Thin(weights, columns)
        means = ClassMeans.of(problem)
        self.has_means = means is not None
        if means is not None:
            self.class_means = ProjectedMeans(means, columns, weights)
        between = columns.shape[1]
        self.freedom = between, problem.n_counted - 1 - between - problem.context.covariates
        # with weights other than 1 the score follows no F distribution, and has no p-value
        self.tested = self.freedom[1] > 0 and bool((weights == 1).all())
        if self.tested:
            self._record()

    def _record(self) -> None:
        between, within = self.freedom
        self.facts["degrees_of_freedom"] = [between, int(within) if within.is_integer() else within]

    def formula(self, sums: Sums) -> np.ndarray:
        """Return the scatter between the classes over that within them, times the ratio."""
        return sums.form / sums.rest * self.ratio

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the p-values and q-values of the scores of all features, each shape (m,)."""
        if not self.tested:
            return {}
        score = found["score"]
        between, within = self.freedom
        to_f = within / between / self.ratio  # exactly 1 where the score is the F statistic
        self.warnings += warn_of_infinite(score, self.least)
        return f_tests(score * to_f, between, within, self.threads, least=self.least)


class FTestScorer(FisherScorer):
    """Mean square between the classes over that within them; larger is better.

    It is the Fisher Score times the ratio of the degrees of freedom, ``(n - c) / (c - 1)`` without
    covariates. Of an outcome it is the F statistic of the linear regression, ``(n - 2) r^2 /
    (1 - r^2)`` with the Pearson correlation r; covariates that are taken out of both make it the
    partial one, with ``n - 2`` less their number. p-values and q-values are those of
    `FisherScorer`.

    Raises
    ------
    InputError
        When a label is missing, there are fewer than two classes, or no class has two samples; when
        all outcomes are the same, or there are fewer than three.
    """

    of_t = False
    """Whether the score is the root of the F statistic, an absolute t statistic."""

    def __init__(self, problem: Problem) -> None:
        n, weights, columns = problem.n_samples, problem.sample_weights, None
        if problem.outcome is None:
            c = len(class_counts(problem.codes, "the F-test"))
        else:  # a line has as many parameters as two classes
            unit, c = unit_outcome(problem.outcome, "the F-test", 3, weights), 2
            columns = unit[:, None]
        if weights is not None:
            require_weight(problem.n_counted, c, "the F-test")
        if n <= c:
            raise InputError(
                f"the F-test of {c} classes needs more than {n} samples",
                hint="check which column holds the labels: does it name each sample?",
            )
        super().__init__(problem, columns)
        between, within = self.freedom
        if within <= 0:
            taken = counted(problem.context.covariates, "column")
            raise InputError(
                f"{c} classes and {taken} of covariates leave no degrees of freedom of {n} samples",
                hint="name fewer covariates",
                option="adjust",
            )
        self.ratio = within / between
        self._record()

    def measured(self, sums: Sums) -> Arrays:
        """Return the ``score``, the sum of squares ``square`` and the ``mean``, for moderation."""
        square, mean = sums.square * sums.scale**2, sums.mean * sums.scale
        return super().measured(sums) | {"square": square, "mean": mean}

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the p-values and q-values of the scores of all features, each shape (m,)."""
        return super().columns(squared(found) if self.of_t else found)


def squared(found: Arrays) -> Arrays:
    """Return what was found of features with the squares of the scores."""
    return found | {"score": found["score"] ** 2}


def t_test(problem: Problem) -> Scorer:
    """Return the t-test of a problem: Welch's, or with covariates that of a linear model."""
    return PooledTTestScorer(problem) if problem.context.covariates else TTestScorer(problem)


def two_classes(codes: np.ndarray, each: int) -> np.ndarray:
    """Count the samples of both classes (2,); another number of them is an InputError."""
    counts = class_counts(codes, "the t-test", each=each)
    if len(counts) != 2:
        raise InputError(
            f"the t-test compares two classes, and there are {len(counts)}",
            hint="use the F-test (f-test), or keep the samples of two classes",
        )
    return counts


class PooledTTestScorer(FTestScorer):
    """The absolute t statistic of two classes in a linear model; larger is better.

    It is the root of the F statistic of nested models with and without the classes, so the variance
    is that of all residuals.

    Raises
    ------
    InputError
        As for `FTestScorer`, and where there are not two classes.
    """

    of_t = True

    def __init__(self, problem: Problem) -> None:
        two_classes(problem.codes, each=1)
        super().__init__(problem)
        self.facts["variances"] = "pooled"

    def formula(self, sums: Sums) -> np.ndarray:
        """Return the absolute t statistics."""
        return np.sqrt(super().formula(sums))


class TTestScorer(WelchScorer):
    """``|mu_1 - mu_2| / sqrt(s_1^2 / n_1 + s_2^2 / n_2)``; larger is better.

    Variances are unbiased and not pooled. It is the root of Welch's F of two classes, with the same
    p-value: of Student's t distribution with Welch's degrees of freedom, two-sided. A feature that
    is constant within both classes but not between them scores infinity.

    Raises
    ------
    InputError
        When a label is missing, there are not two classes, or one has fewer than two samples.
    """

    def __init__(self, problem: Problem) -> None:
        two_classes(problem.codes, each=2)
        super().__init__(problem)

    def score_block(self, block: BlockLike) -> Arrays:
        """Return what `WelchScorer` finds, with the absolute t statistic for F."""
        found = super().score_block(block)
        return found | {"score": np.sqrt(found["score"])}

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the p-values and q-values of the scores of all features, each shape (m,)."""
        return super().columns(squared(found))


class VarianceScorer(KernelScorer):
    """Unbiased variance, in the squared units of the values; larger is better."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.weights, self.count = problem.sample_weights, problem.n_counted
        self.rooted = self.weights is not None
        if self.weights is not None:
            require_weight(self.count, 1, "the variance")
        self.counts = np.ones(problem.n_samples) if self.weights is None else self.weights
        self.thin = Thin(self.counts, np.empty((problem.n_samples, 0)))
        self.dtype = problem.lossless_dtype

    def on_nonzeros(self) -> StoredScorer:
        """Return the scorer of stored values alone."""
        return StoredScorer(self.formula, SparseBlocks(self.counts))

    def formula(self, sums: Sums) -> np.ndarray:
        """Return the variances; that of huge values is infinite."""
        return sums.square / (self.count - 1) * sums.scale * sums.scale
