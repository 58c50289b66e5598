"""The discriminant problem: its value and certificate, another solver, indefinite kernels."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.knowledge.weights.discriminant import without_negative
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import knn_of, learn, planted, profile


def relative_gap(kernels: list[np.ndarray], theta: np.ndarray, h: np.ndarray, lam: float) -> float:
    """How far F may be above its minimum: the best vertex e_i / r_i against theta."""
    value, gradient = oracle.discriminant(kernels, theta, h, lam)
    r = np.array([np.trace(oracle.without_negative(oracle.centered(K))) for K in kernels])
    theta = theta / (theta @ r)
    return float(gradient @ theta - (gradient / r).min()) / value


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("lam", [None, 0.3, 1e-4])
@pytest.mark.parametrize("graph", [False, True])
def test_the_gap_certifies_the_minimum(seed, lam, graph):
    p = planted(seed, graph=graph)
    found = p.learn("rkda", lam=lam)
    lam = lam or 1 / len(p.codes)  # the mean eigenvalue
    assert found.facts["lambda"] == pytest.approx(lam)
    h = oracle.scaled_class_indicators(p.codes)
    assert found.converged
    assert found.facts["gap"] <= 1e-8
    assert relative_gap(p.kernels, found.weights, h, lam) <= 1e-8
    value, _ = oracle.discriminant(p.kernels, found.weights, h, lam)
    assert found.objective == pytest.approx(value, rel=1e-9)


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
