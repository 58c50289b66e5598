"""Do the clusters of single cells survive our gene lists? scanpy's steps on lists of several kinds.

usage: python -m tools.benchmarks.leiden DATA [--more FOLDER] [--sets NAME ...] [--genes N ...]
           [--add "NAME=OPTIONS OF sfs rank" ...] [--jobs J] [--rows CSV] [--out PAGE]
           [--peers FOLDER]

Genes are chosen without labels, by `sfs rank` and by the flavors of scanpy's highly variable genes.
On the first N of them follow scanpy's scaling, principal components, neighbors and Leiden clusters
with five seeds; what counts is the adjusted Rand index (ARI) and the normalized mutual information
(NMI) with the known types. `sfs` and two flavors get log1p of the counts scaled to their median
total, and `seurat_v3` the counts.

Each set is drawn twice: simulated cells with two seeds, real ones as two random halves or, where a
half has less than 100 cells, as two draws of 80 %, which overlap. A row is the mean of both. Below
the means stand the mean absolute difference between the two draws of a set, and how far the default
is ahead of each list on the mean of the sets, with the standard error of that over the sets.

The sets are those of `tools.benchmarks.cell_sets` and, with `--more`, the h5ad files of a folder
that `tools.benchmarks.cell_collections` made. The draws that the file of `--rows` has are not
measured again: give the same `--genes` and `--add` with it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Hashable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from tools.benchmarks.cell_sets import Cells, every_set, more, twice
from tools.benchmarks.lists import FLAVORS, ranked
from tools.benchmarks.peers import default_folder, environment, run_peer
from tools.benchmarks.table import Bench

SEEDS = 5
RANKINGS = {"`sfs`, default": "", "`spec` on `knn` of all genes": "--method spec --similarity knn"}
SCANPY = {flavor: f"scanpy, `{flavor}`" for flavor in FLAVORS}
MEASURES = {"ARI": adjusted_rand_score, "NMI": normalized_mutual_info_score}
PARTS = ("Sets that served to choose the default", "Sets that did not")
HEAD = """# Do the clusters survive?

{}

{}

