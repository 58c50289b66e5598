"""``similarity``: an n x n matrix, as it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.graph.similarity import DenseSimilarity, SparseSimilarity, check_similarity
from sfs_cli.io.sample_matrix import SimilarityFile
from sfs_cli.sources.base import Opening, Target
from sfs_cli.sources.given import open_given
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec


class Given:
    """A similarity from a file, or a graph of the input.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    file : SimilarityFile
        The matrix and the ids of its rows and columns.
    """

    def __init__(self, spec: SourceSpec, file: SimilarityFile) -> None:
        self.spec = spec
        self.file = file
        self.samples: Sequence[str] | None = file.samples

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return the similarity between the samples, checked to be one."""
        S = self.file.aligned(samples)
        check_similarity(S, f"source {self.spec.name} ({self.spec.path})", samples)
        facts = {"similarity": "as given"}
        if isinstance(S, np.ndarray):
            return Graph(DenseSimilarity(S.astype(np.float64, copy=False)), facts)
        return Graph(SparseSimilarity(S.astype(np.float64)), facts | {"edges": S.nnz // 2})


def open_source(spec: SourceSpec, opening: Opening) -> Given:
    """Read the matrix.

    Raises
    ------
    InputError
        When it cannot be read, or its rows and columns are other things.
    """
    file = open_given(spec.path, opening.matrix)
    if file.samples == []:
        raise InputError(
            "rows and columns have no id in common: this is no similarity between samples",
            where=f"{spec.path}: rows are {listed(list(file.rows or ()), 3)}; columns are "
            f"{listed(list(file.columns or ()), 3)}",
            hint="give a table with the sample ids in its first line and column, .npz or .npy",
        )
    return Given(spec, file)
