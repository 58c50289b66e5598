"""AnnData in HDF5 (.h5ad) and Zarr, and the AnnData of MuData (.h5mu).

HDF5 and Zarr groups have the same interface. Files from before AnnData 0.7 are read as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from sfs_cli.errors import InputError, listed, nearest
from sfs_cli.io.files.names import decoded
from sfs_cli.io.files.text import H5MU, split_member
from sfs_cli.io.matrix.base import (
    RAW,
    Annotations,
    MatrixReader,
    ReadOptions,
    read_errors,
    releasing,
)
from sfs_cli.io.matrix.stored import (
    DenseRows,
    StoredMatrix,
    StoredReader,
    checked_csr,
    chunks_are_tall,
    encoding_of,
    open_hdf5,
    open_zarr_group,
    sparse_rows,
)

if TYPE_CHECKING:
    import pandas as pd

_OLD_GRAPHS = "uns/neighbors"
_COMPARING = {
    "obsp": ("graph", "; scanpy.pp.neighbors writes 'connectivities' and 'distances'"),
    "obsm": ("coordinates", "; a table with a row for each sample is --coordinates FILE"),
}
"""What compares samples: its name, and who writes it."""
_REWRITE = "write the file again with AnnData.write_h5ad"


def open_h5ad(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an AnnData file, ``FILE.h5mu:MODALITY``, or ``FILE.h5mu`` of one modality."""
    file = open_hdf5(split_member(path)[0])
    return _open(path, file, file.close, options)


