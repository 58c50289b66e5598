from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.graph.distances import squared_distances
from sfs_cli.graph.kinds import fewer_neighbors, relieff_similarity
from tests.oracles import similarities

Data = tuple[np.ndarray, np.ndarray]
NAMES = ["a", "b", "c", "d", "e"]


def distances_of(X: np.ndarray) -> np.ndarray:
    Z = X - X.mean(axis=0)
    return squared_distances(Z @ Z.T)


def test_relieff_breaks_ties_by_index() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(30, 2)).astype(float)
    codes = rng.permutation(np.repeat([0, 3], 15))
    S = relieff_similarity(squared_distances(X @ X.T), codes, 4, NAMES).to_dense()
    np.testing.assert_allclose(S, similarities.relieff(X, codes, 4), rtol=1e-14)


def test_relieff_form_is_the_difference_of_misses_and_hits(random: Data) -> None:
    """f' (D - S) f is half of Eq. 3.16's sum over hits minus that over misses."""
    X, codes = random
    k = 3
    S = relieff_similarity(distances_of(X), codes, k, NAMES)
    d = similarities.distances(X)
    for f in X.T[:5] - X.T[:5].mean(axis=1, keepdims=True):
        total = 0.0
        for i in range(len(X)):
            for c in range(3):
                members = [j for j in range(len(X)) if codes[j] == c]
                near = similarities.neighbors(d, i, k, among=members)
                share = np.sum((f[i] - f[near]) ** 2) / k
                total += share if c == codes[i] else -share / 2
        form = f @ (S.degrees * f) - f @ S.matmul(f[None])[0]
        assert form == pytest.approx(total / 2, rel=1e-10)


def test_relieff_takes_fewer_neighbors_of_a_small_class() -> None:
    codes = np.array([0] * 9 + [1] * 5 + [2] * 2)
    X = np.random.default_rng(3).normal(size=(16, 40))
    S = relieff_similarity(distances_of(X), codes, 7, NAMES).to_dense()
    np.testing.assert_allclose(S, similarities.relieff(X, codes, 7), rtol=1e-13)
    np.testing.assert_allclose(S.sum(), 16, rtol=1e-12)
    assert "'b', 'c'" in fewer_neighbors(codes, 7, NAMES)
    assert fewer_neighbors(codes, 1, NAMES) == ""


def test_relieff_names_a_class_of_one_sample() -> None:
    codes = np.array([0] * 9 + [1])
    with pytest.raises(InputError, match="class 'tumor' has one sample") as caught:
        relieff_similarity(np.zeros((10, 10)), codes, 5, ["normal", "tumor"])
    assert caught.value.options == ("labels",)
