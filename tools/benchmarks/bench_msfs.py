"""Time rankings on five knowledge sources, and the fusion alone.

usage: python tools/benchmarks/bench_msfs.py DATA_FOLDER [--repeat N] [--scratch DIR]

Two studies: `tcga_brca` of the data folder with gene sets and GO terms, and one simulated here at
the sizes of Zhao's dissertation (Chapter 5): 16,063 genes and 151 miRNAs in 90 samples, 68 GO
terms, a hierarchy and pathways. Prints Markdown tables of medians: whole commands, as processes,
with their peak memory and the time that was asked for; and the fusion alone, measured inside a
fresh process from the end of reading to the fused similarity: the similarities of all sources,
their weights, the sum, and the imports that these need.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.benchmarks.processes import sfs

GENES, MIRNAS, SAMPLES, TERMS, PATHWAYS = 16_063, 151, 90, 68, 50
LAYERS = ("ectoderm", "endoderm", "mesoderm")
TISSUES = 9
WEIGHTS = ("uniform", "alignf", "rkda", "statis", "sparse-umkl", "naml", "snf")
ONCE = "--no-leave-one-out"

INSIDE = """
import json, sys, time
marks = [time.perf_counter()]
def mark():
    marks.append(time.perf_counter())
from sfs_cli.options import RankConfig
from sfs_cli.run.fused_rank import make_fusion
from sfs_cli.run.load import loaded
from sfs_cli.run.scoring import solve
from sfs_cli.logs import Messages
from sfs_cli.options.source import parse_source
matrix, labels, weights, *sources = sys.argv[1:]
silent = Messages(verbosity=-1)
config = RankConfig(
    matrix, method="msfs", source=tuple(map(parse_source, sources)), weights=weights, labels=labels
)
mark()
with loaded(config, silent) as run:
    run.fit()
    mark()
    fusion = make_fusion(run)
    mark()
    similarity = fusion.fused(fusion.learn_weights())
    mark()
    solve(run, similarity)
    mark()
