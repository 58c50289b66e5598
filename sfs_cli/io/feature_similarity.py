"""Similarities between features: a list of edges, or a square matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted, listed
from sfs_cli.io.base import MatrixReader, RowBlock
from sfs_cli.io.edge_layout import names_an_edge
from sfs_cli.io.edges import read_edges
from sfs_cli.io.header import NULL_TOKENS, is_number, sniff_delimiter, split_fields
from sfs_cli.io.plain_text import first_lines
from sfs_cli.io.sniff import Kind, recognise, refuse_absent
from sfs_cli.io.sparse_table import read_sparse_table
from sfs_cli.io.text import text_suffix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ASYMMETRY_LIMIT = 1e-8
"""What opposite entries may differ by, as a share of the largest: rounding of other programs."""
_EDGE_COLUMNS = 3


def read_feature_similarity(
    path: Path, min_score: float | None = None
) -> tuple[list[str], csr_array, dict[str, Any]]:
    """Read how alike features are.

    Parameters
    ----------
    path : Path
        A list of edges (see `read_edges`; without scores all edges count 1), or a matrix in any
        format that is read, with the same ids in rows and columns, in any order. Text is told to
        be a matrix by its row ids, which its first line has as well.
    min_score : float, optional
        Lower similarities are left out.

    Returns
    -------
    ids : list of str, length l
        Features, in the order of the file (of the rows of a matrix).
    similarity : csr_array of float64, shape (l, l)
        Symmetric, zero or more, with an empty diagonal, which plays no part.
    facts : dict
        What was read and left out.

    Raises
    ------
    InputError
        If the file cannot be read, rows and columns have other ids, opposite entries differ, an
        entry is missing, negative or infinite, or nothing is left.
    """
    path = Path(path)
    content = recognise(path)
    refuse_absent(path, content)
    if content.kind is Kind.TEXT and not _is_matrix(path):
        ids, similarity, facts = _of_edges(path, min_score)
    else:
        ids, similarity, facts = _of_matrix(path, min_score)
    if not similarity.nnz:
        raise InputError(
            "no two features are alike",
            where=str(path),
            hint="lower min-score" if min_score is not None else "give similarities above zero",
        )
    return ids, similarity, facts


def _of_edges(path: Path, min_score: float | None) -> tuple[list[str], csr_array, dict[str, Any]]:
    from scipy.sparse import csr_array

    edges = read_edges(path, min_score)
    score = np.ones(len(edges.a)) if edges.score is None else edges.score
    ends = np.concatenate([edges.a, edges.b]), np.concatenate([edges.b, edges.a])
    made = csr_array((np.concatenate([score, score]), ends), shape=(len(edges.ids),) * 2)
    made.eliminate_zeros()
    return edges.ids, made, edges.facts


def _is_matrix(path: Path) -> bool:
    """Tell a square matrix from a list of edges, by the first lines."""
    head = first_lines(path, 50)
    lines = [text for _, text in head if not text.startswith("#")]
    if len(lines) < 2:
        return False
    delimiter = sniff_delimiter(lines[0], lines[1], text_suffix(path))
    if delimiter is None:
        return False
    names, *rows = (split_fields(line, delimiter) for line in lines)
    width = len(rows[0])
    columns = names if len(names) == width - 1 else names[1:]
    if not 0 <= width - len(names) <= 1:
        return False
    numbers = all(is_number(v) or v in NULL_TOKENS for row in rows for v in row[1:])
    if width > _EDGE_COLUMNS:
        known = sum(row[0] in columns for row in rows)
        is_square = 2 * known >= min(len(rows), len(columns))
        return is_square or (numbers and not names_an_edge(names))
    # a matrix of one or two features looks as an edge does, until all its ids are compared
    return numbers and sorted(row[0] for row in rows) == sorted(columns)


def _of_matrix(path: Path, min_score: float | None) -> tuple[list[str], csr_array, dict[str, Any]]:
    from scipy.sparse import csr_array

    if min_score is not None and not np.isfinite(min_score):
        raise UsageError(
            "min-score is not a finite number", where=str(path), hint="give one such as 0.5"
        )
    rows, columns, matrix = read_sparse_table(path, _checked)
    _refuse_other_ids(rows, columns, path)
    places = {name: i for i, name in enumerate(columns)}
    order = np.fromiter((places[name] for name in rows), np.intp, len(rows))
    made = csr_array(matrix[:, order])
    del matrix
    made = _without_diagonal(_symmetric(made, rows, path))
    facts: dict[str, Any] = {"format": "matrix"}
    if min_score is not None:
        low = made.data < min_score
        facts["below_min_score"] = int(low.sum()) // 2
        made.data[low] = 0.0
        made.eliminate_zeros()
    return rows, made, facts


def _checked(block: RowBlock, reader: MatrixReader) -> csr_array:
    """Return a block as a sparse one, if all its entries are similarities."""
    from scipy.sparse import coo_array, csr_array

    made = csr_array(block.values)
    wrong = np.flatnonzero(~((made.data >= 0) & np.isfinite(made.data)))
    if wrong.size:
        row, column = (int(index[wrong[0]]) for index in coo_array(made).coords)
        value = made.data[wrong[0]]
        what = "negative" if value < 0 else "not a finite number"
        raise InputError(
            "a similarity is missing" if np.isnan(value) else f"the similarity {value:g} is {what}",
            where=f"{reader.path}, row {block.ids[row]!r}, column {reader.column_ids[column]!r}",
            hint="similarities are numbers, zero or more",
        )
    made.eliminate_zeros()
    return made


def _refuse_other_ids(rows: Sequence[str], columns: Sequence[str], path: Path) -> None:
    only_rows = sorted(set(rows).difference(columns))
    only_columns = sorted(set(columns).difference(rows))
    if only_rows or only_columns:
        of_rows = f"{counted(len(only_rows), 'row')} alone ({listed(only_rows, 3)})"
        of_columns = f"{counted(len(only_columns), 'column')} alone ({listed(only_columns, 3)})"
        found = [text for text, ids in ((of_rows, only_rows), (of_columns, only_columns)) if ids]
        raise InputError(
            f"rows and columns have other ids: {' and '.join(found)}",
            where=str(path),
            hint="give a square matrix with one row and one column for each feature",
        )


def _symmetric(made: csr_array, ids: Sequence[str], path: Path) -> csr_array:
    """Return the mean of a matrix and its transpose, if they differ by rounding alone."""
    from scipy.sparse import coo_array, csr_array

    other = csr_array(made.T)
    apart = coo_array(abs(made - other))
    if apart.nnz and apart.data.max() > ASYMMETRY_LIMIT * made.data.max():
        worst = int(apart.data.argmax())
        i, j = sorted(int(index[worst]) for index in apart.coords)
        raise InputError(
            f"the matrix is not symmetric: row {ids[i]!r} has {made[i, j]:g} in column "
            f"{ids[j]!r}, and row {ids[j]!r} has {made[j, i]:g} in column {ids[i]!r}",
            where=str(path),
            hint="give a symmetric matrix, for example the mean of it and its transpose",
        )
    return csr_array((made + other) / 2)


def _without_diagonal(made: csr_array) -> csr_array:
    from scipy.sparse import coo_array, csr_array

    entries = coo_array(made)
    rows, columns = entries.coords
    off = rows != columns
    return csr_array((entries.data[off], (rows[off], columns[off])), shape=made.shape)
