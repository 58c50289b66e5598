"""Shuffled copies of features: the same values in another order, whoever reads them and how."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.compute.matrix import Span
from sfs_cli.store.copies import ShuffledMatrix, WithCopies, orders
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import DOUBLE, fit, make_matrix
from tests.oracles import select as oracle

N, M, R = 13, 20, 3


def counts(seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).poisson(1.0, (N, M)).astype(float)
    X[:, 4] = 0
    X[0, np.arange(M) != 4] += 1
    return X


def view(*, sparse: bool = False, seed: int = 7, **preparation: object) -> WithCopies:
    matrix = make_matrix(counts(), sparse=sparse)
    return WithCopies(fit(PreparedMatrix(matrix, **preparation)), R, seed)


def whole(made: WithCopies) -> np.ndarray:
    return made.read(Span(0, made.n_features), DOUBLE).values.copy()


def test_the_order_is_its_twin():
    names = ["TP53", "", "gène", "x" * 300]
    found = orders(names, 2, 5, 11)
    assert found.tolist() == [oracle.order(name, 2, 5, 11) for name in names]


def test_orders_are_uniform_and_differ_by_name_draw_and_seed():
    names = [f"g{i}" for i in range(6000)]
    found = orders(names, 1, 0, 4)
    places = np.array([np.bincount(found[:, j], minlength=4) for j in range(4)])
    assert np.abs(places - 1500).max() < 5 * np.sqrt(6000 * 3 / 16)
    kinds = np.unique(found @ [64, 16, 4, 1], return_counts=True)[1]
    assert len(kinds) == 24
    assert ((kinds - 250) ** 2 / 250).sum() < 50  # chi-squared of 23 degrees of freedom
    for other in (orders(names, 2, 0, 4), orders(names, 1, 1, 4), orders(names[::-1], 1, 0, 4)):
        assert 0.02 < (other == found).all(axis=1).mean() < 0.07  # 1 of 24 by chance


@pytest.mark.parametrize("steps", [(), ("cpm", "log1p"), ("log1p", "zscore")])
def test_a_copy_has_the_values_of_its_feature_as_they_are_prepared(steps):
    made = view(steps=steps)
    values = whole(made)
    real = made.source.read(Span(0, M), DOUBLE).values
    assert (values[:M] == real).all()
    for draw in range(1, R + 1):
        copy = values[draw * M : (draw + 1) * M]
        assert (np.sort(copy, axis=1) == np.sort(real, axis=1)).all()
        for i in range(M):
            assert (copy[i] == real[i, oracle.order(f"g{i}", draw, 7, N)]).all()


@pytest.mark.parametrize("size", [1, 3, 7, 64])
def test_blocks_change_nothing(size):
    made = view(steps=("log1p",))
    blocks = [
        made.read(Span(lo, min(lo + size, made.n_features)), DOUBLE).values.copy()
        for lo in range(0, made.n_features, size)
    ]
    assert (np.concatenate(blocks) == whole(made)).all()


def test_stored_values_are_those_of_dense_blocks():
    made = view(sparse=True, steps=("cpm", "log1p"))
    dense = whole(made)
    for span in (Span(0, made.n_features), Span(M - 3, 2 * M + 5)):
        block = made.read_nonzeros(span, DOUBLE)
        found = np.zeros((span.size, N))
        found[block.rows, block.indices] = block.data
        assert (found == dense[span.lo : span.hi]).all()
        for lo, hi in zip(block.indptr[:-1], block.indptr[1:]):
            assert (np.diff(block.indices[lo:hi]) > 0).all()


def test_a_selection_is_some_of_the_rows():
    made, chosen = view(), np.array([0, 3, 4, 19, 20, 21, 45, 79])
    dense = whole(made)
    some = made.selecting(chosen)
    assert (whole(some) == dense[chosen]).all()
    assert (whole(some.selecting(np.array([1, 4, 5]))) == dense[[3, 20, 21]]).all()
    assert some.ids.features[4] == "g0 (copy 1)"
    assert some.ids.features[:2] == ["g0", "g3"]


def test_what_takes_no_part_does_not_in_copies_either():
    made = view(steps=("log1p",))
    block = made.read(Span(0, made.n_features), DOUBLE)
    assert block.zero is not None
    assert np.flatnonzero(block.zero).tolist() == [4, 24, 44, 64]
    gaps = counts()
    gaps[2, 6] = np.nan
    source = PreparedMatrix(make_matrix(gaps), missing="drop")
    left_out = WithCopies(source, 1, 0).read(Span(0, 2 * M), DOUBLE).left_out
    assert left_out is not None
    assert np.flatnonzero(left_out).tolist() == [6, M + 6]


def test_a_shuffled_matrix_is_its_twin_dense_or_sparse():
    X = counts()
    expected = np.array([f[oracle.order(f"g{i}", 0, 7, N)] for i, f in enumerate(X.T)])
    for sparse in (False, True):
        matrix = ShuffledMatrix(make_matrix(X, sparse=sparse), 7)
        prepared = PreparedMatrix(matrix)
        for span in (Span(0, M), Span(3, 8)):
            found = prepared.read(span, DOUBLE).values
            np.testing.assert_array_equal(found, expected[span.lo : span.hi])
    stored = matrix.read_stored(Span(2, 6))
    dense = np.zeros((4, N))
    dense[np.repeat(np.arange(4), stored.counts), stored.indices] = stored.data
    np.testing.assert_array_equal(dense, expected[2:6])


def test_shuffled_samples_stay_in_their_part():
    X = counts()
    X[:] = np.arange(N)[:, None]  # each value is its sample
    samples = np.arange(N)[::-1][: N - 2]
    parts = [np.arange(0, 5), np.arange(5, N - 2, 2)]
    for sparse in (False, True):
        matrix = ShuffledMatrix(make_matrix(X, sparse=sparse), 7, samples, parts)
        found = PreparedMatrix(matrix).read(Span(0, M), DOUBLE).values
        rest = np.setdiff1d(np.arange(N - 2), np.concatenate(parts))
        for part in (*parts, rest):
            own = samples[part]
            np.testing.assert_array_equal(np.sort(found[:, own]), np.tile(np.sort(own), (M, 1)))
            assert (found[:, own] != own).any()
        unused = np.setdiff1d(np.arange(N), samples)
        assert (found[:, unused] == unused).all()
