"""Principal components are those of a whole decomposition, however the matrix is read."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from sfs_cli.compute import centred_blocks, principal
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.principal import principal_components
from sfs_cli.store.matrix import DenseMatrix, Ids, SparseMatrix
from sfs_cli.store.nonzeros import NonZeroSource
from sfs_cli.store.prepared import PreparedMatrix
from tests.oracles import components as oracle


def engine_of(X, *, sparse=False, threads=1, block_size=None):
    """Return passes over samples x features; over the stored values alone where it is sparse."""
    n, m = X.shape
    ids = Ids([f"g{i}" for i in range(m)], [f"s{i}" for i in range(n)])
    rows = np.ascontiguousarray(X.T)
    source = PreparedMatrix(
        SparseMatrix(csr_array(rows), ids) if sparse else DenseMatrix(rows, ids)
    )
    return Engine(
        NonZeroSource(source) if sparse else source,
        ThreadExecutor(threads),
        np.dtype(np.float64),
        block_size=block_size,
    )


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


@pytest.fixture
def decomposing(monkeypatch):
    """Set what is decomposed, whatever the shape."""

    def set_to(kind):
        monkeypatch.setattr(principal, "EXACT_SAMPLES", 5000 if kind == "samples" else 0)
        monkeypatch.setattr(principal, "EXACT_FEATURES", 5000 if kind == "features" else 0)

    return set_to


@pytest.fixture
def randomized(decomposing):
    decomposing("randomized")


def assert_distances(found, X, count, rtol):
    assert found.scores.shape == (count, len(X))
    np.testing.assert_allclose(pdist(found.scores.T), pdist(oracle.scores(X, count)), rtol=rtol)


@pytest.mark.parametrize(
    ("n", "m", "count", "kind"),
    [
        (60, 200, 12, "samples"),
        (60, 200, 59, "samples"),
        (15, 400, 9, "randomized"),  # too few samples for that
        (300, 18, 9, "randomized"),  # too few features
        (300, 18, 18, "features"),
        (300, 170, 7, "features"),
        (300, 170, 170, "features"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_exact_components_are_those_of_the_twin(
    n, m, count, kind, sparse, decomposing, monkeypatch
):
    decomposing(kind)
    for module in (centred_blocks, principal):
        monkeypatch.setattr(module, "block_features", lambda _n, _itemsize: 16)
    X = low_rank(n, m, 12, 0.5)
    found = principal_components(engine_of(X, sparse=sparse, block_size=7), count, 0)
    assert found.how == "exact"
    assert_distances(found, X, count, 1e-10)
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.kept == pytest.approx(sizes[:count].sum() / sizes.sum(), rel=1e-10)
    np.testing.assert_allclose((found.scores**2).sum(axis=1), sizes[:count], rtol=1e-9)


@pytest.mark.usefixtures("randomized")
@pytest.mark.parametrize("sparse", [False, True])
def test_randomized_components_are_those_of_the_twin_where_the_spectrum_falls(sparse):
    X = low_rank(400, 300, 40, 1e-3)
    found = principal_components(engine_of(X, sparse=sparse), 10, 0)
    assert found.how == "randomized"
    assert_distances(found, X, 10, 1e-6)
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.kept == pytest.approx(sizes[:10].sum() / sizes.sum(), rel=1e-9)


@pytest.mark.usefixtures("randomized")
def test_the_space_of_a_low_rank_is_found_through_noise():
    X = low_rank(500, 400, 6, 0.05)
    found = principal_components(engine_of(X), 6, 3)
    angles = subspace_angles(found.scores.T, oracle.scores(X, 6))
    assert angles.max() < 1e-7


@pytest.mark.usefixtures("randomized")
def test_counts_are_the_same_sparse_and_dense():
    X = sparse_counts()
    dense = principal_components(engine_of(X), 8, 0)
    sparse = principal_components(engine_of(X, sparse=True), 8, 0)
    np.testing.assert_allclose(pdist(sparse.scores.T), pdist(dense.scores.T), rtol=1e-10)
    assert sparse.kept == pytest.approx(dense.kept, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_threads_do_not_change_a_bit(sparse, kind, decomposing, monkeypatch):
    decomposing(kind)
    for module in (centred_blocks, principal):
        monkeypatch.setattr(module, "block_features", lambda _n, _itemsize: 16)
    X = sparse_counts()
    found = [principal_components(engine_of(X, sparse=sparse, threads=t), 8, 0) for t in (1, 3)]
    np.testing.assert_array_equal(found[0].scores, found[1].scores)
    assert found[0].kept == found[1].kept


@pytest.mark.usefixtures("randomized")
def test_blocks_and_seeds_change_rounding_alone():
    X = low_rank(300, 250, 30, 1e-3)
    expected = pdist(principal_components(engine_of(X), 6, 0).scores.T)
    for seed, size in ((0, 5), (9, None)):
        found = principal_components(engine_of(X, block_size=size), 6, seed)
        np.testing.assert_allclose(pdist(found.scores.T), expected, rtol=1e-7)
    other = principal_components(engine_of(sparse_counts()), 6, 1).scores
    assert (other != principal_components(engine_of(sparse_counts()), 6, 2).scores).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_components_beyond_the_rank_are_zero(sparse, kind, decomposing):
    decomposing(kind)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 3)) @ rng.integers(0, 3, (3, 80)).astype(float)
    X[:, 11] = 5
    found = principal_components(engine_of(X, sparse=sparse), 8, 0)
    sizes = np.linalg.norm(found.scores, axis=1)
    assert (sizes[3:] < 1e-6 * sizes[0]).all()
    assert found.kept == pytest.approx(1)
    assert_distances_of_all(found.scores, X)


def assert_distances_of_all(scores, X):
    np.testing.assert_allclose(pdist(scores.T), pdist(X), atol=1e-6 * np.abs(X).max())


@pytest.mark.parametrize("kind", KINDS)
def test_samples_that_are_alike_have_no_components(kind, decomposing):
    decomposing(kind)
    found = principal_components(engine_of(np.tile(np.arange(60.0), (100, 1))), 4, 0)
    assert found.kept == 0
    assert not found.scores.any()


@pytest.mark.parametrize(
    ("kind", "n", "m", "count"),
    [("samples", 300, 500, 8), ("features", 300, 500, 8), ("randomized", 300, 500, 8)],
)
def test_the_matrix_is_read_as_often_as_is_said(kind, n, m, count, decomposing, monkeypatch):
    decomposing(kind)
    for module in (centred_blocks, principal):
        monkeypatch.setattr(module, "block_features", lambda _n, _itemsize: 16)
    engine = engine_of(low_rank(n, m, 5, 0.1))
    seen = []
    really = engine.source.read

    def read(span, dtype):
        seen.append(span.size)
        return really(span, dtype)

    monkeypatch.setattr(engine.source, "read", read)
    principal_components(engine, count, 0)
    assert sum(seen) / m == pytest.approx(principal.reads(n, m, count), abs=1)
