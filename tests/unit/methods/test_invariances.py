"""What must not change a ranking: shifts, scales, orders, and the form a graph is kept in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sfs_cli.graph.similarity import DenseSimilarity, FactoredSimilarity, SparseSimilarity
from tests.making import write_parquet
from tests.oracles import similarities
from tests.unit.methods.helpers import run, score

N, M = 40, 15


def _data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(5)
    codes = rng.permutation(np.repeat(np.arange(2), N // 2))
    X = rng.normal(size=(N, M)) + rng.normal(size=(2, M))[codes]
    shift = rng.normal(size=M) * 10.0 ** rng.integers(0, 5, size=M)
    scale = np.where(np.arange(M) % 2, -1.0, 1.0) * 10.0 ** rng.integers(-6, 7, size=M)
    return codes, X, shift, scale


CODES, X, SHIFT, SCALE = _data()
S = similarities.rbf(X)

SHIFT_SAFE: dict[str, tuple[str, dict[str, Any]]] = {
    "phi2": ("spec", {}),
    "phi2 cubed": ("spec", {"gamma_power": 3}),
    "phi2 exp": ("spec", {"gamma": "exp"}),
    "fisher": ("fisher", {"codes": CODES}),
}
SCALE_SAFE = SHIFT_SAFE | {
    "phi1": ("spec", {"ranking": "phi1"}),
    "phi1 exp": ("spec", {"ranking": "phi1", "gamma": "exp"}),
    "phi3": ("spec", {"ranking": "phi3", "clusters": 4}),
}
EXTREMES = [("float64", 1e-200), ("float64", 1e200), ("float32", 1e-30), ("float32", 1e30)]


def scored(case: tuple[str, dict[str, Any]], values: np.ndarray, **more: Any) -> np.ndarray:
    method, options = case
    return score(method, values, DenseSimilarity(S), **options, **more)


@pytest.mark.parametrize("case", SHIFT_SAFE.values(), ids=SHIFT_SAFE)
def test_a_shift_of_each_feature_changes_nothing(case: tuple[str, dict[str, Any]]) -> None:
    np.testing.assert_allclose(scored(case, X + SHIFT), scored(case, X), rtol=1e-9)


def test_a_shift_does_not_change_the_variance() -> None:
    np.testing.assert_allclose(score("variance", X + SHIFT), score("variance", X), rtol=1e-9)


@pytest.mark.parametrize("case", SCALE_SAFE.values(), ids=SCALE_SAFE)
def test_a_scale_of_each_feature_changes_nothing(case: tuple[str, dict[str, Any]]) -> None:
    np.testing.assert_allclose(scored(case, X * SCALE), scored(case, X), rtol=1e-10)


@pytest.mark.parametrize(("dtype", "scale"), EXTREMES)
@pytest.mark.parametrize("case", SCALE_SAFE.values(), ids=SCALE_SAFE)
def test_tiny_and_huge_features_score_like_any_other(
    case: tuple[str, dict[str, Any]], dtype: str, scale: float
) -> None:
    expected = scored(case, X, dtype=dtype)
    tolerance = 1e-9 if dtype == "float64" else 1e-5
    found = scored(case, X * scale, dtype=dtype)
    np.testing.assert_allclose(found, expected, rtol=tolerance)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_the_variance_of_tiny_and_huge_features(scale: float) -> None:
    found = score("variance", X * scale)
    np.testing.assert_allclose(found, score("variance", X) * scale**2, rtol=1e-12)


@pytest.mark.parametrize(("scale", "expected"), [(1e-200, 0.0), (1e200, np.inf)])
def test_a_variance_that_float64_cannot_hold_is_its_limit(scale: float, expected: float) -> None:
    np.testing.assert_array_equal(score("variance", X * scale), expected)


@pytest.mark.parametrize("case", SCALE_SAFE.values(), ids=SCALE_SAFE)
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_a_scale_of_the_similarity_changes_nothing(
    case: tuple[str, dict[str, Any]], factor: float
) -> None:
    method, options = case
    for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-5)):
        found = score(method, X, DenseSimilarity(factor * S), dtype=dtype, **options)
        np.testing.assert_allclose(found, scored(case, X), rtol=tolerance)


@pytest.mark.parametrize("case", SCALE_SAFE.values(), ids=SCALE_SAFE)
def test_the_form_a_graph_is_kept_in_changes_nothing(case: tuple[str, dict[str, Any]]) -> None:
    method, options = case
    values, vectors = np.linalg.eigh(S)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    for form in (SparseSimilarity(sparse.csr_array(S)), FactoredSimilarity(factor)):
        np.testing.assert_allclose(score(method, X, form, **options), scored(case, X), rtol=1e-9)


def test_flipping_every_sign_flips_nothing_in_phi3(tmp_path: Path) -> None:
    first = write_parquet(tmp_path / "a.parquet", X.T)
    second = write_parquet(tmp_path / "b.parquet", -X.T)
    options = {"ranking": "phi3", "clusters": 3}
    assert run(first, **options).ranking.feature == run(second, **options).ranking.feature
