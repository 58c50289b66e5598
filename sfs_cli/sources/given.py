"""Similarities that are given: a file, or a graph that the matrix file holds."""

from __future__ import annotations

from pathlib import Path

from sfs_cli.errors import UsageError
from sfs_cli.io.sample_matrix import SimilarityFile, open_similarity


def open_given(spec: str, matrix: str) -> SimilarityFile:
    """Read a similarity.

    Parameters
    ----------
    spec : str
        A file, or ``obsp:KEY`` of the matrix.
    matrix : str
        The path of the matrix.

    Raises
    ------
    InputError
        When it cannot be read.
    UsageError
        When the matrix is of a format without graphs.
    """
    if not spec.startswith("obsp:"):
        return open_similarity(spec)
    from sfs_cli.io.h5ad import read_obsp

    path = Path(matrix)
    if path.suffix not in (".h5ad", ".zarr") and ".h5mu" not in path.name:
        raise UsageError(
            f"{spec} needs an h5ad or AnnData zarr input",
            where=matrix,
            hint="give it as a file (--similarity-file, or similarity:FILE of a source), or take "
            "another --similarity",
        )
    graph, samples = read_obsp(path, spec.removeprefix("obsp:"))
    return SimilarityFile(path, graph, samples, samples)
