"""The transpose out of core: the same bits, and no more in memory than its limit allows."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.store import build
from sfs_cli.store.build import Sink, ValueFiles

STEP = 4
"""The samples of a block."""


def block(lo: int, m: int, every: int) -> np.ndarray:
    """Return some samples whose values differ, at each so-many-th feature."""
    at = np.arange(lo, lo + STEP, dtype=np.int64)[:, None] * m + np.arange(0, m, every)
    return (at * 2654435761 % 1_000_003 + 1).astype(np.float32)


def sparse_block(lo: int, m: int, every: int) -> csr_array:
    indices = np.tile(np.arange(0, m, every), STEP)
    ends = np.arange(STEP + 1) * len(range(0, m, every))
    return csr_array((block(lo, m, every).ravel(), indices, ends), (STEP, m))


def transposed(folder, kind, n, m, limit):
    """Turn n samples of m features; return the file of the values."""
    sink = Sink(folder, limit, across=True, sparse=kind == "sparse")
    for lo in range(0, n, STEP):
        sink.add(block(lo, m, 1) if kind == "dense" else sparse_block(lo, m, 20))
    assert sink.finish(to_disk=False) is None
    return folder / ("values.bin" if kind == "dense" else "data.bin")


def assert_same(path, kind, n, m):
    every = 1 if kind == "dense" else 20
    stored = np.fromfile(path, np.float32).reshape(-1, n)
    for lo in range(0, n, STEP):
        np.testing.assert_array_equal(stored[:, lo : lo + STEP], block(lo, m, every).T)


@pytest.mark.parametrize(("kind", "limit"), [("dense", 60_000), ("sparse", 12_000)])
def test_what_is_held_and_what_is_joined_stay_within_the_limit(tmp_path, monkeypatch, kind, limit):
    n, m = 120, 2000
    held, written = [], []
    spill, append = Sink._spill, ValueFiles.append

    def spilling(self):
        held.append(self._bytes)
        spill(self)

    def appending(self, blocks):
        def seen():
            for each in blocks:
                if self.folder == tmp_path:  # of panels, sparse ones are turned as a whole
                    written.append(
                        build.stored_bytes(each) if kind == "dense" else each.data.nbytes
                    )
                yield each

        append(self, seen())

    monkeypatch.setattr(Sink, "_spill", spilling)
    monkeypatch.setattr(ValueFiles, "append", appending)
    path = transposed(tmp_path, kind, n, m, limit)
    one = build.stored_bytes(block(0, m, 1) if kind == "dense" else sparse_block(0, m, 20))
    assert len(held) > 1
    assert max(held) <= limit + one
    assert sum(held) == one * n // STEP
    assert max(written) <= limit < path.stat().st_size
    assert_same(path, kind, n, m)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_matrix_of_more_panels_than_files_may_be_open(tmp_path, kind):
    n, m = 240, 100  # a panel of each block
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len([*Path("/dev/fd").iterdir()]) + 30, hard))
    try:
        path = transposed(tmp_path, kind, n, m, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert_same(path, kind, n, m)
