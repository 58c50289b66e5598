"""Matrices that are in memory already: data frames and AnnData, backed ones included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from sfs_cli.errors import InputError, UsageError, listed
from sfs_cli.io.files.names import decoded
from sfs_cli.io.matrix.base import (
    RAW,
    Annotations,
    Axis,
    MatrixReader,
    ReadOptions,
    read_errors,
)
from sfs_cli.io.matrix.stored import (
    ArrayRows,
    SparseRows,
    StoredMatrix,
    StoredReader,
    is_sparse,
    real,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


COMPARING = {
    "obsp": ("graph", "; scanpy.pp.neighbors writes 'connectivities' and 'distances'"),
    "obsm": ("coordinates", "; a table with a row for each sample is --coordinates FILE"),
}
"""What compares samples: its name, and who writes it."""


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


def table_of(adata: Any, options: ReadOptions | None = None, where: object = None) -> Table:
    """Return the matrix of an AnnData: ``X``, a layer or ``raw.X``.

    Raises InputError where it is not there.
    """
    parts = ["X"] if adata.X is not None else []
    parts += ["raw"] if adata.raw is not None else []
    parts += [f"layers/{name}" for name in adata.layers if name is not None]  # None is X
    part = chosen_part(parts, options or ReadOptions(), where)
    values, names = adata.X, adata.var_names
    if part == "raw":
        values, names = adata.raw.X, adata.raw.var_names
    elif part != "X":
        values = adata.layers[part.removeprefix("layers/")]
    samples, features = (list(map(str, ids)) for ids in (adata.obs_names, names))
    facts: dict[str, Any] = {"matrices": parts}
    if part in ("X", "raw") and "log1p" in adata.uns:
        facts |= logged(adata.uns["log1p"])
    return Table(values, samples, features, True, adata.obs, adata.obsp, adata.obsm, facts)


def logged(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fact ``log1p`` by ``uns["log1p"]``: True of natural logarithms, else the base."""
    base = dict(said).get("base")
    return {"log1p": True if base is None or base == "e" else float(base)}


def chosen_part(parts: list[str], options: ReadOptions, where: object = None) -> str:
    """Return which part of AnnData is read: X, raw, or a layer (``layers/NAME``).

    Raises InputError where it is not there.
    """
    asked, name = "X", "X"
    if options.layer == RAW:
        asked, name = "raw", "raw matrix"
    elif options.layer is not None:
        asked, name = f"layers/{options.layer}", f"layer {options.layer!r}"
    if asked not in parts:
        words = {"X": "X (without --layer)", "raw": f"--layer {RAW}"}
        there = [words.get(part, f"--layer {part.removeprefix('layers/')!r}") for part in parts]
        hint = f"the file has {listed(there, 20) or 'no matrix'}"
        raise InputError(f"there is no {name}", where=where, hint=hint)
    return asked


def arrow_table(obs: pd.DataFrame) -> pa.Table | None:
    """Return the columns that Arrow has a type for, categories as such; None without any.

    Text is categories: AnnData makes them of it when it is written.
    """
    import pyarrow as pa

    columns = {str(column): _arrow_column(obs[column]) for column in obs.columns}
    known = {column: values for column, values in columns.items() if values is not None}
    return pa.table(known) if known else None


def _arrow_column(series: pd.Series) -> pa.Array | None:
    """Return a column, categories as such with their names as text; None if Arrow has no type."""
    import pandas as pd
    import pyarrow as pa

    try:
        if isinstance(series.dtype, pd.CategoricalDtype):
            codes = pa.array(series.cat.codes, mask=series.isna().to_numpy())
            names = pa.array([decoded(name) for name in series.cat.categories], pa.string())
            return pa.DictionaryArray.from_arrays(codes, names)
        found = pa.Array.from_pandas(series)
        kind = found.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return found.cast(pa.string()).dictionary_encode()
        return found
    except pa.ArrowException:
        return None


def open_held(path: Path, held: Any, options: ReadOptions) -> MatrixReader:
    """Return a reader of what a name stands for: an AnnData, or a `Table`."""
    if isinstance(held, Table):
        if options.layer is not None:
            raise UsageError(
                "layer needs AnnData or MuData", where=path, hint="leave it out", option="layer"
            )
        return open_table(path, held, options)
    return open_table(path, table_of(held, options), options)


