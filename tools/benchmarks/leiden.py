"""Do the clusters of single cells survive our gene lists? scanpy's steps on lists of several kinds.

usage: python -m tools.benchmarks.leiden DATA [--sets NAME ...] [--genes N ...] [--seeds K]
           [--more FOLDER] [--add "NAME=OPTIONS OF sfs rank" ...] [--jobs J] [--peers FOLDER]

The genes are chosen without labels by `sfs rank` and by the flavors of scanpy's highly variable
genes. On the first N of them follow scanpy's scaling, principal components, neighbors and Leiden
clusters with five seeds; what counts is the adjusted Rand index and the normalized mutual
information with the known types. The sets are those of `tools.benchmarks.cell_sets`, or with
`--more` the h5ad files of a folder that `tools.benchmarks.cell_collections` made: `sfs` and two
flavors get log1p of the counts scaled to their median total, and `seurat_v3` the counts. The time
is that of `sfs rank` with one thread, with its start.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from tools.benchmarks.cell_sets import Cells, every_set
from tools.benchmarks.lists import FLAVORS, ranked
from tools.benchmarks.peers import default_folder, environment, run_peer
from tools.benchmarks.table import Bench

SEEDS = 5
RANKINGS = {
    "default": "",
    "spec": "--method spec",
    "spec on knn": "--method spec --similarity knn",
    "MRSF in rounds": "--method mrsf-rounds",
    "most variable genes": "--method variance",
}
MEASURES = {"ARI": adjusted_rand_score, "NMI": normalized_mutual_info_score}
Row = dict[str, Any]


def logarithms(cells: Cells) -> np.ndarray:
    """Return log1p of the counts scaled to their median total, shape (n, m)."""
    if cells.logarithms:
        return cells.counts
    total = cells.counts.sum(axis=1, keepdims=True)
    return np.asarray(np.log1p(cells.counts * (np.median(total) / total)))


def measure(
    cells: Cells, rankings: dict[str, str], sizes: list[int], python: Path, folder: Path
) -> list[Row]:
    """Judge every list on a set of cells: a row for each list, each size and each seed."""
    X = logarithms(cells)
    varies = X.std(axis=0) > 0
    X, counts = X[:, varies], cells.counts[:, varies]
    sizes = [size for size in sizes if size < X.shape[1]] or [X.shape[1] // 2]
    genes = [f"gene{i}" for i in range(X.shape[1])]
    file = folder / f"{abs(hash((cells.name, X.shape, float(X.sum()))))}.parquet"
    table = pd.DataFrame(X.T, genes, [f"cell{i}" for i in range(len(X))])
    table.to_parquet(file)
    at = {gene: i for i, gene in enumerate(genes)}
    lists, seconds = [], {}
    for name, options in rankings.items():
        start = time.perf_counter()
        lists.append([at[gene] for gene in ranked(file, f"{options} --threads 1")])
        seconds[name] = time.perf_counter() - start
    file.unlink()
    inputs = {"X": X, "counts": counts, "lists": np.array([row[: max(sizes)] for row in lists])}
    found = run_peer(python, "scanpy", "leiden", inputs, seeds=SEEDS, flavors=FLAVORS, sizes=sizes)
    names = [*rankings, *(f"scanpy {flavor}" for flavor in FLAVORS), "all genes"]
    return [
        {"set": cells.name, "genes": size, "list": name, "seconds": seconds.get(name, np.nan)}
        | {key: function(cells.types, labels) for key, function in MEASURES.items()}
        for name, of_sizes in zip(names, found.found["clusters"], strict=True)
        for size, of_seeds in zip(sizes, of_sizes, strict=True)
        for labels in of_seeds
    ]


def report(rows: list[Row]) -> Iterator[str]:
    """Yield the tables: a column for each list, a row for each set, and the means below."""
    frame = pd.DataFrame(rows)
    names = list(dict.fromkeys(frame["list"]))
    for size, part in frame.groupby("genes"):
        yield f"\nFirst {size:,} genes: ARI, NMI (mean over seeds)\n"
        yield f"| set | {' | '.join(names)} |"
        yield "|---" * (1 + len(names)) + "|"
        of_sets = part.groupby(["set", "list"], sort=False)[list(MEASURES)].mean()
        for name in dict.fromkeys(part["set"]):
            yield f"| {name} | {' | '.join(_both(of_sets.loc[name, key]) for key in names)} |"
        means = of_sets.groupby("list").mean()
        yield f"| mean | {' | '.join(_both(means.loc[key]) for key in names)} |"
    taken = frame.groupby("list")["seconds"].mean()
    yield f"| seconds | {' | '.join(f'{taken[key]:.1f}' for key in names)} |"


def _both(row: pd.Series) -> str:
    return ", ".join(f"{row[key]:.3f}" for key in MEASURES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", help="names of sets; by default all")
    parser.add_argument("--more", type=Path, help="folder of h5ad files in place of the sets")
    parser.add_argument("--genes", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--seeds", type=int, default=1, help="draws of each simulated set")
    parser.add_argument("--add", action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--rankings", nargs="*", choices=RANKINGS, default=list(RANKINGS))
    parser.add_argument("--jobs", type=int, default=1, help="sets at a time")
    parser.add_argument("--rows", type=Path, help="CSV of all rows, besides the tables")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    given = parser.parse_args()
    rankings = {name: RANKINGS[name] for name in given.rankings}
    rankings |= dict(text.split("=", 1) for text in given.add)
    sets = [
        cells
        for cells in every_set(given.data, given.seeds, given.more)
        if given.sets is None or cells.name in given.sets
    ]
    with tempfile.TemporaryDirectory(prefix="sfs-leiden-") as folder:
        python = environment(Bench(Path(folder), given.peers.absolute()), "scanpy")
        one = partial(
            measure, rankings=rankings, sizes=given.genes, python=python, folder=Path(folder)
        )
        rows = []
        with ThreadPoolExecutor(given.jobs) as pool:
            for found in pool.map(one, sets):
                rows += found
                print(f"{found[0]['set']}: done", file=sys.stderr, flush=True)
                if given.rows is not None:
                    pd.DataFrame(rows).to_csv(given.rows, index=False)
    print("\n".join(report(rows)))


if __name__ == "__main__":
    main()
