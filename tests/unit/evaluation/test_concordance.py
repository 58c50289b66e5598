"""The concordance index: all pairs, R and lifelines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfs_cli.evaluation.concordance import concordance_index
from tests.oracles import survival as twin
from tests.oracles.cox_values import VALUES

STORED = json.loads(VALUES.read_text())
DATA = {name: np.array(column) for name, column in STORED["data"].items()}


@pytest.mark.parametrize("feature", ["f0", "f3"])
def test_it_agrees_with_r_and_lifelines(feature: str) -> None:
    found = concordance_index(DATA["time"], DATA["event"], DATA[feature])
    assert found == pytest.approx(STORED["r"][f"concordance/one {feature}"][0], rel=1e-14)
    assert found == pytest.approx(STORED["lifelines"][f"concordance/one {feature}"][0], rel=1e-14)
    found = concordance_index(DATA["time"], DATA["event"], DATA[feature], DATA["s"])
    assert found == pytest.approx(STORED["r"][f"concordance/strata {feature}"][0], rel=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time, risk = rng.integers(0, 12, 50), np.round(rng.normal(size=50), 1)
    event, strata = rng.random(50) < 0.6, rng.integers(0, 1 + seed, 50)
    found = concordance_index(time, event, risk, strata)
    assert found == pytest.approx(twin.concordance(time, event, risk, strata), rel=1e-14)
    assert concordance_index(time, event, -risk, strata) == pytest.approx(1 - found, rel=1e-13)
    assert concordance_index(time, event, np.exp(risk), strata) == found


def test_perfect_opposite_no_order_and_no_pair() -> None:
    time, event = np.arange(10.0), np.ones(10)
    assert concordance_index(time, event, -time) == 1
    assert concordance_index(time, event, time) == 0
    assert concordance_index(time, event, np.zeros(10)) == 0.5
    assert np.isnan(concordance_index(time, np.zeros(10), time))
    assert np.isnan(concordance_index(np.ones(10), event, time))
