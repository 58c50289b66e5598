from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
    check_degrees,
    check_similarity,
    look_like_distances,
)


def _factor() -> np.ndarray:
    rng = np.random.default_rng(0)
    factor = np.where(rng.random((17, 4)) < 0.6, rng.random((17, 4)), 0.0)
    factor[:, 0] += 0.1
    return factor


FACTOR = _factor()
MATRIX = FACTOR @ FACTOR.T
KINDS = {
    "dense": DenseSimilarity(MATRIX),
    "sparse": SparseSimilarity(csr_array(MATRIX)),
    "factor": FactoredSimilarity(FACTOR),
    "sparse factor": FactoredSimilarity(csr_array(FACTOR)),
}


@pytest.fixture(params=KINDS)
def similarity(request: pytest.FixtureRequest) -> Similarity:
    return KINDS[request.param]


def test_every_kind_is_the_same_matrix(similarity: Similarity) -> None:
    assert similarity.n == 17
    np.testing.assert_allclose(similarity.to_dense(), MATRIX, rtol=1e-14)
    np.testing.assert_allclose(similarity.degrees, MATRIX.sum(axis=1), rtol=1e-14)
    assert similarity.degrees is similarity.degrees
    assert np.all(similarity.magnitudes >= np.abs(MATRIX).sum(axis=1) * (1 - 1e-14))


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-13), (np.float32, 1e-5)])
@pytest.mark.parametrize("order", ["F"])
def test_matmul_keeps_the_dtype_of_the_block(
    similarity: Similarity, dtype: type, rtol: float, order: str, rng: np.random.Generator
) -> None:
    block = np.asarray(rng.normal(size=(5, 17)), dtype=dtype, order=order)
    product = similarity.matmul(block)
    assert product.dtype == dtype
    assert product.shape == (5, 17)
    assert product.flags.c_contiguous
    np.testing.assert_allclose(product, block @ MATRIX, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_form_is_that_of_the_matrix(dtype: type, rtol: float, rng: np.random.Generator) -> None:
    block = rng.normal(size=(5, 17)).astype(dtype)
    expected = np.einsum("bi,ij,bj->b", block, MATRIX, block)
    for similarity in KINDS.values():
        again = pickle.loads(pickle.dumps(similarity))  # without what it has kept
        assert again.form(block).dtype == dtype
        np.testing.assert_allclose(again.form(block), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_check_accepts_symmetry_to_rounding(convert: type) -> None:
    check_similarity(convert(MATRIX), "x")
    nearly = MATRIX.copy()
    nearly[2, 3] += 1e-9 * MATRIX.max()
    check_similarity(convert(nearly), "x")


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_check_says_where_the_asymmetry_is(convert: type) -> None:
    crooked = MATRIX.copy()
    crooked[2, 3] += 0.25
    crooked[5, 9] += 0.125
    with pytest.raises(InputError, match=r"differ by up to 0\.25") as caught:
        check_similarity(convert(crooked), "S.tsv")
    assert caught.value.where in {"S.tsv, row 3 and column 4", "S.tsv, row 4 and column 3"}


def test_check_finds_asymmetry_in_every_panel_of_a_large_matrix() -> None:
    large = np.eye(1200)
    large[1100, 7] = 0.5
    with pytest.raises(InputError, match="not symmetric") as caught:
        check_similarity(large, "S.tsv")
    assert caught.value.where in {"S.tsv, row 1101 and column 8", "S.tsv, row 8 and column 1101"}


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_check_counts_values_that_are_not_finite(convert: type, value: float) -> None:
    broken = MATRIX.copy()
    broken[1, 4] = broken[4, 1] = value
    with pytest.raises(InputError, match=r"2 entries .* NaN or infinite"):
        check_similarity(convert(broken), "x")


@pytest.mark.parametrize("shape", [(3, 4), (0, 0)])
def test_check_refuses_what_is_not_square(shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="must be square"):
        check_similarity(np.ones(shape), "x")


def test_isolated_samples_are_counted_and_named() -> None:
    S = MATRIX.copy()
    S[[1, 4], :] = 0.0
    S[:, [1, 4]] = 0.0
    ids = [f"s{i}" for i in range(17)]
    with pytest.raises(InputError, match=r"2 of 17 samples .*\(2 zero, 0 negative\)") as caught:
        check_degrees(SparseSimilarity(csr_array(S)), ids, "graph.tsv")
    assert caught.value.where == "graph.tsv: s1, s4"
    assert "drop these samples" in str(caught.value)


def test_negative_degrees_are_told_from_zero_ones() -> None:
    S = np.array([[1.0, -2.0, 0.0], [-2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(InputError, match=r"\(1 zero, 1 negative\)") as caught:
        check_degrees(DenseSimilarity(S), None, "relieff")
    assert "sample number 1, 2" in str(caught.value)
    assert "fewer neighbors" in str(caught.value)


@pytest.mark.parametrize("kind", ["dense", "factor"])
def test_inner_products_of_centred_features_have_zero_degrees_to_rounding(
    kind: str, rng: np.random.Generator
) -> None:
    Z = rng.normal(size=(40, 300)) * 1e3
    Z -= Z.mean(axis=0)
    similarity = DenseSimilarity(Z @ Z.T) if kind == "dense" else FactoredSimilarity(Z)
    with pytest.raises(InputError, match=r"40 of 40 .*\(40 zero, 0 negative\)") as caught:
        check_degrees(similarity, None, "linear")
    assert "`rbf`" in str(caught.value)


def test_nan_degrees_do_not_pass() -> None:
    S = np.eye(3)
    S[0, 0] = np.nan
    with pytest.raises(InputError, match="1 of 3"):
        check_degrees(DenseSimilarity(S), None, "x")


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_distances_are_told_from_similarities(convert):
    distances = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    assert look_like_distances(convert(distances))
    assert not look_like_distances(convert(np.exp(-distances)))
    sparse = distances.copy()
    sparse[0, 4] = sparse[4, 0] = 0  # a graph without loops, which is not complete
    assert not look_like_distances(convert(sparse))


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_distances_of_correlations_are_0_on_the_diagonal_to_rounding(convert, rng):
    profiles = rng.normal(size=(9, 40))
    distances = 1 - np.corrcoef(profiles)
    distances[[0, 1], [0, 1]] = 2e-16, -2e-16
    assert look_like_distances(convert(distances))
    distances[4, 4] = 1e-3  # a small similarity is one
    assert not look_like_distances(convert(distances))
    assert not look_like_distances(convert(np.zeros((9, 9))))
