"""Principal components are those of a whole decomposition, however the matrix is read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.spatial.distance import pdist

from sfs_cli.compute.limits import Limits
from sfs_cli.graph.pca import principal_components
from sfs_cli.store.adjust import Adjustment, orthonormal
from tests.making import make_engine
from tests.oracles import components as oracle


def engine_of(X, *, sparse=False, **more):
    return make_engine(X, sparse=sparse, nonzeros=sparse, **more)


def low_rank(n, m, rank, noise, seed=0):
    """Samples x features: components of falling size, a mean, and noise."""
    rng = np.random.default_rng(seed)
    sizes = 10 * 0.8 ** np.arange(rank)
    signal = (rng.normal(size=(n, rank)) * sizes) @ rng.normal(size=(rank, m)) / np.sqrt(m)
    return signal + noise * rng.normal(size=(n, m)) + 100 * rng.random(m)


def sparse_counts(n=300, m=200, seed=1):
    rng = np.random.default_rng(seed)
    level = np.exp(rng.normal(size=(n, 4)) @ rng.normal(size=(4, m)) * 0.7 - 1.5)
    return rng.poisson(level).astype(float)


KINDS = ["samples", "features", "randomized"]


def decomposing(kind):
    """Return the limits under which components are found in this way, whatever the shape."""
    return Limits(
        exact_samples=5000 if kind == "samples" else 0,
        exact_features=5000 if kind == "features" else 0,
    )


RANDOMIZED = decomposing("randomized")


def assert_distances(found, X, count, rtol):
    assert found.scores.shape == (count, len(X))
    np.testing.assert_allclose(pdist(found.scores.T), pdist(oracle.scores(X, count)), rtol=rtol)


@pytest.mark.parametrize(
    ("n", "m", "count", "kind"),
    [
        (60, 200, 12, "samples"),
        (60, 200, 59, "samples"),
        (300, 18, 18, "features"),
        (300, 170, 7, "features"),
        (300, 170, 170, "features"),
        (15, 400, 9, "randomized"),  # too few samples for that
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_exact_components_are_those_of_the_twin(n, m, count, kind, sparse):
    X = low_rank(n, m, 12, 0.5)
    engine = engine_of(X, sparse=sparse, block_size=7)
    found = principal_components(engine, count, 0, decomposing(kind))
    assert found.how == "exact"
    assert_distances(found, X, count, 1e-10)
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.kept == pytest.approx(sizes[:count].sum() / sizes.sum(), rel=1e-10)
    np.testing.assert_allclose((found.scores**2).sum(axis=1), sizes[:count], rtol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_randomized_components_are_those_of_the_twin_where_the_spectrum_falls(sparse):
    X = low_rank(400, 300, 40, 1e-3)
    found = principal_components(engine_of(X, sparse=sparse), 10, 0, RANDOMIZED)
    assert found.how == "randomized"
    assert_distances(found, X, 10, 1e-6)
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.kept == pytest.approx(sizes[:10].sum() / sizes.sum(), rel=1e-9)


def test_the_space_of_a_low_rank_is_found_through_noise():
    X = low_rank(500, 400, 6, 0.05)
    found = principal_components(engine_of(X), 6, 3, RANDOMIZED)
    angles = subspace_angles(found.scores.T, oracle.scores(X, 6))
    assert angles.max() < 1e-7


def test_counts_are_the_same_sparse_and_dense():
    X = sparse_counts()
    dense = principal_components(engine_of(X), 8, 0, RANDOMIZED)
    sparse = principal_components(engine_of(X, sparse=True), 8, 0, RANDOMIZED)
    np.testing.assert_allclose(pdist(sparse.scores.T), pdist(dense.scores.T), rtol=1e-10)
    assert sparse.kept == pytest.approx(dense.kept, rel=1e-12)


def test_blocks_and_seeds_change_rounding_alone():
    X = low_rank(300, 250, 30, 1e-3)
    expected = pdist(principal_components(engine_of(X), 6, 0, RANDOMIZED).scores.T)
    for seed, size in ((0, 5), (9, None)):
        found = principal_components(engine_of(X, block_size=size), 6, seed, RANDOMIZED)
        np.testing.assert_allclose(pdist(found.scores.T), expected, rtol=1e-7)
    one, other = (
        principal_components(engine_of(sparse_counts()), 6, seed, RANDOMIZED).scores
        for seed in (1, 2)
    )
    assert (one != other).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_components_beyond_the_rank_are_zero(sparse, kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 3)) @ rng.integers(0, 3, (3, 80)).astype(float)
    X[:, 11] = 5
    found = principal_components(engine_of(X, sparse=sparse), 8, 0, decomposing(kind))
    sizes = np.linalg.norm(found.scores, axis=1)
    assert (sizes[3:] < 1e-6 * sizes[0]).all()
    assert found.kept == pytest.approx(1)
    assert_distances_of_all(found.scores, X)


def assert_distances_of_all(scores, X):
    np.testing.assert_allclose(pdist(scores.T), pdist(X), atol=1e-6 * np.abs(X).max())


@pytest.mark.parametrize("kind", KINDS)
def test_samples_that_are_alike_have_no_components(kind):
    X = np.tile(np.arange(60.0), (100, 1))
    found = principal_components(engine_of(X), 4, 0, decomposing(kind))
    assert found.kept == 0
    assert not found.scores.any()


@pytest.mark.parametrize("kind", KINDS)
def test_components_of_an_adjusted_sparse_matrix_are_those_of_its_residuals(kind):
    X = sparse_counts(120, 90)
    basis, _ = orthonormal(np.stack([X[:, :20].sum(axis=1), np.arange(len(X)) % 3 == 0.0]))
    X[:, 4] = 9 * (np.arange(len(X)) % 3 == 0)  # explained
    engine = make_engine(X, sparse=True, adjustment=Adjustment(basis))
    dense = principal_components(engine, 7, 0, decomposing(kind))
    found = principal_components(replace(engine, nonzeros=True), 7, 0, decomposing(kind))
    assert_distances(found, X - basis.T @ (basis @ X), 7, 1e-8 if kind != "randomized" else 1e-5)
    np.testing.assert_allclose(pdist(found.scores.T), pdist(dense.scores.T), rtol=1e-9)
    assert found.kept == pytest.approx(dense.kept, rel=1e-9)
