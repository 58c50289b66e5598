"""Scores from non-zero values alone are those of dense blocks, and of the dense twins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Ids
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, SparseSimilarity
from sfs_cli.methods.base import Status
from sfs_cli.methods.classical import VarianceScorer
from sfs_cli.methods.gdcov.covariance import GdcovScorer
from sfs_cli.methods.spectral import SpecScorer
from sfs_cli.store.adjust import Adjustment, orthonormal
from sfs_cli.store.matrix import HeldMatrix, Missing
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import fit, make_engine, problem_of
from tests.oracles import spec as oracle
from tests.unit.methods.helpers import pair

N, M = 60, 40


def counts(seed: int = 0, n: int = N, *, extreme: bool = False) -> csr_array:
    """Features x samples, with stored zeros, empty, constant, full and far-off features."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(3, (M, n)) * (rng.random((M, n)) < rng.uniform(0.02, 0.6, (M, 1))) * 1.0
    X[1] = 0
    X[3] = 0.1
    X[5] = 1e3 + rng.normal(size=n)
    X[7] = 1e3 + rng.normal(size=n)
    X[7, 4] = 0
    X[9], X[9, 11] = 0, 2
    X[11] = np.where(np.arange(n) % 2, 0.3, 0.1 + 0.2)  # equal but for rounding
    if extreme:
        X[13] *= 1e-200
        X[15] *= 1e200
    stored = csr_array(X)
    stored = csr_array(
        stored + csr_array(np.where((rng.random((M, n)) < 0.05) & (X == 0), 1e-9, 0))
    )
    stored.data[stored.data == 1e-9] = 0  # zeros that are stored
    assert (stored.data == 0).any()
    stored.sort_indices()
    return stored


def neighbour_graph(seed: int = 1, n: int = N) -> csr_array:
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < 0.1, rng.random((n, n)), 0)
    A += np.diag(rng.random(n - 1), 1)  # in one piece
    return csr_array(A + A.T)


GRAPHS: dict[str, Callable[[], Similarity]] = {
    "edges": lambda: SparseSimilarity(neighbour_graph()),
    "pieces": lambda: SparseSimilarity(
        csr_array(block_diag([neighbour_graph(2, 25), neighbour_graph(3, 35)], format="csr"))
    ),
    "label": lambda: label_similarity(np.arange(N) % 3),
}
SPEC = {"gamma": "power", "gamma_power": 1, "clusters": None}
SCORERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "phi1": (SpecScorer, SPEC | {"ranking": "phi1"}),
    "phi2": (SpecScorer, SPEC | {"ranking": "phi2"}),
    "phi1 squared": (SpecScorer, SPEC | {"ranking": "phi1", "gamma_power": 2}),
    "phi2 squared": (SpecScorer, SPEC | {"ranking": "phi2", "gamma_power": 2}),
    "phi3": (SpecScorer, SPEC | {"ranking": "phi3", "clusters": 5}),
    "phi3 exp": (SpecScorer, SPEC | {"ranking": "phi3", "clusters": 4, "gamma": "exp"}),
    "gdcov": (GdcovScorer, {"definition": 3, "gamma": "one-minus"}),
    "gdcov 1": (GdcovScorer, {"definition": 1, "gamma": "one-minus"}),
    "variance": (VarianceScorer, {}),
}


def prepared(values: csr_array, **more: Any) -> PreparedMatrix:
    m, n = values.shape
    ids = Ids([f"g{i}" for i in range(m)], [f"s{i}" for i in range(n)])
    gaps = int(np.isnan(values.data).sum())
    source = PreparedMatrix(HeldMatrix(values, ids, Missing(gaps, min(gaps, 1))), **more)
    return fit(source)


