"""q-values: SciPy's, their definition, and the rate that they control."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfs_cli.ranking.false_discovery import q_values


def made(m: int, seed: int, nulls: float = 0.7) -> np.ndarray:
    """p-values, a share of them uniform; some of them equal."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(m) < nulls, rng.random(m), rng.random(m) ** 6)
    return np.where(rng.random(m) < 0.2, np.round(p, 2), p)


@pytest.mark.parametrize(("m", "seed"), [(1, 0), (2, 1), (200, 2)])
def test_they_are_those_of_scipy(m: int, seed: int) -> None:
    p = made(m, seed)
    np.testing.assert_allclose(q_values(p), stats.false_discovery_control(p), rtol=1e-13)


def test_missing_p_values_stay_missing() -> None:
    p = made(50, 5)
    more = np.insert(p, [3, 20, 50], np.nan)
    found = q_values(more)
    np.testing.assert_array_equal(found[~np.isnan(more)], q_values(p))
    assert np.isnan(found[np.isnan(more)]).all()
    assert q_values(np.full(2, np.nan)).shape == (2,)
    assert q_values(np.empty(0)).shape == (0,)
