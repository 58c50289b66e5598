"""A small study that is ranked in shares, and whole."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import scipy.sparse as sp

from sfs_cli.cli.app import run
from tests.making import write_table

N, M = 24, 150

CASES: dict[str, tuple[str, ...]] = {
    "spec rbf": ("m.csv", "--method", "spec", "--similarity", "rbf"),
    "default": ("m.csv",),
    "phi3": ("m.csv", "--ranking", "phi3", "--clusters", "3"),
    "knn": ("m.csv", "--similarity", "knn", "--neighbors", "4"),
    "components": (
        *("counts.h5ad", "--similarity", "knn", "--neighbors", "4", "--transform", "cpm,log1p"),
        *("--components", "5", "--variable-genes", "80"),
    ),
    "components of a source": (
        *("m.csv", "--method", "msfs", "--source", "mirna=profile:mirna.csv"),
        *("--source", "x=target:,similarity=knn,neighbors=4,components=5,variable-genes=90"),
    ),
    "cpm": ("counts.h5ad", "--transform", "cpm,log1p"),
    "median": ("counts.h5ad", "--transform", "median,log1p", "--also", "variance"),
    "sparse fisher": ("counts.h5ad", "--method", "fisher", "--labels", "obs:tissue"),
    "label graph": ("m.csv", "--similarity", "label", "--labels", "labels.tsv:tissue"),
    "gdcov": ("m.csv", "--method", "gdcov"),
    "moments": ("m.csv", "--method", "gdcov", "--pvalues", "moments"),
    "permutations": ("m.csv", "--ranking", "phi1", "--pvalues", "permutation:40"),
    "split features": ("m.csv", "--pvalues", "moments", "--split", "features"),
    "split counts": (
        *("counts.h5ad", "--transform", "cpm,log1p", "--pvalues", "moments"),
        *("--split", "counts"),
    ),
    "intersect": (
        *("m.csv", "--method", "fisher", "--labels", "some.tsv:tissue"),
        *("--samples", "intersect"),
    ),
    "msfs": (
        *("m.csv", "--method", "msfs", "--source", "mirna=profile:mirna.csv"),
        *("--source", "all=target:", "--source", "tissue=labels:labels.tsv:tissue"),
        *("--weights", "2,1,1"),
    ),
    "kogs": (
        *("m.csv", "--method", "kogs", "--members", "spec,fisher,laplacian"),
        *("--labels", "labels.tsv:tissue"),
    ),
    "pruned": ("counts.h5ad", "--transform", "cpm,log1p", "--max-correlation", "0.3"),
    "pruned kogs": (
        *("m.csv", "--method", "kogs", "--members", "fisher,variance", "--keep", "40"),
        *("--labels", "labels.tsv:tissue", "--max-correlation", "0.4"),
    ),
    "adjusted": (
        *("gaps.csv", "--missing", "mean", "--method", "spec", "--similarity", "rbf"),
        *("--adjust", "labels.tsv:tissue"),
    ),
    "adjusted counts": (
        *("counts.h5ad", "--method", "fisher", "--labels", "obs:tissue"),
        *("--transform", "cpm,log1p", "--adjust", "obs:depth", "--max-correlation", "0.5"),
    ),
    "batches": (
        *("counts.h5ad", "--method", "spec", "--similarity", "knn", "--neighbors", "3"),
        *("--transform", "cpm,log1p", "--batch", "obs:tissue", "--min-batch-size", "8"),
    ),
    "mrsf": ("m.csv", "--method", "mrsf", "--select", "5"),
    "also": (
        *("m.csv", "--method", "f-test", "--labels", "labels.tsv"),
        *("--also", "spec,relieff,mrsf-rounds"),
    ),
    "stability": ("m.csv", "--method", "spec", "--stability", "6"),
    "stability in turn": ("m.csv", "--method", "spec", "--transform", "zscore", "--stability", "4"),
    "given": (
        *("m.csv", "--method", "spec", "--similarity", "knn", "--neighbors", "4"),
        *("--max-correlation", "0.3", "--given", "panel.txt"),
    ),
    "mrsf beside given": (
        *("m.csv", "--method", "mrsf", "--similarity", "rbf", "--select", "5"),
        *("--given", "panel.txt"),
    ),
    "missing": ("gaps.csv", "--missing", "mean", "--transform", "clr"),
}


def make_study(folder: Path) -> Path:
    """Write the files of all cases; features and samples have names that make warnings."""
    rng = np.random.default_rng(11)
    samples = [f"s{i}" for i in range(N)]
    tissue = ["liver", "lung", "skin"] * (N // 3)
    X = rng.normal(5, 2, (M, N)).round(3)
    X[:30] += np.arange(N) % 3
    X[40] = 1.5
    genes = [f"g{i}" for i in range(M - 1)] + ["g3"]
    write_table(folder / "m.csv", X, genes, samples)
    write_table(
        folder / "mirna.csv",
        rng.normal(size=(20, N)).round(3),
        [f"r{i}" for i in range(20)],
        samples,
    )
    X[2, 3] = np.nan
    X[70:73, 1] = np.nan
    write_table(folder / "gaps.csv", np.abs(X), [*genes[:-1], "last"], samples)
    rows = [f"{s}\t{t}" for s, t in zip(samples, tissue)]
    (folder / "labels.tsv").write_text("\n".join(["sample\ttissue", *rows, "stranger\tlung\n"]))
    (folder / "panel.txt").write_text("gene\ng7\ng5\ng40\ng12\n")
    (folder / "some.tsv").write_text("\n".join(["sample\ttissue", *rows[:-5]]) + "\n")
    counts = sp.csr_matrix(rng.poisson(0.4, (N, M)).astype(np.float32))

    data = ad.AnnData(
        counts,
        obs=pd.DataFrame(
            {"tissue": pd.Categorical(tissue), "depth": rng.normal(size=N)}, index=samples
        ),
        var=pd.DataFrame(index=[f"g{i}" for i in range(M)]),
    )
    data.write_h5ad(folder / "counts.h5ad")
    return folder


def sfs(*words: object) -> None:
    assert run([*map(str, words), "-q"]) == 0, words
