"""Spans cover the features once, and executors hand results back in their order."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import MAX_FEATURES, TARGET_BYTES, Span, block_features, cut


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
