"""Similarities from files: between features (edges or a matrix) and between samples.

Those between samples can also be written, so that reading them gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.limits import TOO_LARGE
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.names import check_names, decoded, nfc
from sfs_cli.io.files.sniff import Kind, examine
from sfs_cli.io.files.table import NULL_TOKENS, first_rows, is_number, split_fields
from sfs_cli.io.files.text import arrow_file
from sfs_cli.io.knowledge.coordinates import read_inside
from sfs_cli.io.knowledge.edges import (
    is_named_as_edges,
    read_edges,
    score_fault,
)
from sfs_cli.io.knowledge.sample_columns import positions
from sfs_cli.io.matrix.base import (
    cast_values,
    read_dense_table,
    read_errors,
    read_sparse_table,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Similarity = np.ndarray | csr_array

ASYMMETRY_LIMIT = 1e-8
"""Opposite entries may differ by this share of the largest: rounding of other programs."""
_EDGE_COLUMNS = 3


def read_feature_similarity(
    path: Path, min_score: float | None = None
) -> tuple[list[str], csr_array, dict[str, Any]]:
    """Read a similarity between features.

    The file is a list of edges (see `read_edges`; without scores all edges count 1), or a matrix
    in any matrix format, with the same ids in rows and columns, in any order. Text is taken for a
    matrix when its row ids also stand in its first line. Similarities below `min_score` are left
    out.

    Returned are the ids of the l features, in the order of the rows of a matrix; the
    similarity as float64, shape (l, l), symmetric, zero or more, with an empty diagonal, which has
    no effect; and what was read and left out. Rows and columns with other ids, opposite entries
    that differ, an entry that is missing, negative or infinite, and nothing left are an
    `InputError`.
    """
    from scipy.sparse import csr_array

    path = Path(path)
    if examine(path).is_text and (is_named_as_edges(path) or not _is_matrix(path)):
        edges = read_edges(path, min_score)
        ids, facts = edges.ids, edges.facts
        score = np.ones(len(edges.a)) if edges.score is None else edges.score
        upper = csr_array((score, (edges.a, edges.b)), shape=(len(ids), len(ids)))
        similarity = upper + upper.T
        similarity.eliminate_zeros()
    else:
        ids, similarity, facts = _from_matrix(path, min_score)
    if not similarity.nnz:
        raise InputError(
            "no two features are similar",
            where=path,
            hint="lower min-score" if min_score is not None else "give similarities above zero",
        )
    return ids, similarity, facts


def _is_matrix(path: Path) -> bool:
    """Tell a square matrix from a list of edges, by the first lines."""
    lines, delimiter = first_rows(path)
    if len(lines) < 2 or delimiter is None:
        return False
    names, *rows = (split_fields(line, delimiter, path) for line in lines)
    width, ids = len(rows[0]), [row[0] for row in rows]
    columns = names[-(width - 1) :]
    if width > _EDGE_COLUMNS:
        known = sum(name in columns for name in ids)
        return 2 * known >= min(len(ids), len(columns))
    # a matrix of one or two features looks as an edge does, until all its ids are compared
    numbers = all(is_number(v) or v in NULL_TOKENS for row in rows for v in row[1:])
    return numbers and sorted(ids) == sorted(columns)


def _from_matrix(
    path: Path, min_score: float | None
) -> tuple[list[str], csr_array, dict[str, Any]]:
    from scipy.sparse import csr_array

    rows, columns, matrix = read_sparse_table(
        path,
        lambda values: (values >= 0) & (values < TOO_LARGE),
        lambda value: f"the similarity {value:g} is {score_fault(value)}",
        "similarities are numbers, zero or more",
    )
    if alone := sorted(set(rows).symmetric_difference(columns)):
        raise InputError(
            f"rows and columns have other ids: {counted(len(alone), 'id')} in one of them alone "
            f"({listed(alone, 3)})",
            where=path,
            hint="give a square matrix with one row and one column for each feature",
        )
    place = {name: i for i, name in enumerate(columns)}
    similarity = csr_array(matrix[:, np.array([place[name] for name in rows], np.intp)])
    del matrix
    similarity = _symmetric(similarity, rows, path)
    facts: dict[str, Any] = {"format": "matrix"}
    if min_score is not None:
        low = similarity.data < min_score
        facts["below_min_score"] = int(low.sum()) // 2
        similarity.data[low] = 0.0
        similarity.eliminate_zeros()
        if similarity.nnz:
            facts["lowest_score"] = float(similarity.data.min())
    return rows, similarity, facts


def _symmetric(matrix: csr_array, ids: Sequence[str], path: Path) -> csr_array:
    """Return the mean of a matrix and its transpose, if they differ by rounding alone.

    The diagonal becomes empty: it has no effect.
    """
    from scipy.sparse import coo_array, csr_array

    other = csr_array(matrix.T)
    apart = coo_array(abs(matrix - other))
    if apart.nnz and apart.data.max() > ASYMMETRY_LIMIT * matrix.data.max():
        worst = int(apart.data.argmax())
        i, j = sorted(int(index[worst]) for index in apart.coords)
        raise InputError(
            f"the matrix is not symmetric: row {ids[i]!r} has {matrix[i, j]:g} in column "
            f"{ids[j]!r}, and row {ids[j]!r} has {matrix[j, i]:g} in column {ids[i]!r}",
            where=path,
            hint="give a symmetric matrix, for example the mean of it and its transpose",
        )
    mean = coo_array((matrix + other) / 2)
    mean.data[mean.row == mean.col] = 0
    mean.eliminate_zeros()
    return csr_array(mean)


_DISTANCES = "distances"
"""What scanpy names them by, alone or after the key of a graph and ``_``."""
_GIVEN_BY = ("similarity_file", "source")


@dataclass
class SimilarityFile:
    """A similarity between samples as a file has it."""

    path: Path
    matrix: Similarity  # float64; symmetry, NaN and degrees are not checked
    rows: Sequence[str] | None = None  # sample ids; None where the file has none
    columns: Sequence[str] | None = None
    inside: bool = False  # whether it is in the file of the matrix

    def __post_init__(self) -> None:
        self.rows = self.rows and list(map(nfc, self.rows))
        self.columns = self.columns and list(map(nfc, self.columns))

    @property
    def samples(self) -> Sequence[str] | None:
        """The samples that have a row and a column; None where the file has no ids."""
        both = {*(self.columns or ())}
        return self.rows and [sample for sample in self.rows if sample in both]

    def aligned(
        self, sample_ids: Sequence[str], in_file: Sequence[str] | None = None
    ) -> Similarity:
        """Return the similarity of some samples in their order, shape (n, n) and float64.

        Other samples of the file are left out. One without ids has the samples of the matrix
        `in_file`, in their order there: all of them, or the `sample_ids` alone. An `InputError`
        says that it is not square, that samples are missing from it or repeated, or, where it has
        no ids, that its size is another.
        """
        rows, columns = self.rows, self.columns
        if rows is None or columns is None:
            wanted, rows = set(sample_ids), list(sample_ids if in_file is None else in_file)
            if self.matrix.shape[:1] != (len(rows),):
                rows = [sample for sample in rows if sample in wanted]
            columns = rows
        if (shape := self.matrix.shape) != (len(rows), len(columns)):
            raise InputError(
                f"the similarity has shape {shape}, but there are {len(rows):,} samples",
                where=self.path,
                hint="give a table with ids, and one row and one column for each sample",
                option=_GIVEN_BY,
            )
        if self.rows is None and rows == list(sample_ids):
            return self.matrix
        lack, hint = "are not in the similarity", "ids must be spelled as in the expression matrix"
        for_rows, for_columns = (
            positions(ids, sample_ids, lack, f"{self.path}, {axis}", hint, _GIVEN_BY)
            for ids, axis in ((rows, "rows"), (columns, "columns"))
        )
        return self.matrix[for_rows][:, for_columns]


def open_similarity(spec: str, matrix: str = "") -> SimilarityFile:
    """Read an n x n similarity between samples.

    `spec` is a table with the ids in its first column and its header (any matrix format), ``.npy``
    (no ids), or ``.npz`` as `scipy.sparse.save_npz` writes it, to which an array ``samples`` of ids
    may have been added; an array ``dense`` in place of the sparse ones is a full matrix. Or
    ``obsp:KEY`` of the `matrix` at a path.
    """
    if matrix and spec.startswith("obsp:"):
        graph, _, samples = read_inside(spec, matrix)
        key = spec.removeprefix("obsp:")
        if f"_{key}".endswith(f"_{_DISTANCES}"):
            raise InputError(
                f"{spec} holds distances, not similarities: samples that are far from each other "
                "would count as similar",
                where=matrix,
                hint=f"give {spec.removesuffix(_DISTANCES)}connectivities, which "
                "scanpy and squidpy write beside it",
                option="similarity",
            )
        return SimilarityFile(Path(matrix), graph, samples, samples, inside=True)
    path = Path(spec)
    content = examine(path)
    if content.kind is Kind.OBJECT:
        held = content.held
        return SimilarityFile(path, held.values, held.row_ids, held.column_ids)
    if path.suffix.lower() in (".npy", ".npz"):
        with read_errors(
            path,
            "an array of numbers",
            "write it with numpy.save or scipy.sparse.save_npz; ids as text, not objects",
        ):
            return _read_arrays(path)
    reader, row_ids, values = read_dense_table(
        path,
        "a table of similarities",
        "give a table with the sample ids in its first line and column, .npy or .npz",
    )
    return SimilarityFile(path, values, row_ids, list(reader.column_ids))


def _read_arrays(path: Path) -> SimilarityFile:
    from scipy.sparse import load_npz

    from sfs_cli.io.matrix.stored import checked_csr

    found = np.load(path, allow_pickle=False)
    if isinstance(found, np.ndarray):
        return SimilarityFile(path, cast_values(found, "float64", path))
    with found as arrays:
        ids, dense = arrays.get("samples"), arrays.get("dense")
    if dense is None:
        matrix: Similarity = checked_csr(load_npz(path), path)
    else:
        matrix = cast_values(dense, "float64", path)
    if ids is None:
        return SimilarityFile(path, matrix)
    samples = list(map(decoded, ids.tolist()))
    check_names(samples, "a sample", path)
    return SimilarityFile(path, matrix, samples, samples)


FORMATS = (".npz", ".parquet", ".tsv", ".csv", ".h5ad")
"""Suffixes that a similarity between samples can be written with."""


def write_similarity(path: Path, similarity: Similarity, samples: Sequence[str]) -> None:
    """Write a similarity of n samples, shape (n, n); the suffix of the path tells the format.

    ``.npz`` holds a dense one as ``dense``, a sparse one as `scipy.sparse.save_npz` writes it, and
    ``samples``; ``.tsv`` and ``.csv`` are tables with ids in the first column and the header, and
    ``.parquet`` a data frame of pandas with the ids as its index. A sparse one, which would be a
    table of mostly zeros, is an `InputError` there.
    """
    if path.suffix == ".npz":
        arrays: dict[str, Any] = {"dense": similarity}
        if not isinstance(similarity, np.ndarray):
            # as scipy.sparse.save_npz writes them, which takes no further array
            arrays = {"format": np.array(b"csr"), "shape": np.array(similarity.shape)}
            arrays |= {key: getattr(similarity, key) for key in ("indptr", "indices", "data")}
        with path.open("wb") as file:
            np.savez(file, samples=np.array(samples), **arrays)
        return
    if not isinstance(similarity, np.ndarray):
        raise InputError(
            f"a sparse similarity of {len(samples):,} samples cannot be written as a table",
            hint="give the output the suffix .npz",
        )
    import pandas as pd

    frame = pd.DataFrame(similarity, pd.Index(samples, name="sample"), list(samples))
    if path.suffix == ".parquet":
        with arrow_file(path, "wb") as out:
            frame.to_parquet(out)
    else:  # numbers as the shortest text that reads back as the same
        frame.to_csv(path, sep="," if path.suffix == ".csv" else "\t", lineterminator="\n")
