"""What tests of cells promise where the donors are the replicates, and tests of their sums.

usage: python -m tools.benchmarks.pseudobulk [--seeds K] [--cells N] [--genes M]

Counts of N cells of each of 12 donors are drawn, six of them cases, without any effect: genes
differ between donors by a gamma factor with a coefficient of variation of 0.3, and cells vary about
that as Poisson counts of unequal depth. The table has the share of genes with a p-value of at most
0.05, and how many of M genes have a q-value so small, in the mean of K seeds.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

import sfs_cli as sfs

DONORS, SPREAD, LEVEL = 12, 0.3, 0.05
WAYS: dict[str, dict[str, Any]] = {
    "cells, t-test": {"method": "t-test", "transform": "cpm,log1p"},
    "cells, rank-test": {"method": "rank-test", "transform": "cpm,log1p"},
    "pseudobulk, t-test": {"method": "t-test", "transform": "log2cpm", "pseudobulk": "donor"},
    "pseudobulk, rank-test": {"method": "rank-test", "transform": "log2cpm", "pseudobulk": "donor"},
}


def drawn(seed: int, cells: int, genes: int) -> ad.AnnData:
    """Draw the counts of a seed."""
    rng = np.random.default_rng(seed)
    donor = np.arange(DONORS).repeat(cells)
    of_donors = rng.gamma(1 / SPREAD**2, SPREAD**2, (DONORS, genes))
    means = rng.gamma(0.5, 2, genes) * of_donors[donor] * rng.gamma(4, 0.25, (len(donor), 1))
    condition = np.where(donor < DONORS // 2, "case", "control")
    obs = pd.DataFrame(
        {"donor": [f"d{i}" for i in donor], "condition": condition},
        index=[f"c{i}" for i in range(len(donor))],
    )
    var = pd.DataFrame(index=[f"g{i}" for i in range(genes)])
    return ad.AnnData(csr_matrix(rng.poisson(means).astype("f4")), obs, var)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks.pseudobulk")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--genes", type=int, default=1000)
    asked = parser.parse_args()
    found: dict[str, list[tuple[float, int]]] = {way: [] for way in WAYS}
    warnings.simplefilter("ignore", sfs.SfsWarning)
    for seed in range(asked.seeds):
        data = drawn(seed, asked.cells, asked.genes)
        for way, options in WAYS.items():
            table = sfs.rank(data, labels="condition", inplace=False, **options).table
            small, q = table.p_value <= LEVEL, table.q_value <= LEVEL
            found[way].append((float(small[table.p_value.notna()].mean()), int(q.sum())))
    print("| tested | p <= 0.05 of null genes | genes with q <= 0.05 |\n|---|---|---|")
    for way, each in found.items():
        rate, count = np.mean(each, axis=0)
        print(f"| {way} | {100 * rate:.1f} % | {count:.1f} of {asked.genes:,} |")


if __name__ == "__main__":
    main()
