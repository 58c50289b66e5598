"""The search by panels finds what the search in all distances finds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sfs_cli.compute.context import RunContext
from sfs_cli.compute.limits import Limits
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph import neighbors
from sfs_cli.graph.build import sample_graph
from sfs_cli.graph.distances import Samples, distance_panel
from sfs_cli.graph.neighbors import find_neighbors, first_identical
from sfs_cli.options.graph import GraphOptions
from tests.making import PLENTY, make_run

RULES = ["median", "self-tuning", "3.5"]


@dataclass(frozen=True)
class Asked:
    """A knn graph of samples x features."""

    options: GraphOptions
    run: RunContext

    def find(self, weighted=True):
        return find_neighbors(self.options, Samples(self.run), weighted=weighted)

    def under(self, **limits):
        return replace(self, run=replace(self.run, limits=Limits(**limits)))

    def with_memory(self, memory):
        return replace(self, run=replace(self.run, memory=memory))


def asked(X, *, threads=2, memory=PLENTY, seed=0, **options):
    run = make_run(X, threads=threads, memory=memory, seed=seed, block_size=17)
    return Asked(GraphOptions("knn", **options), run)


def samples(n, m=40, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(4, m)) * 2
    return centers[rng.integers(0, 4, n)] + rng.normal(size=(n, m)) + 100 * rng.normal(size=m)


def by_panels(request, weighted=True, panel=64):
    """Find neighbors by small panels, without holding all distances."""
    return request.under(dense_distances=2, panel=panel).find(weighted)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.d2, expected.d2, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(found.bandwidth, expected.bandwidth, rtol=1e-12)
    assert found.facts == expected.facts


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [65, 301])
def test_panels_find_what_all_distances_find(n, rule):
    request = asked(samples(n), bandwidth=rule, neighbors=9)
    assert_same(by_panels(request), request.find())


def test_the_median_of_all_pairs_is_exact():
    from scipy.spatial.distance import pdist

    for seed, n in enumerate((20, 101, 400)):
        X = samples(n, seed=seed)
        found = by_panels(asked(X))
        np.testing.assert_allclose(found.bandwidth, np.median(pdist(X)), rtol=1e-12)


def test_binary_edges_need_no_bandwidth():
    request = asked(samples(90), edge_weights="binary")
    found = by_panels(request, weighted=False)
    expected = request.find(weighted=False)
    assert found.bandwidth is None
    np.testing.assert_array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("rule", RULES)
def test_the_graph_is_the_same(rule):
    request = asked(samples(120), bandwidth=rule)
    expected = sample_graph(request.options, request.run)
    found = sample_graph(request.options, request.under(dense_distances=2, panel=50).run)
    assert (found.similarity.matrix != found.similarity.matrix.T).nnz == 0
    np.testing.assert_allclose(
        found.similarity.to_dense(), expected.similarity.to_dense(), rtol=1e-9
    )


@pytest.fixture
def uneven_rounding(monkeypatch):
    """Round each distance of a panel in another way, as a BLAS does at the edges of its tiles."""

    def panel(engine, lo, hi):
        d2 = distance_panel(engine, lo, hi)
        return d2 + 1e-12 * np.random.default_rng(lo).random(d2.shape)

    monkeypatch.setattr(neighbors, "distance_panel", panel)


@pytest.mark.usefixtures("uneven_rounding")
@pytest.mark.parametrize("panel", [7, 64])
def test_identical_samples_tie_exactly_and_come_by_index(panel):
    X = samples(160, seed=4)
    X[[3, 90, 91, 157]] = X[30]
    X[[159, 8]] = X[64]
    request = asked(X, neighbors=6)
    found = by_panels(request, panel=panel)
    assert_same(found, request.find())
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
        engine = asked(X, threads=threads).run.engine
        np.testing.assert_array_equal(first_identical(engine), expected)


def test_distances_that_are_all_equal_are_bracketed():
    found = by_panels(asked(np.eye(60) * np.pi, neighbors=3))
    assert found.bandwidth == pytest.approx(np.pi * np.sqrt(2), rel=1e-12)


def test_mostly_identical_samples_have_no_median():
    X = samples(60)
    X[:55] = X[0]
    with pytest.raises(InputError, match="identical"):
        by_panels(asked(X))


def test_more_neighbors_than_samples_are_refused():
    with pytest.raises(InputError, match="neighbors=10 of --similarity is not less") as caught:
        asked(samples(10)).find()
    assert caught.value.options == ("neighbors",)


APPROXIMATE = {"dense_distances": 2, "approximate_above": 100}


def test_an_approximate_search_needs_room_for_the_matrix(monkeypatch):
    monkeypatch.setattr(neighbors, "is_descent_installed", lambda: True)
    with pytest.raises(OutOfMemoryError, match=r"approximate search of 300 samples x 40 features"):
        asked(samples(300), memory=100_000).under(**APPROXIMATE).find()


def test_without_the_extra_the_search_is_exact_and_says_how_to_be_faster(monkeypatch):
    monkeypatch.setattr(neighbors, "is_descent_installed", lambda: False)
    request = asked(samples(150)).under(**APPROXIMATE)
    assert request.find().facts["search"] == "exact"
    assert "sfs-cli[singlecell]" in request.run.log.warnings[0]
