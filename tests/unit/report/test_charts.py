"""The charts: well-formed, true to the numbers, readable."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfs_cli.report.charts import (
    WIDTH,
    downsample,
    linear_axis,
    score_curve,
)
from tests.unit.report.conftest import assert_named, with_class

FALLING = np.sort(np.random.default_rng(1).gamma(1.0, size=3000))[::-1]
SHAPES = {
    "one": np.array([0.5]),
    "two": np.array([2.0, 1.0]),
    "three": np.array([9e-300, 2e-300, 1e-300]),
    "equal": np.full(20, 7.0),
    "zeros": np.zeros(4),
    "huge": np.array([1e12, 1.0, -3e11]),
    "offset": np.linspace(1e6 + 1e-3, 1e6, 900),
    "last digits": 1.0 + np.arange(5)[::-1] * np.finfo(float).eps,
    "thousand": np.linspace(1, 0, 1000),
    "falling": FALLING,
    "rising": FALLING[::-1],
}
shapes = pytest.mark.parametrize("scores", SHAPES.values(), ids=SHAPES.keys())
finite = st.floats(-1e300, 1e300, allow_subnormal=False)


def numbers(chart: str) -> list[float]:
    keys = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height")
    return [float(e.get(k, "0")) for e in ET.fromstring(chart).iter() for k in keys]


@shapes
def test_every_chart_is_well_formed_named_and_inside_its_frame(scores: np.ndarray) -> None:
    chart = score_curve(scores, larger_is_better=True)
    assert_named(chart)
    assert all(0 <= value <= WIDTH for value in numbers(chart))


@given(finite, finite)
def test_linear_ticks_rise_hold_the_data_and_read_back(a: float, b: float) -> None:
    low, high = sorted((a, b))
    axis = linear_axis("score", low, high)
    assert axis.low <= low <= high <= axis.high
    assert 2 <= len(axis.ticks) <= 8
    assert all(x < y for x, y in pairwise(axis.ticks))
    read = [float(label.replace("−", "-").replace(",", "")) for label in axis.labels]
    assert all(x < y for x, y in pairwise(read))
    scale = max(map(abs, axis.ticks)) / max(map(abs, read))
    assert np.allclose(np.array(read) * scale, axis.ticks, rtol=1e-9, atol=0)


def test_the_curve_goes_through_its_scores() -> None:
    scores = np.array([4.0, 2.0, 1.0, 0.0])
    points = with_class(score_curve(scores, larger_is_better=True), "curve")[0].get("points", "")
    x, y = np.array([p.split(",") for p in points.split()], dtype=float).T
    assert np.allclose(np.diff(x), x[1] - x[0], atol=0.21)
    assert np.allclose((y - y[3]) / (y[0] - y[3]), scores / 4, atol=2e-3)


@pytest.mark.parametrize(("log", "direction"), [(False, 1), (True, -1)])
def test_downsampling_keeps_ends_and_shape(log: bool, direction: int) -> None:
    m = 200_000
    x = np.arange(m)
    scores = direction * np.where(x < 777, 5 - x / 5000, np.exp(-x / 20_000))
    kept = downsample(scores, log=log)
    assert {0, m - 1, 776, 777} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= 610
    drawn = np.interp(np.log1p(x) if log else x, np.log1p(kept) if log else kept, scores[kept])
    assert np.abs(drawn - scores).max() < 0.01 * np.ptp(scores)
