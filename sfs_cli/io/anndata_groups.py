"""Matrices of AnnData, whose HDF5 and Zarr groups have the same interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfs_cli.errors import InputError, UsageError, listed
from sfs_cli.io.anndata_frames import frame_table, graph_names, read_frame
from sfs_cli.io.base import Annotations, MatrixReader, ReadOptions
from sfs_cli.io.stored_arrays import (
    DenseRows,
    SparseRows,
    StoredMatrix,
    StoredReader,
    chunks_are_tall,
    storage_errors,
)


def open_anndata(
    path: Path, name: str, group: Any, release: Callable[[], None], options: ReadOptions
) -> MatrixReader:
    """Open ``X``, a layer, or ``raw/X`` of AnnData.

    Rows are samples, except where the matrix is stored by feature (CSC, or dense in tall chunks):
    then rows are features.

    Parameters
    ----------
    path : Path
        The file or folder.
    name : str
        Name of the format.
    group : h5py or zarr group
        Its root.
    release : callable
        Closes it.
    options : ReadOptions
        Type and size of the blocks; which matrix.

    Returns
    -------
    MatrixReader

    Raises
    ------
    InputError
        It is not AnnData, has no such layer, or its parts contradict each other.
    UsageError
        A layer and the raw matrix are asked for together.
    """
    check_anndata(group, path)
    key, var_key = _matrix_keys(group, options, path)
    obs = read_frame(group, "obs", path)
    samples, features = list(obs.index), list(read_frame(group, var_key, path).index)
    with storage_errors(path, name):
        matrix, by_feature = _open_matrix(group[key], f"{path}, {key}", options)
    expected = (len(features), len(samples)) if by_feature else (len(samples), len(features))
    if matrix.shape != expected:
        shape = matrix.shape[::-1] if by_feature else matrix.shape
        raise InputError(
            f"{key} is {shape[0]:,} x {shape[1]:,}, but obs has {len(samples):,} and "
            f"{var_key} {len(features):,} names",
            where=str(path),
            hint="write the file again with AnnData.write_h5ad",
        )
    return StoredReader(
        path=path,
        format=name,
        fixed_rows="features" if by_feature else "samples",
        row_ids=features if by_feature else samples,
        column_ids=samples if by_feature else features,
        matrix=matrix,
        annotations=Annotations(frame_table(obs), graph_names(group)),
        notes=[],
        options=options,
        release=release,
    )


def check_anndata(group: Any, path: Path) -> None:
    """Raise an `InputError` if a group has no ``obs`` and ``var``."""
    missing = [key for key in ("obs", "var") if key not in group]
    if missing:
        there = listed(list(group)) or "nothing"
        raise InputError(
            f"this is not AnnData: it has no {' and no '.join(missing)}",
            where=f"{path}, which has {there}",
            hint="10x matrices in HDF5 end in .h5; AnnData is written by AnnData.write_h5ad",
        )


def _matrix_keys(group: Any, options: ReadOptions, path: Path) -> tuple[str, str]:
    if options.layer is not None and options.use_raw:
        raise UsageError("--layer and --use-raw name two matrices", hint="give one of them")
    layers = list(group["layers"]) if "layers" in group else []
    if options.use_raw:
        return _raw_keys(group, path)
    key = "X" if options.layer is None else f"layers/{options.layer}"
    if options.layer is None and "X" not in group:
        raise _no_matrix("there is no X", layers, path)
    if options.layer is not None and options.layer not in layers:
        raise _no_matrix(f"there is no layer {options.layer!r}", layers, path)
    return key, "var"


def _raw_keys(group: Any, path: Path) -> tuple[str, str]:
    # `raw.X` is how files from before 0.7 spell it
    for key, var_key in (("raw/X", "raw/var"), ("raw.X", "raw.var")):
        if key in group and var_key in group:
            return key, var_key
    raise InputError(
        "there is no raw matrix", where=str(path), hint="leave --use-raw out to read X"
    )


def _no_matrix(what: str, layers: list[str], path: Path) -> InputError:
    there = f"layers there are: {listed(layers, 20)}" if layers else "it has no layers"
    return InputError(what, where=str(path), hint=there)


def _open_matrix(element: Any, where: str, options: ReadOptions) -> tuple[StoredMatrix, bool]:
    if hasattr(element, "shape"):
        if len(element.shape) != 2:
            raise InputError(
                f"the matrix has {len(element.shape)} axes, not 2",
                where=where,
                hint="give another matrix with --layer",
            )
        across = chunks_are_tall(element, options.block_bytes)
        return DenseRows(element, across, where), across
    encoding = _attribute(element, "encoding-type", "h5sparse_format")
    shape = _attribute(element, "shape", "h5sparse_shape")
    known = {"csr_matrix": False, "csr": False, "csc_matrix": True, "csc": True}
    if encoding not in known or shape is None:
        raise InputError(
            f"its encoding is {encoding or 'not stated'}, neither dense nor CSR nor CSC",
            where=where,
            hint="write the matrix again with a current anndata",
        )
    by_feature = known[encoding]
    n, m = (int(size) for size in shape)
    return SparseRows(element, (m, n) if by_feature else (n, m), where), by_feature


def _attribute(element: Any, name: str, old_name: str) -> Any:
    value = element.attrs.get(name, element.attrs.get(old_name))
    return value.decode() if isinstance(value, bytes) else value
