"""Size factors and the rule of counts: those of edgeR and DESeq2, and what holds for any counts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import LeftOut, cut
from sfs_cli.errors import InputError
from sfs_cli.store import filters
from sfs_cli.store.filters import CountRule, FeatureFilter, smallest_group
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.size_factors import (
    normalized,
    ratio_factors,
    tmm_factors,
)
from tests.making import DOUBLE, PLENTY, make_matrix
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


def tmm(counts: np.ndarray) -> np.ndarray:
    return factors_of(tmm_factors, counts)[1]


def ratios(counts: np.ndarray) -> np.ndarray:
    return factors_of(ratio_factors, counts)[1]


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
    source.fit(Engine(source, ThreadExecutor(2), DOUBLE, 11))
    found = [source.read(span, DOUBLE).values.copy() for span in cut(len(COMPOSED), 9)]
    found = np.concatenate(found)[::10]
    np.testing.assert_allclose(found, np.array(REFERENCE["log_cpm"][how]), rtol=1e-11)


@pytest.mark.parametrize("step", ["cpm:tmm", "log2cpm:tmm", "log2cpm:ratios"])
def test_features_that_are_left_out_have_no_part(step: str) -> None:
    by_id = np.where(np.arange(len(COMPOSED)) < 6, LeftOut.EXCLUDED, 0).astype(np.int8)
    values = []
    for counts, features in ((COMPOSED, FeatureFilter(by_id)), (COMPOSED[6:], FeatureFilter())):
        source = PreparedMatrix(make_matrix(counts.T), steps=(step,), features=features)
        source.fit(Engine(source, ThreadExecutor(), DOUBLE, 9))
        values.append(np.concatenate([source.read(s, DOUBLE).values for s in cut(len(counts), 60)]))
    assert not values[0][:6].any()
    np.testing.assert_allclose(values[0][6:], values[1], rtol=1e-13)


@pytest.mark.parametrize("name", REFERENCE["ratios"])
def test_medians_of_ratios_are_those_of_deseq2(name: str) -> None:
    totals, found = factors_of(ratio_factors, MATRICES[name])
    expected = normalized(REFERENCE["ratios"][name] / totals)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


KEPT: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "groups": ("composed", {}, {"groups": GROUPS}),
    "design": (
        "composed",
        {},
        {"design": np.column_stack([np.ones(7), GROUPS, REFERENCE["batch"]])},
    ),
    "neither": ("composed", {}, {}),
    "sizes": ("composed", {"sizes": SIZES}, {"groups": GROUPS}),
    "many": ("wide", {}, {"groups": MANY}),
    "options": (
        "wide",
        {},
        {"groups": MANY, "min_count": 3, "min_total": 60, "large_n": 5, "min_part": 0.5},
    ),
    "cutoff": ("same", {"sizes": np.full(6, 1234567.0)}, {"groups": np.array([1, 2] * 3)}),
}


@pytest.mark.parametrize("name", REFERENCE["kept"])
def test_features_with_counts_enough_are_those_of_edger(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, given, options = KEPT[name]
    counts = MATRICES[matrix]
    of_groups = {key: options[key] for key in ("groups", "design") if key in options}
    others = {key: value for key, value in options.items() if key not in of_groups}
    least = others.pop("min_count", 10)
    samples = smallest_group(counts.shape[1], **of_groups)
    for key, value in others.items():
        monkeypatch.setattr(filters, key.upper(), value)
    rule = CountRule.of(given.get("sizes", counts.sum(axis=0)), samples, least)
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
    source.fit(Engine(source, ThreadExecutor(2), DOUBLE, 8))
    blocks = [source.read(span, DOUBLE) for span in cut(len(COMPOSED), 13)]
    why = np.concatenate([block.left_out for block in blocks])
    np.testing.assert_array_equal(why, np.where(expected, 0, LeftOut.LOW_COUNTS))
    if source.keeps_zeros:
        stored = [source.read_nonzeros(span, DOUBLE).left_out for span in cut(len(COMPOSED), 5)]
        np.testing.assert_array_equal(np.concatenate(stored), why)
    if steps:  # the others are as if they were alone
        alone = PreparedMatrix(make_matrix(COMPOSED[expected].T), steps=steps)
        alone.fit(Engine(alone, ThreadExecutor(), DOUBLE, 8))
        np.testing.assert_allclose(source.totals, alone.totals, rtol=1e-13)


def test_a_filter_of_some_samples_counts_them_alone() -> None:
    chosen = np.array([6, 0, 3, 4])
    masks = []
    for counts, samples in ((COMPOSED, chosen), (COMPOSED[:, chosen], None)):
        source = PreparedMatrix(
            make_matrix(counts.T), samples=samples, features=FeatureFilter(min_count=10, group=2)
        )
        source.fit(Engine(source, ThreadExecutor(), DOUBLE, 8))
        masks.append(np.concatenate(list(source.left_out())))
    np.testing.assert_array_equal(*masks)
    assert 0 < np.count_nonzero(masks[0]) < len(COMPOSED)


def test_samples_that_differ_in_depth_alone_need_no_factor() -> None:
    counts = PLAIN[:, :1] * np.array([1.0, 2, 7])
    np.testing.assert_allclose(tmm(counts), 1, rtol=1e-12)
    np.testing.assert_allclose(ratios(counts), 1, rtol=1e-12)


@pytest.mark.parametrize("factors", [tmm, ratios])
def test_factors_follow_their_samples(factors: Any) -> None:
    order = np.random.default_rng(0).permutation(PLAIN.shape[1])
    rows = np.random.default_rng(1).permutation(len(PLAIN))
    np.testing.assert_allclose(factors(PLAIN[rows][:, order]), factors(PLAIN)[order], rtol=1e-12)


def test_features_without_a_count_have_no_part() -> None:
    more = np.vstack([PLAIN, np.zeros((40, PLAIN.shape[1]))])
    np.testing.assert_array_equal(tmm(more), tmm(PLAIN))
    np.testing.assert_array_equal(ratios(more), ratios(PLAIN))


def test_a_few_large_features_do_not_change_what_the_others_are_worth() -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.gamma(2, 100, (2000, 1)), (2000, 6)).astype(float)
    counts[:20, 3:] *= 100
    for factors in (tmm, ratios):
        effective = counts.sum(axis=0) * factors(counts)
        np.testing.assert_allclose(effective / effective[0], 1, atol=0.02)


def test_errors_say_what_is_wrong() -> None:
    def fit(counts: np.ndarray, step: str = "", least: float | None = None) -> None:
        steps = (step,) if step else ()
        features = FeatureFilter(min_count=least)
        source = PreparedMatrix(make_matrix(counts.T), steps=steps, features=features, where="x")
        source.fit(Engine(source, ThreadExecutor(), DOUBLE, 7))

    negative, empty = PLAIN.copy(), PLAIN.copy()
    negative[3, 3], empty[:, 2] = -1, 0
    for step in ("cpm:tmm", "log2cpm", "log2cpm:ratios"):
        with pytest.raises(InputError, match=f"--transform {step} needs counts; found -1") as error:
            fit(negative, step)
        assert error.value.where == "x: feature g3, sample s3"
    with pytest.raises(InputError, match="--min-count needs counts; found -1"):
        fit(negative, least=10)
    for step in ("cpm:tmm", "log2cpm"):
        with pytest.raises(InputError, match=f"--transform {step}: .* add up to 0") as error:
            fit(empty, step)
        assert error.value.where == "x: sample s2"
    with pytest.raises(InputError, match="--min-count: the values of a sample add up to 0"):
        fit(empty, least=10)
    with pytest.raises(InputError, match="each feature has a count of 0"):
        fit(MATRICES["apart"], "log2cpm:ratios")
