"""Precision weights of counts: those of voom, in blocks of any size."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sfs_cli.methods.precision import PrecisionWeights, fit_trend, log_cpm
from tests.places import REFERENCES

REFERENCE = json.loads((REFERENCES / "precision.json").read_text(encoding="utf-8"))
CASES = REFERENCE["cases"]
COUNTS = np.array(REFERENCE["counts"], np.float64)
EVERY = 5
"""Of the weights the reference has those of every fifth feature."""


def weigher(case: dict[str, Any]) -> PrecisionWeights:
    return PrecisionWeights(np.array(case["design"], float), np.array(case["library_sizes"], float))


@pytest.mark.parametrize("name", CASES)
def test_weights_and_trend_are_those_of_voom(name: str) -> None:
    case = CASES[name]
    precision = weigher(case)
    log_count, root_sd = precision.measure(COUNTS)
    trend = fit_trend(log_count, root_sd, case.get("span", 0.5))
    _, weights = precision.weighted(COUNTS, trend)
    np.testing.assert_allclose(weights[::EVERY], np.array(case["weights"]), rtol=1e-9)
    if name == "saturated":
        assert precision.residual_df == 0
        assert trend is None
        return
    assert trend is not None
    used = ~np.isnan(root_sd)
    assert used.sum() == len(COUNTS) - 1
    np.testing.assert_allclose(log_count[used], case["x"], rtol=1e-10)
    np.testing.assert_allclose(root_sd[used], case["y"], rtol=1e-10)
    np.testing.assert_allclose(trend(np.sort(log_count[used])), case["line"], rtol=1e-9)


def test_log_counts_per_million_are_those_of_voom() -> None:
    found = log_cpm(COUNTS, COUNTS.sum(axis=0))
    np.testing.assert_allclose(found[::EVERY], np.array(REFERENCE["log_cpm"]), rtol=1e-10)


def test_the_order_of_samples_has_no_part() -> None:
    case = CASES["covariate"]
    order = np.random.default_rng(0).permutation(COUNTS.shape[1])
    design, sizes = np.array(case["design"], float), np.array(case["library_sizes"], float)
    plain, moved = PrecisionWeights(design, sizes), PrecisionWeights(design[order], sizes[order])
    expected = plain.weighted(COUNTS, fit_trend(*plain.measure(COUNTS)))[1][:, order]
    found = moved.weighted(COUNTS[:, order], fit_trend(*moved.measure(COUNTS[:, order])))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_designs_with_the_same_span_give_the_same_weights() -> None:
    weights = []
    for name in ("covariate", "dependent"):
        precision = weigher(CASES[name])
        weights.append(precision.weighted(COUNTS, fit_trend(*precision.measure(COUNTS)))[1])
    np.testing.assert_allclose(*weights, rtol=1e-9)


def test_a_missing_count_leaves_its_feature_out() -> None:
    precision = weigher(CASES["groups"])
    hole = COUNTS.copy()
    hole[9, 2] = np.nan
    trend = fit_trend(*precision.measure(hole))
    others = np.arange(len(COUNTS)) != 9
    alone = fit_trend(*precision.measure(COUNTS[others]))
    _, weights = precision.weighted(hole, trend)
    assert np.isnan(weights[9]).all()
    np.testing.assert_array_equal(weights[others], precision.weighted(COUNTS[others], alone)[1])


def test_without_a_trend_all_weights_are_one() -> None:
    precision = weigher(CASES["groups"])
    trend = fit_trend(*precision.measure(COUNTS[5:6]))
    assert trend is None
    assert (precision.weighted(COUNTS, trend)[1] == 1).all()
