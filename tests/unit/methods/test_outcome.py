"""Methods with an outcome, a number of each sample, in place of classes."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.feature_selection import f_regression, mutual_info_regression
from sklearn.linear_model import Lasso, lars_path

from sfs_cli.catalog import METHODS
from sfs_cli.compute.context import Labels
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph.kinds import MAKERS, sample_graph
from sfs_cli.methods import classical, mrmr, mutual_info, rank_tests, relieff, rfs
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.l21 import fixed, mrsf, rounds
from sfs_cli.methods.shared import least_p_value
from sfs_cli.options.graph import GraphOptions
from tests.making import make_problem, make_run
from tests.oracles import covariance
from tests.oracles import outcome as twin
from tests.unit.methods.helpers import check_solution, score_all

N, M = 40, 30


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(12)
    y = rng.gamma(2, 10, N) + 300
    X = rng.normal(size=(N, M)) * rng.uniform(0.1, 10, M) + rng.normal(0, 50, M)
    X[:, :4] += 0.1 * (y[:, None] - y.mean()) * [1, -1, 0.3, 0.1]
    X[:, 4] += 0.01 * (y - y.mean()) ** 2
    return y, X


Y, X = _data()
ORDERED = np.repeat([0.0, 1, 2, 3], N // 4)


def problem(X: np.ndarray = X, y: np.ndarray = Y, method: str = "f-test", **given: Any) -> Problem:
    options = {k: v for k, v in METHODS[method].options.items() if k not in given}
    return make_problem(X, outcome=y, **options, **given)


def solved(method: str, X: np.ndarray = X, y: np.ndarray = Y, **given: Any) -> Solution:
    solve = METHODS[method].load("solve")
    assert solve is not None
    solution = solve(problem(X, y, method, **given))
    check_solution(solution)
    return solution


def scores(method: str, X: np.ndarray = X, y: np.ndarray = Y, **given: Any) -> np.ndarray:
    prepare = METHODS[method].load("prepare")
    if prepare is None:
        return solved(method, X, y, **given).score
    made = problem(X, y, method, **given)
    return score_all(prepare(made), made)[0]


@pytest.mark.parametrize("y", [Y, ORDERED, np.arange(N) % 2.0], ids=["number", "ordered", "two"])
def test_the_f_test_is_that_of_linear_regression(y: np.ndarray) -> None:
    found = scores("f-test", y=y)
    np.testing.assert_allclose(found, [twin.f_regression(f, y) for f in X.T], rtol=1e-8)
    expected, p_values = f_regression(X, y)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    scorer = classical.FTestScorer(problem(y=y))
    columns = scorer.columns({"score": found})
    np.testing.assert_allclose(columns["p_value"], p_values, rtol=1e-8)
    assert scorer.facts["degrees_of_freedom"] == [1, N - 2]


def test_the_f_test_of_two_places_is_that_of_two_classes() -> None:
    codes = np.arange(N) % 2
    made = make_problem(X, codes=codes)
    expected, _ = score_all(classical.FTestScorer(made), made)
    np.testing.assert_allclose(scores("f-test", y=codes * 7.0), expected, rtol=1e-10)


def test_p_values_and_q_values_of_classes() -> None:
    codes = np.arange(N) % 3
    wide = np.column_stack([X, np.zeros(N), codes])
    made = make_problem(wide, codes=codes)
    scorer = classical.FTestScorer(made)
    columns = scorer.columns({"score": score_all(scorer, made)[0]})
    expected = stats.f_oneway(*(X[codes == c] for c in range(3))).pvalue
    np.testing.assert_allclose(columns["p_value"][:M], expected, rtol=1e-8)
    assert np.isnan(columns["p_value"][M])
    assert np.isnan(columns["q_value"][M])
    assert columns["p_value"][M + 1] == least_p_value(codes)
    count, p = M + 1, np.delete(columns["p_value"], M)
    kept = ~np.isnan(columns["p_value"])
    known = stats.false_discovery_control(columns["p_value"][kept])
    np.testing.assert_allclose(columns["q_value"][kept], known, rtol=1e-12)
    ordered = np.sort(p)
    for i, q in zip(np.argsort(p), np.delete(columns["q_value"], M)[np.argsort(p)]):
        best = min(ordered[r] * count / (r + 1) for r in range(count) if ordered[r] >= p[i])
        assert q == pytest.approx(min(best, 1), rel=1e-12)


def test_a_feature_on_the_line_is_infinitely_good() -> None:
    found = scores("f-test", np.column_stack([3 - 2 * Y, X[:, 0]]))
    assert np.isinf(found[0])
    assert np.isfinite(found[1])


@pytest.mark.parametrize("y", [Y, ORDERED], ids=["number", "ordered"])
@pytest.mark.parametrize("k", [1, 10])
def test_rrelieff_equals_the_twin(y: np.ndarray, k: int) -> None:
    expected = twin.rrelieff(X, y, k)
    np.testing.assert_allclose(
        scores("relieff", y=y, relieff_neighbors=k), expected, rtol=1e-9, atol=1e-13
    )


def test_rrelieff_finds_what_changes_with_the_outcome_whatever_its_form() -> None:
    rng = np.random.default_rng(0)
    noise = rng.random((200, 12))
    y = 10 * np.abs(noise[:, 0] - 0.5) + noise[:, 1]
    found = scores("relieff", noise, y)
    assert np.argmax(found) == 0
    assert found[0] > 2 * np.sort(found)[-3]


def test_rrelieff_needs_neighbors_that_differ() -> None:
    pairs = np.repeat(np.random.default_rng(0).random((10, 5)), 2, axis=0)
    y = np.repeat(np.arange(10.0), 2)
    with pytest.raises(InputError, match="same among all nearest"):
        scores("relieff", pairs, y, relieff_neighbors=1)
    solution = solved("relieff", pairs, y, relieff_neighbors=50)
    assert "only 19 neighbors" in solution.warnings[0]
    np.testing.assert_allclose(solution.score, twin.rrelieff(pairs, y, 19), rtol=1e-9)


def outcome_graph(y: np.ndarray, **options: Any) -> np.ndarray:
    run = make_run(X[: len(y)])
    object.__setattr__(run, "labels", Labels(np.full(len(y), -1), [], y))
    return sample_graph(GraphOptions("outcome", **options), run).similarity.to_dense()


@pytest.mark.parametrize("y", [Y, ORDERED, np.repeat([0.0, 1], [32, 8])], ids=str)
def test_the_kernel_of_an_outcome_equals_the_twin(y: np.ndarray) -> None:
    assert "outcome" in MAKERS
    S = outcome_graph(y)
    np.testing.assert_allclose(S, twin.kernel(y), rtol=1e-12)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(outcome_graph(1e6 - 50 * y), S, rtol=1e-8)
    np.testing.assert_allclose(
        outcome_graph(y, bandwidth="2.5")[0, -1], np.exp(-((y[0] - y[-1]) ** 2) / 12.5), rtol=1e-12
    )


def test_hsic_with_the_kernel_of_an_outcome() -> None:
    expected = [covariance.hsic(f, twin.kernel(Y)) for f in X.T]
    found = scores("hsic", S=outcome_graph(Y))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())


def test_a_kernel_that_does_not_fit_is_refused() -> None:
    run = make_run(X, memory=1000)
    object.__setattr__(run, "labels", Labels(np.full(N, -1), [], Y))
    with pytest.raises(OutOfMemoryError, match="differences between 40 samples"):
        sample_graph(GraphOptions("outcome"), run)


def unit(X: np.ndarray) -> np.ndarray:
    Z = X - X.mean(axis=0)
    return Z / np.linalg.norm(Z, axis=0)


def test_mrsf_with_an_outcome_is_the_path_of_the_lasso() -> None:
    lambdas, active, _ = lars_path(unit(X), unit(Y), method="lasso")
    entered = list(dict.fromkeys(active))[:12]
    solution = solved("mrsf", response="outcome", select=12)
    assert solution.order is not None
    np.testing.assert_array_equal(solution.order[:12], entered)
    correlations = [abs(twin.pearson(f, Y)) for f in X.T]
    assert solution.score[solution.order[0]] == pytest.approx(max(correlations), rel=1e-10)
    # alphas are per sample; nothing leaves the path before the twelfth entry
    np.testing.assert_allclose(solution.score[entered], N * lambdas[:12], rtol=1e-7)
    assert solution.facts["response_columns"] == 1


@pytest.mark.parametrize("penalty", [0.5, 0.05])
def test_l21_with_an_outcome_is_the_lasso(penalty: float) -> None:
    lasso = Lasso(alpha=penalty / N, fit_intercept=False, tol=1e-14, max_iter=10**6)
    expected = np.abs(lasso.fit(unit(X), unit(Y)).coef_)
    found = solved("l21", response="outcome", lambda_=penalty, budget=None)
    np.testing.assert_allclose(found.score, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("m", "gamma"), [(10, 0.5), (30, 2.0), (90, 8.0)])
def test_rfs_with_an_outcome_has_the_optimum_of_the_linear_program(m: int, gamma: float) -> None:
    rng = np.random.default_rng(m)
    wide = rng.normal(size=(N, m))
    wide[:, 0] += unit(Y) * 10
    found = solved("rfs", wide, Y, gamma=gamma)
    assert found.converged
    assert found.objective[-1] == pytest.approx(twin.rfs(wide, Y, gamma), rel=2e-7)
    np.testing.assert_allclose(found.extra["pull"], twin.rfs_pull(wide, Y, gamma), atol=1e-6)


def test_mutual_information_is_scikit_learns() -> None:
    expected = mutual_info_regression(X, Y, discrete_features=False, random_state=3)
    columns = [
        mutual_info_regression(f[:, None], Y, discrete_features=False, random_state=3)[0]
        for f in X.T
    ]
    found = scores("mutual-info", seed=3)
    np.testing.assert_allclose(found, columns, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-2)  # the noise is another


def test_mutual_information_equals_the_twin_with_ties() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (N, 8)).astype(float)
    for y in (rng.integers(3, size=N).astype(float), np.round(Y), Y):
        expected = [max(0.0, twin.mutual_information(f / f.std(), y / y.std())) for f in counts.T]
        found = scores("mutual-info", counts, y)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("variant", ["quotient", "difference"])
def test_mrmr_takes_the_f_of_regression_for_relevance(variant: str) -> None:
    relevance = np.array([twin.f_regression(f, Y) for f in X.T])
    chosen = [int(np.argmax(relevance))]
    for _ in range(4):
        redundancy = np.array(
            [np.mean([abs(twin.pearson(f, X[:, j])) for j in chosen]) for f in X.T]
        )
        value = relevance / np.maximum(redundancy, 0.001)
        if variant == "difference":
            value = relevance - redundancy
        value[chosen] = -np.inf
        chosen.append(int(np.argmax(value)))
    found = solved("mrmr", variant=variant, select=5)
    assert found.order is not None
    np.testing.assert_array_equal(found.order[:5], chosen)


FEATURE_BY_FEATURE = {
    "f-test": classical.FTestScorer,
    "spearman": rank_tests.SpearmanScorer,
    "mutual-info": mutual_info.MutualInfoScorer,
    "relieff": relieff.solve,
}
WHOLE = {
    "mrmr": mrmr.solve,
    "rfs": rfs.solve,
    "mrsf": mrsf.solve,
    "mrsf-rounds": rounds.solve,
    "l21": fixed.solve,
}
ALL = (*FEATURE_BY_FEATURE, *WHOLE)
OPTIONS: dict[str, dict[str, Any]] = {
    "mrsf": {"response": "outcome"},
    "mrsf-rounds": {"response": "outcome"},
    "l21": {"response": "outcome", "lambda_": 0.2},
}


@pytest.mark.parametrize("method", ALL)
def test_outcomes_that_cannot_be_used_are_refused(method: str) -> None:
    given = OPTIONS.get(method, {})
    with pytest.raises(InputError, match="differ"):
        scores(method, y=np.full(N, 0.1), **given)


def test_the_least_p_value_is_one_over_the_number_of_orders() -> None:
    codes = np.repeat([0, 1, 2], [3, 4, 5])
    orders = comb(12, 3) * comb(9, 4)
    np.testing.assert_allclose(least_p_value(codes), 1 / orders, rtol=1e-13)
    assert 0 < least_p_value(np.arange(3000) % 2) < 1e-300
