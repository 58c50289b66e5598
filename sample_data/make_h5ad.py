"""Write the simulated study as an AnnData file with a neighbor graph and an embedding.

usage: python sample_data/make_h5ad.py FILE.h5ad
"""

from __future__ import annotations

import sys
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
from scipy import sparse

HERE = Path(__file__).parent
NEIGHBORS = 8
COMPONENTS = 10


def neighbors(values: np.ndarray) -> sparse.csr_matrix:
    """Return a 0/1 graph of the nearest neighbors of the rows, either way."""
    square = (values**2).sum(axis=1)
    distance = square[:, None] + square - 2 * values @ values.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBORS]
    graph = np.zeros(distance.shape)
    np.put_along_axis(graph, nearest, 1, axis=1)
    return sparse.csr_matrix(np.maximum(graph, graph.T))


def components(values: np.ndarray) -> np.ndarray:
    """Return the leading principal components of the rows."""
    left, sizes, _ = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    return left[:, :COMPONENTS] * sizes[:COMPONENTS]


def main() -> None:
    expression = pd.read_csv(HERE / "expression.csv", index_col=0).T
    labels = pd.read_csv(HERE / "labels.tsv", sep="\t", index_col=0)
    cells = anndata.AnnData(expression.astype("float32"), obs=labels.loc[expression.index])
    mirna = pd.read_csv(HERE / "mirna.csv", index_col=0).T.loc[expression.index]
    cells.obsp["connectivities"] = neighbors(mirna.to_numpy())
    cells.obsm["X_pca"] = components(mirna.to_numpy())
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    cells.write_h5ad(path)


if __name__ == "__main__":
    main()
