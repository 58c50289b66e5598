"""Time whole commands against what the machine and others can do, in one run.

usage: python tools/benchmarks/bench_rank.py [--scratch DIR] [--small]

Prints the jobs `dense` and `text` of ``python -m tools.benchmarks``: a dense store against the
arithmetic of its two passes, a text file against pyarrow's reader, and the start-up.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.benchmarks.processes import printed, python, sfs
from tools.benchmarks.table import HEAD, Bench, Note, Row, compared

READ = "import sys, time, pyarrow.csv as c; s = time.perf_counter(); c.read_csv(sys.argv[1]); "
READ += "print(time.perf_counter() - s)"


def write_csv(path: Path, genes: int, samples: int) -> None:
    """Write a matrix of genes x samples as text."""
    import pyarrow as pa
    import pyarrow.csv as pc

    X = np.random.default_rng(0).normal(8, 2, (genes, samples)).round(6)
    columns = {f"s{j}": X[:, j] for j in range(samples)}
    pc.write_csv(pa.table({"gene": [f"g{i}" for i in range(genes)], **columns}), str(path))


def text_rows(scratch: Path, repeat: int, genes: int, samples: int) -> Iterator[Row]:
    """Yield the rows of a text file and of the start-up."""
    csv, out = scratch / "wide.csv", scratch / "text"
    write_csv(csv, genes, samples)
    yield compared(
        f"`rank`, {genes:,} x {samples} CSV, rbf + phi2; `pyarrow.csv.read_csv`",
        lambda: sfs("rank", csv, "--out", out, "--force", "-q").seconds,
        lambda: float(printed(READ, csv)),
        repeat,
    )
    for words in (["--help"], ["rank", "--help"]):
        yield compared(
            f"`sfs {' '.join(words)}`; `import click, rich`",
            lambda words=words: sfs(*words).seconds,
            lambda: python("import click, rich"),
            3 * repeat,
        )


def main() -> None:
    from tools.benchmarks import rows_dense

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        bench = Bench(Path(folder), small=given.small)
        print(HEAD)
        for run in (rows_dense.dense, rows_dense.text):
            for found in run(bench):
                print(found.text if isinstance(found, Note) else found.line(), flush=True)


if __name__ == "__main__":
    main()
