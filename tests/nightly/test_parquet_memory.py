"""Measured memory of the reader of Parquet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def test_memory_does_not_grow_with_the_row_group_of_a_parquet_file(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        values = np.random.default_rng(0).random((6, n), np.float32)
        columns = {"gene": np.arange(n).astype("S8").astype(str)}
        table = pa.table(columns | {f"s{j}": column for j, column in enumerate(values)})
        path = tmp_path / f"{n}.parquet"
        pq.write_table(table, path, row_group_size=n)
        code = (
            "import pyarrow as pa; from pathlib import Path\n"
            "from sfs_cli.io.matrix.base import ReadOptions\n"
            "from sfs_cli.io.matrix.parquet import open_parquet\n"
            f"r = open_parquet(Path({str(path)!r}), ReadOptions(block_bytes=1 << 20))\n"
            "n = sum(len(b.ids) for b in r.blocks())\n"
            "print(pa.default_memory_pool().max_memory())"
        )
        command = [sys.executable, "-c", code]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert peak(1_500_000) < peak(300_000) + 8 * 2**20
