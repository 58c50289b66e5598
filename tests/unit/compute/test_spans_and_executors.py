"""Spans cover the features once, and executors hand results back in their order."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import MAX_FEATURES, TARGET_BYTES, Span, block_features, cut
from sfs_cli.compute.workspace import Workspace


@given(st.integers(0, 5000), st.integers(1, 700))
def test_spans_cover_every_feature_once_and_in_order(n_features: int, size: int) -> None:
    spans = cut(n_features, size)
    assert [i for s in spans for i in range(s.lo, s.hi)] == list(range(n_features))
    assert all(0 < s.size <= size for s in spans)


@given(st.integers(1, 10**7), st.sampled_from([4, 8]))
def test_a_block_fits_its_target_or_is_one_feature(n_samples: int, itemsize: int) -> None:
    size = block_features(n_samples, itemsize)
    assert 1 <= size <= MAX_FEATURES
    assert size == 1 or size * n_samples * itemsize <= TARGET_BYTES


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_spans(workers: int) -> None:
    spans, ended = cut(40, 1), threading.Event()

    def task(span: Span) -> int:
        if workers > 1 and span.lo == 0:  # the first ends after the second
            assert ended.wait(60)
        if span.lo == 1:
            ended.set()
        return span.lo

    assert list(ThreadExecutor(workers).map(task, spans)) == list(range(40))


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_of_a_task_reaches_the_caller(workers: int) -> None:
    def task(span: Span) -> int:
        if span.lo == 4:
            raise ValueError("span 4")
        return span.lo

    results = ThreadExecutor(workers).map(task, cut(30, 1))
    with pytest.raises(ValueError, match="span 4"):
        list(results)


def test_few_results_wait_at_a_time() -> None:
    """A slow consumer must not make the workers fill the memory."""
    started = 0
    lock = threading.Lock()

    def task(span: Span) -> int:
        nonlocal started
        with lock:
            started += 1
        return span.lo

    results = ThreadExecutor(2).map(task, cut(100, 1))
    for taken in range(1, 51):
        next(results)
        with lock:
            assert started <= taken + 4
    results.close()  # type: ignore[attr-defined]


def test_a_workspace_hands_each_thread_its_own_array_again() -> None:
    work = Workspace()
    first = work.array("a", 3, 4, np.dtype(np.float32))
    again = work.array("a", 2, 5, np.dtype(np.float32))
    assert np.shares_memory(first, again)
    assert not np.shares_memory(first, work.array("b", 3, 4, np.dtype(np.float32)))
    others: list[np.ndarray] = []
    thread = threading.Thread(
        target=lambda: others.append(work.array("a", 3, 4, np.dtype(np.float32)))
    )
    thread.start()
    thread.join()
    assert not np.shares_memory(first, others[0])


@pytest.mark.parametrize(("rows", "columns"), [(0, 4), (3, 4), (5, 1)])
def test_a_workspace_array_has_the_shape_and_type_that_are_asked_for(
    rows: int, columns: int
) -> None:
    work = Workspace()
    work.array("a", 2, 2, np.dtype(np.float32))
    array = work.array("a", rows, columns, np.dtype(np.float64))
    assert array.shape == (rows, columns)
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
