"""The greedy path of sparse components, plain and in a geometry, against explicit covariances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph.similarity import FactoredSimilarity, SparseSimilarity
from sfs_cli.methods import spca
from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.gdcov import sparse_pca
from tests.making import make_problem
from tests.oracles import covariance, similarities
from tests.unit.methods.helpers import check_solution
from tests.unit.methods.test_gdcov import GAMMAS, TWINS

N, M, SELECT = 30, 60, 20


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(21)
    codes = rng.permutation(np.repeat(np.arange(3), N // 3))
    X = rng.normal(size=(N, M)) + rng.normal(size=(3, M))[codes] + rng.normal(size=M)
    return codes, X


CODES, X = _data()
RBF = similarities.rbf(X)
HALVES = np.where((CODES[:, None] == 0) == (CODES == 0), RBF, 0)


def plain(values: np.ndarray, select: int = SELECT, **given: Any) -> Solution:
    found = spca.solve(make_problem(values, select=select, **given))
    check_solution(found)
    return found


def in_geometry(values: np.ndarray, S: Any, select: int = SELECT, **given: Any) -> Solution:
    options = {"definition": 3, "gamma": "one-minus", "select": select} | given
    found = sparse_pca.solve(make_problem(values, S=S, **options))
    check_solution(found)
    return found


def check_path(found: Solution, C: np.ndarray, select: int = SELECT) -> None:
    assert found.order is not None
    order, variances = covariance.greedy_path(C, select)
    assert found.order[:select].tolist() == order
    np.testing.assert_allclose(found.score[order], variances, rtol=1e-8)
    np.testing.assert_allclose(found.objective, variances, rtol=1e-8)
    kept = np.array(variances) / np.trace(C)
    np.testing.assert_allclose(found.extra["variance_kept"][order], kept, rtol=1e-8)
    np.testing.assert_allclose(found.facts["variance_kept"], kept[-1], rtol=1e-8)


def test_the_plain_path_is_that_on_the_covariance() -> None:
    check_path(plain(X), np.cov(X.T))


@pytest.mark.parametrize("S", [RBF, HALVES], ids=["one piece", "two pieces"])
@pytest.mark.parametrize(("definition", "gamma"), [(1, "heat:1"), (3, "one-minus"), (3, "inverse")])
def test_the_path_in_a_geometry(S: np.ndarray, gamma: str, definition: int) -> None:
    S = S if definition == 3 else S / (4 * N)
    options: dict[str, Any] = {"definition": definition, "gamma": gamma}
    C = TWINS[definition](X, S, GAMMAS[gamma])
    found = in_geometry(X, S, **options)
    check_path(found, C)
    thin = in_geometry(X, SparseSimilarity(sparse.csr_array(S)), **options)
    np.testing.assert_array_equal(thin.order, found.order)
    np.testing.assert_allclose(thin.objective, found.objective, rtol=1e-8)


def test_a_factored_graph_stays_factored(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    factor = np.abs(rng.normal(size=(N, 4)))
    C = covariance.gdcov_3(X, factor @ factor.T, GAMMAS["one-minus"])
    monkeypatch.setattr(FactoredSimilarity, "to_dense", None)
    check_path(in_geometry(X, FactoredSimilarity(factor), select=3), C, 3)


def test_negative_parts_of_gamma_are_left_out_with_a_warning() -> None:
    S = similarities.knn(X, 5)
    C = covariance.gdcov_3(X, S, lambda v: np.maximum(1 - v, 0))
    for form in (S, SparseSimilarity(sparse.csr_array(S))):
        found = in_geometry(X, form)
        check_path(found, C)
        assert any("left out" in text for text in found.warnings)
    with pytest.raises(OutOfMemoryError, match="30 x 30"):
        in_geometry(X, S, memory=40 * N * N - 1)


@pytest.mark.parametrize("run", [plain, lambda v, **g: in_geometry(v, RBF, **g)])
def test_the_whole_order_tells_who_would_be_next(run: Callable[..., Solution]) -> None:
    longer, shorter = run(X), run(X, select=SELECT - 1)
    assert longer.order is not None
    assert shorter.order is not None
    np.testing.assert_array_equal(shorter.order[:SELECT], longer.order[:SELECT])
    assert sorted(longer.order.tolist()) == list(range(M))
    assert (longer.status[longer.order[SELECT:]] == Status.NOT_SELECTED).all()
    assert (np.diff(longer.objective) > 0).all()


def test_the_path_among_many_features(rng: np.random.Generator) -> None:
    wide = rng.normal(size=(50, 2000))
    wide[:, :400] += 2 * rng.normal(size=(50, 3)) @ rng.normal(size=(3, 400))
    found = plain(wide, select=60)
    rows = (wide - wide.mean(axis=0)).T / np.sqrt(49)
    order, variances = covariance.greedy_path_of_rows(rows, 60)
    assert found.order is not None
    assert found.order[:60].tolist() == order
    np.testing.assert_allclose(found.objective, variances, rtol=1e-8)


@pytest.mark.parametrize("run", [plain, lambda v, **g: in_geometry(v, RBF, **g)])
def test_constant_features_and_copies(run: Callable[..., Solution]) -> None:
    values = np.column_stack([np.zeros(N), X[:, :3], X[:, 1], np.full(N, 0.1), X[:, 0]])
    with_copies = run(values, select=50)
    assert with_copies.order is not None
    assert any("only 5 features vary" in text for text in with_copies.warnings)
    assert set(with_copies.order.tolist()) == {1, 2, 3, 4, 6}
    order = with_copies.order.tolist()
    assert order.index(1) < order.index(6)
    assert order.index(2) < order.index(4)
    assert with_copies.status[[0, 5]].tolist() == [Status.ALL_ZERO, Status.CONSTANT]
    assert with_copies.facts["selected"] == 5


def test_fewer_features_than_samples_two_samples_and_one_feature() -> None:
    check_path(plain(X[:, :5], select=5), np.cov(X[:, :5].T), 5)
    two = plain(X[:2], select=M)
    assert sorted(two.order.tolist()) == list(range(M))  # type: ignore[union-attr]
    np.testing.assert_allclose(two.facts["variance_kept"], 1)
    assert plain(X[:, :1], select=1).objective == pytest.approx([X[:, 0].var(ddof=1)])


def test_variances_that_cannot_be_represented_are_refused() -> None:
    for scale in (1e200, 1e-200):
        with pytest.raises(InputError, match="add up to"):
            plain(X * scale)
        scaled = in_geometry(X * scale, RBF)
        np.testing.assert_array_equal(scaled.order, in_geometry(X, RBF).order)
