"""The order of many numbers, sorted in parts."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.compute import sorting
from sfs_cli.compute.sorting import ascending


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("missing", [0.0, 0.1, 1.0])
def test_numbers_ascend_and_missing_ones_are_last(
    threads: int, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "AT_ONCE", 0)
    rng = np.random.default_rng(2)
    values = rng.integers(-20, 20, 1003) / 8
    values[:4] = np.inf, -np.inf, 0.0, -0.0
    values[rng.random(1003) < missing] = np.nan
    order = ascending(values, threads)
    known = np.count_nonzero(~np.isnan(values))
    assert np.array_equal(np.sort(order), np.arange(1003))
    assert (np.diff(values[order[:known]][np.isfinite(values[order[:known]])]) >= 0).all()
    np.testing.assert_array_equal(order[known:], np.flatnonzero(np.isnan(values)))


def test_no_numbers_have_an_order() -> None:
    assert not len(ascending(np.empty(0), 2))
