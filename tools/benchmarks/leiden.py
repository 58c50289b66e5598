"""Do the clusters of single cells survive our gene lists? scanpy's steps on lists of several kinds.

usage: python -m tools.benchmarks.leiden DATA [--genes N] [--add "NAME=OPTIONS OF sfs rank" ...]
           [--peers FOLDER]

The genes are chosen without labels by `sfs rank` and by the flavors of scanpy's highly variable
genes. On the first N of them follow scanpy's scaling, principal components, neighbors and Leiden
clusters with five seeds; what counts is the adjusted Rand index with the known types. The sets are
pbmc68k_reduced (logarithms of 700 cells, types of the authors) and 2,000 simulated cells of eight
types, two of them rare, whose depths differ.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from tools.benchmarks.lists import FLAVORS, ranked
from tools.benchmarks.peers import default_folder, environment, run_peer
from tools.benchmarks.table import Bench

SEEDS = 5
RANKINGS = {"default": "", "most variable genes": "--method variance"}


def simulated(n: int = 2000, m: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return counts, genes x cells, and the type of each cell.

    A type has 30 markers with up to 6 times the expression; a gene's counts are negative binomial
    about a mean that differs between genes by two orders of magnitude, and so does the depth
    between cells by a factor of about 3.
    """
    rng = np.random.default_rng(seed)
    types = rng.choice(8, n, p=[0.25, 0.2, 0.15, 0.15, 0.1, 0.09, 0.04, 0.02])
    level = np.exp(rng.normal(-1.5, 1.2, m))
    effect = np.ones((m, 8))
    for each in range(8):
        markers = rng.choice(m, 30, replace=False)
        effect[markers, each] = rng.uniform(2, 6, 30)
    depth = np.exp(rng.normal(0, 0.35, n))
    mean = level[:, None] * effect[:, types] * depth
    counts = rng.poisson(rng.gamma(4, mean / 4))
    names = [f"gene{i:04d}" for i in range(m)]
    return pd.DataFrame(counts.astype(float), names, [f"cell{i}" for i in range(n)]), types


def pbmc(data: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the logarithms of pbmc68k_reduced, genes x cells, and the types of the cells."""
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = anndata.read_h5ad(data / "pbmc68k_reduced" / "10x_pbmc68k_reduced.h5ad")
    X = cells.raw.to_adata().to_df().T if cells.raw is not None else cells.to_df().T
    return X.astype(np.float64), pd.factorize(cells.obs["bulk_labels"])[0]


def agreement(X: np.ndarray, types: np.ndarray, python: Path) -> list[float]:
    """Return the adjusted Rand index of each seed, of cells by these genes."""
    found = run_peer(python, "scanpy", "leiden", {"X": X.T}, seeds=SEEDS).found["clusters"]
    return [float(adjusted_rand_score(types, row)) for row in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--genes", type=int, default=200)
    parser.add_argument("--add", action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    given = parser.parse_args()
    rankings = RANKINGS | dict(text.split("=", 1) for text in given.add)
    counts, types = simulated()
    normalized = np.log1p(counts * (counts.sum().median() / counts.sum(axis=0)))
    sets = [
        ("pbmc68k_reduced", *pbmc(given.data), None),
        ("2,000 simulated cells", normalized, types, counts),
    ]
    print("| set | genes by | ARI, mean | each seed |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="sfs-leiden-") as folder:
        bench = Bench(Path(folder), given.peers.absolute())
        python = environment(bench, "scanpy")
        for name, X, known, raw in sets:
            X = X[X.to_numpy().std(axis=1) > 0]
            file = Path(folder) / "matrix.parquet"
            X.to_parquet(file)
            lists = {key: ranked(file, options) for key, options in rankings.items()}
            for flavor in FLAVORS:
                values = X if flavor != "seurat_v3" or raw is None else raw.loc[X.index]
                inputs = {"X": values.to_numpy()}
                score = run_peer(python, "scanpy", "flavor", inputs, flavor=flavor).found["score"]
                lists[f"scanpy {flavor}"] = list(X.index[np.argsort(-score, kind="stable")])
            lists["all genes"] = list(X.index)
            for key, genes in lists.items():
                taken = genes if key == "all genes" else genes[: given.genes]
                found = agreement(X.loc[taken].to_numpy(), known, python)
                each = ", ".join(f"{value:.3f}" for value in found)
                print(f"| {name} | {key} | {np.mean(found):.3f} | {each} |", flush=True)


if __name__ == "__main__":
    main()
