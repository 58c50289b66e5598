"""Matrices that 10x Cell Ranger writes as HDF5, of version 2 and 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfs_cli.errors import COPY_AGAIN, InputError, listed
from sfs_cli.io.base import Annotations, MatrixReader, ReadOptions
from sfs_cli.io.h5ad import open_hdf5
from sfs_cli.io.stored_arrays import SparseRows, StoredReader, storage_errors
from sfs_cli.io.tenx_features import name_features

_NAME = "10x-h5"
_PARTS = ("data", "indices", "indptr", "shape", "barcodes")


def open_tenx_h5(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a 10x matrix; rows are samples (barcodes).

    Parameters
    ----------
    path : Path
        Such as ``filtered_feature_bc_matrix.h5``.
    options : ReadOptions
        Type and size of the blocks.

    Returns
    -------
    MatrixReader
        All feature types are kept; its `notes` say so, and how features are named.

    Raises
    ------
    InputError
        The file is damaged, no 10x matrix, or holds several genomes.
    """
    file = open_hdf5(path)
    try:
        return _open(path, file, options)
    except BaseException:
        file.close()
        raise


def _open(path: Path, file: Any, options: ReadOptions) -> MatrixReader:
    group = _matrix_group(file, path)
    where = f"{path}, {group.name.strip('/')}"
    with storage_errors(path, _NAME):
        features, notes = _features(group)
        barcodes = _strings(group["barcodes"])
        n_features, n_barcodes = (int(size) for size in group["shape"][:])
        matrix = SparseRows(group, (n_barcodes, n_features), where)
    if (len(features), len(barcodes)) != (n_features, n_barcodes):
        raise InputError(
            f"the matrix is {n_features:,} x {n_barcodes:,}, but there are {len(features):,} "
            f"features and {len(barcodes):,} barcodes",
            where=where,
            hint=COPY_AGAIN,
        )
    return StoredReader(
        path=path,
        format=_NAME,
        fixed_rows="samples",
        row_ids=barcodes,
        column_ids=features,
        matrix=matrix,
        annotations=Annotations(),
        notes=notes,
        options=options,
        release=file.close,
    )


def _matrix_group(file: Any, path: Path) -> Any:
    groups = [file[name] for name in file if hasattr(file[name], "keys")]
    found = [group for group in groups if all(part in group for part in _PARTS)]
    if len(found) == 1:
        return found[0]
    if found:
        names = listed([group.name.strip("/") for group in found])
        raise InputError(
            f"the file holds {len(found)} genomes",
            where=f"{path}: {names}",
            hint="give a file of one genome",
        )
    anndata = "obs" in file and "var" in file
    raise InputError(
        "this is not a 10x matrix: no group has data, indices, indptr, shape and barcodes",
        where=f"{path}, which has {listed(list(file)) or 'nothing'}",
        hint="it looks like AnnData: rename it to *.h5ad" if anndata else None,
    )


def _features(group: Any) -> tuple[list[str], list[str]]:
    if "features" not in group:  # version 2
        return name_features(_strings(group["genes"]), _strings(group["gene_names"]), [])
    features = group["features"]
    types = _strings(features["feature_type"]) if "feature_type" in features else []
    return name_features(_strings(features["id"]), _strings(features["name"]), types)


def _strings(array: Any) -> list[str]:
    return [name.decode() if isinstance(name, bytes) else str(name) for name in array[:].tolist()]
