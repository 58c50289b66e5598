"""Modules against a slow twin, and what they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.ranking.modules import Modules, find_modules
from sfs_cli.ranking.prune import standardized
from tests.oracles import modules as twin
from tests.oracles.prune import pearson

N, T = 25, 36
NAMES = [f"g{i}" for i in range(T)]


def make_values(seed: int = 0) -> np.ndarray:
    """Samples x features: five factors with either sign, a constant."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], T)
    X = signs * rng.normal(size=(N, 5))[:, rng.integers(0, 5, T)]
    X += rng.normal(size=(N, T)) * rng.uniform(0.2, 1.2, T)
    X[:, 4] = 3.0
    return X * rng.uniform(0.1, 50, T) + 7


def found(X: np.ndarray, least: float) -> Modules:
    rows = standardized(np.ascontiguousarray(X.T))
    return find_modules(rows, NAMES[: X.shape[1]], [f"s{i}" for i in range(N)], least)


@pytest.mark.parametrize(("least", "seed"), [(0.3, 0), (0.6, 1), (0.8, 2)])
def test_they_are_those_of_the_twin(seed, least):
    X = make_values(seed)
    made, expected = found(X, least), twin.groups(X, least)
    assert [m.members for m in made.modules] == [[NAMES[i] for i in g] for g in expected]
    for module, members in zip(made.modules, expected, strict=True):
        np.testing.assert_allclose(module.profile, twin.profile(X, members), atol=1e-12)
        eigengene, explained = twin.eigengene(X, members)
        np.testing.assert_allclose(module.eigengene, eigengene, atol=1e-10)
        np.testing.assert_allclose(module.explained, explained, rtol=1e-10)
        pairs = [(i, j) for i in members for j in members if i < j]
        mean = np.mean([abs(pearson(X[:, i], X[:, j])) for i, j in pairs])
        np.testing.assert_allclose(module.mean_correlation, mean, rtol=1e-12)
        signs = [pearson(X[:, members[0]], X[:, i]) < 0 for i in members]
        assert module.opposite.tolist() == signs
    assert any(m.opposite.any() for m in made.modules)


def test_edges_are_the_pairs_above_the_bound():
    X, least = make_values(), 0.6
    made = found(X, least)
    number = {name: k for k, m in enumerate(made.modules, 1) for name in m.members}
    expected = {}
    for i in range(T):
        for j in range(i + 1, T):
            r = pearson(X[:, i], X[:, j])
            if abs(r) > least:
                one, other = number.get(NAMES[i]), number.get(NAMES[j])
                expected[NAMES[i], NAMES[j]] = (r, one if one == other else None)
    assert [(a, b) for a, b, _, _ in made.edges] == list(expected)
    for a, b, r, module in made.edges:
        assert (pytest.approx(r, rel=1e-10), module) == expected[a, b]
    assert {module is None for *_, module in made.edges} == {True, False}


@pytest.mark.parametrize("count", [0, 1])
def test_of_one_feature_there_is_no_module(count):
    made = found(make_values()[:, :count], 0.5)
    assert (made.modules, made.edges) == ([], [])
