"""Blocks as they are scored: samples chosen, missing values dealt with, places named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfs_cli.compute.matrix import cut
from sfs_cli.errors import InputError
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import DOUBLE, fit, read_all


def prepared(source, size=7, threads=1, dtype=DOUBLE):
    """Return all values (m x n), which features are left out and which were zero."""
    values, why, zero = read_all(fit(source, size=size, threads=threads), size, dtype)
    assert values.dtype == dtype
    return values, why != 0, zero


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_come_in_the_type_that_is_asked_for(matrix, counts, dtype):
    for stored in (np.float32, np.float64):
        source = PreparedMatrix(matrix(counts.astype(stored)), steps=("log1p",))
        values, *_ = prepared(source, dtype=np.dtype(dtype))
        np.testing.assert_allclose(values, np.log1p(counts), rtol=1e-7 if dtype == "float32" else 0)


def test_a_subset_of_samples_comes_in_its_order_with_its_names(matrix, counts):
    obs = pa.table({"batch": [f"b{i}" for i in range(11)]})
    chosen = np.array([8, 2, 3])
    source = PreparedMatrix(matrix(counts, obs=obs), samples=chosen)
    np.testing.assert_array_equal(prepared(source)[0], counts[:, chosen])
    assert source.n_samples == 3
    assert list(source.ids.samples) == ["s8", "s2", "s3"]
    assert source.ids.obs["batch"].to_pylist() == ["b8", "b2", "b3"]


def test_missing_values_are_refused_with_their_number_and_places(matrix, counts):
    counts[3, 7] = counts[20, 0] = counts[20, 10] = np.nan
    with pytest.raises(InputError, match="3 missing values in 2 of 37 features") as caught:
        PreparedMatrix(matrix(counts), where="x.csv")
    assert "x.csv: first at feature g3, sample s7; feature g20, sample s0" in caught.value.where
    assert "--missing drop" in caught.value.hint


def test_only_the_chosen_samples_count_as_missing(matrix, counts):
    counts[3, 7] = counts[20, 0] = np.nan
    source = PreparedMatrix(matrix(counts), missing="drop", samples=np.arange(1, 7))
    values, missing, _ = prepared(source)
    assert not missing.any()
    np.testing.assert_array_equal(values, counts[:, 1:7])


def test_missing_values_are_filled_by_the_mean_of_the_chosen_samples(matrix, counts):
    counts[3, 7] = counts[20, 0] = counts[20, 10] = np.nan
    counts[9] = np.nan
    counts[12, 2:] = np.nan
    chosen = np.array([10, 7, 6, 5, 4, 3])
    source = PreparedMatrix(matrix(counts), missing="mean", samples=chosen)
    values, missing, _ = prepared(source)
    assert np.flatnonzero(missing).tolist() == [9, 12], "no value is known of these"
    expected = counts[:, chosen]
    expected[3, 1] = np.mean(expected[3, [0, 2, 3, 4, 5]])
    expected[20, 0] = np.mean(expected[20, 1:])
    expected[[9, 12]] = 0
    np.testing.assert_allclose(values, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("steps", "policy"),
    [
        (("cpm", "log1p"), "mean"),
        (("center", "log1p", "unit"), "mean"),
        (("floor:2", "unit-samples"), "drop"),
        (("pearson-residuals",), "drop"),
        (("deviance",), "mean"),
    ],
)
def test_features_left_out_do_not_change_the_others(matrix, counts, steps, policy):
    values = counts + 1 if steps[0] != "center" else counts * 1e-3
    full = values.copy()
    values[4] = values[30] = np.nan
    others = np.delete(np.arange(37), [4, 30])
    found, missing, _ = prepared(PreparedMatrix(matrix(values), missing=policy, steps=steps))
    expected, *_ = prepared(PreparedMatrix(matrix(full[others]), steps=steps))
    assert np.flatnonzero(missing).tolist() == [4, 30]
    assert not found[[4, 30]].any()
    np.testing.assert_allclose(found[others], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("steps", [("cpm",), ("clr",)])
def test_features_that_are_all_missing_are_no_arithmetic_error(matrix, counts, steps):
    counts[:, 0] = np.nan
    source = PreparedMatrix(matrix(counts), missing="drop", steps=steps)
    if steps == ("clr",):
        assert prepared(source)[1].all()
    else:
        with pytest.raises(InputError, match="add up to 0"):
            prepared(source)


def test_all_zero_is_told_of_the_values_before_the_steps(matrix, counts):
    for steps in (("zscore",), ("log1p", "center"), ("rank",), ("clr",)):
        values, _, zero = prepared(PreparedMatrix(matrix(counts), steps=steps))
        assert np.flatnonzero(zero).tolist() == [5]
        assert steps == ("clr",) or np.ptp(values[5]) == 0


@pytest.mark.parametrize(
    ("steps", "dtype"),
    [
        (("center",), np.float32),
        (("log2", "center"), np.float64),
        (("unit", "zscore"), np.float32),
    ],
)
def test_a_constant_feature_becomes_exactly_zero(matrix, counts, steps, dtype):
    values = counts + 1
    constants = np.array([0.1, 1 / 3, 1e-30, 7.7e9, 1234.5678])
    values[10:15] = constants[:, None]
    found, _, zero = prepared(PreparedMatrix(matrix(values.astype(dtype)), steps=steps))
    assert not found[10:15].any()
    assert found[:10].any(axis=1)[:5].all()
    assert not zero.any()


@pytest.mark.parametrize(
    ("step", "bad", "said"),
    [
        ("log1p", -1.0, "needs values above -1; found -1"),
        ("log2", 0.0, "needs positive values; found 0"),
        ("cpm", -2.0, "needs counts; found -2"),
        ("clr", -0.5, "needs values of 0 or more; found -0.5"),
        ("pearson-residuals", -1.0, "pearson-residuals needs counts; found -1"),
        ("deviance", 2.25, "deviance needs whole numbers; found 2.25"),
    ],
)
def test_a_refusal_names_feature_and_sample(matrix, counts, step, bad, said):
    values = counts + 1
    values[20, 6] = bad
    values[17:19, 0] = np.nan  # those that are left out do not shift the name
    source = PreparedMatrix(
        matrix(values),
        steps=(step,),
        samples=np.array([9, 6, 1, 0]),
        missing="drop",
        where="x.csv",
    )
    with pytest.raises(InputError, match=said) as caught:
        prepared(source)
    assert caught.value.where == "x.csv: feature g20, sample s6"


@pytest.mark.parametrize(("step", "least"), [("log2", -1.5), ("log1p", -1.5), ("log2", 0.0)])
def test_logarithms_of_values_below_zero_are_not_advised(built, counts, step, least):
    values = counts + 1
    values[20, 6:8] = 0.0, least
    with pytest.raises(InputError) as caught:
        prepared(PreparedMatrix(built(values).matrix, steps=(step,)))
    assert ("log1p" in caught.value.hint) == (least == 0)
    assert ("floor:V" in caught.value.hint) == (least == 0)  # ratios are no counts
    assert ("--transform" in caught.value.hint and "floor:20" in caught.value.hint) == (least < 0)


@pytest.mark.parametrize("step", ["cpm", "unit-samples", "pearson-residuals", "deviance"])
def test_a_sample_without_counts_is_named(matrix, counts, step):
    counts[:, 4] = 0
    source = PreparedMatrix(matrix(counts), steps=(step,), where="x.csv")
    with pytest.raises(InputError, match="add up to 0") as caught:
        prepared(source)
    assert caught.value.where == "x.csv: sample s4"


@pytest.mark.parametrize(
    "steps",
    [
        ("cpm", "log1p", "zscore"),
        ("log1p", "clr"),
        ("pearson-residuals",),
    ],
)
def test_neither_block_size_nor_threads_matter(matrix, counts, steps):
    counts[4, 4] = np.nan
    # a mean is no count
    policy = "drop" if steps == ("pearson-residuals",) else "mean"
    source = PreparedMatrix(matrix(counts), steps=steps, missing=policy)
    expected = prepared(source, size=37)
    for size, threads in ((1, 1), (4, 3), (36, 2), (100, 1)):
        found = prepared(source, size=size, threads=threads)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(found[1:], expected[1:])


def test_a_block_stays_whole_while_another_thread_reads(matrix, counts):
    from concurrent.futures import ThreadPoolExecutor

    source = PreparedMatrix(matrix(counts), steps=("log1p",))
    first, second = cut(37, 20)
    block = source.read(first, DOUBLE)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(source.read, second, DOUBLE).result()
    np.testing.assert_array_equal(block.values, np.log1p(counts[:20]))
