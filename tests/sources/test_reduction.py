"""Neighbours among principal components are those of the dense twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.compute import principal
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.parts import PartFolder
from sfs_cli.errors import InputError, OutOfMemoryError, UsageError
from sfs_cli.graph.options import GraphOptions
from sfs_cli.logs import Messages
from sfs_cli.sources import neighbours, reduction
from sfs_cli.sources.reduction import reduced, reduction_of
from sfs_cli.sources.request import GraphRequest
from sfs_cli.sources.sample_graph import sample_graph
from sfs_cli.store.matrix import DenseMatrix, Ids, Missing, SparseMatrix
from sfs_cli.store.prepared import PreparedMatrix
from tests.oracles import components as oracle
from tests.oracles import similarities


def request_of(
    X,
    name="knn",
    *,
    sparse=False,
    threads=1,
    memory=1 << 30,
    keeper=None,
    missing="error",
    steps=(),
    samples=None,
    seed=0,
    **options,
):
    """Return a request for a graph of samples x features."""
    n, m = X.shape
    ids = Ids([f"g{i}" for i in range(m)], [f"s{i}" for i in range(n)])
    rows = np.ascontiguousarray(X.T)
    gaps = np.isnan(rows)
    known = Missing(int(gaps.sum()), int(gaps.any(axis=1).sum()))
    made = SparseMatrix(csr_array(rows), ids, known) if sparse else DenseMatrix(rows, ids, known)
    source = PreparedMatrix(made, steps=steps, missing=missing, samples=samples)
    engine = Engine(source, ThreadExecutor(threads), np.dtype(np.float64), keeper=keeper)
    source.fit(engine.total_over)
    asked = GraphOptions(name, **options)
    quiet = Messages(verbosity=-1)
    return GraphRequest(asked, engine, None, memory, quiet, where="x.csv", seed=seed)


def counts(n=120, m=150, seed=0):
    """Samples x features: counts of a few programmes, so that the spectrum falls."""
    rng = np.random.default_rng(seed)
    level = np.exp(rng.normal(size=(n, 3)) @ rng.normal(size=(3, m)) * 0.8)
    return rng.poisson(5 * level).astype(float)


def edges(request):
    return sample_graph(request).similarity.to_dense()


@pytest.fixture(params=["samples", "features", "randomized"])
def branch(request, monkeypatch):
    """What is decomposed for the components, whatever the shape."""
    monkeypatch.setattr(principal, "EXACT_SAMPLES", 5000 if request.param == "samples" else 0)
    monkeypatch.setattr(principal, "EXACT_FEATURES", 5000 if request.param == "features" else 0)
    return "randomized" if request.param == "randomized" else "exact"


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("genes", [None, 60])
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
    request = request_of(X, name, sparse=sparse, neighbors=6, components="3", variable_genes=genes)
    graph = sample_graph(request)
    assert graph.facts["components_by"] == branch
    np.testing.assert_allclose(graph.similarity.to_dense(), expected, rtol=1e-6, atol=1e-12)


def test_facts_tell_the_space():
    X = counts()
    facts = sample_graph(request_of(X, components=5, variable_genes=40)).facts
    chosen = oracle.most_variable(X, 40)
    kept = oracle.scores(X[:, chosen], 5)
    total = X[:, chosen].var(axis=0).sum() * len(X)
    assert facts["components"] == 5
    assert (facts["variable_genes"], facts["variable_by"]) == (40, "dispersion")
    assert facts["variance_kept"] == pytest.approx((kept**2).sum() / total)
    facts = sample_graph(request_of(X, components=5)).facts
    assert (facts["variable_genes"], facts["variable_by"]) == ("all", None)
    assert "components" not in sample_graph(request_of(X)).facts
    assert "components" not in sample_graph(request_of(X, components="none")).facts


def test_all_components_of_all_features_are_the_distances_themselves():
    X = counts(n=60)
    whole = sample_graph(request_of(X, neighbors=7))
    turned = sample_graph(request_of(X, neighbors=7, components=59, variable_genes="all"))
    assert turned.facts["variance_kept"] == pytest.approx(1)
    np.testing.assert_allclose(
        turned.similarity.to_dense(), whole.similarity.to_dense(), rtol=1e-9, atol=1e-15
    )


def test_the_order_of_genes_and_what_is_added_to_them_change_nothing(branch):
    X = counts()
    asked = {"components": 3, "neighbors": 8}
    expected = edges(request_of(X, **asked, variable_genes=70))
    order = np.random.default_rng(3).permutation(X.shape[1])
    np.testing.assert_allclose(
        edges(request_of(X[:, order], **asked, variable_genes=70)), expected, rtol=1e-6
    )
    added = X + np.random.default_rng(4).integers(0, 1000, X.shape[1])
    np.testing.assert_allclose(edges(request_of(added, **asked)), edges(request_of(X, **asked)))


def test_threads_memory_and_kept_parts_change_no_bit(branch, tmp_path):
    X = counts(n=150)
    for sparse in (False, True):
        asked = {"components": 6, "variable_genes": 80, "sparse": sparse}
        expected = edges(request_of(X, **asked))
        np.testing.assert_array_equal(edges(request_of(X, **asked, threads=3)), expected)
        little = request_of(X, **asked, threads=3, memory=1 << 20)
        np.testing.assert_array_equal(edges(little), expected)
        folder = PartFolder(tmp_path / str(sparse))
        folder.claim("work")
        np.testing.assert_array_equal(edges(request_of(X, **asked, keeper=folder)), expected)
        again = PartFolder(tmp_path / str(sparse))
        np.testing.assert_array_equal(edges(request_of(X, **asked, keeper=again)), expected)
        assert again.passes == folder.passes
        assert (again.made, folder.made > 0) == (0, True)


def test_sparse_and_dense_storage_have_the_same_edges(branch):
    X = counts()
    for steps in ((), ("cpm", "log1p"), ("zscore",)):
        asked = {"components": 5, "steps": steps, "neighbors": 8}
        if steps != ("zscore",):
            asked["variable_genes"] = 90
        dense, sparse = (edges(request_of(X, sparse=s, **asked)) for s in (False, True))
        np.testing.assert_array_equal(dense > 0, sparse > 0)
        np.testing.assert_allclose(dense, sparse, rtol=1e-8)


@pytest.mark.parametrize("search", ["all", "panels"])
def test_identical_samples_tie_exactly(branch, search, monkeypatch):
    if search == "panels":
        monkeypatch.setattr(neighbours, "DENSE_DISTANCES", 2)
        monkeypatch.setattr(neighbours, "PANEL", 50)
    X = counts(n=160)
    X[[3, 90, 91, 157]] = X[30]
    request = request_of(X, components=5, neighbors=4)
    space, _ = reduced(request)
    scores = space.source.matrix.values
    for i in (3, 90, 91, 157):
        np.testing.assert_array_equal(scores[:, i], scores[:, 30])
    found = neighbours.find_neighbours(space, weighted=True)
    for i in (3, 30, 90, 91, 157):
        assert found.indices[i].tolist() == [j for j in (3, 30, 90, 91, 157) if j != i]
        assert not found.d2[i].any()


def test_panels_find_what_all_distances_find(monkeypatch):
    X = counts(n=200)
    request = request_of(X, components=5, neighbors=9)
    expected = edges(request)
    monkeypatch.setattr(neighbours, "DENSE_DISTANCES", 2)
    monkeypatch.setattr(neighbours, "PANEL", 64)
    np.testing.assert_allclose(edges(request), expected, rtol=1e-9)


def test_constant_and_missing_genes_take_no_part(branch):
    X = counts()
    asked = {"components": 4, "neighbors": 6}
    expected = edges(request_of(X, **asked))
    more = np.hstack([np.full((len(X), 3), 7.0), X, np.zeros((len(X), 2))])
    for sparse in (False, True):
        np.testing.assert_allclose(edges(request_of(more, sparse=sparse, **asked)), expected)
        chosen = sample_graph(request_of(more, sparse=sparse, **asked, variable_genes=152))
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
    graph = sample_graph(request_of(X, components=3, variable_genes=40, neighbors=5))
    assert graph.facts["variable_by"] == "variance"
    chosen = oracle.most_variable(X, 40)
    expected = similarities.knn(oracle.scores(X[:, chosen], 3), 5)
    np.testing.assert_allclose(graph.similarity.to_dense(), expected, rtol=1e-6)


def test_features_that_vary_alike_are_not_chosen_from(monkeypatch):
    asked = {"components": 3, "steps": ("zscore",)}
    with pytest.raises(InputError, match="all features have the same variance") as caught:
        sample_graph(request_of(counts(), variable_genes=40, **asked))
    assert "--variable-genes all" in caught.value.hint
    monkeypatch.setattr(reduction, "DEFAULT_VARIABLE_GENES", 100)
    assert sample_graph(request_of(counts(), **asked)).facts["variable_genes"] == "all"


def test_many_samples_have_components_by_default(monkeypatch):
    monkeypatch.setattr(neighbours, "APPROXIMATE_ABOVE", 100)
    monkeypatch.setattr(neighbours, "_has_pynndescent", lambda _messages: False)
    monkeypatch.setattr(reduction, "DEFAULT_COMPONENTS", 10)
    said = []
    request = request_of(counts(n=101))
    monkeypatch.setattr(request.messages, "note", said.append)
    assert sample_graph(request).facts["components"] == 10
    assert "10 principal components of all features" in said[0]
    assert "--components none" in said[0]
    request.asked_by = "source x"
    sample_graph(request)
    assert said[-1].startswith("source x: neighbours of 101 samples")
    assert ",similarity=knn,components=none" in said[-1]
    assert "components" not in sample_graph(request_of(counts(n=101), components="none")).facts
    assert "components" not in sample_graph(request_of(counts(n=100))).facts
    assert "components" not in sample_graph(request_of(counts(n=101, m=10))).facts
    few = counts(n=101)
    few[:, 4:] = 1
    facts = sample_graph(request_of(few, variable_genes=120)).facts
    assert (facts["components"], facts["variable_genes"]) == (4, 4)


def test_defaults():
    knn = GraphOptions("knn")
    assert reduction_of(knn, 50_000, 30_000) is None
    assert reduction_of(knn, 50_001, 50) is None
    assert reduction_of(GraphOptions("rbf"), 60_000, 30_000) is None
    found = reduction_of(knn, 50_001, 30_000)
    assert (found.components, found.genes, found.by_default) == (50, 2000, True)
    assert reduction_of(knn, 50_001, 2000).genes is None
    asked = GraphOptions("knn", components="20", variable_genes="all")
    found = reduction_of(asked, 500, 30_000)
    assert (found.components, found.genes, found.by_default) == (20, None, False)


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
        sample_graph(request_of(counts(n, m), **options))


def test_fewer_genes_that_vary_than_components_are_refused():
    X = counts()
    X[:, 5:] = 2
    with pytest.raises(InputError, match="--components 6 are more than the 5 features used"):
        sample_graph(request_of(X, components=6, variable_genes=140))


def test_variable_genes_alone_are_refused():
    with pytest.raises(UsageError, match="--variable-genes has no effect without --components"):
        sample_graph(request_of(counts(), variable_genes=40))


@pytest.mark.parametrize("genes", [None, 40])
def test_samples_that_are_alike_are_refused(genes, branch):
    X = np.tile(np.arange(150.0), (60, 1))
    for sparse in (False, True):
        with pytest.raises(InputError, match="all samples are alike: each of the 150 features"):
            sample_graph(request_of(X, sparse=sparse, components=4, variable_genes=genes))


def test_components_that_do_not_fit_are_refused():
    request = request_of(counts(n=2000, m=60), components=40, memory=1 << 20)
    with pytest.raises(OutOfMemoryError, match="40 principal components of 2,000 samples"):
        sample_graph(request)


def test_an_approximate_search_is_among_the_components(monkeypatch):
    pytest.importorskip("pynndescent", reason="the extra singlecell is not installed")
    X = counts(n=700)
    request = request_of(X, components=5, neighbors=8)
    exact = sample_graph(request).similarity.matrix
    monkeypatch.setattr(neighbours, "DENSE_DISTANCES", 2)
    monkeypatch.setattr(neighbours, "APPROXIMATE_ABOVE", 100)
    graph = sample_graph(request)
    assert graph.facts["search"] == "approximate (pynndescent)"
    assert graph.facts["components"] == 5
    common = ((graph.similarity.matrix > 0).multiply(exact > 0)).sum()
    assert common / exact.nnz > 0.97
    other = request_of(X, components=5, neighbors=8, threads=3)
    assert (sample_graph(other).similarity.matrix != graph.similarity.matrix).nnz == 0
