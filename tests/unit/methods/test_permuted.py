"""p-values of tests of classes, outcomes and times by orders of the samples."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from sfs_cli.compute.matrix import Block
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.classical import FTestScorer, TTestScorer
from sfs_cli.methods.cox import CoxScorer, fit_cox
from sfs_cli.methods.rank_tests import RankSumScorer, SpearmanScorer
from sfs_cli.methods.significance.permuted import PermutedTest
from sfs_cli.methods.significance.theory import false_positives
from sfs_cli.methods.welch import WelchScorer
from tests.making import make_engine, make_problem, problem_of

DRAWS = 20_000
CODES = np.array([0, 0, 0, 1, 1, 2, 2])
OUTCOME = np.array([0.3, 2.0, -1.0, 4.0, 0.0, 1.0, 9.0])
TIME, EVENT = np.array([3.0, 1, 4, 1, 5, 9, 2]), np.array([1, 1, 0, 1, 0, 1, 1])


def cox(_problem: Problem) -> Scorer:
    return CoxScorer(fit_cox(TIME, EVENT))


def values(n: int = 7, m: int = 8) -> np.ndarray:
    """Samples x features, some with equal values; one is that of the classes."""
    X = np.random.default_rng(5).normal(size=(n, m))
    X[:, :4] = X[:, :4].round()
    X[:, 4] = 10 * CODES[:n] + 0.1 * X[:, 4]
    return X


def p_values_of(scorer: Any, problem: Problem) -> np.ndarray:
    test = PermutedTest(scorer(problem), problem, "permutation", DRAWS, 0.0)
    return test.columns(problem.engine.columns(test.score_block, test.dtype))["p_value"]


def welch(X: np.ndarray) -> np.ndarray:
    """Welch's F of the classes, of rows."""
    classes = [X[:, code == CODES] for code in range(3)]
    w = np.array([own.shape[1] / own.var(axis=1, ddof=1) for own in classes])
    means, sizes = np.array([own.mean(axis=1) for own in classes]), np.bincount(CODES)
    h = w / w.sum(axis=0)
    apart = (w * (means - (h * means).sum(axis=0)) ** 2).sum(axis=0) / 2
    return apart / (1 + 2 / 8 * ((1 - h) ** 2 / (sizes[:, None] - 1)).sum(axis=0))


def between(X: np.ndarray) -> np.ndarray:
    """The scatter between the classes, of rows: that in all is the same in every order."""
    means = np.array([X[:, code == CODES].mean(axis=1) for code in range(3)])
    return np.bincount(CODES) @ (means - X.mean(axis=1)) ** 2


def along(line: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The absolute product with a line around its mean, of rows."""
    return lambda X: np.abs(X @ (line - line.mean()))


CASES: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "f-test": (FTestScorer, {"codes": CODES}, between),
    "trend": (FTestScorer, {"outcome": OUTCOME}, along(OUTCOME)),
    "ranks": (RankSumScorer, {"codes": CODES}, between),
    "spearman": (SpearmanScorer, {"outcome": OUTCOME}, along(rankdata(OUTCOME))),
    "cox": (cox, {}, along(fit_cox(TIME, EVENT).residuals)),
    "welch": (WelchScorer, {"codes": CODES}, welch),
}


@pytest.mark.parametrize("case", CASES)
def test_p_values_are_the_share_of_all_orders_that_are_as_good(case: str) -> None:
    scorer, labels, statistic = CASES[case]
    X = values()
    if case == "welch":
        X = X[:, 4:]  # without classes that do not vary in some order
    found = p_values_of(scorer, make_problem(X, **labels))
    orders = np.array([*permutations(range(7))])  # the first is that of the samples
    for p, x in zip(found, X.T):
        every = statistic((rankdata(x) if case in ("ranks", "spearman") else x)[orders])
        share = np.mean(every >= every[0] * (1 - 1e-9))
        # features with larger p-values are given up after fewer orders
        draws = DRAWS if share < 1e-3 else DRAWS / 64
        assert p == pytest.approx(share, abs=4 * np.sqrt(share / draws) + 2 / draws)


@pytest.mark.parametrize("scorer", [TTestScorer, FTestScorer])
def test_blocks_change_no_p_value(scorer: Any) -> None:
    rng = np.random.default_rng(2)
    X, codes = rng.lognormal(size=(30, 40)), np.repeat([0, 1], [6, 24])
    problem = make_problem(X, codes=codes)
    test = PermutedTest(scorer(problem), problem, "moments", 0, 0.0)
    whole = test.score_block(Block(np.ascontiguousarray(X.T)))["p"]
    rows = np.array_split(np.arange(40), 6)
    parts = [test.score_block(Block(np.ascontiguousarray(X.T[part])))["p"] for part in rows]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize(("kind", "holds"), [("normal", True), ("lognormal", False)])
def test_false_positives_are_counted(kind: str, holds: bool) -> None:
    X = np.random.default_rng(3).normal(size=(60, 100))
    X = np.exp(X) if kind == "lognormal" else X
    problem = make_problem(X, codes=np.repeat([0, 1], [4, 56]))
    found = false_positives(FTestScorer(problem), (X - X.mean(axis=0)).T, None, None)
    times, error = found[0.001]
    assert (times < 1 + 4 * error) == holds
    assert holds or times > 3


def test_permuted_features_have_no_covariates() -> None:
    """The F-test of residuals holds with the freedom that covariates leave."""
    rng = np.random.default_rng(4)
    n, covariate = 20, rng.normal(size=20)
    covariate -= covariate.mean()
    Q = (covariate / np.linalg.norm(covariate))[None]
    X = rng.normal(size=(n, 100))
    X -= X.mean(axis=0)
    X -= Q.T @ (Q @ X)
    problem = problem_of(make_engine(X), codes=np.repeat([0, 1], 10), design=Q)
    times, error = false_positives(FTestScorer(problem), X.T, Q, None)[0.01]
    assert abs(times - 1) < 4 * error


def test_variances_are_pooled_where_a_class_may_be_constant() -> None:
    """Nearly all orders of these values make Welch's F infinite, so that none would be rare."""
    X, codes = np.zeros((40, 3)), np.repeat([0, 1], [4, 36])
    X[:4] = np.random.default_rng(0).uniform(1, 2, size=(4, 3))
    X[0, 2] = 0
    problem = make_problem(X, codes=codes)
    found = p_values_of(TTestScorer, problem)
    np.testing.assert_array_equal(found, p_values_of(FTestScorer, problem))
    assert found.max() < 0.01
