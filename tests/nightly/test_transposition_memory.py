"""Measured memory of the transpose out of core."""

from __future__ import annotations

import tracemalloc

import pytest

from tests.unit.store.test_bounded_memory import STEP, assert_same, transposed


@pytest.mark.parametrize(("kind", "times"), [("dense", 2.5), ("sparse", 4)])
def test_arrays_of_a_transposition_take_a_few_times_the_limit(tmp_path, kind, times):
    """Counted by Python's allocator: what the system gives a process is not looked at."""
    n, m, limit = 400, 20_000, 1 << 21
    transposed(tmp_path / "first", kind, 2 * STEP, 100, 1)  # what the libraries take for themselves
    tracemalloc.start()
    try:
        path = transposed(tmp_path, kind, n, m, limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert_same(path, kind, n, m)
    assert peak < times * limit
