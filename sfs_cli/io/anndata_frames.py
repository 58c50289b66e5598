"""``obs``, ``var`` and ``obsp`` of AnnData files, of today's layout and of those before 0.7."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from sfs_cli.errors import InputError, listed
from sfs_cli.io.stored_arrays import storage_errors

if TYPE_CHECKING:
    import pandas as pd

_OLD_GRAPHS = "uns/neighbors"


def read_frame(group: Any, key: str, path: Path) -> pd.DataFrame:
    """Read ``obs`` or ``var``, its index being the ids.

    Parameters
    ----------
    group : h5py or zarr group
        Root of the AnnData file.
    key : str
        Where the data frame is in it.
    path : Path
        The file, for messages.

    Returns
    -------
    pandas.DataFrame
        The index is of strings.

    Raises
    ------
    InputError
        The data frame has no index, or cannot be read.
    """
    frame = _read_element(group, key, path)
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        frame = _old_frame(group, frame)
    if not hasattr(frame, "index") or not hasattr(frame, "columns"):
        raise InputError(
            f"{key} is not a data frame",
            where=str(path),
            hint="write the file again with AnnData.write_h5ad",
        )
    frame.index = [_text(name) for name in frame.index]
    return frame


def frame_table(frame: pd.DataFrame) -> pa.Table | None:
    """Turn a data frame into an Arrow table, categories as strings.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    pyarrow.Table or None
        Without the index and the columns that Arrow has no type for; None if nothing is left.
    """
    columns = {str(name): _arrow_column(frame[name]) for name in frame.columns}
    kept = {name: column for name, column in columns.items() if column is not None}
    return pa.table(kept) if kept else None


def graph_names(group: Any) -> tuple[str, ...]:
    """Return the names of the sample graphs that an AnnData file holds."""
    return tuple(_graph_keys(group))


def read_graph(group: Any, key: str, path: Path) -> csr_array | np.ndarray:
    """Read one sample graph.

    Parameters
    ----------
    group : h5py or zarr group
        Root of the AnnData file.
    key : str
        Name under ``obsp``.
    path : Path
        The file, for messages.

    Returns
    -------
    csr_array or ndarray, shape (n, n)

    Raises
    ------
    InputError
        There is no such graph; those there are get listed.
    """
    keys = _graph_keys(group)
    if key not in keys:
        there = f"it has {listed(list(keys))}" if keys else "it has none"
        raise InputError(
            f"there is no graph {key!r} in obsp",
            where=str(path),
            hint=f"{there}; scanpy.pp.neighbors writes 'connectivities' and 'distances'",
        )
    graph = _read_element(group, keys[key], path)
    return csr_array(graph.tocsr()) if hasattr(graph, "tocsr") else np.asarray(graph)


def _graph_keys(group: Any) -> dict[str, str]:
    if "obsp" in group:
        return {name: f"obsp/{name}" for name in group["obsp"]}
    if _OLD_GRAPHS not in group:
        return {}
    members = {name: f"{_OLD_GRAPHS}/{name}" for name in group[_OLD_GRAPHS]}
    return {name: key for name, key in members.items() if "indptr" in _members(group[key])}


def _members(element: Any) -> Sequence[str]:
    return list(element) if hasattr(element, "keys") else []


def _read_element(group: Any, key: str, path: Path) -> Any:
    from anndata.io import read_elem

    with storage_errors(path, f"AnnData ({key})"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # files from old versions are read all the same
        return read_elem(group[key])


def _old_frame(group: Any, records: np.ndarray) -> pd.DataFrame:
    # before 0.7: one record per row, categories coded, their names under `uns`
    import pandas as pd

    index, *names = records.dtype.names or ()
    columns: dict[str, Any] = {name: records[name] for name in names}
    for name in names:
        categories = f"uns/{name}_categories"
        if categories in group and records[name].dtype.kind in "iu":
            known = pd.Index([_text(category) for category in group[categories][:]])
            columns[name] = pd.Categorical.from_codes(records[name], known)
    return pd.DataFrame(columns, index=[_text(name) for name in records[index]])


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _arrow_column(series: pd.Series) -> pa.Array | None:
    import pandas as pd

    try:
        if isinstance(series.dtype, pd.CategoricalDtype):
            codes = pa.array(series.cat.codes, mask=series.isna().to_numpy())
            names = pa.array([_text(name) for name in series.cat.categories], pa.string())
            return pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
        return pa.Array.from_pandas(series)
    except pa.ArrowException:
        return None
