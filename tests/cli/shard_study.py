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
    "knn": ("m.csv", "--similarity", "knn,neighbors=4"),
    "msfs": (
        *("m.csv", "--method", "msfs", "--source", "mirna=profile:mirna.csv"),
        *("--source", "all=target:", "--source", "tissue=labels:labels.tsv:tissue"),
        *("--weights", "2,1,1"),
    ),
    "pruned kogs": (
        *("m.csv", "--method", "kogs,members=fisher,variance"),
        *("--labels", "labels.tsv:tissue", "--max-correlation", "0.4"),
    ),
    "stability": ("m.csv", "--method", "spec", "--stability", "6"),
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
