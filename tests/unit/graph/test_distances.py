"""Passes over the matrix: exact where they can be, and the same however the features are cut."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.compute.engine import Engine, PassList, ThreadExecutor
from sfs_cli.graph.distances import (
    center,
    correlation,
    gram,
    pair_distances,
    raw_gram,
    squared_distances,
)
from tests.making import ArraySource, array_engine, features_of
from tests.oracles import similarities

N, M = 24, 90


def matrix(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, M)) + 1e4 * rng.normal(size=M)


def test_distances_from_the_gram_are_those_of_the_twin() -> None:
    X = matrix()
    d2 = squared_distances(gram(array_engine(X)))
    np.testing.assert_allclose(np.sqrt(d2), similarities.distances(X), rtol=1e-10)


def test_distances_of_integers_are_exact() -> None:
    """So that samples which are equally far from a third are so to the last bit."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 60_000, size=(N, M)).astype(np.float64)
    X[:, ::3] = rng.poisson(0.7, size=X[:, ::3].shape)
    exact = np.array([[np.sum((a - b) ** 2) for b in X] for a in X])
    np.testing.assert_array_equal(squared_distances(gram(array_engine(X))), exact)


def test_pairs_agree_with_the_gram() -> None:
    X = matrix()
    X[5] = X[3]
    d2 = squared_distances(gram(array_engine(X)))
    first, second = np.array([0, 3, 8]), np.array([20, 5, 8])
    pairs = pair_distances(X, first, second)
    np.testing.assert_allclose(pairs, d2[first, second], rtol=1e-9)
    assert pairs[1] == d2[3, 5] == 0


def test_correlation_leaves_missing_features_out() -> None:
    X = matrix(2)
    parts = raw_gram(array_engine(X, left_out=range(11)))
    assert parts[2] == M - 11
    expected = np.corrcoef(X[:, 11:])
    np.testing.assert_allclose(correlation(*parts), (1 + expected) / 2, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 13])
def test_the_size_of_blocks_changes_rounding_alone(size: int) -> None:
    X = matrix(4)
    np.testing.assert_allclose(
        squared_distances(gram(array_engine(X, size=size))),
        squared_distances(gram(array_engine(X))),
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_centering_keeps_constant_features_at_zero_and_the_spread_of_others(dtype: str) -> None:
    values = matrix(5).T.astype(dtype)
    values[0] = np.float64(0.1)
    before = values.astype(np.float64)
    center(values)
    np.testing.assert_array_equal(values[0], 0)
    gaps = np.diff(before, axis=1)
    scale = np.abs(gaps).max()
    tolerance = 4 * float(np.finfo(dtype).eps) * scale
    np.testing.assert_allclose(np.diff(values.astype(np.float64), axis=1), gaps, atol=tolerance)
    assert np.all(np.abs(values.mean(axis=1)) < values.std(axis=1) + tolerance)


def test_an_engine_reads_ahead_within_the_matrix_and_counts_every_feature() -> None:
    X = matrix()
    passes = PassList(M)
    source = ArraySource(X)
    running = Engine(source, ThreadExecutor(2), np.dtype("f8"), 8, passes)
    spans = [span for span, _ in running.run(lambda block: None)]
    assert features_of(passes) == M
    assert spans == running.spans()
    assert source.prefetched
    assert all(0 < s.lo < s.hi <= M for s in source.prefetched)
