"""Writing a similarity between samples, with their ids, so that reading it gives the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.io.atomic import replacing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FORMATS = (".npz", ".parquet", ".tsv", ".csv", ".h5ad")


def write_similarity(
    path: Path, similarity: np.ndarray | csr_array, samples: Sequence[str]
) -> None:
    """Write a similarity; the suffix of the path tells the format.

    Parameters
    ----------
    path : Path
        ``.npz`` (dense as ``dense``, sparse as `scipy.sparse.save_npz` has it, with ``samples``),
        ``.parquet``, ``.tsv`` or ``.csv`` (a table with ids in the first column and the header).
    similarity : ndarray or csr_array, shape (n, n)
        The similarity; a sparse one is written as ``.npz`` alone.
    samples : sequence of str, length n
        Ids of its rows and columns.

    Raises
    ------
    InputError
        When it cannot be written, or would be a table of mostly zeros.
    """
    if path.suffix == ".npz":
        with replacing(path) as partial:
            _write_npz(partial, similarity, samples)
        return
    if not isinstance(similarity, np.ndarray):
        raise InputError(
            f"a sparse similarity of {len(samples):,} samples is no table",
            where=str(path),
            hint="give the output the suffix .npz",
        )
    with replacing(path) as partial:
        if path.suffix == ".parquet":
            _write_parquet(partial, similarity, samples)
        else:
            _write_text(partial, similarity, samples, "," if path.suffix == ".csv" else "\t")


def write_obsp(source: Path, target: Path, key: str, similarity: np.ndarray | csr_array) -> None:
    """Copy an h5ad with a similarity of all its samples under ``obsp``.

    Parameters
    ----------
    source, target : Path
        The file, and the copy.
    key : str
        Name of the graph.
    similarity : ndarray or csr_array, shape (n, n)
        In the order of ``obs``.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    import shutil

    import h5py
    from anndata.io import write_elem

    with replacing(target) as partial:
        shutil.copyfile(source, partial)
        with h5py.File(partial, "r+") as file:
            if "obsp" not in file:
                write_elem(file, "obsp", {})
            write_elem(file["obsp"], key, similarity)


def _write_npz(path: Path, similarity: Any, samples: Sequence[str]) -> None:
    ids = np.array(list(samples))
    if isinstance(similarity, np.ndarray):
        arrays: dict[str, Any] = {"dense": similarity}
    else:
        arrays = {
            "format": np.array(b"csr"),
            "shape": np.array(similarity.shape),
            "indptr": similarity.indptr,
            "indices": similarity.indices,
            "data": similarity.data,
        }
    with path.open("wb") as file:
        np.savez(file, samples=ids, **arrays)


def _write_parquet(path: Path, similarity: np.ndarray, samples: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(samples)
    columns = [pa.array(names), *(pa.array(column) for column in similarity.T)]
    pq.write_table(pa.Table.from_arrays(columns, names=[_ids_name(names), *names]), path)


def _write_text(path: Path, similarity: np.ndarray, samples: Sequence[str], delimiter: str) -> None:
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([_ids_name(samples), *samples])
        for sample, row in zip(samples, similarity.tolist()):
            writer.writerow([sample, *row])  # as the shortest text that reads back as the number


def _ids_name(samples: Sequence[str]) -> str:
    """Return a name for the column of ids that no sample has."""
    name = "sample"
    while name in samples:
        name += "_id"
    return name
