"""AnnData as version 0.6 wrote it, which are the files that scanpy ships as examples."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
from scipy import sparse


def write_old(path: Path, data: ad.AnnData) -> Path:
    """Write dense values, tables, raw values, coordinates, graphs and words of `uns`.

    Tables were arrays of records; categories were codes, with the names in ``uns``; graphs were in
    ``uns/neighbors``, and sparse matrices had other attributes.
    """
    with h5py.File(path, "w") as file:
        file["X"] = data.X
        file["obs"], file["var"] = _records(file, data.obs), _records(file, data.var)
        if data.raw is not None:
            file["raw.var"] = _records(file, data.raw.var)
            _write_sparse(file.create_group("raw.X"), data.raw.X)
        if len(data.obsm):
            shapes = [(key, "<f8", value.shape[1:]) for key, value in data.obsm.items()]
            file["obsm"] = np.array(list(zip(*data.obsm.values())), shapes)
        for key, graph in data.obsp.items():
            _write_sparse(file.create_group(f"uns/neighbors/{key}"), graph)
        for key, word in data.uns.items():
            file[f"uns/{key}"] = np.array([word.encode()])
    return path


def _records(file: h5py.File, frame: pd.DataFrame) -> np.ndarray:
    columns = {"index": np.array([str(name).encode() for name in frame.index])}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories = [str(each).encode() for each in column.cat.categories]
            file[f"uns/{name}_categories"] = np.array(categories)
            columns[name] = column.cat.codes.to_numpy()
        else:
            columns[name] = column.to_numpy()
    kinds = [(name, column.dtype) for name, column in columns.items()]
    return np.array(list(zip(*columns.values())), kinds)


def _write_sparse(group: h5py.Group, matrix: object) -> None:
    stored = sparse.csr_matrix(matrix)
    group.attrs["h5sparse_format"] = "csr"
    group.attrs["h5sparse_shape"] = stored.shape
    for name in ("data", "indices", "indptr"):
        group[name] = getattr(stored, name)
