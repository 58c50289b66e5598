"""Which total are samples scaled to before logarithms? Markers found without labels, by each.

usage: python -m tools.benchmarks.markers DATA [--methods NAME ...] [--seeds K]

Counts of labelled cells (`tools.benchmarks.cell_sets`) are ranked without labels after each
transformation. Of simulated cells the number is the share of the true markers among as many
first genes; of real ones the share of the first 200 genes by the Kruskal-Wallis test of the types,
on the counts by totals of all that was sequenced, among the first 200. That test takes ranks within
a gene, and so does not depend on the total that cells are scaled to.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import sfs_cli as sfs
from tools.benchmarks.cell_sets import Cells, bulk, every_set

TRANSFORMS = (
    "median,log1p",
    "cp10k,log1p",
    "cpm,log1p",
    "pearson-residuals",
    "deviance",
    "log1p",
    "log2cpm:tmm",
)
METHODS: dict[str, dict[str, Any]] = {
    "spec": {"method": "spec", "similarity": "knn"},
    "default": {},
    "variance": {"method": "variance"},
    "f-test": {"method": "f-test"},
}
FIRST = 200


def truth(cells: Cells) -> np.ndarray:
    """Return the positions of the genes that should be found."""
    from scipy.stats import kruskal

    if cells.markers is not None:
        return cells.markers
    counts = cells.counts if cells.full is None else cells.full
    shares = counts / counts.sum(axis=1, keepdims=True)
    groups = [shares[cells.types == each] for each in np.unique(cells.types)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.argsort(-np.nan_to_num(kruskal(*groups).statistic), kind="stable")[:FIRST]


def found(cells: Cells, method: str, transform: str, known: np.ndarray) -> float:
    """Return the share of the known genes among as many first ones."""
    from scipy import sparse

    more = dict(METHODS[method])
    if method == "f-test":
        more["labels"] = np.array([f"type {k}" for k in cells.types], object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        order = sfs.rank(
            sparse.csr_matrix(cells.counts), transform=transform, threads=1, **more
        ).order
    return float(np.isin(order[: len(known)], known).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--methods", nargs="+", default=["spec", "variance"], choices=METHODS)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    for method in given.methods:
        print(f"\n`{method}`\n")
        print(f"| set | counts a cell | {' | '.join(f'`{t}`' for t in TRANSFORMS)} |")
        print("|---" * (2 + len(TRANSFORMS)) + "|")
        rows = []
        for cells in chain(every_set(given.data, given.seeds), bulk(given.data)):
            if cells.logarithms:
                continue
            known = truth(cells)
            row = [found(cells, method, transform, known) for transform in TRANSFORMS]
            depth = np.median(cells.counts.sum(axis=1))
            numbers = " | ".join(f"{value:.3f}" for value in row)
            print(f"| {cells.name} | {depth:,.0f} | {numbers} |", flush=True)
            if not cells.name.startswith("bulk"):
                rows.append(row)
        print(
            f"| mean of cells | | {' | '.join(f'{v:.3f}' for v in np.mean(rows, axis=0))} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
