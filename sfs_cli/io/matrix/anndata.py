"""AnnData in HDF5 (.h5ad) and Zarr, and the AnnData of MuData (.h5mu).

HDF5 and Zarr groups have the same interface. Files from before AnnData 0.7 are read as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from sfs_cli.errors import InputError, UsageError, listed, nearest
from sfs_cli.io.files.apart import call_apart, reading
from sfs_cli.io.files.room import most_taken
from sfs_cli.io.files.sniff import H5MU, split_modality
from sfs_cli.io.matrix.base import Annotations, MatrixReader, ReadOptions, read_errors
from sfs_cli.io.matrix.stored import (
    BY_FEATURE,
    DenseRows,
    SparseRows,
    StoredMatrix,
    StoredReader,
    attribute,
    check_declared,
    check_sparse_groups,
    checked_csr,
    chunks_are_tall,
    encoding_of,
    open_hdf5,
    read_names,
    releasing,
)
from sfs_cli.io.matrix.zarr import open_zarr_group

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_OLD_GRAPHS = "uns/neighbors"
_REWRITE = "write the file again with AnnData.write_h5ad"


def open_h5ad(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an AnnData file."""
    file = open_hdf5(path, options.allow_external)
    return _open(path, "h5ad", file, file.close, options)


def open_h5mu(path: Path, options: ReadOptions) -> MatrixReader:
    """Open ``FILE.h5mu:MODALITY``, or ``FILE.h5mu`` where there is one modality."""
    file = open_hdf5(split_modality(path)[0], options.allow_external)
    return _open(path, "h5mu", file, file.close, options)


