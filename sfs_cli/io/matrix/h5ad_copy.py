"""Copies of AnnData with something added: h5ad, a modality of h5mu, zarr.

What is added are elements of their own; all others stay as they are.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.io.files.names import decoded
from sfs_cli.io.files.text import split_member
from sfs_cli.io.matrix.anndata import (
    anndata_group,
    anndata_in,
    ids_of,
    is_old,
    open_old,
)
from sfs_cli.io.matrix.base import read_errors
from sfs_cli.io.results.additions import Additions, Inside

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_HINT = "read it with anndata, write it again with AnnData.write_h5ad, and rank that"


def look_into(source: Path) -> Inside:
    """Return what a file holds where scores go.

    Raises
    ------
    InputError
        If nothing can be added to a copy of it.
    """
    from anndata.io import read_elem

    with anndata_group(source) as group, read_errors(source, "AnnData", _HINT):
        if is_old(group):
            adata = open_old(source)
            with closing(adata.file):
                return Inside(list(map(str, adata.var_names)), list(adata.var.columns), {})
        columns, uns = _columns(group["var"]), group.get("uns", {})
        hvg = read_elem(uns["hvg"]) if "hvg" in uns else {}
        return Inside(ids_of(group, "var", source), columns, hvg)


def add_to_copy(source: Path, path: Path, added: Additions) -> None:
    """Copy AnnData to a path, with columns of ``var`` and members of ``uns`` added or replaced.

    Of ``FILE.h5mu:MODALITY`` the whole file is copied, and the modality gets them. An h5ad from
    before AnnData 0.7 is written again in the present form, which takes the memory of its content.
    """
    file = split_member(source)[0]
    if file.is_dir():
        _copy_folder(file, path)
    else:
        shutil.copyfile(file, path)
    with read_errors(source, "AnnData", _HINT):
        with _opened(path, source) as group:
            if not is_old(group):
                _add_columns(group["var"], added)
                for key in added.old_members:
                    del group["uns"][key]
                for key, value in added.members.items():
                    write_member(group, "uns", key, value)
                return
        path.unlink()
        old = open_old(source)
        with closing(old.file):
            data = old.to_memory()
        added.write_to(data)
        data.write_h5ad(path, convert_strings_to_categoricals=False)


@contextmanager
def _opened(path: Path, source: Path) -> Iterator[Any]:
    """Give the group of AnnData in a copy of a source, for writing."""
    import h5py

    file = split_member(path)[0]
    if file.is_dir():
        with _opened_zarr(file) as group:
            yield group
        return
    with h5py.File(file, "r+") as held:
        yield anndata_in(held, source)


@contextmanager
def _opened_zarr(path: Path) -> Iterator[Any]:
    """Give the group of a Zarr folder, for writing.

    After writing, the list of all its members is made again, where it has one: readers take it for
    what there is.
    """
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on defaults to come, and on lists of members
        listed = zarr.open_group(str(path), mode="r").metadata.consolidated_metadata
        yield zarr.open_group(str(path), mode="r+", use_consolidated=False)
        if listed is not None:
            zarr.consolidate_metadata(str(path))


def write_obsp(source: Path, path: Path, key: str, similarity: np.ndarray | csr_array) -> None:
    """Copy an h5ad, with a similarity of its samples, in their order, as ``obsp[key]``."""
    shutil.copyfile(source, path)
    with _opened(path, source) as group:
        write_member(group, "obsp", key, similarity)


def write_member(file: Any, group: str, key: str, value: object) -> None:
    """Write an element of a group of AnnData, which is made if it is absent."""
    from anndata.io import write_elem

    if group not in file:
        write_elem(file, group, {})
    write_elem(file[group], key, value)


def _copy_folder(source: Path, path: Path) -> None:
    # shutil.copytree goes on after an error, and raises one that does not say that a disk is full
    for folder, _, names in os.walk(source, followlinks=True):
        here = Path(folder)
        inside = here.relative_to(source)
        (path / inside).mkdir()
        for name in names:
            shutil.copyfile(here / name, path / inside / name)


def _columns(var: Any) -> list[str]:
    return list(map(decoded, var.attrs["column-order"]))


def _add_columns(var: Any, added: Additions) -> None:
    """Add columns to a data frame, and take old ones out; others stay, of whatever type."""
    import h5py
    from anndata.io import write_elem

    for name in added.old_columns:
        del var[name]
    for name, values in added.columns.items():
        write_elem(var, name, values)
    names = [*(name for name in _columns(var) if name not in added.old_columns), *added.columns]
    in_hdf5 = isinstance(var, h5py.Group)
    var.attrs["column-order"] = np.array(names, h5py.string_dtype()) if in_hdf5 else names
