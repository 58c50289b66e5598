"""Size factors and the rule of counts: those of edgeR and DESeq2, and what holds for any counts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import LeftOut, cut
from sfs_cli.errors import InputError
from sfs_cli.store.filters import CountRule, FeatureFilter, smallest_group
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.size_factors import (
    normalized,
    ratio_factors,
    tmm_factors,
)
from tests.making import DOUBLE, PLENTY, fit, make_matrix, read_all
from tests.places import REFERENCES

REFERENCE = json.loads((REFERENCES / "size_factors.json").read_text(encoding="utf-8"))
MATRICES = {name: np.array(counts, np.float64) for name, counts in REFERENCE["matrices"].items()}
PLAIN, COMPOSED = MATRICES["plain"], MATRICES["composed"]
SIZES, GROUPS = np.array(REFERENCE["sizes"], float), np.array(REFERENCE["groups"])
MANY = np.array(REFERENCE["many"])


def passes_over(counts: np.ndarray, *, threads: int = 1, size: int | None = None) -> Engine:
    source = PreparedMatrix(make_matrix(counts.T))
    return Engine(source, ThreadExecutor(threads), DOUBLE, size or len(counts))


def factors_of(
    how: Any, counts: np.ndarray, memory: int = PLENTY, **passes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return total counts and factors of the samples of counts (m, n)."""
    engine = passes_over(counts, **passes)
    return how(engine, lambda span: engine.source.read(span, DOUBLE).values, memory)


@pytest.mark.parametrize("name", REFERENCE["tmm"])
def test_tmm_factors_are_those_of_edger(name: str) -> None:
    totals, found = factors_of(tmm_factors, MATRICES[name])
    np.testing.assert_array_equal(totals, MATRICES[name].sum(axis=0))
    np.testing.assert_allclose(found, np.atleast_1d(REFERENCE["tmm"][name]), rtol=1e-11)
    assert np.prod(found) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("how", [tmm_factors, ratio_factors])
@pytest.mark.parametrize(("samples", "threads"), [(1, 3), (3, 1)])
def test_memory_threads_and_blocks_do_not_change_a_byte(
    how: Any, samples: int, threads: int
) -> None:
    memory = 8 * 8 * len(COMPOSED) * samples  # for so many samples at a time
    found = factors_of(how, COMPOSED, memory, threads=threads, size=7 * threads)
    np.testing.assert_array_equal(found, factors_of(how, COMPOSED))


@pytest.mark.parametrize(("step", "how"), [("", "none"), (":tmm", "tmm"), (":ratios", "ratios")])
@pytest.mark.parametrize("sparse", [False, True])
def test_log2_counts_per_million_are_those_of_edger(step: str, how: str, sparse: bool) -> None:
    matrix = make_matrix(COMPOSED.T, sparse=sparse)
    source = PreparedMatrix(matrix, steps=(f"log2cpm{step}",))
    found = read_all(fit(source, size=11, threads=2), 9)[0][::10]
    np.testing.assert_allclose(found, np.array(REFERENCE["log_cpm"][how]), rtol=1e-11)


@pytest.mark.parametrize("step", ["cpm:tmm", "log2cpm:tmm", "log2cpm:ratios"])
def test_features_that_are_left_out_have_no_part(step: str) -> None:
    by_id = np.where(np.arange(len(COMPOSED)) < 6, LeftOut.EXCLUDED, 0).astype(np.int8)
    values = []
    for counts, features in ((COMPOSED, FeatureFilter(by_id)), (COMPOSED[6:], FeatureFilter())):
        source = PreparedMatrix(make_matrix(counts.T), steps=(step,), features=features)
        values.append(read_all(fit(source, size=9), 60)[0])
    assert not values[0][:6].any()
    np.testing.assert_allclose(values[0][6:], values[1], rtol=1e-13)


@pytest.mark.parametrize("name", REFERENCE["ratios"])
def test_medians_of_ratios_are_those_of_deseq2(name: str) -> None:
    totals, found = factors_of(ratio_factors, MATRICES[name])
    expected = normalized(REFERENCE["ratios"][name] / totals)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


