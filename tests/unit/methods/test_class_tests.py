"""p-values of the tests of classes, far into the tail, and the means of the classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfs_cli.compute.context import Labels
from sfs_cli.methods import classical
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.class_means import ClassMeans
from sfs_cli.methods.shared import f_tests
from sfs_cli.options import RankConfig
from sfs_cli.workflow.rank import rank
from tests.making import make_problem, write_labels, write_table
from tests.oracles import baselines as twin


def made(sizes: tuple[int, ...], m: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Samples whose features differ between the classes by more and more, up to 20 spreads."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    spread = (1 + codes[:, None]) * 2.0 ** rng.integers(-8, 8, m)
    X = rng.normal(size=(len(codes), m)) * spread
    return X + np.geomspace(0.01, 20, m) * codes[:, None] * spread.min(axis=0), codes


def columns_of(scorer: Scorer, problem: Problem) -> dict[str, np.ndarray]:
    return scorer.columns(problem.engine.columns(scorer.score_block, scorer.dtype))


@pytest.mark.parametrize("sizes", [(10, 25), (2, 2), (60, 140)])
def test_p_of_the_t_test_is_scipys(sizes: tuple[int, ...]) -> None:
    X, codes = made(sizes)
    problem = make_problem(X, codes=codes)
    found = columns_of(classical.TTestScorer(problem), problem)
    expected = stats.ttest_ind(X[codes == 0], X[codes == 1], equal_var=False).pvalue
    np.testing.assert_allclose(found["p_value"], expected, rtol=1e-10)
    if sum(sizes) > 100:
        assert found["p_value"].min() < 1e-60
    np.testing.assert_allclose(found["q_value"], stats.false_discovery_control(expected), 1e-10)
    t, freedom = np.transpose([twin.welch(f, codes) for f in X.T])
    np.testing.assert_allclose(found["p_value"], 2 * stats.t.sf(t, freedom), rtol=1e-9)


@pytest.mark.parametrize("sizes", [(10, 25), (8, 9, 20), (1, 1, 3), (60, 60, 60, 60)])
@pytest.mark.parametrize("scorer", [classical.FisherScorer, classical.FTestScorer])
def test_p_of_the_f_test_and_of_the_fisher_score_is_scipys(scorer: Any, sizes: Any) -> None:
    X, codes = made(sizes)
    problem = make_problem(X, codes=codes)
    found = columns_of(scorer(problem), problem)
    expected = stats.f_oneway(*(X[codes == c] for c in range(len(sizes)))).pvalue
    np.testing.assert_allclose(found["p_value"], expected, rtol=1e-10)
    np.testing.assert_allclose(found["q_value"], stats.false_discovery_control(expected), 1e-10)


@pytest.mark.parametrize("freedom", [2, 7.5, 100, 996])
def test_the_tail_has_its_digits_down_to_the_smallest_numbers(freedom: float) -> None:
    """With 2 and d degrees of freedom P(F > f) is (1 + 2 f / d) to the power of -d / 2."""
    wanted = 10.0 ** -np.array([1.0, 10, 100, 300])
    # the power, and so the statistic, is known to about d digits of the last place
    f = freedom / 2 * np.expm1(-2 / freedom * np.log(wanted))
    np.testing.assert_allclose(f_tests(f, 2, freedom, least=0)["p_value"], wanted, rtol=2e-12)


def test_infinite_statistics_have_the_least_p_and_missing_ones_none() -> None:
    freedom = np.array([np.nan, np.nan, 5.0])
    found = f_tests(np.array([np.inf, np.nan, 0.0]), 1, freedom, least=0.1)
    np.testing.assert_array_equal(found["p_value"], [0.1, np.nan, 1])
    np.testing.assert_array_equal(found["q_value"], [0.2, np.nan, 1])


@pytest.mark.parametrize(
    "scorer", [classical.TTestScorer, classical.FTestScorer, classical.FisherScorer]
)
def test_features_that_do_not_vary_within_the_classes_are_no_discovery(scorer: Any) -> None:
    codes = np.repeat([0, 1], 3)
    X = np.random.default_rng(1).poisson(0.3, (6, 2000)).astype(float)
    problem = make_problem(X, codes=codes)
    made = scorer(problem)
    found = columns_of(made, problem)
    perfect = (np.ptp(X[:3], axis=0) == 0) & (np.ptp(X[3:], axis=0) == 0) & (np.ptp(X, axis=0) > 0)
    assert perfect.any()
    np.testing.assert_allclose(found["p_value"][perfect], 1 / 20)
    assert any(f"{perfect.sum()} features have an infinite" in text for text in made.warnings)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "hsic", "pvalues": "moments"},
        {"method": "hsic", "pvalues": "permutation", "permutation_draws": 900},
        {"method": "fisher", "pvalues": "moments"},
        {"method": "spec", "similarity": "label", "pvalues": "moments"},
    ],
    ids=lambda each: f"{each['method']} {each['pvalues']}",
)
def test_no_order_of_few_labels_has_a_smaller_p(tmp_path: Path, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(12, 30)) + np.linspace(0, 40, 12)[:, None] * (np.arange(30) < 3)
    write_table(tmp_path / "x.csv", values)
    labels = write_labels(tmp_path / "y.tsv", ["a"] * 3 + ["b"] * 27)
    config = RankConfig(str(tmp_path / "x.csv"), labels=labels, dtype="float64", **options)
    p = rank(config).ranking.extra["p_value"]
    assert (1 - 1e-9) / 4060 <= np.min(p) < 2e-3


def test_a_score_without_degrees_of_freedom_has_no_p_value() -> None:
    X, codes = np.random.default_rng(0).normal(size=(4, 5)), np.arange(4)
    problem = make_problem(X, codes=codes)
    assert columns_of(classical.FisherScorer(problem), problem) == {}


def compared(X: np.ndarray, codes: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
    classes = [f"c{code}" for code in range(codes.max() + 1)]
    members = (codes == np.arange(len(classes))[:, None]).astype(float)
    return ClassMeans(classes, members).measure(np.array(X.T, dtype, order="C"))


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_class_means_are_those_of_numpy(offset: float, dtype: str) -> None:
    X, codes = made((30, 45))
    X = (X + offset).astype(dtype).astype(np.float64)
    X = X[:, np.ptp(X, axis=0) > 0]
    found = compared(X, codes, dtype)
    expected = np.array([twin.class_means(f, codes) for f in X.T])
    np.testing.assert_allclose(found[:, :2], expected, rtol=1e-13, atol=1e-13)
    moved = X - X[0]  # exact, or the offset takes the digits of the twin's difference
    change = np.diff([twin.class_means(f, codes) for f in moved.T], axis=1)[:, 0]
    np.testing.assert_allclose(found[:, 2], change, rtol=1e-10, atol=1e-14 * np.ptp(X))


def test_of_three_classes_the_highest_is_found() -> None:
    X, codes = made((20, 9, 31))
    X[:, 1] -= 10 * codes
    X[:, 2] = codes % 2  # class 1
    X[:, 3] = codes == 0
    X[:, 4] = codes > 0  # two classes share the highest mean
    expected = [int(np.argmax(twin.class_means(f, codes))) for f in X.T]
    expected[4] = 3
    found = compared(X, codes)
    assert found.tolist() == expected
    assert found[2:5].tolist() == [1, 0, 3]


def test_means_that_differ_by_rounding_do_not_differ() -> None:
    rng = np.random.default_rng(3)
    half = rng.normal(size=(25, 200)) * 1.1 + rng.normal(0, 1e3, 200)
    X, codes = np.concatenate([half, half[::-1]]), np.repeat([0, 1], 25)
    assert not compared(X, codes)[:, 2].any()
    three = np.concatenate([X, half[rng.permutation(25)]])
    assert (compared(three, np.repeat([0, 1, 2], 25)) == 3).all()


def test_weights_make_weighted_means() -> None:
    X, codes = made((12, 20))
    weights = np.random.default_rng(1).uniform(0.5, 3, 32)
    members = (codes == np.arange(2)[:, None]) * weights
    found = ClassMeans(["a", "b"], members).measure(np.ascontiguousarray(X.T))
    expected = [twin.class_means(f, codes, weights) for f in X.T]
    np.testing.assert_allclose(found[:, :2], expected, rtol=1e-12, atol=1e-12)


def test_an_outcome_has_no_class_means() -> None:
    X, codes = made((12, 20))
    problem = make_problem(X, outcome=codes.astype(float))
    assert isinstance(problem.context.labels, Labels)
    assert ClassMeans.of(problem) is None
