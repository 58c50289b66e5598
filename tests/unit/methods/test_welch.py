"""Welch's analysis of variance: its definition, the t-test of two classes, constant classes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Scorer, Status
from sfs_cli.methods.classical import TTestScorer
from sfs_cli.methods.welch import WelchScorer
from tests.making import make_problem
from tests.oracles import welch as twin


def made(sizes: tuple[int, ...], m: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Classes that differ in their variances, and in their means by more and more."""
    rng = np.random.default_rng(sum(sizes))
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(codes), m)) * (1 + 2 * codes[:, None])
    return X + np.geomspace(0.01, 20, m) * codes[:, None], codes


def found(
    X: np.ndarray, codes: np.ndarray, scorer: Any = WelchScorer, block_size: int = 7
) -> tuple[Scorer, dict[str, np.ndarray]]:
    problem = make_problem(X, codes=codes, block_size=block_size)
    test = scorer(problem)
    measured = problem.engine.columns(test.score_block, test.dtype)
    return test, measured | test.columns(measured)


@pytest.mark.parametrize("sizes", [(10, 25), (2, 2), (8, 9, 20), (2, 3, 4, 5, 6), (60, 70, 80)])
def test_it_is_its_twin(sizes: tuple[int, ...]) -> None:
    X, codes = made(sizes)
    test, columns = found(X, codes)
    f, between, within = np.transpose([twin.anova(f, codes) for f in X.T])
    np.testing.assert_allclose(columns["score"], f, rtol=1e-10)
    np.testing.assert_allclose(columns["freedom"], within, rtol=1e-10)
    assert test.facts["between_degrees_of_freedom"] == between[0]
    p = stats.f.sf(f, between, within)
    np.testing.assert_allclose(columns["p_value"], p, rtol=1e-8)
    np.testing.assert_allclose(columns["q_value"], stats.false_discovery_control(p), rtol=1e-8)
    if "equal_var" in inspect.signature(stats.f_oneway).parameters:  # since SciPy 1.16
        result = stats.f_oneway(*(X[codes == c] for c in range(len(sizes))), equal_var=False)
        np.testing.assert_allclose(columns["score"], result.statistic, rtol=1e-9)
        np.testing.assert_allclose(columns["p_value"], result.pvalue, rtol=1e-8)


def test_values_of_r() -> None:
    """Those of ``oneway.test`` of R 4.2.2."""
    y = [3.1, 4.2, 5.0, 3.8, 6.1, 9.3, 2.2, 7.7, 8.1, 5.5, 5.6, 5.4, 5.9, 5.2, 5.1]
    test, columns = found(np.array(y)[:, None], np.repeat([0, 1, 2], [4, 5, 6]))
    assert columns["score"][0] == pytest.approx(5.76215605588611, rel=1e-12)
    assert test.facts["between_degrees_of_freedom"] == 2
    assert columns["freedom"][0] == pytest.approx(5.03660393860372, rel=1e-12)
    assert columns["p_value"][0] == pytest.approx(0.0499082650372806, rel=1e-12)


@pytest.mark.parametrize("sizes", [(10, 25), (2, 2), (60, 140)])
def test_of_two_classes_it_is_the_t_test(sizes: tuple[int, ...]) -> None:
    X, codes = made(sizes)
    X[codes == 0, 5] = 3  # constant in one class
    X[:, 6] = codes  # in both
    X[:, 7] = 1
    X[:, 8] = np.where(codes == 0, X[0, 0], X[0, 0] + 1e-3)
    t, squared = found(X, codes, TTestScorer)[1], found(X, codes)[1]
    for name in ("status", "p_value", "q_value", "freedom"):
        np.testing.assert_allclose(squared[name], t[name], rtol=1e-9)
    np.testing.assert_allclose(squared["score"], t["score"] ** 2, rtol=1e-10)


def test_a_constant_class_is_the_limit_of_a_small_noise() -> None:
    X, codes = made((5, 6, 7, 9))
    X[codes == 2, :20] = 1.5
    X[codes == 1, :10] = 1.5
    rng = np.random.default_rng(0)
    noise = rng.normal(size=X.shape)
    for c in range(4):  # the same variance in every class, and a mean of 0
        noise[codes == c] -= noise[codes == c].mean(axis=0)
        noise[codes == c] /= noise[codes == c].std(axis=0, ddof=1)
    test, columns = found(X, codes)
    near = [twin.anova(f, codes) for f in (X + 1e-6 * noise).T]
    f, _, within = np.transpose(near)
    np.testing.assert_allclose(columns["score"], f, rtol=1e-4)
    np.testing.assert_allclose(columns["freedom"], within, rtol=1e-4)
    assert test.warnings == []


def test_constant_classes_that_differ_are_no_discovery() -> None:
    X, codes = made((2, 3, 4))
    X[:, 0] = codes
    X[codes != 1, 1] = codes[codes != 1]  # two classes are constant and differ, one varies
    X[:, 2] = np.pi
    X[:, 3] = 0
    test, columns = found(X, codes)
    assert np.isinf(columns["score"][:2]).all()
    assert columns["status"][2:4].tolist() == [Status.CONSTANT, Status.ALL_ZERO]
    assert np.isnan(columns["score"][2:4]).all()
    np.testing.assert_allclose(columns["p_value"][:2], 1 / (9 * 8 * 7 / 6 * 15))
    assert any("2 features have an infinite" in text for text in test.warnings)


def test_zeros_in_most_classes() -> None:
    """Two of three classes have no value but 0: the third is compared with 0."""
    X = np.zeros((12, 1))
    codes = np.repeat([0, 1, 2], 4)
    X[codes == 2, 0] = [0, 1, 2, 5]
    _, columns = found(X, codes)
    # h = (1/2, 1/2, 0): L = (1/4 + 1/4 + 1) / 3
    error = np.var(X[8:, 0], ddof=1) / 4
    expected = 2**2 / error / 2 / (1 + 2 / 8 * 0.5)
    np.testing.assert_allclose(columns["score"], expected, rtol=1e-13)
    np.testing.assert_allclose(columns["freedom"], 8 / 3 / 0.5, rtol=1e-13)


def test_huge_and_tiny_values() -> None:
    X, codes = made((6, 7, 12))
    _, columns = found(X, codes)
    for scale in (2.0**600, 2.0**-600):
        _, again = found(X * scale, codes)
        np.testing.assert_allclose(again["score"], columns["score"], rtol=1e-12)


def test_wrong_classes_are_refused() -> None:
    X, _ = made((3, 4))
    with pytest.raises(InputError, match="at least 2 samples in every class"):
        WelchScorer(make_problem(X, codes=np.array([0, 1, 1, 1, 1, 1, 1])))
    with pytest.raises(InputError, match="at least two classes"):
        WelchScorer(make_problem(X, codes=np.zeros(7, int)))