KEPT: dict[str, tuple[str, np.ndarray | None, dict[str, np.ndarray]]] = {
    "groups": ("composed", None, {"groups": GROUPS}),
    "design": (
        "composed",
        None,
        {"design": np.column_stack([np.ones(7), GROUPS, REFERENCE["batch"]])},
    ),
    "neither": ("composed", None, {}),
    "sizes": ("composed", SIZES, {"groups": GROUPS}),
    "many": ("wide", None, {"groups": MANY}),
    "cutoff": ("same", np.full(6, 1234567.0), {"groups": np.array([1, 2] * 3)}),
}


@pytest.mark.parametrize("name", KEPT)
def test_features_with_counts_enough_are_those_of_edger(name: str) -> None:
    matrix, sizes, of_groups = KEPT[name]
    counts = MATRICES[matrix]
    samples = smallest_group(counts.shape[1], **of_groups)
    rule = CountRule.of(counts.sum(axis=0) if sizes is None else sizes, samples, 10)
    expected = np.array(REFERENCE["kept"][name], bool)
    assert 0 < expected.sum() < len(expected)
    found = rule.keeps(rule.reach(counts).sum(axis=1), counts.sum(axis=1))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("steps", [(), ("log2cpm:tmm",)])
@pytest.mark.parametrize("name", ["groups", "neither"])
def test_a_filter_leaves_out_features_of_too_few_counts(
    sparse: bool, steps: tuple[str, ...], name: str
) -> None:
    expected = np.array(REFERENCE["kept"][name], bool)
    groups = GROUPS if name == "groups" else None
    features = FeatureFilter(min_count=10, group=smallest_group(7, groups=groups))
    matrix = make_matrix(COMPOSED.T, sparse=sparse)
    source = PreparedMatrix(matrix, steps=steps, features=features)
    why = read_all(fit(source, size=8, threads=2), 13)[1]
    np.testing.assert_array_equal(why, np.where(expected, 0, LeftOut.LOW_COUNTS))
    if source.keeps_zeros:
        stored = [source.read_nonzeros(span, DOUBLE).left_out for span in cut(len(COMPOSED), 5)]
        np.testing.assert_array_equal(np.concatenate(stored), why)
    if steps:  # the others are as if they were alone
        alone = fit(PreparedMatrix(make_matrix(COMPOSED[expected].T), steps=steps))
        np.testing.assert_allclose(source.totals, alone.totals, rtol=1e-13)


def test_a_filter_of_some_samples_counts_them_alone() -> None:
    chosen = np.array([6, 0, 3, 4])
    masks = []
    for counts, samples in ((COMPOSED, chosen), (COMPOSED[:, chosen], None)):
        source = PreparedMatrix(
            make_matrix(counts.T), samples=samples, features=FeatureFilter(min_count=10, group=2)
        )
        fit(source)
        masks.append(np.concatenate(list(source.left_out())))
    np.testing.assert_array_equal(*masks)
    assert 0 < np.count_nonzero(masks[0]) < len(COMPOSED)


def test_errors_say_what_is_wrong() -> None:
    def fitted(counts: np.ndarray, step: str = "", least: float | None = None) -> None:
        steps = (step,) if step else ()
        features = FeatureFilter(min_count=least)
        source = PreparedMatrix(make_matrix(counts.T), steps=steps, features=features, where="x")
        fit(source)

    negative, empty = PLAIN.copy(), PLAIN.copy()
    negative[3, 3], empty[:, 2] = -1, 0
    for step in ("cpm:tmm", "log2cpm", "log2cpm:ratios"):
        with pytest.raises(InputError, match=f"--transform {step} needs counts; found -1") as error:
            fitted(negative, step)
        assert error.value.where == "x: feature g3, sample s3"
    with pytest.raises(InputError, match="--min-count needs counts; found -1"):
        fitted(negative, least=10)
    for step in ("cpm:tmm", "log2cpm"):
        with pytest.raises(InputError, match=f"--transform {step}: .* add up to 0") as error:
            fitted(empty, step)
        assert error.value.where == "x: sample s2"
    with pytest.raises(InputError, match="--min-count: the values of a sample add up to 0"):
        fitted(empty, least=10)
    with pytest.raises(InputError, match="each feature has a count of 0"):
        fitted(MATRICES["apart"], "log2cpm:ratios")