def open_table(
    path: Path,
    table: Table,
    options: ReadOptions,
    name: str = "memory",
    release: Callable[[], None] = lambda: None,
) -> MatrixReader:
    """Return a reader of a matrix in memory; `path` is its name in messages."""
    values = table.values
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
    rows: StoredMatrix
    with read_errors(path, "AnnData"):  # a backed one reads its file here
        if hasattr(values, "group"):  # sparse, left in a file by AnnData
            n, m = values.shape
            rows = SparseRows(values.group, (m, n) if across else (n, m), path)
        else:
            rows = ArrayRows(values, across, path)
    fixed_rows: dict[bool | None, Axis] = {True: "samples", False: "features"}
    comparing = [f"{part}:{name}" for part in ("obsp", "obsm") for name in getattr(table, part)]
    obs = None if table.obs is None else arrow_table(table.obs)
    return StoredReader(
        path=path,
        format=name,
        features=features,
        samples=samples,
        fixed_rows=fixed_rows.get(samples_are_rows),
        matrix=rows,
        options=options,
        release=release,
        annotations=Annotations(obs, tuple(comparing), dict(table.facts)),
    )


def read_held(
    held: Any, part: str, key: str, where: str
) -> tuple[np.ndarray | csr_array, Sequence[str], Sequence[str]]:
    """Do what `anndata.read_inside` does for an AnnData, or a `Table`, in memory."""
    table = held if isinstance(held, Table) else table_of(held)
    known = getattr(table, part)

    def plain(name: str) -> Any:
        found = known[name]
        return found.toarray() if part == "obsm" and is_sparse(found) else found

    found = {name: partial(plain, name) for name in known}
    return *inside(found, part, key, len(table.row_ids), where), table.row_ids


def of_samples(values: Any, at: np.ndarray, *, both: bool) -> Any:
    """Return the rows of some samples, of a graph (`both`) their columns, too."""
    rows = values.iloc[at] if hasattr(values, "iloc") else values[at]
    return rows[:, at] if both else rows


def inside(
    found: Mapping[str, Callable[[], Any]], part: str, key: str, n: int, where: object
) -> tuple[csr_array | np.ndarray, Sequence[str]]:
    """Return what compares n samples: a graph (`part` is obsp), or coordinates (obsm).

    `found` makes each by its name. The graph, shape (n, n), is as it is stored: the indices of a
    sparse one are checked, neither symmetry nor the values. Coordinates, shape (n, d), are float64
    (NaN is not refused), and come with the names of their columns. No such key, another shape, and
    coordinates that are no dense table of real numbers are an `InputError`.
    """
    if key not in found:
        noun, more = COMPARING[part]
        hint = f"it has {listed(list(found), 20) or 'none'}{more}"
        raise InputError(f"{part} has no {noun} {key!r}", where=where, hint=hint)
    element, place = found[key](), f"{where}, {part}/{key}"
    columns = [str(name) for name in getattr(element, "columns", ())]
    sparse = hasattr(element, "tocsr")
    if part == "obsp":
        values = real(element, place)
        fits = values.shape == (n, n)
    else:
        kinds = element.dtypes if columns else [getattr(element, "dtype", None)]
        if sparse or any(getattr(kind, "kind", "") not in "fiub" for kind in kinds):
            raise InputError(
                f"the coordinates are {'a sparse matrix' if sparse else 'not numbers'}",
                where=place,
                hint="write them as a dense array of numbers, one row for each sample",
            )
        values = np.asarray(element, np.float64)
        fits = values.ndim == 2 and len(values) == n and values.size > 0
    if not fits:
        what = f"it has shape {values.shape}, but there are {n:,} samples"
        more = "and a column for each sample" if part == "obsp" else "of numbers for each sample"
        hint = f"write it again, with a row {more}"
        raise InputError(what, where=place, hint=hint)
    if part == "obsm" and not columns:
        columns = [f"column {i + 1}" for i in range(values.shape[1])]
    return values, columns
