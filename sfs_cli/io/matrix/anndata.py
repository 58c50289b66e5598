"""AnnData in HDF5 (.h5ad) and Zarr, and the AnnData of MuData (.h5mu).

HDF5 and Zarr groups have the same interface. Files from before AnnData 0.7 are read as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from sfs_cli.errors import InputError, listed, nearest
from sfs_cli.io.files.names import decoded
from sfs_cli.io.files.text import H5MU, split_member
from sfs_cli.io.matrix.base import Annotations, MatrixReader, ReadOptions, read_errors, releasing
from sfs_cli.io.matrix.memory import (
    COMPARING,
    arrow_table,
    chosen_part,
    inside,
    logged,
    of_samples,
    open_table,
    read_held,
    table_of,
)
from sfs_cli.io.matrix.stored import (
    ArrayRows,
    SparseRows,
    StoredMatrix,
    StoredReader,
    checked_csr,
    open_hdf5,
    open_zarr_group,
)

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

_OLD_GRAPHS = "uns/neighbors"


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

    Rows are samples, except of a sparse matrix that is stored by feature (CSC): its rows are
    features.
    """
    name = "zarr" if split_member(path)[0].is_dir() else "h5mu" if "mod" in file else "h5ad"
    with releasing(release), read_errors(path, name):
        group = anndata_in(file, path)
        _check_anndata(group, path)
        if is_old(group):
            release()
            adata = open_old(path)
            return open_table(path, table_of(adata, options, path), options, name, adata.file.close)
        key, var_key, there = _matrix_keys(group, options, path)
        samples, obs = _read_obs(group, path)
        features = ids_of(group, var_key, path)
        matrix, by_feature = _open_matrix(group[key], f"{path}, {key}")
        comparisons = [
            f"{part}:{name}" for part in COMPARING for name in _comparing(group, part, path)
        ]
        facts: dict[str, Any] = {"matrices": there}
        if key in ("X", "raw/X") and "uns/log1p" in group:  # scanpy says: they are logarithms
            facts |= logged(_read_element(group, "uns/log1p", path))
        return StoredReader(
            path=path,
            format=name,
            features=features,
            samples=samples,
            fixed_rows="features" if by_feature else "samples",
            matrix=matrix,
            options=options,
            release=release,
            annotations=Annotations(arrow_table(obs), tuple(comparisons), facts),
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


def _matrix_keys(group: Any, options: ReadOptions, path: Path) -> tuple[str, str, list[str]]:
    """Return the keys of the matrix and of the names of its features, and all that can be read."""
    parts = [part for part, key in (("X", "X"), ("raw", "raw/X")) if key in group]
    parts += [f"layers/{name}" for name in group.get("layers", ())]
    key = chosen_part(parts, options, path)
    return ("raw/X", "raw/var", parts) if key == "raw" else (key, "var", parts)


def _open_matrix(element: Any, where: object) -> tuple[StoredMatrix, bool]:
    """Return a matrix, and whether its rows are features."""
    if hasattr(element, "shape"):
        return ArrayRows(element, False, where), False
    from anndata.io import sparse_dataset

    stored = sparse_dataset(element)
    by_feature = stored.format == "csc"
    n, m = stored.shape
    return SparseRows(element, (m, n) if by_feature else (n, m), where), by_feature


def read_inside(
    path: Path, part: str, key: str
) -> tuple[csr_array | np.ndarray, Sequence[str], Sequence[str]]:
    """Read ``obsp[key]`` or ``obsm[key]`` of ``.h5ad``, ``FILE.h5mu:MODALITY`` or ``.zarr``.

    Returned are what `inside` returns, and the ids of the samples. A file that is not AnnData is
    an `InputError`.
    """
    with anndata_group(path) as group:
        _check_anndata(group, path)
        if not is_old(group):
            samples, _ = _read_obs(group, path)
            found = _comparing(group, part, path)
            return *inside(found, part, key, len(samples), path), samples
    adata = open_old(path)
    with closing(adata.file):
        return read_held(adata, part, key, str(path))


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
            found[name] = partial(_of_modality, read, group, part, name, path)
    return found


def _of_modality(read: Callable[[], Any], group: Any, part: str, name: str, path: Path) -> Any:
    """Return what compares the samples of a MuData, for those of one modality."""
    values, ids = read(), _read_element(group, "obs", path).index
    at = _read_element(group.file, "obs", path).index.get_indexer(ids)
    if hasattr(values, "tocsr"):
        values = checked_csr(values, f"{path}, {part}/{name}")
    return of_samples(values, at, both=part == "obsp")


def _stored(group: Any, part: str, path: Path) -> dict[str, Callable[[], Any]]:
    """Return what reads each of the graphs or coordinates that an AnnData, or MuData, holds."""
    names = list(group.get(part, ()))
    if part == "obsp" and part not in group:  # scanpy before 1.5 has them elsewhere
        part, held = _OLD_GRAPHS, group.get(_OLD_GRAPHS, {})
        names = [name for name in held if "indptr" in getattr(held[name], "keys", tuple)()]
    return {name: partial(_read_element, group, f"{part}/{name}", path) for name in names}


@contextmanager
def _reading(path: Path, name: str) -> Iterator[None]:
    """Do as `read_errors`, without warnings of versions of the format: all are read."""
    with read_errors(path, name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _read_element(group: Any, key: str, path: Path) -> Any:
    from anndata.io import read_elem

    with _reading(path, f"AnnData ({key})"):
        return read_elem(group[key])


def _read_obs(group: Any, path: Path) -> tuple[list[str], pd.DataFrame]:
    """Read the ids of the samples, and what is known of them."""
    obs = _read_element(group, "obs", path)
    return list(map(decoded, obs.index)), obs


def ids_of(group: Any, key: str, path: Path) -> list[str]:
    """Return the ids that ``var`` or ``raw/var`` of AnnData has."""
    return list(map(decoded, _read_element(group[key], decoded(group[key].attrs["_index"]), path)))


def is_old(group: Any) -> bool:
    """Say whether tables are arrays of records, as AnnData wrote them into HDF5 before 0.7."""
    return any(hasattr(group[key], "dtype") for key in ("obs", "var"))


def open_old(path: Path) -> Any:
    """Open an h5ad from before AnnData 0.7, with its matrices left in the file."""
    import anndata

    with _reading(path, "h5ad"):
        return anndata.read_h5ad(path, backed="r")


def read_anndata(path: Path) -> AnnData:
    """Read AnnData as a whole: of an h5mu the modality that the path names, or the only one."""
    from anndata.io import read_elem

    with anndata_group(path) as group, _reading(path, "AnnData"):
        if not is_old(group):
            return read_elem(group)
    old = open_old(path)
    with closing(old.file):
        return old.to_memory()
