"""GDCOV: its theorems, its twins, the pieces of a graph, and what cannot be scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sfs_cli.compute.matrix import Block
from sfs_cli.errors import InputError, NotConvergedError, OutOfMemoryError
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import DenseSimilarity, FactoredSimilarity, SparseSimilarity
from sfs_cli.graph.spectral import parse_gamma
from sfs_cli.methods.base import Scorer, Status
from sfs_cli.methods.gdcov.covariance import GdcovScorer
from tests.making import make_problem
from tests.oracles import covariance, similarities, spec
from tests.unit.methods.helpers import make_scorer, pair, score_all

GAMMAS: dict[str, covariance.Gamma] = {
    "one-minus": lambda v: 1 - v,
    "inverse": lambda v: 1 / v,
    "heat:1": lambda v: np.exp(-v),
    "heat:0.3": lambda v: np.exp(-0.3 * v),
}
TWINS = {1: covariance.gdcov_1, 3: covariance.gdcov_3}
N, M = 40, 15


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    codes = rng.permutation(np.repeat(np.arange(2), N // 2))
    X = rng.normal(size=(N, M)) + rng.normal(size=(2, M))[codes] + rng.normal(size=M)
    return codes, X


CODES, X = _data()
RBF = similarities.rbf(X)
HALVES = np.where(CODES[:, None] == CODES, RBF, 0)  # two pieces
GRAPHS = {
    "rbf": RBF,
    "two pieces": HALVES,
    "knn in pieces": similarities.knn(X + 50 * CODES[:, None], 4),
    "scaled down": 0.02 * RBF,
}


def scorer(S: Any, *, dtype: str = "float64", **options: Any) -> Scorer:
    given = {"definition": 3, "gamma": "one-minus"} | options
    similarity = DenseSimilarity(S) if isinstance(S, np.ndarray) else S
    return make_scorer("gdcov", len(X), similarity, dtype=dtype, **given)


def scores(values: np.ndarray, S: Any, **options: Any) -> np.ndarray:
    made = scorer(S, **options)
    found, status = pair(made.score_block(Block(np.array(values.T, made.dtype, order="C"))))
    np.testing.assert_array_equal(np.isnan(found), status != Status.OK)
    return found


@pytest.mark.parametrize("definition", [1, 3])
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("S", GRAPHS.values(), ids=GRAPHS)
def test_scores_are_the_diagonal_of_the_covariance(
    S: np.ndarray, gamma: str, definition: int
) -> None:
    expected = np.diag(TWINS[definition](X, S, GAMMAS[gamma]))
    options: dict[str, Any] = {"definition": definition, "gamma": gamma}
    found = scores(X, S, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
    thin = SparseSimilarity(sparse.csr_array(S))
    np.testing.assert_allclose(scores(X, thin, **options), found, rtol=1e-8)


@pytest.mark.parametrize("definition", [1, 3])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_a_factored_graph_stays_factored(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, gamma: str, definition: int
) -> None:
    factor = 0.2 * np.abs(rng.normal(size=(N, 4)))
    options: dict[str, Any] = {"definition": definition, "gamma": gamma}
    expected = scores(X, factor @ factor.T, **options)
    for kind in (FactoredSimilarity, SparseSimilarity):
        monkeypatch.setattr(kind, "to_dense", None)
    for form in (factor, sparse.csr_array(factor)):
        found = scores(X, FactoredSimilarity(form), **options)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("gamma", ["inverse", "heat:1", "heat:2.5"])
def test_theorem_4_constant_weights_give_the_covariance_times_gamma_of_1(gamma: str) -> None:
    unit = X / np.linalg.norm(X, axis=0)
    S = np.full((N, N), 1 / N)
    expected = parse_gamma(gamma)(np.ones(1)) * unit.var(axis=0, ddof=1)
    for definition in (1, 3):
        found = scores(unit, S, definition=definition, gamma=gamma)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("definition", [1, 3])
@pytest.mark.parametrize("gamma", ["inverse", "heat:1", "one-minus"])
def test_theorem_5_scores_are_not_negative_and_bound_each_other(
    gamma: str, definition: int
) -> None:
    S = RBF if definition == 3 else RBF / (4 * N)  # eigenvalues of the Laplacian up to 1
    first, rest = X[:, :1], X[:, 1:]
    values = np.concatenate([X, rest + first, rest - first], axis=1)
    norm = S.sum(axis=1) @ values**2 if definition == 3 else 1.0
    form = scores(values, S, definition=definition, gamma=gamma) * norm
    own, plus, minus = form[:M], form[M : 2 * M - 1], form[2 * M - 1 :]
    assert (own > 0).all()
    between = (plus - minus) / 4
    assert (between**2 <= own[0] * own[1:]).all()  # Cauchy-Schwarz


def test_definition_3_does_not_depend_on_the_scale_and_definition_1_on_the_mean(
    rng: np.random.Generator,
) -> None:
    scale = 10.0 ** rng.integers(-150, 150, size=M)
    np.testing.assert_allclose(scores(X * scale, RBF), scores(X, RBF), rtol=1e-9)
    shift = 1e3 * rng.normal(size=M)
    options: dict[str, Any] = {"definition": 1, "gamma": "inverse"}
    expected = scores(X, RBF, **options)
    np.testing.assert_allclose(scores(X + shift, RBF, **options), expected, rtol=1e-9)
    np.testing.assert_allclose(scores(X * 7, RBF, **options), 49 * expected, rtol=1e-9)


@pytest.mark.parametrize("S", [RBF / N, HALVES / N], ids=["one piece", "two pieces"])
@pytest.mark.parametrize(("definition", "gamma"), [(1, "inverse"), (3, "one-minus")])
def test_float32_agrees_with_float64_on_the_same_values(
    S: np.ndarray, gamma: str, definition: int
) -> None:
    wide = np.random.default_rng(3).normal(size=(N, 3000)) * 0.01
    wide[:, :1000] += 10
    wide[:, 1000:1500] += 0.02 * CODES[:, None]
    stored = wide.astype(np.float32)
    options: dict[str, Any] = {"definition": definition, "gamma": gamma}
    expected = scores(stored.astype(np.float64), S, **options)
    made = scorer(S, dtype="float32", **options)
    assert made.dtype == np.float32
    found, _ = pair(made.score_block(Block(np.ascontiguousarray(stored.T))))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_one_minus_is_one_less_phi1_without_its_trivial_part() -> None:
    centred = X - (RBF.sum(axis=1) @ X) / RBF.sum()
    expected = (1 - spec.phi1(centred, RBF, lambda v: v)) / (N - 1)
    np.testing.assert_allclose(scores(centred, RBF), expected, rtol=1e-9)


def test_an_indicator_of_a_piece_counts_for_nothing_and_pieces_are_told() -> None:
    values = np.column_stack([X, CODES + 3.0])
    for form in (HALVES, SparseSimilarity(sparse.csr_array(HALVES))):
        for gamma in GAMMAS:
            found = scores(values, form, gamma=gamma)
            assert abs(found[-1]) < 1e-12 * found[:-1].max()
            made = scorer(form, gamma=gamma)
            assert made.facts["components"] == 2
            assert "2 connected components" in made.warnings[0]


def test_a_bridge_however_weak_makes_one_piece() -> None:
    bridged = HALVES.copy()
    first, second = np.flatnonzero(CODES == 0)[0], np.flatnonzero(CODES == 1)[0]
    bridged[first, second] = bridged[second, first] = 1e-30
    indicator = CODES[:, None] - 0.5
    made = scorer(bridged)
    assert made.facts["components"] == 1
    d = bridged.sum(axis=1)
    centred = indicator[:, 0] - d @ indicator[:, 0] / d.sum()
    part = d @ centred**2 / (d @ indicator[:, 0] ** 2)
    np.testing.assert_allclose(scores(indicator, bridged), part / (N - 1), rtol=1e-9)
    weak = scorer(bridged, gamma="inverse")
    assert any("0 but for rounding" in text for text in weak.warnings)


def test_one_minus_warns_where_it_is_negative() -> None:
    assert any("exceed 1" in text for text in scorer(similarities.knn(X, 5)).warnings)
    assert not scorer(RBF).warnings
    assert any("exceed 1" in text for text in scorer(RBF, definition=1).warnings)


def test_a_function_that_is_zero_everywhere_is_refused() -> None:
    S = label_similarity(CODES)
    for form in (S, DenseSimilarity(S.to_dense())):
        with pytest.raises(InputError, match="gets the same score"):
            scorer(form)
        within = scores(X, form, gamma="inverse")
        assert (within > 0).all()


def test_the_inverse_of_an_indefinite_laplacian_is_refused() -> None:
    signed = RBF.copy()
    signed[0, 1] = signed[1, 0] = -12  # a negative edge of more weight than the degree is left of
    signed[0, 0] = signed[1, 1] = 12
    assert (signed.sum(axis=1) > 0).all()
    for form in (signed, SparseSimilarity(sparse.csr_array(signed))):
        with pytest.raises(InputError, match="negative eigenvalues"):
            scores(X, form, gamma="inverse")


def test_conjugate_gradients_that_do_not_converge_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfs_cli.graph.spectral.MAX_STEPS", 2)
    with pytest.raises(NotConvergedError, match="2 steps"):
        scores(X, SparseSimilarity(sparse.csr_array(RBF)), gamma="inverse")


def test_eigenvectors_that_do_not_fit_are_refused() -> None:
    context = make_problem(X, S=RBF, memory=40 * N * N - 1, definition=3, gamma="heat:1")
    with pytest.raises(OutOfMemoryError, match="40 x 40"):
        GdcovScorer(context)
    assert GdcovScorer(make_problem(X, S=RBF, memory=0, definition=3, gamma="one-minus"))


def test_two_samples() -> None:
    S = np.array([[1.0, 0.4], [0.4, 1.0]])
    values = np.array([[1.0, 2.0], [2.0, -1.0]])
    for definition, twin in TWINS.items():
        for gamma, function in GAMMAS.items():
            context = make_problem(values, S=S, definition=definition, gamma=gamma)
            expected = np.diag(twin(values, S, function))
            found = score_all(GdcovScorer(context), context)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)
