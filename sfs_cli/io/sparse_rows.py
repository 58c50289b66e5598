"""Blocks of sparse rows: where to cut them, and checking that they are what they should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from sfs_cli.errors import InputError

_POINTER_BYTES = 8


def row_spans(indptr: np.ndarray, entry_bytes: int, block_bytes: int) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges of about equal size.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n + 1,)
        Where each row begins among the entries.
    entry_bytes : int
        Size of one entry with its index.
    block_bytes : int
        Size of a range; a range is larger only where it is one row.

    Yields
    ------
    start, stop : int
    """
    cost = indptr * entry_bytes + np.arange(len(indptr)) * _POINTER_BYTES
    start, n = 0, len(indptr) - 1
    while start < n:
        fitting = int(np.searchsorted(cost, cost[start] + block_bytes, side="right")) - 1
        stop = max(start + 1, fitting)
        yield start, stop
        start = stop


def csr_block(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n_columns: int, where: str
) -> csr_array:
    """Make sparse rows whose indices are sorted, and checked.

    Parameters
    ----------
    data, indices : ndarray, shape (nnz,)
        Values and their columns.
    indptr : ndarray, shape (n + 1,)
        Where each row begins, from 0.
    n_columns : int
        Number of columns.
    where : str
        File and place in it, for messages.

    Returns
    -------
    csr_array, shape (n, n_columns)

    Raises
    ------
    InputError
        An index is out of bounds, or a row has two values for one column.
    """
    if indices.size and (indices.min() < 0 or indices.max() >= n_columns):
        raise InputError(
            f"the sparse matrix is damaged: a column index is outside 0 to {n_columns - 1:,}",
            where=where,
            hint="copy or write the file again",
        )
    kind = np.int32 if max(n_columns, len(data)) < 2**31 else np.int64
    arrays = (data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
    rows = csr_array(arrays, shape=(len(indptr) - 1, n_columns))
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise InputError(
            "the sparse matrix has two values for one row and column",
            where=where,
            hint="add them up with sum_duplicates() if that is meant, or write the file again",
        )
    return rows
