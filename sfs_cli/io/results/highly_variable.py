"""What marks the best features of a ranking as highly variable ones, for scanpy.

``scanpy.pp.pca`` and others read ``var["highly_variable"]``. ``scanpy.pl.highly_variable_genes``
plots dispersions by means as well, and reads how they were made from ``uns["hvg"]``.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from sfs_cli.ranking.dispersion import dispersions, moments

MARK = "highly_variable"
FLAVOR = "sfs"
"""What chose the genes, beside the flavors of scanpy."""
UNPLOTTED = (
    "the matrix has values below zero, of which there are no dispersions: "
    "scanpy.pl.highly_variable_genes has nothing to plot; plot the scores, with "
    "scanpy.pl.scatter(adata, x='sfs_rank', y='sfs_score')"
)
PLOTTED = ("means", "dispersions", "dispersions_norm")


def plotted_columns(path: Path, layer: str | None = None) -> dict[str, np.ndarray]:
    """Return the columns that scanpy plots, of the matrix or a layer as it is stored.

    One pass over the file. Nothing is returned where values are below zero, as in a matrix that was
    scaled: a variance by such a mean says nothing.
    """
    with closing(open_matrix(path, ReadOptions(dtype="float64", layer=layer))) as reader:
        blocks = (block.values for block in reader.blocks())
        found = moments(blocks, of_samples=reader.fixed_rows == "samples")
    if found.smallest < 0:
        return {}
    return dict(zip(PLOTTED, (found.means, *dispersions(found.means, found.variances))))