def open_zarr(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an AnnData folder of Zarr format 2 or 3."""
    # a Zarr folder holds no file open between reads
    return _open(path, "zarr", open_zarr_group(path), lambda: None, options)


def _open(
    path: Path, name: str, file: Any, release: Callable[[], None], options: ReadOptions
) -> MatrixReader:
    """Open ``X``, a layer, or ``raw/X``.

    Rows are samples, except where the matrix is stored by feature (CSC, or dense in tall chunks):
    then rows are features.
    """
    with releasing(release), read_errors(path, name):
        group = find_modality(file, path) if name == "h5mu" else file
        _check_anndata(group, path)
        key, var_key = _matrix_keys(group, options, path)
        obs = _read_frame(group, "obs", path)
        samples, features = list(obs.index), list(_read_frame(group, var_key, path).index)
        reading(key)
        matrix, by_feature = _open_matrix(group[key], f"{path}, {key}", options)
        expected = (len(features), len(samples)) if by_feature else (len(samples), len(features))
        if matrix.shape != expected:
            shape = matrix.shape[::-1] if by_feature else matrix.shape
            raise InputError(
                f"{key} is {shape[0]:,} x {shape[1]:,}, but obs has {len(samples):,} and "
                f"{var_key} {len(features):,} names",
                where=str(path),
                hint=_REWRITE,
            )
        comparisons = _comparisons(group)
        reading(key)
        return StoredReader(
            path=path,
            format=name,
            fixed_rows="features" if by_feature else "samples",
            row_ids=features if by_feature else samples,
            column_ids=samples if by_feature else features,
            matrix=matrix,
            options=options,
            release=release,
            annotations=Annotations(arrow_table(obs), comparisons),
        )


def find_modality(file: Any, path: Path) -> Any:
    """Return the group of the modality that a path names, or of the only one."""
    where, name = split_modality(path)
    names = list(file["mod"]) if "mod" in file and hasattr(file["mod"], "keys") else []
    if not names:
        raise InputError(
            "this is not MuData: it has no modalities",
            where=str(where),
            hint="MuData is written by MuData.write_h5mu; AnnData files end in .h5ad",
        )
    if name is None and len(names) > 1:
        raise InputError(
            f"the file holds {len(names):,} modalities, and none is named",
            where=f"{where}: {', '.join(names)}",
            hint=f"name one, as in {where.name}:{names[0]}",
        )
    name = names[0] if name is None else name
    if name not in names:
        raise InputError(
            f"there is no modality {name!r}", where=str(where), hint=nearest(name, names)
        )
    return file[f"mod/{name}"]


def _check_anndata(group: Any, path: Path) -> None:
    missing = [key for key in ("obs", "var") if key not in group]
    if missing:
        there = listed(list(group)) or "nothing"
        raise InputError(
            f"this is not AnnData: it has no {' and no '.join(missing)}",
            where=f"{path}, which has {there}",
            hint="10x matrices in HDF5 end in .h5; AnnData is written by AnnData.write_h5ad",
        )


def _matrix_keys(group: Any, options: ReadOptions, path: Path) -> tuple[str, str]:
    """Return the keys of the matrix and of the names of its features."""
    if options.layer is not None and options.use_raw:
        raise UsageError(
            "--layer and --use-raw name two matrices",
            hint="give one of them",
            option=("layer", "use_raw"),
        )
    if options.use_raw:
        # `raw.X` is how files from before 0.7 spell it
        for key, var_key in (("raw/X", "raw/var"), ("raw.X", "raw.var")):
            if key in group and var_key in group:
                return key, var_key
        raise InputError(
            "there is no raw matrix", where=str(path), hint="leave --use-raw out to read X"
        )
    layers = list(group["layers"]) if "layers" in group else []
    if options.layer is None and "X" in group:
        return "X", "var"
    if options.layer is not None and options.layer in layers:
        return f"layers/{options.layer}", "var"
    raise InputError(
        "there is no X" if options.layer is None else f"there is no layer {options.layer!r}",
        where=str(path),
        hint=f"layers in the file: {listed(layers, 20)}" if layers else "it has no layers",
    )


def _open_matrix(element: Any, where: str, options: ReadOptions) -> tuple[StoredMatrix, bool]:
    """Return a matrix, and whether its rows are features."""
    if hasattr(element, "shape"):
        encoding = encoding_of(element, "", where)
        if encoding not in (None, "", "array"):
            raise InputError(
                f"its encoding is {encoding}, neither dense nor CSR nor CSC",
                where=where,
                hint="write the matrix again with a current anndata",
            )
        if len(element.shape) != 2:
            raise InputError(
                f"the matrix has {len(element.shape)} axes, not 2",
                where=where,
                hint="give another matrix with --layer",
            )
        across = chunks_are_tall(element, options.block_bytes)
        return DenseRows(element, across, where), across
    encoding = encoding_of(element, "h5sparse_format", where)
    shape = attribute(element, "shape", "h5sparse_shape")
    if encoding not in BY_FEATURE or shape is None:
        raise InputError(
            f"its encoding is {encoding or 'not stated'}, neither dense nor CSR nor CSC",
            where=where,
            hint="write the matrix again with a current anndata",
        )
    by_feature = BY_FEATURE[encoding]
    n, m = (int(size) for size in shape)
    return SparseRows(element, (m, n) if by_feature else (n, m), where), by_feature


def check_anndata(path: Path) -> None:
    """Read all sparse matrices of an ``.h5ad`` or ``.zarr``; damage is an `InputError`.

    This comes before another library takes them, which follows their indices without looking.
    """
    with _anndata_group(path) as group, read_errors(path, "AnnData"):
        check_sparse_groups(group, str(path), ReadOptions())


def called_apart(work: Callable[[], T], path: Path, memory: int | None = None) -> T:
    """Call what reads or writes AnnData; for HDF5 that is done in a child process.

    `memory` is what the child may take, in bytes.
    """
    if path.is_dir():
        return work()
    import_module("anndata.io")  # here, for all children
    return call_apart(work, split_modality(path)[0], memory)


def read_obsp(path: Path, key: str) -> tuple[csr_array | np.ndarray, list[str]]:
    """Read ``obsp[key]`` of an ``.h5ad`` file, ``FILE.h5mu:MODALITY``, or a ``.zarr`` folder.

    Returned are the sample graph, shape (n, n), as it is stored (the indices of a sparse one are
    checked, neither symmetry nor the values), and the ids of the samples. A file that is not
    AnnData, or has no such graph, is an `InputError`.
    """
    return called_apart(lambda: _read_obsp(path, key), path, most_taken())


def _read_obsp(path: Path, key: str) -> tuple[csr_array | np.ndarray, list[str]]:
    with _anndata_group(path) as group:
        _check_anndata(group, path)
        keys = _graph_keys(group)
        if key not in keys:
            there = f"it has {listed(list(keys))}" if keys else "it has none"
            raise InputError(
                f"there is no graph {key!r} in obsp",
                where=str(path),
                hint=f"{there}; scanpy.pp.neighbors writes 'connectivities' and 'distances'",
            )
        graph = _read_element(group, keys[key], path)
        where = f"{path}, {keys[key]}"
        sparse = hasattr(graph, "tocsr")
        graph = checked_csr(graph, where) if sparse else np.asarray(graph)
        samples = list(_read_frame(group, "obs", path).index)
    if graph.shape != (len(samples), len(samples)):
        raise InputError(
            f"obsp/{key} has shape {graph.shape}, but there are {len(samples):,} samples",
            where=str(path),
            hint=_REWRITE,
        )
    return graph, samples


def read_obsm(path: Path, key: str) -> tuple[np.ndarray, list[str], list[str]]:
    """Read ``obsm[key]`` of an ``.h5ad`` file, ``FILE.h5mu:MODALITY``, or a ``.zarr`` folder.

    Returned are the coordinates of the samples, shape (n, d) and float64 (NaN is not refused),
    names of the columns, and the ids of the samples. A file that is not AnnData, no such key, and
    anything but a dense table of real numbers is an `InputError`.
    """
    return called_apart(lambda: _read_obsm(path, key), path, most_taken())


def _read_obsm(path: Path, key: str) -> tuple[np.ndarray, list[str], list[str]]:
    with _anndata_group(path) as group:
        _check_anndata(group, path)
        keys = _coordinate_keys(group)
        if key not in keys:
            raise InputError(
                f"there are no coordinates {key!r} in obsm",
                where=str(path),
                hint=f"it has {listed(keys, 20)}" if keys else "it has none",
            )
        samples = list(_read_frame(group, "obs", path).index)
        if hasattr(group["obsm"], "keys"):
            found = _read_element(group, f"obsm/{key}", path)
        else:
            found = _read_element(group, "obsm", path)[key]
            found = found.reshape(len(found), -1)
    where = f"{path}, obsm/{key}"
    if hasattr(found, "tocsr"):
        raise InputError(
            "the coordinates are a sparse matrix",
            where=where,
            hint=f"write them as a dense one: adata.obsm[{key!r}] = adata.obsm[{key!r}].toarray()",
        )
    columns = [str(name) for name in getattr(found, "columns", ())]
    kinds = found.dtypes if columns else [getattr(found, "dtype", None)]
    if any(getattr(kind, "kind", "") not in "fiub" for kind in kinds):
        raise InputError(
            "the coordinates are not numbers",
            where=where,
            hint="write them as a dense array of numbers, one row for each sample",
        )
    values = np.asarray(found, np.float64)
    if values.ndim != 2 or len(values) != len(samples) or not values.size:
        raise InputError(
            f"the coordinates have shape {values.shape}, but there are {len(samples):,} samples",
            where=where,
            hint="write one row for each sample, of one or more numbers",
        )
    names = columns or [f"column {i + 1}" for i in range(values.shape[1])]
    return values, names, samples


@contextmanager
def _anndata_group(path: Path) -> Iterator[Any]:
    if path.is_dir():
        with read_errors(path, "zarr"):
            yield open_zarr_group(path)
        return
    file_path, _ = split_modality(path)
    # the run reads its matrix from the same file, and refuses one that takes values from others
    with open_hdf5(file_path, allow_external=True) as file, read_errors(path, "AnnData"):
        yield find_modality(file, path) if file_path.suffix.lower() == H5MU else file


def _comparisons(group: Any) -> tuple[str, ...]:
    """Return what compares the samples: graphs and coordinates, as ``--similarity`` names them."""
    graphs = [f"obsp:{name}" for name in _graph_keys(group)]
    return (*graphs, *(f"obsm:{name}" for name in _coordinate_keys(group)))


def _coordinate_keys(group: Any) -> list[str]:
    """Return the names of the coordinates: before 0.7 those of the parts of one array of records.

    Such an array has an index besides, if it was a table.
    """
    if "obsm" not in group:
        return []
    obsm = group["obsm"]
    if hasattr(obsm, "keys"):
        return list(obsm)
    return [name for name in obsm.dtype.names or () if name != "index"]


def _graph_keys(group: Any) -> dict[str, str]:
    """Return the sample graphs by name, with their keys in the file."""
    if "obsp" in group:
        return {name: f"obsp/{name}" for name in group["obsp"]}
    old = group.get(_OLD_GRAPHS, {})
    graphs = (n for n in old if hasattr(old[n], "keys") and "indptr" in list(old[n]))
    return {name: f"{_OLD_GRAPHS}/{name}" for name in graphs}


def _read_element(group: Any, key: str, path: Path) -> Any:
    from anndata.io import read_elem

    reading(key)
    with read_errors(path, f"AnnData ({key})"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old versions of the format are read all the same
        check_declared(group[key], f"{path}, {key}")
        return read_elem(group[key])


def _read_frame(group: Any, key: str, path: Path) -> pd.DataFrame:
    """Read ``obs`` or ``var``; the index holds the ids, as strings."""
    _check_index(group, key, path)
    frame = _read_element(group, key, path)
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        frame = _old_frame(group, frame)
    if not hasattr(frame, "index") or not hasattr(frame, "columns"):
        raise InputError(f"{key} is not a data frame", where=str(path), hint=_REWRITE)
    frame.index = [_text(name) for name in frame.index]
    return frame


def _check_index(group: Any, key: str, path: Path) -> None:
    """Read the index of a table in HDF5 in parts; the names of zarr are checked by the chunk."""
    reading(key)
    with read_errors(path, f"AnnData ({key})"):
        table = group[key]
        name = attribute(table, "_index", "_index")
        if not hasattr(table, "keys") or not isinstance(name, str) or name not in table:
            return
        index = table[name]
        if hasattr(index, "keys") and "values" in index:  # texts that may be missing
            index = index["values"]
        if hasattr(index, "dtype") and hasattr(index, "id") and index.dtype.kind == "O":
            reading(f"{key}/{name}")
            read_names(index, str(path))


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


def arrow_table(obs: pd.DataFrame) -> pa.Table | None:
    """Return the columns that Arrow has a type for, categories as such; None without any.

    Text is categories: AnnData makes them of it when it is written.
    """
    columns = {str(column): _arrow_column(obs[column]) for column in obs.columns}
    known = {column: values for column, values in columns.items() if values is not None}
    return pa.table(known) if known else None


def _arrow_column(series: pd.Series) -> pa.Array | None:
    """Return a column, categories as such with their names as text; None if Arrow has no type."""
    import pandas as pd

    try:
        if isinstance(series.dtype, pd.CategoricalDtype):
            codes = pa.array(series.cat.codes, mask=series.isna().to_numpy())
            names = pa.array([_text(name) for name in series.cat.categories], pa.string())
            return pa.DictionaryArray.from_arrays(codes, names)
        found = pa.Array.from_pandas(series)
        kind = found.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return found.cast(pa.string()).dictionary_encode()
        return found
    except pa.ArrowException:
        return None
