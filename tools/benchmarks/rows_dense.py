"""Dense matrices: whole commands and scoring passes against the roofline."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from sfs_cli.options.grammar import command
from sfs_cli.options.rank import RankConfig
from tools.benchmarks.processes import printed, python, sfs
from tools.benchmarks.roofline import Rates, rates, reading
from tools.benchmarks.stages import stages
from tools.benchmarks.table import RBF_PHI2, Bench, Found, Note, Part, Row, compared, job, seconds

WHOLE, ASKED = 1.3, 1.5
CLUSTERS = CLASSES = 4
READ = "import sys, time, pyarrow.csv as c; s = time.perf_counter(); c.read_csv(sys.argv[1]); "
READ += "print(time.perf_counter() - s)"


def shape(bench: Bench) -> tuple[int, int]:
    """Return samples and features of the dense store."""
    return (60, 3000) if bench.small else (500, 1_000_000)


@job("dense", "Dense store, rbf + phi2, whole command")
def dense(bench: Bench) -> Found:
    n, m = shape(bench)
    store, out = bench.store(n, m), bench.scratch / "dense"
    reading(store)  # warms the page cache

    def limit() -> float:
        found = rates(n)
        return max(found.graph(n, m) + found.square(n, m), 2 * reading(store))

    yield compared(
        f"`rank`, {n} x {m:,} float32 store, rbf + phi2; n²m/syrk + 2n²m/gemm",
        lambda: sfs("rank", store, *RBF_PHI2, "--out", out, "--force", "-q").seconds,
        limit,
        1 if bench.small else 5,
        bench.asked(WHOLE),
    )


@job("scoring", "Scoring passes of dense stores: phi3, GDCOV, graph of labels")
def scoring(bench: Bench) -> Found:
    n, m = shape(bench)
    store, labels = bench.store(n, m), bench.labels(n, CLASSES)
    reading(store)
    rbf, label = {"similarity": "rbf"}, {"similarity": "label", "labels": str(labels)}
    phi2 = {"method": "spec", "ranking": "phi2"}
    phi3 = {"method": "spec", "ranking": "phi3", "clusters": CLUSTERS}
    cases: dict[str, dict[str, Any]] = {
        "phi2 on rbf": rbf | phi2,
        "phi3 on rbf": rbf | phi3,
        "GDCOV on rbf": rbf | {"method": "gdcov"},
        "phi2 on labels": label | phi2,
        "phi3 on labels": label | phi3,
        "Fisher Score": {"method": "fisher", "labels": str(labels)},
    }
    for name, options in cases.items():
        yield Part(name, partial(scored, bench, store, name, options, (n, m)))
    yield Note(
        "The reference of a pass is the larger of its arithmetic and of reading the file once "
        "from the page cache, by one thread; a command adds the graph's. Formulas: "
        "`roofline.py`."
    )


def scored(
    bench: Bench, store: Path, name: str, options: dict[str, Any], size: tuple[int, int]
) -> Found:
    """Yield the rows of a scoring pass and of its whole command."""
    n, m = size
    out = bench.scratch / "scoring"
    passes, commands = [], []
    for _ in range(bench.repeat):
        best, read = rates(n), reading(store)
        scoring_limit = max(of_pass(best, name, n, m), read)
        limit = scoring_limit
        if "rbf" in name:
            arithmetic = of_pass(best, name, n, m) + best.graph(n, m)
            arithmetic += best.decomposition(n) if "phi3" in name else 0
            limit = max(arithmetic, 2 * read)
        _, *words = command(RankConfig(str(store), **options))
        passes.append((stages(store, **options)["scoring"], scoring_limit))
        commands.append((sfs(*words, "--out", out, "--force", "-q").seconds, limit))
    for what, pairs, asked in (
        ("scoring pass", passes, bench.asked(ASKED)),
        ("whole command", commands, None),
    ):
        ours, reference = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        ratio = statistics.median(a / b for a, b in pairs)
        what = f"{name}, {n} x {m:,}, {what}"
        yield Row(what, seconds(ours), seconds(reference), ratio, asked)


def of_pass(best: Rates, name: str, n: int, m: int) -> float:
    """Return the seconds of the arithmetic of a scoring pass."""
    if any(word in name for word in ("label", "Fisher", "phi3")):
        return best.few_columns(n, m)
    return best.square(n, m)


def write_csv(path: Path, genes: int, samples: int) -> None:
    """Write a matrix of genes x samples as text."""
    X = np.random.default_rng(0).normal(8, 2, (genes, samples)).round(6)
    columns = {f"s{j}": X[:, j] for j in range(samples)}
    pc.write_csv(pa.table({"gene": [f"g{i}" for i in range(genes)], **columns}), str(path))


@job("text", "Text input and start-up")
def text(bench: Bench) -> Found:
    genes, samples = (2000, 50) if bench.small else (20_000, 500)
    csv, out = bench.scratch / "wide.csv", bench.scratch / "text"
    write_csv(csv, genes, samples)
    yield compared(
        f"`rank`, {genes:,} x {samples} CSV, rbf + phi2; `pyarrow.csv.read_csv`",
        lambda: sfs("rank", csv, *RBF_PHI2, "--out", out, "--force", "-q").seconds,
        lambda: float(printed("-c", READ, csv)),
        bench.repeat,
    )
    for words in (["--help"], ["rank", "--help"]):
        yield compared(
            f"`sfs {' '.join(words)}`; `import click, rich`",
            lambda: sfs(*words).seconds,  # noqa: B023 - called before the next
            lambda: python("import click, rich"),
            3 * bench.repeat,
        )
