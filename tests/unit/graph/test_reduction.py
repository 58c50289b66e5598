"""Neighbors among principal components are those of the dense twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfs_cli.compute.limits import Limits
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph.distances import Samples
from sfs_cli.graph.kinds import sample_graph
from sfs_cli.graph.neighbors import find_neighbors
from sfs_cli.graph.pca import reduced, reduction_of
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import GraphOptions
from sfs_cli.run.needs import graph_asked
from tests.making import make_run
from tests.oracles import components as oracle
from tests.oracles import similarities

PREPARATION = {"sparse", "threads", "memory", "missing", "steps", "samples"}


def request_of(X, name="knn", *, seed=0, limits=None, **options):
    """Return the options of a graph of samples x features, and the run."""
    run = {key: options.pop(key) for key in PREPARATION & options.keys()}
    return GraphOptions(name, **options), make_run(X, seed=seed, limits=limits, **run)


def counts(n=120, m=150, seed=0):
    """Samples x features: counts of a few programmes, so that the spectrum falls."""
    rng = np.random.default_rng(seed)
    level = np.exp(rng.normal(size=(n, 3)) @ rng.normal(size=(3, m)) * 0.8)
    return rng.poisson(5 * level).astype(float)


def edges(request):
    return sample_graph(*request).similarity.to_dense()


BRANCHES = {
    "samples": Limits(exact_samples=5000, exact_features=0),
    "features": Limits(exact_samples=0, exact_features=5000),
    "randomized": Limits(exact_samples=0, exact_features=0),
}


@pytest.fixture(params=BRANCHES)
def branch(request):
    """Limits under which components are found in this way, whatever the shape."""
    return BRANCHES[request.param]


@pytest.mark.parametrize(("genes", "sparse"), [(None, True), (60, False)])
@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("knn", similarities.knn),
        ("geodesic", similarities.geodesic),
        ("diffusion", similarities.diffusion),
    ],
)
def test_graphs_are_those_of_the_scores_of_the_twin(name, twin, genes, sparse, branch):
    X = np.log1p(counts(n=45))
    chosen = oracle.most_variable(X, genes) if genes else list(range(X.shape[1]))
    expected = twin(oracle.scores(X[:, chosen], 3), 6)
    request = request_of(
        X, name, sparse=sparse, neighbors=6, components="3", variable_genes=genes, limits=branch
    )
    graph = sample_graph(*request)
    how = "exact" if branch.exact_samples or branch.exact_features else "randomized"
    assert graph.facts["components_by"] == how
    np.testing.assert_allclose(graph.similarity.to_dense(), expected, rtol=1e-6, atol=1e-12)


def test_all_components_of_all_features_are_the_distances_themselves():
    X = counts(n=60)
    whole = sample_graph(*request_of(X, neighbors=7))
    turned = sample_graph(*request_of(X, neighbors=7, components=59, variable_genes="all"))
    assert turned.facts["variance_kept"] == pytest.approx(1)
    np.testing.assert_allclose(
        turned.similarity.to_dense(), whole.similarity.to_dense(), rtol=1e-9, atol=1e-15
    )


def test_the_order_of_genes_and_what_is_added_to_them_change_nothing(branch):
    X = counts()
    asked = {"components": 3, "neighbors": 8, "limits": branch}
    expected = edges(request_of(X, **asked, variable_genes=70))
    order = np.random.default_rng(3).permutation(X.shape[1])
    np.testing.assert_allclose(
        edges(request_of(X[:, order], **asked, variable_genes=70)), expected, rtol=1e-6
    )
    added = X + np.random.default_rng(4).integers(0, 1000, X.shape[1])
    np.testing.assert_allclose(edges(request_of(added, **asked)), edges(request_of(X, **asked)))


def test_sparse_and_dense_storage_have_the_same_edges(branch):
    X = counts()
    for steps in ((), ("cpm", "log1p"), ("zscore",)):
        asked = {"components": 5, "steps": steps, "neighbors": 8, "limits": branch}
        if steps != ("zscore",):
            asked["variable_genes"] = 90
        dense, sparse = (edges(request_of(X, sparse=s, **asked)) for s in (False, True))
        np.testing.assert_array_equal(dense > 0, sparse > 0)
        np.testing.assert_allclose(dense, sparse, rtol=1e-8)


@pytest.mark.parametrize("search", ["all", "values"])
def test_identical_samples_tie_exactly(branch, search):
    limits = replace(branch, dense_distances=2) if search == "values" else branch
    X = counts(n=160)
    X[[3, 90, 91, 157]] = X[30]
    options, run = request_of(X, components=5, neighbors=4, limits=limits)
    space, _ = reduced(options, Samples(run))
    scores = space.run.matrix.values
    for i in (3, 90, 91, 157):
        np.testing.assert_array_equal(scores[:, i], scores[:, 30])
    found = find_neighbors(options, space, weighted=True)
    for i in (3, 30, 90, 91, 157):
        assert found.indices[i].tolist() == [j for j in (3, 30, 90, 91, 157) if j != i]
        assert not found.d2[i].any()


def test_a_search_of_the_values_finds_what_all_distances_find():
    asked = {"components": 5, "neighbors": 9, "bandwidth": "self-tuning"}
    expected = edges(request_of(counts(n=200), **asked))
    searched = request_of(counts(n=200), **asked, limits=Limits(dense_distances=2))
    np.testing.assert_allclose(edges(searched), expected, rtol=1e-9)


def test_constant_and_missing_genes_take_no_part(branch):
    X = counts()
    asked = {"components": 4, "neighbors": 6, "limits": branch}
    expected = edges(request_of(X, **asked))
    more = np.hstack([np.full((len(X), 3), 7.0), X, np.zeros((len(X), 2))])
    for sparse in (False, True):
        np.testing.assert_allclose(edges(request_of(more, sparse=sparse, **asked)), expected)
        chosen = sample_graph(*request_of(more, sparse=sparse, **asked, variable_genes=152))
        assert chosen.facts["variable_genes"] == 150
        np.testing.assert_allclose(chosen.similarity.to_dense(), expected)
    gaps = np.hstack([X, X[:, :2]])
    gaps[5, -2:] = np.nan
    for sparse in (False, True):
        request = request_of(gaps, missing="drop", sparse=sparse, **asked, variable_genes=151)
        np.testing.assert_allclose(edges(request), expected)


def test_chosen_samples_are_all_there_is():
    X = counts()
    some = np.arange(0, 120, 2)
    asked = {"components": 4, "neighbors": 6, "variable_genes": 60}
    for sparse in (False, True):
        found = edges(request_of(X, samples=some, sparse=sparse, **asked))
        np.testing.assert_allclose(found, edges(request_of(X[some], sparse=sparse, **asked)))


def test_counts_per_million_are_those_of_the_whole_library():
    X = counts()
    chosen = oracle.most_variable(X / X.sum(axis=1)[:, None] * 1e6, 30)
    scores = oracle.scores((X / X.sum(axis=1)[:, None] * 1e6)[:, chosen], 4)
    request = request_of(X, components=4, variable_genes=30, steps=("cpm",), neighbors=5)
    np.testing.assert_allclose(edges(request), similarities.knn(scores, 5), rtol=1e-6)


def test_values_below_zero_are_chosen_by_variance():
    X = counts() * np.random.default_rng(1).uniform(0.2, 4, 150)
    X -= X.mean(axis=0)
    graph = sample_graph(*request_of(X, components=3, variable_genes=40, neighbors=5))
    assert graph.facts["variable_by"] == "variance"
    chosen = oracle.most_variable(X, 40)
    expected = similarities.knn(oracle.scores(X[:, chosen], 3), 5)
    np.testing.assert_allclose(graph.similarity.to_dense(), expected, rtol=1e-6)


def test_features_that_vary_alike_are_not_chosen_from():
    asked = {"components": 3, "steps": ("zscore",)}
    with pytest.raises(InputError, match="all features have the same variance") as caught:
        sample_graph(*request_of(counts(), variable_genes=40, **asked))
    assert "variable-genes=all" in caught.value.hint
    many = counts(n=40, m=2100)  # more than are chosen by default
    assert sample_graph(*request_of(many, **asked)).facts["variable_genes"] == "all"


def test_many_samples_have_components_by_default(monkeypatch):
    many = Limits(approximate_above=100)
    notes = []
    options, run = request_of(counts(n=101), limits=many)
    monkeypatch.setattr(run.log, "note", notes.append)
    assert sample_graph(options, run).facts["components"] == 50
    assert "50 principal components of all features" in notes[0]
    assert "components=none" in notes[0]
    sample_graph(options, run, source="source x")
    assert notes[-1].startswith("source x: neighbors of 101 samples")
    assert ",similarity=knn,components=none" in notes[-1]

    def facts(X, **options):
        return sample_graph(*request_of(X, limits=many, **options)).facts

    assert "components" not in facts(counts(n=101), components="none")
    assert "components" not in facts(counts(n=100))
    assert "components" not in facts(counts(n=101, m=50))
    few = counts(n=101)
    few[:, 4:] = 1
    made = facts(few, variable_genes=120)
    assert (made["components"], made["variable_genes"]) == (4, 4)


@pytest.mark.parametrize(
    ("options", "samples", "components"),
    [
        ({}, 300, None),  # of profiles
        ({}, 301, (50, None)),
        ({}, 50_000, (50, None)),
        ({}, 50_001, (50, 2_000)),
        ({"components": 30}, 301, (30, 2_000)),
        ({"components": 30, "variable_genes": "all"}, 301, (30, None)),
        ({"similarity": "knn"}, 50_000, None),
        ({"similarity": "knn"}, 50_001, (50, 2_000)),
    ],
)
def test_components_of_the_default_graph(options, samples, components):
    asked = graph_asked(RankConfig("x.csv", **options), samples)
    found = reduction_of(asked, samples, 5_000)
    assert (None if found is None else (found.components, found.genes)) == components


@pytest.mark.parametrize(
    ("n", "m", "options", "words"),
    [
        (40, 30, {"components": 31}, "31 are more than the 30 features used"),
        (40, 90, {"components": 40}, "40 are more than the 40 samples less one"),
        (90, 60, {"components": 9, "variable_genes": 8}, "more than the 8 features used"),
    ],
)
def test_more_components_than_there_are_are_refused(n, m, options, words):
    with pytest.raises(InputError, match=words):
        sample_graph(*request_of(counts(n, m), **options))


@pytest.mark.parametrize("genes", [None, 40])
def test_samples_that_are_alike_are_refused(genes, branch):
    X = np.tile(np.arange(150.0), (60, 1))
    for sparse in (False, True):
        request = request_of(X, sparse=sparse, components=4, variable_genes=genes, limits=branch)
        with pytest.raises(InputError, match="all samples are identical: each of the 150 features"):
            sample_graph(*request)


def test_components_that_do_not_fit_are_refused():
    request = request_of(counts(n=2000, m=60), components=40, memory=1 << 20)
    with pytest.raises(OutOfMemoryError, match="40 principal components of 2,000 samples"):
        sample_graph(*request)
