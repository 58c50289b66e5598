"""Weights and clusters by turns: descent, both kinds of turn optimal, large problems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from sfs_cli.errors import InputError, NotConvergedError
from sfs_cli.knowledge.weights import discriminant as naml
from sfs_cli.knowledge.weights.discriminant import leading
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import learn, planted
from tests.unit.knowledge.weights.test_rkda import relative_gap


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("lam", "clusters"), [(None, 2), (0.3, 3), (None, 8)])
def test_the_objective_never_rises_and_settles(seed, lam, clusters):
    found = planted(seed, graph=True).learn("naml", lam=lam, clusters=clusters)
    values = found.objectives
    assert len(values) >= 2
    assert (np.diff(values) < 0).all()
    assert found.converged


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("lam", [None, 0.05])
def test_neither_turn_can_go_on(seed, lam):
    p = planted(seed, graph=True)
    found = p.learn("naml", lam=lam, clusters=3)
    lam = found.facts["lambda"]
    L = oracle.cluster_indicators(p.kernels, found.weights, 3)
    value, _ = oracle.discriminant(p.kernels, found.weights, L, lam)
    assert value == pytest.approx(found.objective, rel=1e-6)
    assert value <= found.objective * (1 + 1e-12)
    assert relative_gap(p.kernels, found.weights, L, lam) < 1e-3


def test_the_first_turn_finds_the_minimum_over_the_weights(monkeypatch):
    monkeypatch.setattr(naml, "MAX_ROUNDS", 1)
    p = planted(0, n=30)
    found = p.learn("naml", clusters=3)
    L = oracle.cluster_indicators(p.kernels, np.ones(4), 3)
    start, _ = oracle.discriminant(p.kernels, np.ones(4), L, 1 / 30)
    assert found.objectives[0] == pytest.approx(start, rel=1e-10)
    assert relative_gap(p.kernels, found.weights, L, 1 / 30) <= 1e-8
    assert not found.converged
    assert found.stop == "1 iterations"


def test_eigenvectors_of_many_samples(monkeypatch):
    G = planted(0, n=60).kernels[0]
    expected = leading(G, 3)
    monkeypatch.setattr(naml, "DIRECT_LIMIT", 10)
    found = leading(G, 3)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-10)
    np.testing.assert_array_equal(leading(G, 3), found)


def test_eigenvectors_that_are_not_found(monkeypatch):
    def give_up(*_, **__):
        raise ArpackNoConvergence("no", np.ones(1), np.ones((60, 1)))

    monkeypatch.setattr(naml, "DIRECT_LIMIT", 10)
    monkeypatch.setattr("scipy.sparse.linalg.eigsh", give_up)
    with pytest.raises(NotConvergedError, match="1 of 3 were found") as caught:
        leading(np.eye(60), 3)
    assert "clusters=" in caught.value.hint


def test_there_must_be_more_samples_than_clusters():
    p = planted(0, n=9)
    with pytest.raises(InputError, match="9 clusters are asked for among 9 samples"):
        learn("naml", p.kernels, clusters=9)
    with pytest.raises(AssertionError):
        learn("naml", p.kernels, clusters=None)
