"""Quadratic forms by a triangular factor, against the products that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods.quadratic import TriangularForm, power_factor, triangular_factor
from tests.making import make_problem
from tests.oracles import similarities
from tests.unit.methods.helpers import METHODS, gamma_options, score_all

N, M = 30, 64


def _data() -> np.ndarray:
    rng = np.random.default_rng(8)
    return (
        rng.normal(size=(N, M)) + rng.exponential(2, M) * rng.normal(size=(3, M))[np.arange(N) % 3]
    )


X = _data()
CONNECTED = similarities.rbf(X)
COMPONENTS = CONNECTED * (np.arange(N)[:, None] % 3 == np.arange(N) % 3)
SIGNED = 2 * similarities.correlation(X) - 2 * similarities.knn(X, 2)


def rows(laplacian: NormalizedLaplacian, count: int = 7) -> np.ndarray:
    G = np.random.default_rng(1).normal(size=(count, laplacian.n))
    return G - np.outer(G @ laplacian.trivial, laplacian.trivial)


@pytest.mark.parametrize("power", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [N, 10**9], ids=["few", "many"])
@pytest.mark.parametrize("S", [CONNECTED, COMPONENTS], ids=["connected", "components"])
def test_powers_of_the_laplacian(S: np.ndarray, m: int, power: int) -> None:
    laplacian = NormalizedLaplacian(DenseSimilarity(S))
    G, expected = rows(laplacian), laplacian.form(rows(laplacian), power)
    factor = power_factor(laplacian, power)
    assert factor is not None
    np.testing.assert_array_equal(np.tril(factor, -1), 0)
    form = TriangularForm(factor, m)
    np.testing.assert_allclose(form.form(G.copy()), expected, rtol=1e-12)
    np.testing.assert_allclose(form.form(G.astype(np.float32)), expected, rtol=1e-6)
    if power == 1:
        np.testing.assert_allclose(form.apply(G), laplacian.apply(G), atol=1e-13)


def test_a_form_of_many_features_is_written_over_its_rows() -> None:
    laplacian = NormalizedLaplacian(DenseSimilarity(CONNECTED))
    factor = power_factor(laplacian, 1)
    assert factor is not None
    G = rows(laplacian)
    image = G @ factor.T
    form = TriangularForm(factor, 10**9).form(G)
    np.testing.assert_allclose(G, image, atol=1e-14)
    np.testing.assert_allclose(form, (image * image).sum(axis=1))


@pytest.mark.parametrize("lowest", [-1e-3, -1e-9])
def test_a_negative_eigenvalue_has_no_factor(lowest: float, rng: np.random.Generator) -> None:
    U = np.linalg.qr(rng.normal(size=(N, N)))[0]
    values = np.concatenate([[0, lowest], np.linspace(0, 1, N - 2)])
    assert triangular_factor((U * values) @ U.T, U[:, 0], 1.0) is None
    assert triangular_factor((U * np.maximum(values, 0)) @ U.T, U[:, 0], 1.0) is not None


def test_odd_powers_of_signed_similarities_have_no_factor_and_even_ones_do() -> None:
    S = -0.02 * CONNECTED
    laplacian = NormalizedLaplacian(DenseSimilarity(S + np.diag(1 - S.sum(axis=1))))
    assert np.linalg.eigvalsh(np.eye(N) - laplacian.smooth_matrix()).min() < -1e-3
    assert power_factor(laplacian, 1) is None
    assert power_factor(laplacian, 3) is None
    assert power_factor(laplacian, 2) is not None


CASES: list[tuple[str, dict[str, Any]]] = [
    *(
        ("spec", {"ranking": ranking, **gamma_options(gamma)})
        for ranking in ("phi1", "phi2")
        for gamma in ("1", "2", "exp")
    ),
    *(
        ("gdcov", {"definition": definition, "gamma": gamma})
        for definition in (1, 3)
        for gamma in ("one-minus", "inverse", "heat:1")
    ),
]


@pytest.mark.parametrize("S", [CONNECTED, COMPONENTS, SIGNED], ids=["one", "several", "signed"])
@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_few_features_are_scored_without_a_factor_and_score_the_same(
    method: str, options: dict[str, Any], S: np.ndarray
) -> None:
    listed = METHODS[method]
    prepare = listed.load("prepare")
    assert prepare is not None
    found = []
    for part in (slice(None), slice(0, N // 2)):
        problem = make_problem(X[:, part], S=S, **(dict(listed.options) | options))
        found.append(score_all(prepare(problem), problem)[0])
    np.testing.assert_allclose(found[0][: N // 2], found[1], rtol=1e-10)
