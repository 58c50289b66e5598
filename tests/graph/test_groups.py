"""The reading of eigenvalues: planted groups are seen, and none in noise or along a line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sfs_cli.graph.groups import FEWEST, ON_ITS_AXIS, WIDE_GAP, Groups, read_groups
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import similarity_of
from sfs_cli.graph.spectral import leading
from tests.oracles import groups as twin

SIZE = 20


def rbf(X: np.ndarray) -> np.ndarray:
    d2 = cdist(X, X, "sqeuclidean")
    return np.exp(-d2 / (2 * np.median(d2[np.triu_indices(len(X), 1)])))


def knn(X: np.ndarray, k: int = 10) -> np.ndarray:
    d2 = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(d2, np.inf)
    S = np.zeros_like(d2)
    np.put_along_axis(S, np.argsort(d2, axis=1)[:, :k], 1.0, axis=1)
    return np.maximum(S, S.T)


def by_correlation(X: np.ndarray) -> np.ndarray:
    Z = X - X.mean(axis=1, keepdims=True)
    return knn(Z / np.linalg.norm(Z, axis=1, keepdims=True), 5)


GRAPHS = {"rbf": rbf, "knn": knn, "knn-correlation": by_correlation}
graphs = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


def study(n: int, count: int, seed: int, *, line: bool = False) -> np.ndarray:
    """Samples x 500 features of noise, with `count` groups in a tenth of them, or along a line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 500))
    for k in range(count if count > 1 else 0):
        chosen = rng.choice(500, 50, replace=False)
        X[np.ix_(np.arange(n) % count == k, chosen)] += 2
    if line:
        X[:, :50] += 3 * np.linspace(0, 1, n)[:, None]
    return X


def read(S: np.ndarray) -> Groups:
    found = leading(NormalizedLaplacian(similarity_of(S)), min(SIZE, len(S)))
    groups = read_groups(found.values, found.vectors)
    assert groups is not None
    return groups


@graphs
@pytest.mark.parametrize("count", [2, 3, 5])
def test_planted_groups_are_seen(graph, count: int) -> None:
    right = 0
    for seed in range(20):
        found = read(graph(study(100, count, seed)))
        right += found.sizes == (100 // count + (1 if 100 % count else 0),) * (100 % count) + (
            100 // count,
        ) * (count - 100 % count)
    assert right >= 17


@graphs
@pytest.mark.parametrize("n", [20, 50, 120])
def test_no_groups_are_seen_in_noise(graph, n: int) -> None:
    assert sum(read(graph(study(n, 1, seed))).count > 1 for seed in range(30)) <= 1


@graphs
@pytest.mark.parametrize("n", [40, 120])
def test_no_groups_are_seen_along_a_line(graph, n: int) -> None:
    found = [read(graph(study(n, 1, seed, line=True))) for seed in range(20)]
    assert sum(each.count > 1 for each in found) <= 1
    if graph is rbf:  # whose eigenvalues alone look like two groups
        assert all(each.gradual == 1 for each in found)


def test_groups_without_an_edge_between_them_are_the_connected_components() -> None:
    S = np.zeros((30, 30))
    for lo, hi in ((0, 12), (12, 22), (22, 30)):
        S[lo:hi, lo:hi] = 1
    found = read(S)
    assert found.sizes == (12, 10, 8)
    assert found.structured
    assert found.codes is not None
    assert len({tuple(found.codes[lo:hi]) for lo, hi in ((0, 12), (12, 22), (22, 30))}) == 3
    assert all(len(set(found.codes[lo:hi])) == 1 for lo, hi in ((0, 12), (12, 22), (22, 30)))


@graphs
@pytest.mark.parametrize("seed", range(6))
def test_it_is_what_the_definitions_say(graph, seed: int) -> None:
    for count in (1, 2, 4):
        S = graph(study(40, count, seed))
        expected = twin.groups(S, wide=WIDE_GAP, aligned=ON_ITS_AXIS, following=FEWEST, count=SIZE)
        assert list(read(S).sizes) == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_too_few_eigenvalues_tell_nothing(n: int) -> None:
    found = leading(NormalizedLaplacian(similarity_of(np.ones((n, n)))), n)
    assert read_groups(found.values, found.vectors) is None
