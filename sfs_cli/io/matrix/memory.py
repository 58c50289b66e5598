"""Matrices that are in memory already: data frames and AnnData, backed ones included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.matrix.base import (
    Annotations,
    Axis,
    MatrixReader,
    ReadOptions,
    cast_values,
    read_errors,
)
from sfs_cli.io.matrix.stored import StoredMatrix, StoredReader, check_sparse

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Table:
    """A matrix with ids, and what is known of its samples.

    Attributes
    ----------
    values : ndarray, sparse matrix, or a backed one of AnnData
        Shape (rows, columns).
    row_ids, column_ids : sequence of str
        Ids.
    samples_are_rows : bool, optional
        None where labels are to tell.
    obs : DataFrame, optional
        A row for each sample, in order.
    obsp, obsm : mapping
        What compares the samples: graphs, shape (n, n), and coordinates, shape (n, d).
    facts : mapping
        As of `Annotations`.
    """

    values: Any
    row_ids: Sequence[str]
    column_ids: Sequence[str]
    samples_are_rows: bool | None = None
    obs: pd.DataFrame | None = None
    obsp: Mapping[str, Any] = field(default_factory=dict)
    obsm: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


def table_of(adata: Any, options: ReadOptions | None = None) -> Table:
    """Return the matrix of an AnnData: ``X``, a layer or ``raw.X``.

    Raises InputError where it is not there.
    """
    from sfs_cli.io.matrix.anndata import chosen_part

    parts = ["X"] if adata.X is not None else []
    parts += ["raw"] if adata.raw is not None else []
    parts += [f"layers/{name}" for name in adata.layers]
    part = chosen_part(parts, options or ReadOptions())
    values, names = adata.X, adata.var_names
    if part == "raw":
        values, names = adata.raw.X, adata.raw.var_names
    elif part != "X":
        values = adata.layers[part.removeprefix("layers/")]
    samples, features = (list(map(str, ids)) for ids in (adata.obs_names, names))
    logged = part == "X" and dict(adata.uns.get("log1p", {"base": 0})).get("base") is None
    facts = {"log1p": True} if logged else {}
    return Table(values, samples, features, True, adata.obs, adata.obsp, adata.obsm, facts)


def is_sparse(value: Any) -> bool:
    """Tell sparse matrices and arrays of SciPy from everything else."""
    return bool(issparse(value))


def open_held(path: Path, held: Any, options: ReadOptions) -> MatrixReader:
    """Return a reader of what a name stands for: an AnnData, or a `Table`."""
    if isinstance(held, Table):
        if options.layer is not None:
            raise UsageError(
                "layer needs AnnData or MuData", where=path, hint="leave it out", option="layer"
            )
        return open_table(path, held, options)
    return open_table(path, table_of(held, options), options)


def open_table(path: Path, table: Table, options: ReadOptions) -> MatrixReader:
    """Return a reader of a matrix in memory; `path` is its name in messages."""
    from sfs_cli.io.matrix.anndata import arrow_table

    values = table.values
    if len(values.shape) != 2:
        raise InputError(
            f"the matrix has {len(values.shape)} axes, not 2",
            where=path,
            hint="give an id for each row and column",
        )
    samples_are_rows = table.samples_are_rows
    features, samples = table.row_ids, table.column_ids
    if samples_are_rows:
        features, samples = samples, features
    flags = getattr(values, "flags", None)
    across = flags is not None and flags.f_contiguous and not flags.c_contiguous
    across = across or getattr(values, "format", "") == "csc"
    across = across and samples_are_rows is not None  # who does not say it reads rows as they are
    if across:
        samples_are_rows = not samples_are_rows
    fixed_rows: dict[bool | None, Axis] = {True: "samples", False: "features"}
    comparing = [f"{part}:{name}" for part in ("obsp", "obsm") for name in getattr(table, part)]
    obs = None if table.obs is None else arrow_table(table.obs)
    return StoredReader(
        path=path,
        format="memory",
        features=features,
        samples=samples,
        fixed_rows=fixed_rows.get(samples_are_rows),
        matrix=_RowsInMemory(values, across, str(path)),
        options=options,
        release=lambda: None,
        annotations=Annotations(obs, tuple(comparing), dict(table.facts)),
    )


class _RowsInMemory(StoredMatrix):
    """Rows, or `across` the columns, of an array, a sparse matrix, or a backed one of AnnData."""

    def __init__(self, values: Any, across: bool, where: str) -> None:
        n, m = map(int, values.shape)
        self.shape = (m, n) if across else (n, m)
        self._values, self._across = values, across
        with read_errors(Path(where), "AnnData"):  # a backed one reads its file here
            first = self._rows(0, 1)
        kind = type(first)
        self.sparse = is_sparse(values) or is_sparse(first)
        if not self.sparse and not hasattr(values, "dtype"):
            raise InputError(
                f"a matrix of type {kind.__name__} cannot be read",
                where=where,
                hint="give an array, a sparse matrix, a data frame or AnnData",
            )
        self._where = where

    def _rows(self, start: int, stop: int) -> Any:
        # a backed matrix by columns has no transpose of its own
        return self._values[:, start:stop].T if self._across else self._values[start:stop]

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, np.ndarray | csr_array]]:
        """Yield blocks of about equal numbers of rows."""
        n, m = self.shape
        itemsize = np.dtype(options.dtype).itemsize
        rows = max(1, options.block_bytes // max(1, m * itemsize))
        for start in range(0, n, rows):
            stop = min(start + rows, n)
            block = self._rows(start, stop)
            if self.sparse:
                yield start, stop, real(block, self._where, options.dtype)
            else:
                values = cast_values(np.asarray(block), options.dtype, self._where)
                yield start, stop, np.ascontiguousarray(values)


def real(values: Any, where: str, dtype: str = "float64") -> np.ndarray | csr_array:
    """Return a dense or sparse matrix of numbers in a type; InputError for other values."""
    if not is_sparse(values):
        return cast_values(values, dtype, where)
    check_sparse(values, where)
    made = csr_array(values, copy=True)  # they may be all of the user's matrix
    made.sum_duplicates()
    data = cast_values(made.data, dtype, where)
    return csr_array((data, made.indices, made.indptr), shape=made.shape)


def read_held(
    held: Any, part: str, key: str, where: str
) -> tuple[np.ndarray | csr_array, Sequence[str], Sequence[str]]:
    """Do what `anndata.read_inside` does for an AnnData, or a `Table`, in memory."""
    from sfs_cli.io.matrix.anndata import inside

    table = held if isinstance(held, Table) else table_of(held)
    known = getattr(table, part)

    def plain(name: str) -> Any:
        found = known[name]
        if part == "obsp":
            return real(found if is_sparse(found) else np.asarray(found), where)
        return found.toarray() if is_sparse(found) else found

    found = {name: partial(plain, name) for name in known}
    return *inside(found, part, key, len(table.row_ids), where), table.row_ids
