"""Every step against the plainest dense formula for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import UsageError
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import NAMES, parse, stated
from tests.making import fit, read_all
from tests.oracles.preparation import (
    binomial_deviance_residuals,
    log2_cpm,
    pearson_residuals,
    quantile_normalized,
    ratio_sizes,
    tmm_sizes,
    unit_samples,
    variance_stabilized,
)


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
    "cp10k": lambda X: X / X.sum(axis=0) * 10_000,
    "median": lambda X: X / X.sum(axis=0) * np.median(X.sum(axis=0)),
    "total:2500.5": lambda X: X / X.sum(axis=0) * 2500.5,
    "cpm:tmm": lambda X: X / tmm_sizes(X) * 1_000_000,
    "cpm:ratios": lambda X: X / ratio_sizes(X) * 1_000_000,
    "vst": lambda X: variance_stabilized(X, ratio_sizes(X)),
    "vst:tmm": lambda X: variance_stabilized(X, tmm_sizes(X)),
    "log2cpm": lambda X: log2_cpm(X, X.sum(axis=0)),
    "log2cpm:tmm": lambda X: log2_cpm(X, tmm_sizes(X)),
    "log2cpm:ratios": lambda X: log2_cpm(X, ratio_sizes(X)),
    "zscore": zscore,
    "center": lambda X: X - X.mean(axis=1, keepdims=True),
    "unit": unit,
    "rank": lambda X: np.array([stats.rankdata(row) for row in X]),
    "clr": lambda X: np.log(1 + X) - np.log(1 + X).mean(axis=0),
    "floor:2.5": lambda X: np.where(X < 2.5, 2.5, X),
    "floor:0": lambda X: np.where(X < 0, 0, X),
    "unit-samples": unit_samples,
    "pearson-residuals": pearson_residuals,
    "deviance": binomial_deviance_residuals,
    "quantile": quantile_normalized,
}


def transformed(matrix, steps, samples=None):
    source = PreparedMatrix(matrix, steps=steps, samples=samples)
    return read_all(fit(source, threads=2), 6)[0]


def expected(X, steps):
    for step in steps:
        X = OBVIOUS[step](X)
    return X


def test_every_step_has_its_formula_here():
    written = {"floor": "floor:V", "total": "total:N"}
    assert {written.get(step.partition(":")[0], step) for step in OBVIOUS} == set(NAMES)


FORMS = ["dense store", "sparse"]


@pytest.mark.parametrize(
    ("step", "form"),
    [
        (step, form)
        for step in OBVIOUS
        for form in FORMS[: 1 if step == "quantile" else 2]  # it refuses a sparse matrix
    ],
)
def test_a_step_is_its_formula(built, counts, step, form):
    X = counts + 1 if step in ("log2", "vst") or "ratios" in step else counts
    matrix = built(X, sparse="sparse" in form, keep="store" in form).matrix
    np.testing.assert_allclose(
        transformed(matrix, (step,)), expected(X, (step,)), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    "steps",
    [
        ("cpm", "log1p", "zscore"),
        ("log1p", "cpm", "clr"),
        ("log1p", "median", "unit-samples", "median"),
        ("floor:2.5", "total:2500.5", "cp10k", "zscore"),
        ("center", "floor:0", "cpm", "log1p"),
        ("pearson-residuals", "unit-samples", "unit"),
    ],
)
def test_sequences_on_a_subset_of_samples(built, counts, steps):
    chosen = np.array([10, 0, 4, 5])
    X = counts[:, chosen]
    for sparse, keep in itertools.product((False, True), (False, True)):
        found = transformed(built(counts, sparse=sparse, keep=keep).matrix, steps, chosen)
        np.testing.assert_allclose(found, expected(X, steps), rtol=1e-9, atol=1e-9)


def test_a_large_offset_costs_no_digits(built):
    rng = np.random.default_rng(0)
    small = rng.integers(-50, 50, (37, 11)).astype(np.float64)
    found = transformed(built(small + 2.0**40).matrix, ("center",))
    np.testing.assert_allclose(found, small - small.mean(axis=1, keepdims=True), atol=1e-12)


def test_the_deviance_of_small_differences_keeps_its_digits(built):
    """It tends to the Pearson residual of the binomial, which has no logarithm to cancel."""
    X = np.full((37, 11), 1e9)
    X[0, 0] += 10
    found = transformed(built(X).matrix, ("deviance",))
    total = X.sum(axis=0)
    p = X.sum(axis=1, keepdims=True) / X.sum()
    np.testing.assert_allclose(found, (X - p * total) / np.sqrt(total * p * (1 - p)), rtol=1e-4)


def test_one_feature_with_all_counts_has_no_residuals(built, counts):
    X = np.zeros((37, 11))
    X[20] = np.arange(1, 12)
    for step in ("pearson-residuals", "deviance"):
        np.testing.assert_allclose(transformed(built(X).matrix, (step,)), 0, atol=1e-7)


def test_steps_do_not_touch_the_matrix(built, counts):
    matrix = built(counts.copy()).matrix
    transformed(matrix, ("cpm", "log1p", "zscore"))
    out = np.empty((37, 11))
    matrix.read(Span(0, 37), out)
    np.testing.assert_array_equal(out, counts)


def test_names_are_parsed_and_checked():
    assert parse(None) == ()
    assert parse("cpm, log1p,zscore") == ("cpm", "log1p", "zscore")
    assert parse("floor:0 ,floor:-1e-3") == ("floor:0", "floor:-1e-3")
    for text in ("cmp", "log1p,,unit", "floor"):
        with pytest.raises(UsageError, match="is not a step"):
            parse(text)
    assert parse("median,total:5e3,cp10k") == ("median", "total:5e3", "cp10k")
    for text in ("total:", "total:0", "total:1e300", "total:nan"):
        with pytest.raises(UsageError, match="is not a number above 0"):
            parse(text)
    for text in ("floor:low", "log1p,floor:inf"):
        with pytest.raises(UsageError, match="is not a number"):
            parse(text)


def test_what_is_stated_of_the_values_is_no_step():
    assert parse("is-log2") == ()
    assert parse(" is-ln, center,quantile") == ("center", "quantile")
    assert [stated(text) for text in ("is-log10,rank", "log2", None)] == ["is-log10", None, None]
    for text in ("is-log2,log1p", "is-log2,center,cpm", "is-ln,total:100", "is-ln,log2cpm:tmm"):
        with pytest.raises(UsageError, match="logarithms already"):
            parse(text)
    for text in ("center,is-log2", "is-log2,is-ln"):
        with pytest.raises(UsageError, match="before all steps"):
            parse(text)