def open_zarr(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an AnnData folder of Zarr format 2 or 3."""
    # a Zarr folder holds no file open between reads
    return _open(path, open_zarr_group(path), lambda: None, options)


def _open(path: Path, file: Any, release: Callable[[], None], options: ReadOptions) -> MatrixReader:
    """Open ``X``, a layer, or ``raw/X``.

    Rows are samples, except where the matrix is stored by feature (CSC, or dense in tall chunks):
    then rows are features.
    """
    name = "zarr" if split_member(path)[0].is_dir() else "h5mu" if "mod" in file else "h5ad"
    with releasing(release), read_errors(path, name):
        group = anndata_in(file, path)
        _check_anndata(group, path)
        key, var_key, there = _matrix_keys(group, options, path)
        obs = _read_frame(group, "obs", path)
        samples, features = list(obs.index), ids_of(group, var_key, path)
        matrix, by_feature = _open_matrix(group[key], f"{path}, {key}", options)
        comparisons = [
            f"{part}:{name}" for part in _COMPARING for name in _comparing(group, part, path)
        ]
        return StoredReader(
            path=path,
            format=name,
            features=features,
            samples=samples,
            fixed_rows="features" if by_feature else "samples",
            matrix=matrix,
            options=options,
            release=release,
            annotations=Annotations(
                arrow_table(obs),
                tuple(comparisons),
                {"matrices": there} | (_logged(group) if key == "X" else {}),
            ),
        )


def anndata_in(file: Any, path: Path) -> Any:
    """Return the AnnData in a file: of MuData the modality that the path names, or the only one."""
    where, name = split_member(path)
    if "mod" not in file and (where.suffix.lower() != H5MU or (name is None and "obs" in file)):
        return file
    names = list(file["mod"]) if "mod" in file and hasattr(file["mod"], "keys") else []
    if not names:
        raise InputError(
            "this is not MuData: it has no modalities",
            where=where,
            hint="give MuData, as MuData.write_h5mu writes it, or AnnData without :MODALITY",
        )
    if name is None and len(names) > 1:
        raise InputError(
            f"the file holds {len(names):,} modalities, and none is named",
            where=f"{where}: {', '.join(names)}",
            hint=f"name one, as in {where.name}:{names[0]}",
        )
    name = names[0] if name is None else name
    if name not in names:
        raise InputError(f"there is no modality {name!r}", where=where, hint=nearest(name, names))
    return file[f"mod/{name}"]


def _check_anndata(group: Any, path: Path) -> None:
    missing = [key for key in ("obs", "var") if key not in group]
    if missing:
        there = listed(list(group)) or "nothing"
        raise InputError(
            f"this is not AnnData: it has no {' and no '.join(missing)}",
            where=f"{path}, which has {there}",
            hint="give AnnData, as AnnData.write_h5ad writes it, or the .h5 file of Cell Ranger",
        )


def _logged(group: Any) -> dict[str, Any]:
    """Return ``log1p`` where scanpy says that ``X`` are natural logarithms: of no other base."""
    base = dict(group["uns/log1p"]).get("base") if "uns/log1p" in group else 0
    known = base is None or (base != 0 and encoding_of(base, "", "") == "null")
    return {"log1p": True} if known else {}


def _matrix_keys(group: Any, options: ReadOptions, path: Path) -> tuple[str, str, list[str]]:
    """Return the keys of the matrix and of the names of its features, and all that can be read."""
    # `raw.X` is how files from before 0.7 spell it
    raw = [sep for sep in "/." if f"raw{sep}X" in group and f"raw{sep}var" in group]
    parts = [*(["X"] if "X" in group else []), *(["raw"] if raw else [])]
    parts += [f"layers/{name}" for name in group.get("layers", ())]
    key = chosen_part(parts, options, path)
    own = f"raw{raw[0]}" if key == "raw" else ""
    return (f"{own}X" if own else key), f"{own}var", parts


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
        hint = f"X, --layer {RAW} or --layer NAME: the file has {listed(parts, 20) or 'none'}"
        raise InputError(f"there is no {name}", where=where, hint=hint)
    return asked


def _open_matrix(element: Any, where: object, options: ReadOptions) -> tuple[StoredMatrix, bool]:
    """Return a matrix, and whether its rows are features."""
    encoding = encoding_of(element, "h5sparse_format", where)
    is_dense = hasattr(element, "shape")
    sparse = None if is_dense else sparse_rows(element, where)
    if sparse is not None:
        return sparse
    if not is_dense or encoding not in (None, "", "array"):
        raise InputError(
            f"its encoding is {encoding or 'not stated'}, neither dense nor CSR nor CSC",
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


def read_inside(
    path: Path, part: str, key: str
) -> tuple[csr_array | np.ndarray, Sequence[str], Sequence[str]]:
    """Read ``obsp[key]`` or ``obsm[key]`` of ``.h5ad``, ``FILE.h5mu:MODALITY`` or ``.zarr``.

    Returned are what `inside` returns, and the ids of the samples. A file that is not AnnData is
    an `InputError`.
    """
    with anndata_group(path) as group:
        _check_anndata(group, path)
        samples = list(_read_frame(group, "obs", path).index)
        found = _comparing(group, part, path)
        return *inside(found, part, key, len(samples), path), samples


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
        noun, more = _COMPARING[part]
        hint = f"it has {listed(list(found), 20) or 'none'}{more}"
        raise InputError(f"{part} has no {noun} {key!r}", where=where, hint=hint)
    element, place = found[key](), f"{where}, {part}/{key}"
    columns = [str(name) for name in getattr(element, "columns", ())]
    sparse = hasattr(element, "tocsr")
    if part == "obsp":
        values = checked_csr(element, place) if sparse else np.asarray(element)
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


@contextmanager
def anndata_group(path: Path) -> Iterator[Any]:
    """Give the group of AnnData in a file or a folder, for reading."""
    if path.is_dir():
        with read_errors(path, "zarr"):
            yield open_zarr_group(path)
        return
    file_path, _ = split_member(path)
    with open_hdf5(file_path) as file, read_errors(path, "AnnData"):
        yield anndata_in(file, path)


def _comparing(group: Any, part: str, path: Path) -> dict[str, Callable[[], Any]]:
    """Return what reads each of the graphs (obsp) or coordinates (obsm) of a file, by name.

    Those of a whole MuData, such as muon's weighted nearest neighbors, are cut to the samples of
    the modality; where both have a name it is theirs, and ``MODALITY:KEY`` that of the modality.
    """
    found = _stored(group, part, path)
    if group.name.startswith("/mod/"):
        whole, own = group.file, group.name.rpartition("/")[2]
        for name, read in _stored(whole, part, path).items():
            if name in whole["mod"]:
                continue  # which samples a modality has
            if name in found:
                found[f"{own}:{name}"] = found[name]
            found[name] = partial(_of_modality, read, group, f"{path}, {part}/{name}", path)
    return found


def _of_modality(read: Callable[[], Any], group: Any, place: str, path: Path) -> Any:
    """Return what compares the samples of a MuData, for those of one modality."""
    values, ids = read(), _read_frame(group, "obs", path).index
    at = _read_frame(group.file, "obs", path).index.get_indexer(ids)
    if hasattr(values, "tocsr"):
        return checked_csr(values, place)[at][:, at]
    if hasattr(values, "iloc"):
        return values.iloc[at]
    return values[at][:, at] if "obsp/" in place else values[at]


def _stored(group: Any, part: str, path: Path) -> dict[str, Callable[[], Any]]:
    """Return what reads each of the graphs or coordinates that an AnnData, or MuData, holds."""
    held = group.get(part, {})
    names = list(held) if hasattr(held, "keys") else []
    if part == "obsp" and part not in group:
        part, held = _OLD_GRAPHS, group.get(_OLD_GRAPHS, {})
        names = [n for n in held if hasattr(held[n], "keys") and "indptr" in list(held[n])]
    elif part == "obsm" and not hasattr(held, "keys"):
        # before 0.7: the parts of one array of records, with an index besides if it was a table
        def cut(name: str) -> np.ndarray:
            records = _read_element(group, part, path)
            return records[name].reshape(len(records), -1)

        return {name: partial(cut, name) for name in held.dtype.names or () if name != "index"}
    return {name: partial(_read_element, group, f"{part}/{name}", path) for name in names}


def _read_element(group: Any, key: str, path: Path) -> Any:
    from anndata.io import read_elem

    with read_errors(path, f"AnnData ({key})"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old versions of the format are read all the same
        return read_elem(group[key])


def _read_frame(group: Any, key: str, path: Path) -> pd.DataFrame:
    """Read ``obs`` or ``var``; the index holds the ids, as strings."""
    frame = _read_element(group, key, path)
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        frame = _old_frame(group, frame)
    if not hasattr(frame, "index") or not hasattr(frame, "columns"):
        raise InputError(f"{key} is not a data frame", where=path, hint=_REWRITE)
    frame.index = [decoded(name) for name in frame.index]
    return frame


def ids_of(group: Any, key: str, path: Path) -> list[str]:
    """Return the ids that ``obs``, ``var`` or ``raw/var`` of AnnData has."""
    return list(_read_frame(group, key, path).index)


def _old_frame(group: Any, records: np.ndarray) -> pd.DataFrame:
    # before 0.7: one record per row, categories coded, their names under `uns`
    import pandas as pd

    index, *names = records.dtype.names or ()
    columns: dict[str, Any] = {name: records[name] for name in names}
    for name in names:
        categories = f"uns/{name}_categories"
        if categories in group and records[name].dtype.kind in "iu":
            known = pd.Index([decoded(category) for category in group[categories][:]])
            columns[name] = pd.Categorical.from_codes(records[name], known)
    return pd.DataFrame(columns, index=[decoded(name) for name in records[index]])


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
            names = pa.array([decoded(name) for name in series.cat.categories], pa.string())
            return pa.DictionaryArray.from_arrays(codes, names)
        found = pa.Array.from_pandas(series)
        kind = found.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return found.cast(pa.string()).dictionary_encode()
        return found
    except pa.ArrowException:
        return None