```bash
python -m tools.benchmarks.cell_collections FOLDER SETS
python -m tools.benchmarks.leiden DATA --more SETS --out docs/clusters.md
```"""
Row = dict[Hashable, Any]
Draw = tuple[str, int, Cells]
"""Its part, whether it is the first or the second of the set, and the cells."""


def drawn(data: Path, folder: Path | None) -> Iterator[Draw]:
    """Yield every set twice: new cells where they are simulated, else halves of the cells."""
    for part, sets in zip(PARTS, (every_set(data, 2), more(folder) if folder else ()), strict=True):
        before = ""
        for cells in sets:
            if cells.markers is None:
                yield from ((part, i, half) for i, half in enumerate(twice(cells)))
            else:
                yield part, int(cells.name == before), cells
            before = cells.name


def logarithms(cells: Cells) -> np.ndarray:
    """Return log1p of the counts scaled to their median total, shape (n, m)."""
    if cells.logarithms:
        return cells.counts
    total = cells.counts.sum(axis=1, keepdims=True)
    return np.asarray(np.log1p(cells.counts * (np.median(total) / total)))


def measure(
    draw: Draw, rankings: dict[str, str], sizes: list[int], python: Path, folder: Path
) -> list[Row]:
    """Judge every list on a draw: a row for each list, each size and each seed."""
    part, number, cells = draw
    X = logarithms(cells)
    varies = X.std(axis=0) > 0
    X, counts = X[:, varies], cells.counts[:, varies]
    sizes = [size for size in sizes if size < X.shape[1]]
    if not sizes:
        return []
    genes = [f"gene{i}" for i in range(X.shape[1])]
    file = folder / f"{cells.name}-{number}.parquet"
    pd.DataFrame(X.T, genes, [f"cell{i}" for i in range(len(X))]).to_parquet(file)
    at = {gene: i for i, gene in enumerate(genes)}
    lists = [
        [at[gene] for gene in ranked(file, f"{options} --threads 1")][: max(sizes)]
        for options in rankings.values()
    ]
    file.unlink()
    inputs = {"X": X, "counts": counts, "lists": np.array(lists)}
    found = run_peer(python, "scanpy", "leiden", inputs, seeds=SEEDS, flavors=FLAVORS, sizes=sizes)
    names = [*rankings, *SCANPY.values(), "all genes"]
    print(f"{cells.name}, draw {number + 1}: {X.shape}", file=sys.stderr, flush=True)
    return [
        {"part": part, "set": cells.name, "draw": number, "genes": size, "list": name}
        | {key: function(cells.types, labels) for key, function in MEASURES.items()}
        for name, of_sizes in zip(names, found.found["clusters"], strict=True)
        for size, of_seeds in zip(sizes, of_sizes, strict=True)
        for labels in of_seeds
    ]


def report(rows: list[Row]) -> Iterator[str]:
    """Yield a table for each part and size, of the sets that were drawn twice."""
    frame = pd.DataFrame(rows)
    frame = frame[frame.groupby(["part", "set"])["draw"].transform("nunique") == 2]
    for part in PARTS:
        for size, of_size in frame[frame["part"] == part].groupby("genes"):
            yield f"\n## {part}: first {size:,} genes\n"
            yield from table(of_size)


def table(part: pd.DataFrame) -> Iterator[str]:
    """Yield a column for each list, a row for each set, and below what the means are worth."""
    names, measures = list(dict.fromkeys(part["list"])), list(MEASURES)
    of_draws = part.groupby(["set", "list", "draw"], sort=False)[measures].mean()
    of_sets = of_draws.groupby(["set", "list"], sort=False).mean()
    apart = of_draws.groupby(["set", "list"]).agg(np.ptp).groupby("list").mean()
    default = of_sets[of_sets.index.get_level_values("list") == names[0]].droplevel("list")
    ahead = default.sub(of_sets, level="set").groupby("list")
    mean, error = ahead.mean(), ahead.sem()
    rows = {name: _pairs(of_sets.loc[name], names) for name in dict.fromkeys(part["set"])}
    rows["**mean**"] = _pairs(of_sets.groupby("list").mean(), names)
    rows["two draws apart"] = _pairs(apart, names)
    rows["default - list"] = ["", *_pairs(mean, names[1:], "+.3f")]
    rows["standard error"] = ["", *_pairs(error, names[1:])]
    yield f"| set | {' | '.join(names)} |"
    yield "|---" * (1 + len(names)) + "|"
    for name, cells in rows.items():
        yield f"| {name} | {' | '.join(cells)} |"
    below = [
        f"{name} ({measure})"
        for name, measure in product(names, measures)
        if (mean < -2 * error).loc[name, measure]
    ]
    found = ", ".join(below) or "no list"
    yield f"\nThe default is below {found} by more than two standard errors."


def _pairs(frame: pd.DataFrame, names: list[str], form: str = ".3f") -> list[str]:
    return [", ".join(format(frame.loc[name, key], form) for key in MEASURES) for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--more", type=Path, help="folder of h5ad files, besides the sets")
    parser.add_argument("--sets", nargs="+", help="names of sets; by default all")
    parser.add_argument("--genes", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--add", action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--jobs", type=int, default=1, help="draws at a time")
    parser.add_argument("--rows", type=Path, help="CSV of all rows: those that are in it are kept")
    parser.add_argument("--out", type=Path, help="Markdown page, not stdout")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    given = parser.parse_args()
    rankings = RANKINGS | dict(text.split("=", 1) for text in given.add)
    rows: list[Row] = []
    if given.rows is not None and given.rows.exists():
        rows = pd.read_csv(given.rows).to_dict("records")
    known = {(row["part"], row["set"], row["draw"]) for row in rows}
    draws = (
        (part, number, cells)
        for part, number, cells in drawn(given.data, given.more)
        if (given.sets is None or cells.name in given.sets)
        and (part, cells.name, number) not in known
    )
    with tempfile.TemporaryDirectory(prefix="sfs-leiden-") as folder:
        python = environment(Bench(Path(folder), given.peers.absolute()), "scanpy")
        pool = Parallel(given.jobs, prefer="threads", return_as="generator", pre_dispatch="n_jobs")
        one = delayed(measure)
        for found in pool(one(d, rankings, given.genes, python, Path(folder)) for d in draws):
            rows += found
            if given.rows is not None:
                pd.DataFrame(rows).to_csv(given.rows, index=False)
    if not rows:
        raise SystemExit("no set has one of these names and more genes than --genes")
    told = [text.replace("\n", " ") for text in __doc__.strip().split("\n\n")[2:4]]
    page = "\n".join([HEAD.format(*told), *report(rows)])
    if given.out is None:
        print(page)
    else:
        given.out.write_text(f"{page}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
