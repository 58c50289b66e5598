"""The search by panels finds what the search on all distances finds."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from sfs_cli.compute import passes
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.identical import first_identical
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph.options import GraphOptions
from sfs_cli.logs import Messages
from sfs_cli.sources import neighbours
from sfs_cli.sources.request import GraphRequest
from sfs_cli.sources.sample_graph import sample_graph
from sfs_cli.store.matrix import DenseMatrix, Ids
from sfs_cli.store.prepared import PreparedMatrix

DOUBLE = np.dtype(np.float64)
RULES = ["median", "self-tuning", "3.5"]


def request_of(X, *, threads=2, memory=1 << 30, seed=0, **options):
    """Return a request for a knn graph of samples x features."""
    n, m = X.shape
    ids = Ids([f"g{i}" for i in range(m)], [f"s{i}" for i in range(n)])
    source = PreparedMatrix(DenseMatrix(np.ascontiguousarray(X.T), ids))
    engine = Engine(source, ThreadExecutor(threads), DOUBLE, block_size=17)
    asked = GraphOptions("knn", **options)
    return GraphRequest(
        asked, engine, None, memory, Messages(verbosity=-1), where="x.csv", seed=seed
    )


def samples(n, m=40, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, m)) * 2
    return centres[rng.integers(0, 4, n)] + rng.normal(size=(n, m)) + 100 * rng.normal(size=m)


@pytest.fixture
def by_panels(monkeypatch):
    """Return what finds neighbours by small panels, and refuses to hold all distances."""

    def find(request, weighted=True, panel=64):
        with monkeypatch.context() as patch:
            patch.setattr(neighbours, "DENSE_DISTANCES", 2)
            patch.setattr(neighbours, "PANEL", panel)
            patch.delattr(neighbours, "distances")
            return neighbours.find_neighbours(request, weighted)

    return find


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.d2, expected.d2, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(found.bandwidth, expected.bandwidth, rtol=1e-12)
    assert found.facts == expected.facts


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [65, 150, 301])
def test_panels_find_what_all_distances_find(by_panels, n, rule):
    request = request_of(samples(n), bandwidth=rule, neighbors=9)
    assert_same(by_panels(request), neighbours.find_neighbours(request, weighted=True))


def test_the_median_of_all_pairs_is_exact(by_panels):
    from scipy.spatial.distance import pdist

    for seed, n in enumerate((20, 101, 400)):
        X = samples(n, seed=seed)
        found = by_panels(request_of(X))
        np.testing.assert_allclose(found.bandwidth, np.median(pdist(X)), rtol=1e-12)


def test_binary_edges_need_no_bandwidth(by_panels):
    request = request_of(samples(90), edge_weights="binary")
    found = by_panels(request, weighted=False)
    expected = neighbours.find_neighbours(request, weighted=False)
    assert found.bandwidth is None
    np.testing.assert_array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("rule", RULES)
def test_the_graph_is_the_same(monkeypatch, rule):
    request = request_of(samples(120), bandwidth=rule)
    expected = sample_graph(request)
    monkeypatch.setattr(neighbours, "DENSE_DISTANCES", 2)
    monkeypatch.setattr(neighbours, "PANEL", 50)
    found = sample_graph(request)
    assert (found.similarity.matrix != found.similarity.matrix.T).nnz == 0
    np.testing.assert_allclose(
        found.similarity.to_dense(), expected.similarity.to_dense(), rtol=1e-9
    )


@pytest.fixture
def uneven_rounding(monkeypatch):
    """Round each distance of a panel in another way, as a BLAS does at the edges of its tiles."""
    exact = passes.distance_panel
    rng = np.random.default_rng(1)

    def panel(engine, lo, hi):
        d2 = exact(engine, lo, hi)
        return d2 + 1e-12 * rng.random(d2.shape)

    monkeypatch.setattr(passes, "distance_panel", panel)


@pytest.mark.usefixtures("uneven_rounding")
@pytest.mark.parametrize("panel", [7, 64, 1000])
def test_identical_samples_tie_exactly_and_come_by_index(by_panels, panel):
    X = samples(160, seed=4)
    X[[3, 90, 91, 157]] = X[30]
    X[[159, 8]] = X[64]
    request = request_of(X, neighbors=6)
    found = by_panels(request, panel=panel)
    assert_same(found, neighbours.find_neighbours(request, weighted=True))
    groups = [[3, 30, 90, 91, 157], [8, 64, 159]]
    for group in groups:
        for i in group:
            others = [j for j in group if j != i]
            assert found.indices[i, : len(others)].tolist() == others
            assert not found.d2[i, : len(others)].any()
        for near, lengths in zip(found.indices, found.d2):
            at = [k for k, j in enumerate(near) if j in group]
            assert len(set(lengths[at])) <= 2, "0 to its own group, else one distance"
            assert near[at].tolist() == sorted(near[at])


def test_identical_samples_are_found_exactly():
    X = samples(50, m=100)
    X[[7, 20]] = X[3]
    X[49] = X[48]
    X[30] = X[3]
    X[30, 99] = np.nextafter(X[30, 99], np.inf)
    expected = np.arange(50)
    expected[[7, 20]], expected[49] = 3, 48
    for threads in (1, 3):
        engine = request_of(X, threads=threads).engine
        np.testing.assert_array_equal(first_identical(engine), expected)


def test_distances_that_are_all_equal_are_bracketed(by_panels):
    found = by_panels(request_of(np.eye(60) * np.pi, neighbors=3))
    assert found.bandwidth == pytest.approx(np.pi * np.sqrt(2), rel=1e-12)


def test_mostly_identical_samples_have_no_median(by_panels):
    X = samples(60)
    X[:55] = X[0]
    with pytest.raises(InputError, match="identical"):
        by_panels(request_of(X))


def test_the_result_does_not_depend_on_threads_or_memory(by_panels):
    X = samples(200)
    results = [
        by_panels(request_of(X, threads=threads, memory=memory))
        for threads, memory in ((1, 1 << 30), (3, 1 << 30), (3, 1 << 20))
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(other.d2, results[0].d2)
        np.testing.assert_array_equal(other.indices, results[0].indices)
        assert other.bandwidth == results[0].bandwidth


def test_panels_run_beside_each_other_as_far_as_memory_allows(by_panels):
    request = request_of(samples(300), threads=8)
    one = neighbours.PANEL_COPIES * 8 * neighbours.PANEL * 300
    for panels_that_fit, workers in ((1, 1), (3, 3), (50, 8)):
        request.memory = panels_that_fit * one
        assert neighbours._panel_workers(request) == workers
    request.memory = 1000
    with pytest.raises(OutOfMemoryError, match="neighbours of 300 samples needs"):
        by_panels(request)


def test_more_neighbours_than_samples_are_refused():
    with pytest.raises(InputError, match="--neighbors 10 is not less than the 10 samples"):
        neighbours.find_neighbours(request_of(samples(10)), weighted=True)


@pytest.fixture
def approximately(monkeypatch):
    monkeypatch.setattr(neighbours, "DENSE_DISTANCES", 2)
    monkeypatch.setattr(neighbours, "APPROXIMATE_ABOVE", 100)


def test_an_approximate_search_needs_room_for_the_matrix(approximately, monkeypatch):
    monkeypatch.setattr(neighbours, "_has_pynndescent", lambda _messages: True)
    with pytest.raises(OutOfMemoryError, match=r"approximate search of 300 samples x 40 features"):
        neighbours.find_neighbours(request_of(samples(300), memory=100_000), weighted=True)


def test_without_the_extra_the_search_is_exact_and_says_how_to_be_faster(
    approximately, monkeypatch
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    request = request_of(samples(150))
    found = neighbours.find_neighbours(request, weighted=True)
    assert found.facts["search"] == "exact"
    assert "sfs-cli[singlecell]" in request.messages.warnings[0]


@pytest.mark.parametrize("rule", RULES)
def test_an_approximate_search_finds_nearly_all(approximately, monkeypatch, rule):
    pytest.importorskip("pynndescent", reason="the extra singlecell is not installed")
    request = request_of(samples(800), bandwidth=rule, neighbors=8)
    found = neighbours.find_neighbours(request, weighted=True)
    monkeypatch.setattr(neighbours, "DENSE_DISTANCES", 1000)
    exact = neighbours.find_neighbours(request, weighted=True)
    assert found.facts["search"] == "approximate (pynndescent)"
    common = [len(set(a) & set(b)) for a, b in zip(found.indices, exact.indices)]
    assert np.mean(common) / 8 > 0.95
    np.testing.assert_allclose(found.bandwidth, exact.bandwidth, rtol=0.05)
    again = request_of(samples(800), bandwidth=rule, neighbors=8)
    monkeypatch.setattr(neighbours, "DENSE_DISTANCES", 2)
    np.testing.assert_array_equal(
        neighbours.find_neighbours(again, weighted=True).indices, found.indices
    )
