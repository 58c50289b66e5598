"""What is read without zeros is what is read with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.store.adjust import Adjustment, orthonormal
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import DOUBLE, fit

M, N = 12, 9


def values(seed: int, gaps: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = (rng.poisson(4, (M, N)) * (rng.random((M, N)) < 0.5)).astype(np.float32)
    X[:2] += 1  # every sample has a count, and so have some features
    X[4] = 0
    if gaps:
        X[3, 2:4] = X[7, 5] = np.nan
        X[8] = np.nan
    return X


def source_of(matrix: Any, **more: Any) -> PreparedMatrix:
    return fit(PreparedMatrix(matrix, where="counts", **more), size=5)


def spread_out(source: PreparedMatrix, span: Span) -> tuple[np.ndarray, Any, np.ndarray]:
    block = source.read_nonzeros(span, DOUBLE)
    dense = np.zeros((span.size, block.n_samples))
    dense[block.rows, block.indices] = block.data
    assert len(np.unique(block.rows * N + block.indices)) == len(block.data)
    return dense, block.left_out, block.zero


@pytest.mark.parametrize(
    "steps",
    [
        (),
        ("log1p",),
        ("cpm", "log1p"),
        ("unit", "cpm"),
        ("unit-samples", "unit"),
        ("floor:-0.5", "floor:0", "log1p"),
    ],
)
@pytest.mark.parametrize(
    ("chosen", "policy", "limit"),
    [(None, "drop", 0), (np.array([7, 0, 3, 4, 5]), "mean", 1 << 30)],
    ids=["disk", "memory"],
)
def test_values_are_those_of_dense_blocks(
    built: Any, steps: tuple[str, ...], chosen: Any, policy: Any, limit: int
) -> None:
    matrix = built(values(0, gaps=True), sparse=True, limit=limit).matrix
    source = source_of(matrix, steps=steps, samples=chosen, missing=policy)
    assert source.keeps_zeros
    for span in (Span(0, 5), Span(5, M)):
        dense, left_out, zero = spread_out(source, span)
        expected = source.read(span, DOUBLE)
        np.testing.assert_array_equal(left_out, expected.left_out)
        np.testing.assert_allclose(dense, expected.values, rtol=1e-14)
        if steps:
            np.testing.assert_array_equal(zero, expected.zero)


@pytest.mark.parametrize("limit", [0, 1 << 30], ids=["disk", "memory"])
def test_a_view_reads_its_features_alone(built: Any, limit: int) -> None:
    X = values(3)
    source = source_of(built(X, sparse=True, limit=limit).matrix, steps=("cpm",))
    view = source.selecting(np.array([0, 1, 4, 7, 8, 11]))
    dense, _, _ = spread_out(view, Span(1, 5))
    np.testing.assert_allclose(dense, (X / X.sum(axis=0) * 1e6)[[1, 4, 7, 8]], rtol=1e-6)


@pytest.mark.parametrize("step", ["log1p", "cpm", "deviance"])
@pytest.mark.parametrize("sparse", [True, False])
def test_a_refusal_names_the_same_place(built: Any, step: str, sparse: bool) -> None:
    X = values(4)
    X[6, 8] = -3
    matrix = built(X, sparse=sparse, step=4).matrix

    def read() -> None:
        source = source_of(matrix, steps=(step,), samples=np.arange(2, N))
        (source.read_nonzeros if source.keeps_zeros else source.read)(Span(5, M), DOUBLE)

    with pytest.raises(InputError, match=f"{step} needs") as caught:
        read()
    assert caught.value.where == "counts: feature g6, sample s8"


@pytest.mark.parametrize(
    "step",
    ["zscore", "center", "log2", "rank", "clr", "floor:0.1", "pearson-residuals", "deviance"],
)
def test_steps_that_fill_zeros_are_told_apart(built: Any, step: str) -> None:
    matrix = built(values(5), sparse=True).matrix
    assert not PreparedMatrix(matrix, steps=("log1p", step)).keeps_zeros
    assert not PreparedMatrix(built(values(5)).matrix).keeps_zeros


@pytest.mark.parametrize("scale", [1.0, 1e-90, 1e80])
def test_what_is_stored_less_the_basis_is_the_dense_residual(built: Any, scale: float) -> None:
    """Features that a covariate explains nearly, or wholly, and ones without a zero among them."""
    rng = np.random.default_rng(7)
    n, m = 40, 30
    X = (rng.poisson(3, (m, n)) * (rng.random((m, n)) < 0.3)).astype(np.float64)
    group = np.arange(n) % 4 == 0
    age = rng.normal(50, 9, n)
    X[3] = 7 * group  # explained
    X[5] = 7 * group + 1e-3 * X[6]  # all but 1e-8 of it
    X[8] = 7 * group + 1e-1 * X[6]
    X[9] = 1e6 + rng.normal(size=n)  # far from zero
    X[10] = 5.0
    X[11] = 1e4 + age
    X[12] = 0
    X[13:20] *= 10.0 ** rng.integers(-6, 7, (7, 1))
    X *= scale
    basis, _ = orthonormal(np.stack([group.astype(float), age]))
    source = source_of(built(X, sparse=True).matrix, adjustment=Adjustment(basis))
    assert not source.keeps_zeros
    np.testing.assert_array_equal(source.basis, basis)
    for span in (Span(0, 14), Span(14, m)):
        block = source.read_nonzeros(span, DOUBLE)
        found = np.zeros((span.size, n))
        found[block.rows, block.indices] = block.data
        found -= block.coefficients @ basis
        expected = source.read(span, DOUBLE)
        spread = np.ptp(expected.values, axis=1, keepdims=True)
        assert np.all(np.abs(found - expected.values) <= 1e-9 * spread + 1e-300)
        dense = [3, 5, 9, 10, 11, 12] if span.lo == 0 else []  # explained, no zero, or all zero
        assert np.flatnonzero(~block.coefficients.any(axis=1)).tolist() == dense
        assert len(block.data) < found.size * 0.6
        why = np.zeros(span.size) if block.left_out is None else block.left_out
        np.testing.assert_array_equal(why, expected.left_out)
    dense = replace(source, adjustment=replace(source.adjustment, known=np.arange(n)))
    assert dense.basis is None  # those of other samples are not found from stored values
    assert replace(source, steps=("zscore",)).basis is None
