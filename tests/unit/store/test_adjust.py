"""What is taken out of the features: regression, feature by feature, however they are read."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sfs_cli.compute.matrix import LeftOut, Span
from sfs_cli.store.adjust import Adjustment, orthonormal, r_squared
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import DOUBLE, fit, make_matrix, read_all
from tests.oracles import covariates as oracle

N, M = 23, 61
BATCH = [f"b{i % 3}" for i in range(N)]
AGE = np.random.default_rng(5).normal(50, 10, N)
D = oracle.design(BATCH, AGE)


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    """Samples x features: counts whose means differ between batches, some of them zero."""
    rng = np.random.default_rng(6)
    X = rng.poisson(3, (N, M)).astype(np.float64)
    X += 4.0 * (np.array(BATCH) == "b1")[:, None] * rng.integers(0, 3, M)
    return X


def taken_out(*columns: np.ndarray) -> Adjustment:
    return Adjustment(orthonormal(np.stack(columns))[0])


@pytest.fixture(scope="module")
def adjustment() -> Adjustment:
    return taken_out(*D.T[1:])


def read(source: PreparedMatrix, size: int = M) -> tuple[np.ndarray, np.ndarray]:
    return read_all(source, size)[:2]


@pytest.mark.parametrize("kind", ["factor", "numbers", "collinear", "large", "shifted"])
def test_a_basis_is_orthonormal_spans_the_design_and_names_what_adds_nothing(kind, rng):
    levels = np.array([[b == f"b{i}" for b in BATCH] for i in range(3)], float)
    columns, expected = {
        "factor": (levels, [1, 1, 0]),
        "numbers": (np.stack([AGE, AGE**2, rng.normal(size=N)]), [1, 1, 1]),
        "collinear": (np.stack([AGE, np.full(N, 7.0), 3 - 2 * AGE, levels[0]]), [1, 0, 0, 1]),
        "large": (np.stack([AGE * 1e300, AGE * 1e-300, levels[1] * 1e308]), [1, 0, 1]),
        "shifted": (np.stack([AGE + 1e9, levels[0] - 1e9]), [1, 1]),
    }[kind]
    basis, added = orthonormal(columns)
    np.testing.assert_array_equal(added, np.array(expected, bool))
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-14)
    np.testing.assert_allclose(basis.sum(axis=1), 0, atol=1e-13)
    scaled = columns / np.abs(columns).max(axis=1, keepdims=True)
    around = scaled - scaled.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(around - (around @ basis.T) @ basis, 0, atol=1e-9)


def test_no_more_directions_than_samples():
    basis, added = orthonormal(np.random.default_rng(1).normal(size=(9, 4)))
    assert basis.shape == (3, 4)
    assert added.tolist() == [True] * 3 + [False] * 6


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("steps", [(), ("cpm", "log1p"), ("rank", "unit")])
def test_residuals_are_those_of_a_regression_after_all_steps(X, adjustment, steps, sparse):
    plain = fit(PreparedMatrix(make_matrix(X, sparse=sparse), steps=steps))
    found, why = read(
        fit(PreparedMatrix(make_matrix(X, sparse=sparse), steps=steps, adjustment=adjustment))
    )
    np.testing.assert_allclose(found, oracle.adjusted(read(plain)[0], D), rtol=1e-12, atol=1e-12)
    assert not why.any()


def test_missing_values_are_filled_first(X, adjustment):
    gaps = X.copy()
    gaps[3, 5] = gaps[7, 5] = gaps[0, 60] = np.nan
    filled = gaps.copy()
    for j in (5, 60):
        filled[np.isnan(gaps[:, j]), j] = np.nanmean(gaps[:, j])
    found, _ = read(PreparedMatrix(make_matrix(gaps), missing="mean", adjustment=adjustment))
    np.testing.assert_allclose(found, oracle.adjusted(filled.T, D), atol=1e-12)
    found, why = read(PreparedMatrix(make_matrix(gaps), missing="drop", adjustment=adjustment))
    assert np.flatnonzero(why == LeftOut.MISSING).tolist() == [5, 60]
    assert not found[[5, 60]].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [23, 301])
def test_the_bits_of_a_residual_do_not_depend_on_the_block(dtype, n):
    rng = np.random.default_rng(n)
    values = make_matrix(rng.normal(5, 2, (n, 97)))
    values.values = values.values.astype(dtype)
    values.dtype = np.dtype(dtype)
    few = taken_out(*rng.normal(size=(7, n)))
    source = PreparedMatrix(values, adjustment=few)
    whole, _ = read(source, 97)
    for size in (1, 2, 3, 10, 64):
        np.testing.assert_array_equal(read(source, size)[0], whole)
    some = np.array([0, 5, 6, 90])
    np.testing.assert_array_equal(read(source.selecting(some))[0], whole[some])
    again = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(read(again)[0], whole)


def test_what_covariates_explain_completely_is_left_out(X, adjustment):
    """Of float32, rounding of the stored values is left of it; it is no signal."""
    X = X.copy()
    X[:, 0] = 1e4 + 0.1 * AGE
    X[:, 1] = np.array(BATCH) == "b2"
    X[:, 2] = 7.25
    X[:, 3] = 0
    X[:, 4] = 1e4 + 0.1 * AGE + np.random.default_rng(0).normal(0, 0.05, N)
    matrix = make_matrix(X)
    matrix.values = matrix.values.astype(np.float32)
    matrix.dtype = np.dtype(np.float32)
    source = PreparedMatrix(matrix, adjustment=adjustment)
    found, why = read(source)
    assert np.flatnonzero(why).tolist() == [0, 1]
    assert set(why[:2]) == {LeftOut.EXPLAINED}
    assert not found[:2].any()
    assert (found[2] == 7.25).all()
    zero = source.read(Span(0, M), DOUBLE).zero
    assert zero is not None
    assert np.flatnonzero(zero).tolist() == [3]


def test_a_large_offset_costs_no_digits(adjustment):
    small = np.random.default_rng(0).integers(-50, 50, (N, 9)).astype(np.float64)
    found, _ = read(PreparedMatrix(make_matrix(small + 2.0**40), adjustment=adjustment))
    np.testing.assert_allclose(found - 2.0**40, oracle.adjusted(small.T, D), atol=3e-4)


def test_zeros_do_not_stay_and_views_say_so(X, adjustment):
    sparse = PreparedMatrix(make_matrix(X, sparse=True), adjustment=adjustment)
    assert sparse.sparse
    assert not sparse.keeps_zeros
    assert sparse.lossless_dtype == DOUBLE
    bare = sparse.adjusted(None)
    assert bare.keeps_zeros
    np.testing.assert_array_equal(read(bare)[0], X.T)


def test_the_part_that_is_explained_is_that_of_a_regression(X, adjustment):
    found = r_squared(X.T.copy(), adjustment.basis)
    np.testing.assert_allclose(found, [oracle.r_squared(f, D) for f in X.T], atol=1e-13)


@pytest.mark.parametrize("seed", range(2))
def test_samples_are_adjusted_by_the_coefficients_of_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = np.sort(rng.permutation(20)[:12])
    Z = rng.normal(50, 9, (3, 20))
    Z[2, known] = 2 * Z[0, known] - 7  # collinear among those that decide, and not elsewhere
    basis, added = orthonormal(Z, known)
    assert added.tolist() == [True, True, False]
    np.testing.assert_allclose(basis[:, known] @ basis[:, known].T, np.eye(2), atol=1e-12)
    X = rng.normal(8, 2, (5, 20))
    found = X.copy()
    Adjustment(basis, known).residuals(found, 0)
    D = np.column_stack([np.ones(20), Z[:2].T])
    for f, left in zip(X, found):
        slopes = np.linalg.lstsq(D[known], f[known], rcond=None)[0]
        np.testing.assert_allclose(left, f - D @ slopes + f[known].mean(), rtol=1e-9)
    everyone = np.arange(20)
    for a, b in zip(orthonormal(Z, everyone), orthonormal(Z)):
        np.testing.assert_allclose(a, b, atol=1e-12)
