"""The reading of eigenvalues: planted groups are seen, and none in noise or along a line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sfs_cli.graph.groups import (
    APART,
    FEWEST,
    ON_ITS_AXIS,
    WIDE_GAP,
    Groups,
    groups_apart,
    read_groups,
)
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
@pytest.mark.parametrize("count", [2, 5])
def test_planted_groups_are_seen(graph, count: int) -> None:
    right = 0
    for seed in range(20):
        found = read(graph(study(100, count, seed)))
        right += found.sizes == (100 // count + (1 if 100 % count else 0),) * (100 % count) + (
            100 // count,
        ) * (count - 100 % count)
    assert right >= 17


@graphs
@pytest.mark.parametrize("n", [20, 120])
def test_no_groups_are_seen_in_noise(graph, n: int) -> None:
    assert sum(read(graph(study(n, 1, seed))).count > 1 for seed in range(30)) <= 1


@graphs
@pytest.mark.parametrize("n", [120])
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
    assert found.codes is not None
    assert len({tuple(found.codes[lo:hi]) for lo, hi in ((0, 12), (12, 22), (22, 30))}) == 3
    assert all(len(set(found.codes[lo:hi])) == 1 for lo, hi in ((0, 12), (12, 22), (22, 30)))


@graphs
@pytest.mark.parametrize("seed", range(2))
def test_it_is_what_the_definitions_say(graph, seed: int) -> None:
    for count in (1, 2, 4):
        S = graph(study(40, count, seed))
        expected = twin.groups(S, wide=WIDE_GAP, aligned=ON_ITS_AXIS, following=FEWEST, count=SIZE)
        assert list(read(S).sizes) == expected


@pytest.mark.parametrize("n", [1, 4])
def test_too_few_eigenvalues_tell_nothing(n: int) -> None:
    found = leading(NormalizedLaplacian(similarity_of(np.ones((n, n)))), n)
    assert read_groups(found.values, found.vectors) is None


# ---- groups in a plane ---------------------------------------------------------------------------


def clouds(away: float, sizes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Round clouds of standard deviation 1 around a circle, in any order."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    angle = 2 * np.pi * codes / len(sizes)
    return rng.normal(size=(len(codes), 2)) + away * np.c_[np.cos(angle), np.sin(angle)], codes


@pytest.mark.parametrize("sizes", [(10, 50), (25, 15, 30, 12, 18)])
def test_clouds_that_are_apart_are_groups_in_a_plane(sizes: tuple[int, ...]) -> None:
    points, codes = clouds(8.0, sizes)
    found = groups_apart(points)
    assert found is not None
    assert len(set(zip(codes.tolist(), found.tolist()))) == len(sizes)  # the same, by other names
    means = [points[found == k, 0].mean() for k in range(len(sizes))]
    assert means == sorted(means)
    assert twin.simplified_silhouette(points, found) >= APART


@pytest.mark.parametrize("n", [12, 250])
def test_noise_and_lines_are_no_groups_in_a_plane(n: int) -> None:
    rng = np.random.default_rng(n)
    t = rng.random(n)
    bent = np.c_[t, (2 * t - 1) ** 2]
    for points in (rng.normal(size=(n, 2)), rng.random((n, 2)), bent):
        assert groups_apart(points) is None
    outlier = rng.normal(size=(n, 2))
    outlier[0] = 100
    assert groups_apart(outlier) is None


def test_groups_are_apart_where_their_silhouettes_are_wide() -> None:
    """By a twin; between clouds that touch others may be found, or none."""
    for away in np.linspace(0.5, 9, 35).tolist():
        points, codes = clouds(away, (20, 30, 25))
        found = groups_apart(points)
        if found is None:
            assert twin.simplified_silhouette(points, codes) < APART + 0.02
        else:
            assert twin.simplified_silhouette(points, found) >= APART - 0.02


def test_clumps_that_points_lie_between_are_no_groups() -> None:
    """As of cells that change from one kind to another."""
    clumps, between = np.linspace(0, 0.1, 20), np.linspace(0.1, 0.9, 20)
    line = np.concatenate([clumps, between, 1 - clumps])
    points = np.c_[line, np.zeros(60)]
    codes = (line > 0.5).astype(int)
    assert twin.simplified_silhouette(points, codes) >= APART
    assert groups_apart(points) is None
    assert groups_apart(np.delete(points, slice(20, 40), axis=0)) is not None


def test_points_of_one_place_are_no_groups() -> None:
    assert groups_apart(np.zeros((30, 2))) is None
    places = np.repeat([[0.0, 0.0], [1.0, 0.0]], 15, axis=0)
    np.testing.assert_array_equal(groups_apart(places), np.repeat([0, 1], 15))
