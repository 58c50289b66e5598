"""The ways to the spectrum: direct and Lanczos; and graphs in several pieces."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sfs_cli.graph import spectral as spectrum
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)
from tests.oracles import similarities, spec
from tests.unit.methods.helpers import GAMMAS, gamma_options, make_scorer, score

N = 80


def _data() -> np.ndarray:
    rng = np.random.default_rng(11)
    return rng.normal(size=(N, 8)) + 3 * rng.normal(size=8)


X = _data()


def pieces(n: int, count: int, *, signed: bool = False) -> np.ndarray:
    """A graph in pieces of different weights and sizes, its samples in no order."""
    rng = np.random.default_rng(count)
    S = np.zeros((n, n))
    edges = np.sort(rng.permutation(n // 4 - 1)[: count - 1] + 1) * 4
    for part, members in enumerate(np.split(rng.permutation(n), edges)):
        size = len(members)
        A = rng.uniform(0.1, 1, (size, size)) * (part + 1)
        if signed:
            A -= 0.2 * (part + 1)
        S[np.ix_(members, members)] = A + A.T + 4 * np.eye(size)
    return S


@cache
def hubs(n: int) -> np.ndarray:
    """Misses that outnumber hits here and there: a small degree, and an eigenvalue far below 0."""
    codes = np.arange(n) % 2
    for seed in range(100):
        points = np.random.default_rng(seed).normal(size=(n, 6))
        S = similarities.relieff(points, codes, 3)
        if 0.01 < S.sum(axis=1).min() < 0.2:
            return S
    raise AssertionError("no such graph among a hundred")


def sparsely(S: np.ndarray) -> Similarity:
    return SparseSimilarity(sparse.csr_array(S))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("one piece", DenseSimilarity),
        ("pieces", sparsely),
        ("signed pieces", DenseSimilarity),
        ("signed pieces", sparsely),
        ("hubs", sparsely),
    ],
)
def test_every_ranking_on_awkward_graphs(form: type, name: str) -> None:
    S = {
        "one piece": lambda: pieces(N, 1),
        "pieces": lambda: pieces(N, 5),
        "signed pieces": lambda: pieces(N, 5, signed=True),
        "hubs": lambda: hubs(N),
    }[name]()
    assert S.sum(axis=1).min() > 0
    for gamma, function in GAMMAS.items():
        for ranking in ("phi1", "phi2"):
            found = score("spec", X, form(S), ranking=ranking, **gamma_options(gamma))
            expected = getattr(spec, ranking)(X, S, function)
            np.testing.assert_allclose(found, expected, rtol=1e-8, err_msg=f"{ranking} {gamma}")
        values, _ = spec.eigenpairs(S)
        k = next(k for k in range(5, 20) if values[k] - values[k - 1] > 1e-3)
        found = score("spec", X, form(S), ranking="phi3", clusters=k, **gamma_options(gamma))
        np.testing.assert_allclose(found, spec.phi3(X, S, function, k), rtol=1e-7)


@pytest.mark.parametrize("form", [DenseSimilarity, sparsely])
def test_the_first_eigenvector_is_exact_on_a_graph_in_pieces(form: type) -> None:
    laplacian = NormalizedLaplacian(form(pieces(N, 4)))
    found = spectrum.leading(laplacian, 6)
    root = np.sqrt(laplacian.degrees)
    np.testing.assert_allclose(found.vectors[:, 0], root / np.linalg.norm(root), rtol=1e-14)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-13)
    np.testing.assert_allclose(found.values[:4], 0, atol=1e-13)
    assert found.values[4] > 1e-3


def test_a_cut_between_equal_eigenvalues_is_warned_of() -> None:
    options: dict[str, Any] = {"ranking": "phi3", "clusters": 2}
    scorer = make_scorer("spec", N, sparsely(pieces(N, 4)), **options)
    assert any("eigenvalues 2 and 3" in text for text in scorer.warnings)
    scorer = make_scorer("spec", N, sparsely(pieces(N, 2)), **options)
    assert scorer.warnings == []


@pytest.mark.parametrize("form", [DenseSimilarity, sparsely])
@pytest.mark.parametrize("name", ["knn", "pieces", "hubs"])
def test_lanczos_finds_what_the_direct_solver_finds(
    form: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    S = {
        "knn": lambda: similarities.knn(X, 6),
        "pieces": lambda: pieces(N, 6),
        "hubs": lambda: hubs(N),
    }[name]()
    laplacian = NormalizedLaplacian(form(S))
    direct = spectrum.leading(laplacian, 12)
    monkeypatch.setattr(spectrum, "DIRECT_LIMIT", 10)
    found = spectrum.leading(laplacian, 12)
    np.testing.assert_allclose(found.values, direct.values, atol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(12), atol=1e-10)
    d = S.sum(axis=1)
    residual = (np.eye(N) - S / np.sqrt(np.outer(d, d))) @ found.vectors
    np.testing.assert_allclose(residual, found.vectors * found.values, atol=1e-9)


def _thin_factors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    full = rng.uniform(size=(N, 5))
    return {
        "labels": np.eye(4)[np.arange(N) % 4],
        "two labels": np.eye(2)[np.arange(N) % 2],
        "one label": np.ones((N, 1)),
        "full": full,
        "of lower rank": np.column_stack([full, full[:, 0], full @ np.ones(5)]),
    }


@pytest.mark.parametrize("name", list(_thin_factors()))
@pytest.mark.parametrize("k", [2, N])
def test_a_thin_factor_has_the_eigenpairs_of_its_matrix(name: str, k: int) -> None:
    Z = _thin_factors()[name]
    S = Z @ Z.T
    direct = spectrum.leading(NormalizedLaplacian(DenseSimilarity(S)), k)
    found = spectrum.leading(NormalizedLaplacian(FactoredSimilarity(Z)), k)
    np.testing.assert_allclose(found.values, direct.values, atol=1e-13)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-13)
    d = S.sum(axis=1)
    residual = (np.eye(N) - S / np.sqrt(np.outer(d, d))) @ found.vectors
    np.testing.assert_allclose(residual, found.vectors * found.values, atol=1e-13)


def test_phi3_of_more_samples_than_are_solved_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 240
    monkeypatch.setattr(spectrum, "DIRECT_LIMIT", 100)
    points = np.random.default_rng(2).uniform(size=(n, 1)) + np.arange(n)[:, None] % 4 * 1.5
    order = np.argsort(points[:, 0])
    S = np.zeros((n, n))
    for step in (1, 2, 3):
        S[order[:-step], order[step:]] = S[order[step:], order[:-step]] = 1 / step
    features = np.random.default_rng(3).normal(size=(n, 5)) + points
    expected = spec.phi3(features, S, GAMMAS["1"], 4)
    for form in (DenseSimilarity, sparsely):
        found = score("spec", features, form(S), ranking="phi3", clusters=4)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["labels", "full"])
def test_the_exponential_on_a_thin_factor(name: str) -> None:
    Z = _thin_factors()[name]
    for ranking in ("phi1", "phi2"):
        found = score("spec", X, FactoredSimilarity(Z), ranking=ranking, gamma="exp")
        expected = getattr(spec, ranking)(X, Z @ Z.T, np.exp)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_eigengap_takes_the_first_of_equal_gaps() -> None:
    assert spectrum.clusters_by_eigengap(np.array([0.0, 0.1, 0.2, 0.7, 0.8])) == 3
    assert spectrum.clusters_by_eigengap(np.array([0.0, 0.25, 0.5, 0.75])) == 2
    # the gap after the trivial pair is no answer: one cluster is none
    assert spectrum.clusters_by_eigengap(np.array([0.0, 0.9, 1.0, 1.05])) == 2


def test_signs_of_eigenvectors_do_not_depend_on_the_solver() -> None:
    vectors = np.linalg.qr(X[:9, :3])[0]
    flipped = vectors * [1, -1, -1]
    np.testing.assert_array_equal(spectrum.fix_signs(vectors), spectrum.fix_signs(flipped))


def test_lanczos_finds_every_zero_of_pieces_whose_other_eigenvalues_are_near_0() -> None:
    sizes = [190, 194, 198, 202, 206, 210]
    paths = [sparse.diags_array([np.ones(n - 1)] * 2, offsets=[1, -1]) for n in sizes]
    similarity = SparseSimilarity(sparse.csr_array(sparse.block_diag(paths)))
    found = spectrum.leading(NormalizedLaplacian(similarity), 13)
    expected = [1 - np.cos(np.pi * i / (n - 1)) for n in sizes for i in range(3)]
    np.testing.assert_allclose(found.values, np.sort(expected)[:13], rtol=0, atol=1e-12)
