"""Size factors and the rule of counts: those of edgeR and DESeq2, and what holds for any counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.store.size_factors import CountRule, median_of_ratios, tmm_factor, tmm_factors

FOLDER = Path(__file__).parents[1] / "oracles" / "r"
REFERENCE = json.loads((FOLDER / "size_factors.json").read_text(encoding="utf-8"))
MATRICES = {name: np.array(counts, np.float64) for name, counts in REFERENCE["matrices"].items()}
PLAIN, COMPOSED = MATRICES["plain"], MATRICES["composed"]
SIZES, GROUPS = np.array(REFERENCE["sizes"], float), np.array(REFERENCE["groups"])
MANY = np.array(REFERENCE["many"])


@pytest.mark.parametrize("name", [name for name in REFERENCE["tmm"] if name in MATRICES])
def test_tmm_factors_are_those_of_edger(name: str) -> None:
    found = tmm_factors(MATRICES[name])
    np.testing.assert_allclose(found, REFERENCE["tmm"][name], rtol=1e-11)
    assert np.prod(found) == pytest.approx(1, rel=1e-12)


def test_tmm_factors_with_library_sizes_are_those_of_edger() -> None:
    found = tmm_factors(PLAIN, SIZES)
    np.testing.assert_allclose(found, REFERENCE["tmm"]["with_sizes"], rtol=1e-11)


def test_the_factor_of_a_pair_is_that_of_edger() -> None:
    totals = COMPOSED.sum(axis=0)
    found = [
        tmm_factor(sample, COMPOSED[:, 2], size, totals[2], abundance_cutoff=-8)
        for sample, size in zip(COMPOSED.T, totals)
    ]
    np.testing.assert_allclose(found, REFERENCE["pairs"], rtol=1e-11)
    assert found[2] == 1


@pytest.mark.parametrize("name", REFERENCE["ratios"])
def test_medians_of_ratios_are_those_of_deseq2(name: str) -> None:
    found = median_of_ratios(MATRICES[name])
    np.testing.assert_allclose(found, REFERENCE["ratios"][name], rtol=1e-11)


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
def test_features_with_counts_enough_are_those_of_edger(name: str) -> None:
    matrix, given, options = KEPT[name]
    counts = MATRICES[matrix]
    rule = CountRule.of(given.get("sizes", counts.sum(axis=0)), **options)
    expected = np.array(REFERENCE["kept"][name], bool)
    assert 0 < expected.sum() < len(expected)
    np.testing.assert_array_equal(rule.keeps(counts), expected)
    blocks = [rule.keeps(counts[lo : lo + 7]) for lo in range(0, len(counts), 7)]
    np.testing.assert_array_equal(np.concatenate(blocks), expected)


def test_samples_that_differ_in_depth_alone_need_no_factor() -> None:
    counts = PLAIN[:, :1] * np.array([1.0, 2, 7])
    np.testing.assert_allclose(tmm_factors(counts), 1, rtol=1e-12)
    found = median_of_ratios(counts)
    np.testing.assert_allclose(found / found[0], [1, 2, 7], rtol=1e-12)


@pytest.mark.parametrize("factors", [tmm_factors, median_of_ratios])
def test_factors_follow_their_samples(factors: Any) -> None:
    order = np.random.default_rng(0).permutation(PLAIN.shape[1])
    rows = np.random.default_rng(1).permutation(len(PLAIN))
    np.testing.assert_allclose(factors(PLAIN[rows][:, order]), factors(PLAIN)[order], rtol=1e-12)


def test_features_without_a_count_have_no_part() -> None:
    more = np.vstack([PLAIN, np.zeros((40, PLAIN.shape[1]))])
    np.testing.assert_array_equal(tmm_factors(more), tmm_factors(PLAIN))
    np.testing.assert_array_equal(median_of_ratios(more), median_of_ratios(PLAIN))


def test_a_few_large_features_do_not_change_what_the_others_are_worth() -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.gamma(2, 100, (2000, 1)), (2000, 6)).astype(float)
    counts[:20, 3:] *= 100
    effective = counts.sum(axis=0) * tmm_factors(counts)
    np.testing.assert_allclose(effective / effective[0], 1, atol=0.02)
    found = median_of_ratios(counts)
    np.testing.assert_allclose(found / found[0], 1, atol=0.02)


def test_whole_numbers_and_single_precision_give_the_same_factors() -> None:
    for kind in (np.int32, np.float32):
        np.testing.assert_array_equal(tmm_factors(PLAIN.astype(kind)), tmm_factors(PLAIN))
        np.testing.assert_array_equal(median_of_ratios(PLAIN.astype(kind)), median_of_ratios(PLAIN))


def test_errors_say_what_is_wrong() -> None:
    for bad in (-1.0, np.nan, np.inf):
        counts = PLAIN.copy()
        counts[3, 3] = bad
        for factors in (tmm_factors, median_of_ratios):
            with pytest.raises(InputError, match="counts of 0 or more"):
                factors(counts)
    empty = PLAIN.copy()
    empty[:, 2] = 0
    with pytest.raises(InputError, match="library size of a sample is 0") as error:
        tmm_factors(empty)
    assert error.value.where == "sample at position 2"
    with pytest.raises(InputError, match="library size of a sample is 0"):
        CountRule.of(empty.sum(axis=0))
    with pytest.raises(InputError, match="each feature has a count of 0"):
        median_of_ratios(MATRICES["apart"])