print(json.dumps([b - a for a, b in zip(marks, marks[1:])]))
"""
STAGES = ("imports", "reading", "similarities", "weights and sum", "scoring")


def simulate(folder: Path) -> None:
    """Write the study: a tenth of the genes and half of the miRNAs follow the tissues.

    NumPy is loaded here alone: the peak memory of a process begins with that of its parent, which
    therefore leaves this to another process.
    """
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    samples = [f"S{i:02d}" for i in range(SAMPLES)]
    tissue, tumour = np.arange(SAMPLES) % TISSUES, np.arange(SAMPLES) // TISSUES % 2
    genes = np.array([f"GENE{i:05d}" for i in range(GENES)])
    for name, ids, following in (
        ("expression", genes, GENES // 10),
        ("mirna", [f"miR-{i}" for i in range(MIRNAS)], MIRNAS // 2),
    ):
        X = rng.standard_normal((len(ids), SAMPLES)) + rng.uniform(4, 12, (len(ids), 1))
        X[:following] += rng.standard_normal((following, TISSUES))[:, tissue]
        frame = pd.DataFrame(X.round(4), index=pd.Index(ids, name="id"), columns=samples)
        frame.to_csv(folder / f"{name}.csv")
    has = pd.DataFrame(
        (rng.random((GENES, TERMS)) < 0.03).astype(int),
        index=pd.Index(genes, name="gene"),
        columns=[f"GO:{i:07d}" for i in range(TERMS)],
    )
    has.to_csv(folder / "go.csv")
    sets = (rng.choice(genes, int(size), False) for size in rng.integers(20, 300, PATHWAYS))
    lines = ("\t".join([f"SET{i}", "", *chosen]) for i, chosen in enumerate(sets))
    (folder / "pathways.gmt").write_text("\n".join(lines) + "\n")
    status = np.where(tumour, "tumour", "normal")
    paths = [
        f"{sample}\t{LAYERS[t % 3]}/tissue{t}/{s}" for sample, t, s in zip(samples, tissue, status)
    ]
    (folder / "hierarchy.tsv").write_text("\n".join(["sample\tpath", *paths]) + "\n")
    labels = [f"{sample}\ttissue{t}" for sample, t in zip(samples, tissue)]
    (folder / "labels.tsv").write_text("\n".join(["sample\ttissue", *labels]) + "\n")


def simulated_sources(folder: Path) -> list[str]:
    """Return the five sources of the simulated study."""
    return [
        "expression=target:",
        f"mirna=profile:{folder}/mirna.csv",
        f"go=terms:{folder}/go.csv",
        f"pathways=genes:{folder}/pathways.gmt",
        f"tissues=hierarchy:{folder}/hierarchy.tsv",
    ]


def real_sources(data: Path) -> list[str]:
    """Return five sources for the mRNA of `tcga_brca`."""
    return [
        "mrna=target:",
        f"mirna=profile:{data}/tcga_brca/mirna.parquet",
        f"protein=profile:{data}/tcga_brca/protein.parquet",
        f"hallmark=genes:{data}/genesets/hallmark.gmt",
        f"go=terms:{data}/genesets/go_bp.gmt",
    ]


def options(sources: list[str]) -> list[str]:
    return [word for source in sources for word in ("--source", source)]


def timed(words: list[str | Path]) -> tuple[float, float]:
    """Run a command line as a process; return its wall time, and its peak memory in MiB."""
    used = sfs(*words, "--force", "-q")
    return used.seconds, used.peak / (1 << 20)


def inside(folder: Path, weights: str) -> list[float]:
    """Return the time of each stage of a ranking of the simulated study, in a fresh process."""
    words = [str(folder / "expression.csv"), str(folder / "labels.tsv"), weights]
    done = subprocess.run(
        [sys.executable, "-c", INSIDE, *words, *simulated_sources(folder)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)


Jobs = dict[str, tuple[list[str | Path], float | None]]
"""What is timed: its name, the command line, and the seconds that were asked for."""


def commands(data: Path, folder: Path) -> Jobs:
    """Return what is timed."""
    real = ["rank", data / "tcga_brca" / "mrna.parquet", "--method", "msfs"]
    # gene sets name the genome, the matrix 200 genes: 91 and 98 genes are found, a fiftieth of all
    real += [*options(real_sources(data)), "--allow-unmatched", "--out", folder / "real"]
    sources = options(simulated_sources(folder))
    matrix = folder / "expression.csv"
    made = ["rank", matrix, "--method", "msfs", *sources, "--out", folder / "made"]
    alone = ["rank", matrix, "--out", folder / "alone"]
    fused = ["fuse", matrix, *sources, "--out", folder / "fused.npz"]
    size = f"{GENES:,} x {SAMPLES} CSV"
    return {
        "rank, tcga_brca, five sources": (real, 3.0),
        "rank, tcga_brca, five sources, without leaving sources out": ([*real, ONCE], None),
        f"rank, {size}, five sources": (made, 5.0),
        f"rank, {size}, five sources, without leaving sources out": ([*made, ONCE], None),
        f"fuse, {size}, five sources": (fused, None),
        f"rank, {size}, no source": (alone, None),
    }


def row(name: str, seconds: list[float], asked: float | None, memory: list[float]) -> str:
    """Return a row: median and range, the limit and the share of it, peak memory."""
    middle = statistics.median(seconds)
    limit = "| " if asked is None else f"{asked:.0f} s | {middle / asked:.2f}"
    peak = f"{max(memory):.0f} MiB" if memory else ""
    return f"| {name} | {middle:.2f} s ({min(seconds):.2f}-{max(seconds):.2f}) | {limit} | {peak} |"


Timings = tuple[dict[str, list[tuple[float, float]]], dict[str, list[list[float]]]]
"""Seconds and peak memory of each command, and seconds of the stages for each `--weights`."""


def timings(jobs: Jobs, folder: Path, repeat: int, weights: tuple[str, ...] = WEIGHTS) -> Timings:
    """Run everything in turn, several times over."""
    writer = multiprocessing.Process(target=simulate, args=(folder,))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise SystemExit("the study could not be written")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    stages: dict[str, list[list[float]]] = {name: [] for name in weights}
    for words, _ in jobs.values():
        timed(words)  # warms the page cache
    for _ in range(repeat):
        for name, (words, _) in jobs.items():
            found[name].append(timed(words))
        for name in weights:
            stages[name].append(inside(folder, name))
    return found, stages


def measure(data: Path, folder: Path, repeat: int) -> list[str]:
    """Return the lines to print."""
    jobs = commands(data, folder)
    found, stages = timings(jobs, folder, repeat)
    lines = ["| job | time (range) | asked | of it | peak memory |\n|---|---|---|---|---|"]
    for name, (_, asked) in jobs.items():
        seconds, memory = map(list, zip(*found[name]))
        lines.append(row(name, seconds, asked, memory))
    for name, times in stages.items():
        fusion = [similarities + weighing for _, _, similarities, weighing, _ in times]
        lines.append(row(f"fusion alone, --weights {name}", fusion, 1.0, []))
    lines.append(f"\n| `--weights` | {' | '.join(STAGES)} |\n{'|---' * (len(STAGES) + 1)}|")
    for name, times in stages.items():
        cells = (f"{statistics.median(column):.3f} s" for column in zip(*times))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--scratch", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        lines = measure(given.data, Path(folder), given.repeat)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