def both(
    source: PreparedMatrix,
    scorer_of: Any,
    options: dict[str, Any],
    graph: Similarity,
    threads: int = 1,
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Scores and statuses from dense blocks, and from non-zero values."""
    double = np.dtype(np.float64)
    engine = Engine(source, ThreadExecutor(threads), double, 7)
    context = problem_of(engine, graph, options=options)
    scorer = scorer_of(context)
    found = scorer.on_nonzeros()
    assert found is not None
    thin = Engine(source, engine.executor, double, 7, nonzeros=True)
    dense = engine.columns(scorer.score_block, scorer.dtype)
    return pair(dense), pair(thin.columns(found.score_block, found.dtype))


def applies(name: str, graph: str) -> bool:
    return graph != "label" or ("squared" not in name and "gdcov" not in name)


CASES = [(name, graph) for name in SCORERS for graph in GRAPHS if applies(name, graph)]


def batches() -> Adjustment:
    """Three batches, and a covariate."""
    batch = np.arange(N) // 7 % 3
    age = np.random.default_rng(5).normal(50, 9, N)
    return Adjustment(orthonormal(np.stack([batch == 1, batch == 2, age]))[0])


@pytest.mark.parametrize("adjustment", [None, batches()], ids=["as it is", "adjusted"])
@pytest.mark.parametrize(("name", "graph"), CASES)
def test_scores_are_those_of_dense_blocks(
    name: str, graph: str, adjustment: Adjustment | None
) -> None:
    source = prepared(counts(extreme=True), adjustment=adjustment)
    dense, thin = both(source, *SCORERS[name], GRAPHS[graph]())
    np.testing.assert_array_equal(thin[1], dense[1])
    assert {Status.OK, Status.CONSTANT, Status.ALL_ZERO} <= set(dense[1].tolist())
    assert (dense[1] == Status.OK).sum() >= M - 4
    np.testing.assert_allclose(thin[0], dense[0], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("name", "graph"), CASES)
def test_what_a_covariate_explains_nearly_costs_no_digits(name: str, graph: str) -> None:
    """From 1e-2 to 1e-14 of the squares are left of features, and of the last nothing."""
    adjustment, rng = batches(), np.random.default_rng(3)
    noise = rng.poisson(3, (14, N)) * (rng.random((14, N)) < 0.3)
    batch = np.arange(N) // 7 % 3 == 1
    X = 9.0 * batch + noise * 10.0 ** -(np.arange(14)[:, None] ** 0.7)
    X[-1] = 9.0 * batch
    source = prepared(csr_array(X), adjustment=adjustment)
    dense, thin = both(source, *SCORERS[name], GRAPHS[graph]())
    np.testing.assert_array_equal(thin[1], dense[1])
    assert dense[1][-1] == Status.EXPLAINED
    np.testing.assert_allclose(thin[0], dense[0], rtol=1e-8)


@pytest.mark.parametrize("policy", ["drop", "mean"])
@pytest.mark.parametrize("steps", [(), ("cpm", "log1p"), ("unit",)])
@pytest.mark.parametrize("chosen", [None, np.arange(3, 50)])
def test_preparing_is_that_of_dense_blocks(
    policy: Any, steps: tuple[str, ...], chosen: np.ndarray | None
) -> None:
    values = counts()
    values.data[values.indptr[2] + 1] = np.nan
    values.data[values.indptr[20]] = np.nan
    source = prepared(values, steps=steps, missing=policy, samples=chosen)
    graph = SparseSimilarity(neighbour_graph(4, source.n_samples))
    dense, thin = both(source, *SCORERS["phi2"], graph)
    np.testing.assert_array_equal(thin[1], dense[1])
    assert (Status.MISSING in dense[1]) == (policy == "drop")
    np.testing.assert_allclose(thin[0], dense[0], rtol=1e-10)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("graph", ["edges", "pieces"])
def test_scores_are_those_of_the_dense_twins(seed: int, graph: str) -> None:
    values, similarity = counts(seed)[16:], GRAPHS[graph]()
    X, S = values.toarray().T, similarity.to_dense()
    expected = {
        "phi1": oracle.phi1(X, S, lambda x: x),
        "phi2": oracle.phi2(X, S, lambda x: x),
        "phi1 squared": oracle.phi1(X, S, np.square),
        "phi2 squared": oracle.phi2(X, S, np.square),
        "phi3": oracle.phi3(X, S, lambda x: x, 5),
    }
    for name, scores in expected.items():
        _, thin = both(prepared(values), *SCORERS[name], similarity)
        np.testing.assert_allclose(thin[0], scores, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("seed", range(1))
def test_offsets_cost_no_digits(seed: int) -> None:
    """Full features 1e6 deviations from zero score as they do around zero."""
    rng = np.random.default_rng(seed)
    near = np.round(rng.normal(size=(20, N)) * 1024) / 1024
    near[near == 0] = 1
    graph = GRAPHS["edges"]()
    scores = [
        both(prepared(csr_array(near + c)), *SCORERS["phi2"], graph)[1][0] for c in (0, 2**20)
    ]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-10)


@pytest.mark.parametrize("name", ["phi2", "phi2 squared"])
def test_a_zero_of_hardly_any_weight_is_not_rounded_away(name: str) -> None:
    """A feature that only an outlier lacks varies by the degree of that: 1e-14 of all."""
    S = neighbour_graph().toarray()
    S[4], S[:, 4] = 0, 0
    S[4, 5] = S[5, 4] = 1e-14
    values = np.ones((2, N)) * [[1.0], [3.0]]
    values[:, 4] = 0
    dense, thin = both(prepared(csr_array(values)), *SCORERS[name], SparseSimilarity(csr_array(S)))
    assert (dense[1] == Status.OK).all()
    np.testing.assert_array_equal(thin[1], dense[1])
    np.testing.assert_allclose(thin[0], dense[0], rtol=1e-6)


@pytest.mark.parametrize("seed", range(1))
def test_geary_c_is_the_laplacian_form_in_other_units(seed: int) -> None:
    """C = (n-1) / (2 W) sum_ij w_ij (x_i - x_j)^2 / sum_i (x_i - mean)^2, for equal degrees."""
    rng = np.random.default_rng(seed)
    n, shifts = 50, [1, 3, 7]
    weights = rng.random(3)
    W = np.zeros((n, n))
    for shift, weight in zip(shifts, weights):  # a ring: all degrees are equal
        i = np.arange(n)
        W[i, (i + shift) % n] = W[(i + shift) % n, i] = weight
    X = counts(seed, n)[16:]
    _, thin = both(prepared(X), *SCORERS["phi2"], SparseSimilarity(csr_array(W)))
    for x, score in zip(X.toarray(), thin[0]):
        if np.ptp(x) == 0:
            continue
        differences = W * np.subtract.outer(x, x) ** 2
        geary = (n - 1) / (2 * W.sum()) * differences.sum() / ((x - x.mean()) ** 2).sum()
        # f' L f = half the double sum, and the denominator has the degree W / n as its weight
        assert score == pytest.approx(geary * n / (n - 1), rel=1e-10)


@pytest.mark.parametrize(
    ("scorer_of", "options", "graph"),
    [
        (SpecScorer, SPEC | {"ranking": "phi2", "gamma_power": 3}, "edges"),
        (SpecScorer, SPEC | {"ranking": "phi2", "gamma": "exp"}, "edges"),
        (SpecScorer, SPEC | {"ranking": "phi2", "gamma_power": 2}, "label"),
        (GdcovScorer, {"definition": 3, "gamma": "heat:1"}, "edges"),
        (SpecScorer, SPEC | {"ranking": "phi2"}, "dense"),
    ],
)
def test_what_needs_dense_blocks_says_so(
    scorer_of: Any, options: dict[str, Any], graph: str
) -> None:
    made = {"dense": lambda: DenseSimilarity(neighbour_graph().toarray())} | GRAPHS
    context = problem_of(make_engine(np.zeros((N, 1))), made[graph](), options=options)
    assert scorer_of(context).on_nonzeros() is None
