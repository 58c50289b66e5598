"""The transpose out of core: the same bits, in memory near the limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys, threading
from pathlib import Path
import numpy as np
from scipy.sparse import csr_array
from sfs_cli.compute.memory import anonymous
from sfs_cli.store.sinks import SampleRows
from sfs_cli.store.sinks import SparseSampleRows

folder, kind, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
n, m, step = 400, 200_000, 4

def rows(lo, every=1):
    at = np.arange(lo, lo + step, dtype=np.int64)[:, None] * m + np.arange(0, m, every)
    return (at * 2654435761 % 1_000_003 + 1).astype(np.float32)

if kind == "dense":
    sink, take = SampleRows(folder, limit), rows
else:
    sink = SparseSampleRows(folder, limit)
    def take(lo):
        stored = rows(lo, every=20)
        indices = np.tile(np.arange(0, m, 20), step)
        return csr_array((stored.ravel(), indices, np.arange(step + 1) * (m // 20)), (step, m))
take(0)  # what the libraries take for themselves is not counted
before, peak, done = anonymous(), [0], threading.Event()

def watch():
    while not done.wait(0.001):
        peak[0] = max(peak[0], anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
for lo in range(0, n, step):
    sink.add(take(lo))
finished = sink.finish(to_disk=False)
done.set()
watcher.join()
assert finished is None
if kind == "dense":
    stored = np.memmap(folder / "values.bin", np.float32, "r", shape=(m, n))
    same = all((stored[:, lo : lo + step] == rows(lo).T).all() for lo in range(0, n, step))
else:
    data = np.memmap(folder / "data.bin", np.float32, "r", shape=(m // 20, n))
    same = all((data[:, lo : lo + step] == rows(lo, 20).T).all() for lo in range(0, n, step))
print(json.dumps({"grown": peak[0] - before, "same": bool(same)}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(("kind", "times"), [("dense", 2.5), ("sparse", 4)])
def test_transpose_of_a_large_matrix_stays_near_its_limit(tmp_path, kind, times):
    limit = 16 << 20  # of 320 MB
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), kind, str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(run.stdout)
    assert facts["same"]
    assert facts["grown"] < times * limit
