"""Approximate neighbors, of lists around centers: nearly the exact ones."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.limits import Limits
from sfs_cli.graph import neighbors
from sfs_cli.graph.distances import squared_distances
from sfs_cli.graph.kinds import sample_graph
from sfs_cli.graph.neighbors import approximate_neighbors, exact_neighbors, nearest_in_panel
from tests.unit.graph.test_reduction import counts, request_of
from tests.unit.graph.test_search import APPROXIMATE, RULES, asked, samples


@pytest.mark.parametrize("rule", RULES)
def test_an_approximate_search_finds_nearly_all(rule):
    request = asked(samples(800), bandwidth=rule, neighbors=8)
    found, exact = request.under(**APPROXIMATE).find(), request.find()
    assert found.facts["search"] == "approximate (inverted file)"
    common = [len(set(a) & set(b)) for a, b in zip(found.indices, exact.indices)]
    assert np.mean(common) / 8 > 0.95
    np.testing.assert_allclose(found.bandwidth, exact.bandwidth, rtol=0.05)
    again = asked(samples(800), bandwidth=rule, neighbors=8).under(**APPROXIMATE)
    np.testing.assert_array_equal(again.find().indices, found.indices)


@pytest.mark.parametrize("scale", [1, 1e-60, 1e60])
def test_approximate_neighbors_are_nearly_the_exact_ones(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbors, "PROBES", 25)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8)) * (rng.random((3000, 8)) < 0.7)  # 54 lists
    d2 = squared_distances(X @ X.T)
    exact, _ = nearest_in_panel(d2, 0, 5)
    indices, near = approximate_neighbors(scale * X, 5, seed=1, threads=1)
    again, near_again = approximate_neighbors(scale * X, 5, seed=1, threads=4)
    np.testing.assert_array_equal(indices, again)
    np.testing.assert_array_equal(near, near_again)
    expected = np.take_along_axis(d2, indices, axis=1)
    np.testing.assert_allclose(near / scale**2, expected, rtol=1e-9)
    assert np.all(np.diff(near, axis=1) >= 0)
    assert not np.any(indices == np.arange(3000)[:, None])
    assert 0.98 < np.mean([len(set(a) & set(b)) / 5 for a, b in zip(indices, exact)]) < 1


def test_lists_of_too_few_samples_give_way_to_all_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "PROBES", 1)
    monkeypatch.setattr(neighbors, "PROBES_OF_NEIGHBORS", 0)
    X = np.random.default_rng(0).normal(size=(400, 3))
    exact = exact_neighbors(X, 60, threads=1)
    found = approximate_neighbors(X, 60, seed=0, threads=1)
    few = np.flatnonzero((found[0] == exact[0]).all(axis=1))
    assert 0 in few  # of the first samples, others are put in before the nearest are known
    assert len(few) > 300
    np.testing.assert_array_equal(found[1][few], exact[1][few])


def test_groups_that_are_far_from_each_other_keep_their_neighbors() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 4))
    X[1000:] += 1e6
    exact, _ = exact_neighbors(X, 5, threads=1)
    indices, _ = approximate_neighbors(X, 5, seed=0, threads=1)
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(indices, exact)]) > 0.99


def test_a_search_on_a_cluster_takes_the_threads_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = []

    def search(values: np.ndarray, k: int, _seed: int, threads: int) -> object:
        taken.append(threads)
        return exact_neighbors(values, k, threads)

    monkeypatch.setattr(neighbors, "approximate_neighbors", search)
    monkeypatch.setattr(ThreadExecutor, "nearby", property(lambda _: ThreadExecutor(2)))
    asked(samples(150), threads=400).under(**APPROXIMATE).find()
    assert taken == [2]


def test_approximate_neighbors_of_identical_samples_leave_out_the_sample() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 3))[rng.integers(4, size=120)]
    indices, near = approximate_neighbors(X, 10, seed=0, threads=2)
    np.testing.assert_array_equal(near, 0.0)
    assert np.all(np.diff(indices, axis=1) > 0)
    assert not np.any(indices == np.arange(120)[:, None])


def test_an_approximate_search_is_among_the_components():
    X = counts(n=700)
    asked = {"components": 5, "neighbors": 8}
    exact = sample_graph(*request_of(X, **asked)).similarity.matrix
    asked["limits"] = Limits(dense_distances=2, approximate_above=100)
    graph = sample_graph(*request_of(X, **asked))
    assert graph.facts["search"] == "approximate (inverted file)"
    assert graph.facts["components"] == 5
    common = ((graph.similarity.matrix > 0).multiply(exact > 0)).sum()
    assert common / exact.nnz > 0.97
    other = sample_graph(*request_of(X, **asked, threads=3))
    assert (other.similarity.matrix != graph.similarity.matrix).nnz == 0


def test_which_of_samples_that_float32_cannot_tell_apart_are_the_last_is_measured() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(300, 6)), 5, axis=0)
    X += 1e-6 * rng.normal(size=X.shape)  # the 12 are two groups whole, and most of the third
    np.testing.assert_array_equal(
        approximate_neighbors(X, 12, seed=0, threads=1)[0], exact_neighbors(X, 12, threads=1)[0]
    )
