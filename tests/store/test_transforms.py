"""Every step against the plainest dense formula for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from sfs_cli.compute.matrix import Span, cut
from sfs_cli.errors import UsageError
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import NAMES, parse
from tests.making import fit


def zscore(X):
    deviation = X.std(axis=1, keepdims=True)
    return np.divide(
        X - X.mean(axis=1, keepdims=True), deviation, where=deviation > 1e-12, out=0 * X
    )


def unit(X):
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, length, where=length > 0, out=0 * X)


OBVIOUS = {
    "log1p": lambda X: np.log(1 + X),
    "log2": np.log2,
    "cpm": lambda X: X / X.sum(axis=0) * 1_000_000,
    "zscore": zscore,
    "center": lambda X: X - X.mean(axis=1, keepdims=True),
    "unit": unit,
    "rank": lambda X: np.array([stats.rankdata(row) for row in X]),
    "clr": lambda X: np.log(1 + X) - np.log(1 + X).mean(axis=0),
}


def transformed(matrix, steps, samples=None):
    source = PreparedMatrix(matrix, steps=steps, samples=samples)
    fit(source, threads=2)
    return np.concatenate(
        [source.read(span, np.dtype(np.float64)).values.copy() for span in cut(37, 6)]
    )


def expected(X, steps):
    for step in steps:
        X = OBVIOUS[step](X)
    return X


def test_every_step_has_its_formula_here():
    assert set(OBVIOUS) == set(NAMES)


@pytest.mark.parametrize("step", NAMES)
@pytest.mark.parametrize("form", ["dense", "sparse", "dense store", "sparse store"])
def test_a_step_is_its_formula(built, counts, step, form):
    X = counts + 1 if step == "log2" else counts
    matrix = built(X, sparse="sparse" in form, keep="store" in form).matrix
    np.testing.assert_allclose(
        transformed(matrix, (step,)), expected(X, (step,)), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("first", ["log1p", "cpm", "rank", "unit"])
@pytest.mark.parametrize("second", ["center", "zscore", "unit", "log1p"])
def test_two_steps_are_one_after_the_other(built, counts, first, second):
    found = transformed(built(counts).matrix, (first, second))
    np.testing.assert_allclose(found, expected(counts, (first, second)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "steps",
    [
        ("cpm", "log1p", "zscore"),
        ("cpm", "log1p"),
        ("log1p", "cpm", "clr"),
        ("rank", "center", "unit"),
        ("cpm", "cpm"),
    ],
)
def test_sequences_on_a_subset_of_samples(built, counts, steps):
    chosen = np.array([10, 0, 4, 5])
    X = counts[:, chosen]
    for sparse, keep in itertools.product((False, True), (False, True)):
        found = transformed(built(counts, sparse=sparse, keep=keep).matrix, steps, chosen)
        np.testing.assert_allclose(found, expected(X, steps), rtol=1e-9, atol=1e-9)


def test_cpm_adds_up_to_a_million_in_the_samples_that_are_used(built, counts):
    found = transformed(built(counts).matrix, ("cpm",), np.array([1, 2]))
    np.testing.assert_allclose(found.sum(axis=0), [1e6, 1e6], rtol=1e-14)


def test_ranks_average_ties(built, counts):
    found = transformed(built(counts).matrix, ("rank",))
    np.testing.assert_allclose(found.sum(axis=1), 11 * 12 / 2)
    assert (found[5] == 6).all(), "eleven equal values share the middle rank"


def test_a_large_offset_costs_no_digits(built):
    rng = np.random.default_rng(0)
    small = rng.integers(-50, 50, (37, 11)).astype(np.float64)
    found = transformed(built(small + 2.0**40).matrix, ("center",))
    np.testing.assert_allclose(found, small - small.mean(axis=1, keepdims=True), atol=1e-12)


def test_steps_do_not_touch_the_matrix(built, counts):
    matrix = built(counts.copy()).matrix
    transformed(matrix, ("cpm", "log1p", "zscore"))
    out = np.empty((37, 11))
    matrix.read(Span(0, 37), out)
    np.testing.assert_array_equal(out, counts)


def test_names_are_parsed_and_checked():
    assert parse(None) == ()
    assert parse("cpm, log1p,zscore") == ("cpm", "log1p", "zscore")
    for text in ("cmp", "log1p,,unit", "LOG2"):
        with pytest.raises(UsageError, match="is not a step"):
            parse(text)
