"""A sample of weight w is as good as w copies of it, and weights need not be whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.catalog import METHODS, WITH_WEIGHTS
from sfs_cli.compute.context import Labels
from sfs_cli.errors import InputError
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
    weighted_similarity,
)
from tests.making import make_problem
from tests.oracles import covariance, similarities, spec
from tests.oracles import outcome as twin
from tests.unit.methods.helpers import score_all

N, M = 26, 40
CODES = np.arange(N) % 3


def _data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(8)
    y = rng.normal(size=N) * 7 + 40
    X = rng.normal(size=(N, M)) * rng.uniform(0.1, 10, M) + rng.normal(0, 30, M)
    X[:, :5] += CODES[:, None] * 2
    X[:, 5:9] += y[:, None]
    X[:, M - 1] = 3.25
    return y, X, rng.integers(1, 5, N).astype(float)


Y, X, WEIGHTS = _data()
COPIES = np.repeat(np.arange(N), WEIGHTS.astype(int))

RBF, KNN = similarities.rbf(X), similarities.knn(X, 4)
GRAPHS = {
    "zero diagonal": RBF * (1 - np.eye(N)),
    "correlation": similarities.correlation(X),
}
GRAPH_CASES: dict[str, dict[str, Any]] = {
    "hsic": {},
    "laplacian": {},
    "spec": {"ranking": "phi2"},
    "spec 3": {"ranking": "phi2", "gamma_power": 3},
    "spec exp": {"ranking": "phi2", "gamma": "exp"},
    "spec phi1": {"ranking": "phi1"},
    "spec phi1 2": {"ranking": "phi1", "gamma_power": 2},
    "spec phi1 exp": {"ranking": "phi1", "gamma": "exp"},
}
LABEL_CASES: dict[str, dict[str, Any]] = {
    "variance": {},
    "fisher": {"codes": CODES},
    "f-test": {"codes": CODES},
    "f-test outcome": {"outcome": Y},
}


def test_every_method_with_weights_is_here() -> None:
    cases = {case.split()[0] for case in (*GRAPH_CASES, *LABEL_CASES)}
    assert cases == set(WITH_WEIGHTS)


def scores(
    case: str,
    S: Similarity | None = None,
    X: np.ndarray = X,
    weights: np.ndarray | None = None,
    **given: Any,
) -> np.ndarray:
    """Score as a run does: on the weighted graph."""
    method = METHODS[case.split()[0]]
    prepare = method.load("prepare")
    assert prepare is not None
    if S is not None and weights is not None:
        S = weighted_similarity(S, weights)
    options = dict(method.options) | given
    problem = make_problem(X, S=S, weights=weights, **options)
    return score_all(prepare(problem), problem)[0]


def copied(S: np.ndarray) -> np.ndarray:
    return S[np.ix_(COPIES, COPIES)]


def check(found: np.ndarray, expected: np.ndarray) -> None:
    size = np.nanmax(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * size)
    assert np.isnan(found[M - 1])


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("case", GRAPH_CASES)
@pytest.mark.parametrize("few", [False, True], ids=["triangular", "products"])
def test_weights_on_a_graph_are_copies(case: str, graph: str, few: bool) -> None:
    S, given = GRAPHS[graph], GRAPH_CASES[case]
    kept = np.r_[0:9, M - 1] if few else np.arange(M)  # few features are scored without a factor
    expected = scores(case, DenseSimilarity(copied(S)), X[np.ix_(COPIES, kept)], **given)
    found = scores(case, DenseSimilarity(S), X[:, kept], WEIGHTS, **given)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.nanmax(abs(expected)))
    thin = scores(case, SparseSimilarity(csr_array(S)), X[:, kept], WEIGHTS, **given)
    np.testing.assert_allclose(thin, expected, rtol=1e-10, atol=1e-10 * np.nanmax(abs(expected)))
    assert np.isnan(found[-1])


@pytest.mark.parametrize("case", GRAPH_CASES)
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_on_factors_are_copies(case: str, sparse: bool) -> None:
    Z = np.random.default_rng(0).random((N, 4))
    factor = csr_array(Z) if sparse else Z
    given = GRAPH_CASES[case]
    expected = scores(case, FactoredSimilarity(Z[COPIES]), X[COPIES], **given)
    check(scores(case, FactoredSimilarity(factor), X, WEIGHTS, **given), expected)


@pytest.mark.parametrize("case", GRAPH_CASES)
def test_classes_count_their_weights(case: str) -> None:
    given = GRAPH_CASES[case]
    expected = scores(case, label_similarity(CODES[COPIES]), X[COPIES], **given)
    check(scores(case, label_similarity(CODES, WEIGHTS), X, WEIGHTS, **given), expected)


@pytest.mark.parametrize("case", LABEL_CASES)
def test_weights_without_a_graph_are_copies(case: str) -> None:
    given = LABEL_CASES[case]
    repeated = {name: values[COPIES] for name, values in given.items()}
    expected = scores(case, None, X[COPIES], **repeated)
    check(scores(case, None, X, WEIGHTS, **given), expected)


def test_weights_of_one_change_nothing() -> None:
    ones, S = np.ones(N), DenseSimilarity(RBF)
    for case, given in GRAPH_CASES.items():
        check(scores(case, S, X, ones, **given), scores(case, S, X, **given))
    for case, given in LABEL_CASES.items():
        check(scores(case, None, X, ones, **given), scores(case, None, X, **given))


def test_ratios_do_not_depend_on_the_scale_of_the_weights(rng: np.random.Generator) -> None:
    w, S = rng.random(N) + 0.1, DenseSimilarity(RBF)
    given = GRAPH_CASES["spec"]
    check(scores("spec", S, X, 1e-3 * w, **given), scores("spec", S, X, w, **given))
    scaled, same = (scores("fisher", X=X, weights=v, codes=CODES) for v in (1e-3 * w, w))
    check(scaled, same)


def test_fractions_of_samples_by_the_formulas(rng: np.random.Generator) -> None:
    w = rng.random(N) * 3 + 0.1
    W, mean = w.sum(), (w @ X) / w.sum()
    variance = (w @ (X - mean) ** 2) / (W - 1)
    variance[M - 1] = np.nan
    check(scores("variance", X=X, weights=w), variance)
    between, within = np.zeros(M), np.zeros(M)
    for c in range(3):
        members = np.flatnonzero(np.equal(CODES, c))
        inside, v = X[members], w[members]
        center = (v @ inside) / v.sum()
        between += v.sum() * (center - mean) ** 2
        within += v @ (inside - center) ** 2
    with np.errstate(invalid="ignore"):
        fisher = between / within
    fisher[M - 1] = np.nan
    check(scores("fisher", X=X, weights=w, codes=CODES), fisher)
    check(scores("f-test", X=X, weights=w, codes=CODES), fisher * (W - 3) / 2)
    phi2 = scores("spec", label_similarity(CODES, w), X, w)
    check(phi2, 1 / (1 + fisher))
    S = KNN * np.outer(w, w)
    check(scores("spec", DenseSimilarity(KNN), X, w), spec.phi2(X, S, lambda v: v))


def test_the_twins_of_copies_agree() -> None:
    expected = np.array([covariance.hsic(f, copied(RBF)) for f in X[COPIES].T])
    found = scores("hsic", DenseSimilarity(RBF), X, WEIGHTS)
    np.testing.assert_allclose(found[:-1], expected[:-1], rtol=1e-8, atol=1e-10 * expected.max())
    varying = X[:, : M - 1]
    expected = np.array([twin.f_regression(f, Y[COPIES]) for f in varying[COPIES].T])
    found = scores("f-test", None, varying, WEIGHTS, outcome=Y)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("case", "given"),
    [("variance", {}), ("f-test", {"codes": CODES}), ("f-test", {"outcome": Y}), ("hsic", {})],
)
def test_weights_that_count_too_few_samples_are_refused(case: str, given: dict[str, Any]) -> None:
    S = DenseSimilarity(RBF) if case == "hsic" else None
    with pytest.raises(InputError, match="sum above") as caught:
        scores(case, S, X, np.full(N, 1 / N), **given)
    assert "sum is the number of samples" in str(caught.value)


def test_labels_of_samples_that_take_no_part() -> None:
    labels = Labels(np.array([0, 1, 2, 1, -1, 0]), ["a", "b", "c"])
    left = labels.among(np.array([True, False, True, False, True, True]))
    assert left.classes == ["a", "c"]
    np.testing.assert_array_equal(left.codes, [0, -1, 1, -1, -1, 0])
    ordered = Labels(labels.codes, ["a", "b", "c"], np.array([0.0, 1, 2, 1, np.nan, 0]))
    left = ordered.among(np.array([True, False, True, False, True, True]))
    assert left.classes == ["a", "b", "c"]
    np.testing.assert_array_equal(left.known, [True, False, True, False, False, True])
