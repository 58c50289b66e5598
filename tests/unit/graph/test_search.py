"""The search of values in memory finds what the search in all distances finds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sfs_cli.compute.context import RunContext
from sfs_cli.compute.limits import Limits
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph import distances, kinds
from sfs_cli.graph.distances import Samples, median_bandwidth, squared_distances
from sfs_cli.graph.kinds import sample_graph
from sfs_cli.graph.neighbors import find_neighbors, first_identical
from sfs_cli.options.graph import GraphOptions
from tests.making import PLENTY, make_engine, make_run

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


def asked(X, *, threads=2, memory=PLENTY, seed=0, **options):
    run = make_run(X, threads=threads, memory=memory, seed=seed, block_size=17)
    return Asked(GraphOptions("knn", **options), run)


def samples(n, m=40, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(4, m)) * 2
    return centers[rng.integers(0, 4, n)] + rng.normal(size=(n, m)) + 100 * rng.normal(size=m)


def in_values(request, weighted=True):
    """Find neighbors without all distances."""
    return request.under(dense_distances=2).find(weighted)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.d2, expected.d2, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [65, 301])
def test_values_give_what_all_distances_give(n, rule):
    request = asked(samples(n), bandwidth=rule, neighbors=9)
    found, expected = in_values(request), request.find()
    assert_same(found, expected)
    assert found.facts["search"] == expected.facts["search"] == "exact"
    near = 1e-12 if rule != "median" else 0.01
    np.testing.assert_allclose(found.bandwidth, expected.bandwidth, rtol=near)


@pytest.mark.parametrize("centers", [1, 4])
def test_the_median_of_random_pairs_is_nearly_that_of_all(monkeypatch, centers):
    """A quantile of 65,536 pairs is that of all to half a percent, by five deviations."""
    rng = np.random.default_rng(centers)
    X = rng.normal(size=(400, 6)) + 5 * rng.integers(centers, size=(400, 1))
    d2 = squared_distances(X @ X.T)
    pairs = np.sqrt(d2[np.triu_indices(400, 1)])
    exact = median_bandwidth(d2)
    assert exact == pytest.approx(np.median(pairs), rel=1e-12)
    monkeypatch.setattr(distances, "LIMITS", Limits(dense_distances=2))
    found = median_bandwidth(d2)
    assert found != exact
    assert abs(np.mean(pairs < found) - 0.5) < 0.011


@pytest.mark.parametrize("name", ["rbf", "knn"])
@pytest.mark.parametrize(("least", "rule"), [(2, None), (2, "3.5"), (90, None)])
def test_what_the_median_is_of_is_recorded(monkeypatch, name, least, rule):
    for module in (distances, kinds):
        monkeypatch.setattr(module, "LIMITS", Limits(dense_distances=least))
    request = asked(samples(90)).under(dense_distances=least)
    facts = sample_graph(GraphOptions(name, bandwidth=rule), request.run).facts
    drawn = least == 2 and rule is None
    assert facts.get("bandwidth_from") == ("65,536 random pairs" if drawn else None)


def test_binary_edges_need_no_bandwidth():
    request = asked(samples(90), edge_weights="binary")
    found = in_values(request, weighted=False)
    expected = request.find(weighted=False)
    assert found.bandwidth is None
    np.testing.assert_array_equal(found.indices, expected.indices)


def test_threads_change_no_graph():
    X = samples(700)
    few = Limits(dense_distances=2)
    one, three = (
        sample_graph(each.options, replace(each.run, limits=few))
        for each in (asked(X, threads=1), asked(X, threads=3))
    )
    np.testing.assert_array_equal(one.similarity.to_dense(), three.similarity.to_dense())
    S = one.similarity.to_dense()
    np.testing.assert_array_equal(S, S.T)


def test_identical_samples_tie_exactly_and_come_by_index():
    X = samples(160, seed=4)
    X[[3, 90, 91, 157]] = X[30]
    X[[159, 8]] = X[64]
    request = asked(X, neighbors=6)
    found = in_values(request)
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


@pytest.mark.parametrize("offset", [0, 100])
def test_more_ties_than_candidates_come_by_index_with_any_threads(offset):
    """Of whole numbers, hundreds of samples are as far as the k-th one."""
    X = offset + np.random.default_rng(3).integers(0, 3, size=(700, 3)) / 3
    expected = asked(X, neighbors=4).find()
    for threads in (1, 8):
        request = asked(X, neighbors=4, threads=threads)
        assert_same(in_values(request), expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_identical_samples_are_found_exactly(sparse):
    X = samples(50, m=100)
    if sparse:
        X[X < 0] = 0
    X[[7, 20]] = X[3]
    X[49] = X[48]
    X[30] = X[3]
    X[30, 99] += 1e-6
    if not sparse:
        X[:, 50] += 1e20  # in all samples
    expected = np.arange(50)
    expected[[7, 20]], expected[49] = 3, 48
    for threads in (1, 3):
        engine = make_engine(X, sparse=sparse, threads=threads, block_size=17)
        np.testing.assert_array_equal(first_identical(engine), expected)


def test_distances_that_are_all_equal_are_the_median():
    found = in_values(asked(np.eye(60) * np.pi, neighbors=3))
    assert found.bandwidth == pytest.approx(np.pi * np.sqrt(2), rel=1e-12)


@pytest.mark.parametrize("rule", ["median", "self-tuning"])
def test_mostly_identical_samples_have_no_bandwidth(rule):
    X = samples(60)
    X[:55] = X[0]
    with pytest.raises(InputError, match="identical"):
        in_values(asked(X, bandwidth=rule))


def test_more_neighbors_than_samples_are_refused():
    with pytest.raises(InputError, match="neighbors=10 of --similarity is not less") as caught:
        asked(samples(10)).find()
    assert caught.value.options == ("neighbors",)


APPROXIMATE = {"dense_distances": 2, "approximate_above": 100}


def test_a_search_needs_room_for_the_matrix():
    with pytest.raises(OutOfMemoryError, match=r"neighbors of 300 samples x 40 features"):
        asked(samples(300), memory=100_000).under(**APPROXIMATE).find()
