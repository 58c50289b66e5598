"""Simulate a large dense matrix straight into a store, in blocks.

usage: python -m tools.benchmarks.make_store STORE N_SAMPLES N_FEATURES

Samples form four clusters; a tenth of the features follow them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sfs_cli.compute.matrix import Ids
from sfs_cli.store.build import write_store_files

BLOCK = 20_000


def blocks(n: int, m: int) -> Iterator[np.ndarray]:
    """Yield float32 blocks (features x samples)."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 4, n)
    for lo in range(0, m, BLOCK):
        size = min(BLOCK, m - lo)
        values = rng.standard_normal((size, n), dtype=np.float32)
        informative = rng.random(size) < 0.1
        centres = rng.standard_normal((size, 4), dtype=np.float32)
        values[informative] += 1.5 * centres[informative][:, clusters]
        values += rng.uniform(2, 12, size).astype(np.float32)[:, None]
        yield values


def make_store(path: Path, n: int, m: int) -> None:
    """Write the store."""
    path.mkdir(parents=True)
    with (path / "values.bin").open("wb") as file:
        for block in blocks(n, m):
            file.write(block.data)
    ids = Ids([f"f{i:07d}" for i in range(m)], [f"s{i:06d}" for i in range(n)])
    write_store_files(path, ids, np.dtype(np.float32), source={})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("n_samples", type=int)
    parser.add_argument("n_features", type=int)
    given = parser.parse_args()
    make_store(given.store, given.n_samples, given.n_features)


if __name__ == "__main__":
    main()
