"""The discriminant problem: its value and certificate, another solver, indefinite kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sfs_cli.errors import InputError
from sfs_cli.knowledge.weights.discriminant import Discriminant, scaled_indicators, without_negative
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import knn_of, learn, planted, profile


def relative_gap(kernels: list[np.ndarray], theta: np.ndarray, h: np.ndarray, lam: float) -> float:
    """How far F may be above its minimum: the best vertex e_i / r_i against theta."""
    value, gradient = oracle.discriminant(kernels, theta, h, lam)
    r = np.array([np.trace(oracle.without_negative(oracle.centered(K))) for K in kernels])
    theta = theta / (theta @ r)
    return float(gradient @ theta - (gradient / r).min()) / value


def slsqp(kernels: list[np.ndarray], h: np.ndarray, lam: float) -> float:
    count = len(kernels)
    found = minimize(
        lambda theta: oracle.discriminant(kernels, np.abs(theta), h, lam)[0],
        np.full(count, 1 / count),
        bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda theta: theta.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 300},
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("lam", [None, 0.3, 1e-4])
@pytest.mark.parametrize("graph", [False, True])
def test_the_gap_certifies_the_minimum(seed, lam, graph):
    p = planted(seed, graph=graph)
    found = p.learn("rkda", lam=lam)
    lam = found.facts["lambda"]
    h = oracle.scaled_class_indicators(p.codes)
    assert found.converged
    assert found.facts["gap"] <= 1e-8
    assert relative_gap(p.kernels, found.weights, h, lam) <= 1e-8
    value, _ = oracle.discriminant(p.kernels, found.weights, h, lam)
    assert found.objective == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_an_independent_solver_finds_nothing_lower(seed):
    p = planted(seed, n=30)
    found = p.learn("rkda")
    best = slsqp(p.kernels, oracle.scaled_class_indicators(p.codes), 1 / 30)
    assert found.objective <= best * (1 + 1e-8)  # to the gap at which it stops
    assert found.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("columns", [1, 4])
def test_any_right_hand_side(columns):
    p = planted(1)
    G = [oracle.centered(K) for K in p.kernels]
    G = [g / np.trace(g) for g in G]
    V = np.random.default_rng(0).normal(size=(len(G[0]), columns))
    found = Discriminant(G, 0.01).minimize(V, np.full(len(G), 1 / len(G)))
    assert found.converged
    assert relative_gap(G, found.w, V, 0.01) <= 1e-8


def test_the_objective_never_rises():
    values = planted(0, graph=True).learn("rkda").objectives
    assert len(values) > 2
    assert (np.diff(values) <= 0).all()


def test_lambda_is_the_mean_eigenvalue_by_default():
    assert planted(0, n=48).learn("rkda").facts["lambda"] == pytest.approx(1 / 48)


def test_class_indicators():
    y = np.array([2, 0, 0, 1, 2, 0])
    V = scaled_indicators(oracle.indicators(y))
    np.testing.assert_allclose(V, oracle.scaled_class_indicators(y), atol=1e-15)
    projector = V @ V.T
    np.testing.assert_allclose(projector @ projector, projector, atol=1e-14)
    assert np.trace(projector) == pytest.approx(2)


def test_kernels_that_say_nothing_leave_the_classes_as_they_are():
    n, y = 30, np.arange(30) % 3
    flat = oracle.centring(n)
    found = learn("rkda", [flat, flat], y, lam=1e9)
    assert found.objective == pytest.approx(2, rel=1e-6)


def test_a_kernel_without_loops_loses_its_negative_eigenvalues_and_says_so():
    y = np.arange(36) % 3
    graph = knn_of(profile(y, 1.0, 1))
    centered = oracle.centered(graph)
    values = np.linalg.eigvalsh(centered)
    clipped, share = without_negative(centered)
    np.testing.assert_allclose(clipped, oracle.without_negative(centered), atol=1e-13)
    assert share == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())
    found = learn("rkda", [graph, planted(0, n=36).kernels[0]], y)
    assert len(found.warnings) == 1
    assert f"source 1 is not positive semi-definite: {share:.1%}" in found.warnings[0]


@pytest.mark.parametrize("rank", [5])
def test_rounding_is_no_negative_eigenvalue(rank):
    X = np.random.default_rng(rank).normal(size=(40, rank))
    G = oracle.centered(X @ X.T)
    assert without_negative(G)[1] == 0.0
    assert without_negative(G)[0] is G


def test_one_class_is_an_error():
    p = planted(0)
    for name in ("rkda", "alignf"):
        with pytest.raises(InputError, match="same class"):
            learn(name, p.kernels, np.zeros(len(p.codes), int))
