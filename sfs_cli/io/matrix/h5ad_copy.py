"""Copies of AnnData with something added: h5ad, a modality of h5mu, zarr.

What is added are elements of their own; all others stay as they are. The work on HDF5 is done in a
child process.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.io.files.child_process import call_apart, reading
from sfs_cli.io.files.names import decoded
from sfs_cli.io.files.sniff import H5MU, split_modality
from sfs_cli.io.matrix.anndata import anndata_in, called_apart
from sfs_cli.io.matrix.base import read_errors
from sfs_cli.io.matrix.zarr import open_zarr_group

_HINT = "read it with anndata, write it again with AnnData.write_h5ad, and rank that"


class Inside(NamedTuple):
    """What AnnData holds where scores go."""

    columns: list[str]  # of var
    flavor: str | None  # what chose the highly variable genes, in scanpy's words


def look_into(source: Path) -> Inside:
    """Return what a file holds where scores go.

    Raises
    ------
    InputError
        If nothing can be added to a copy of it.
    """

    def work() -> Inside:
        with read_errors(source, "AnnData", _HINT), _opened(source, source) as group:
            if not _is_old(group):
                names, uns = _columns(group["var"]), group.get("uns", {})
            elif _can_rewrite(source):
                names, uns = list(_read_old(source).var.columns), {}
            else:
                raise InputError("var is an array of records", where=source, hint=_HINT)
            if not hasattr(uns, "keys"):
                raise InputError("uns is not a group", where=source, hint=_HINT)
            return Inside(names, _text_of(uns, "hvg/flavor"))

    return called_apart(work, source)


def about_copy(source: Path, path: Path) -> dict[str, Any]:
    """Return what a copy of a source says in ``uns["sfs"]``; nothing where it says nothing."""

    def work() -> str:
        with _opened(path, source) as group:
            return _text_of(group, "uns/sfs") or ""

    try:
        with read_errors(path, "AnnData"):
            found = json.loads(called_apart(work, path))
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}


def add_to_copy(
    source: Path, path: Path, columns: dict[str, np.ndarray], members: dict[str, object]
) -> None:
    """Copy AnnData to a path, with columns of ``var`` and members of ``uns`` added or replaced.

    Of ``FILE.h5mu:MODALITY`` the whole file is copied, and the modality gets them. An h5ad from
    before AnnData 0.7 is written again in the present form, which takes the memory of its content.
    """

    def rewrite() -> None:
        with read_errors(source, "AnnData", _HINT):
            data = _read_old(source)
            for name, values in columns.items():
                data.var[name] = values
            data.uns.update(members)
            reading("the copy that is written")
            data.write_h5ad(path, convert_strings_to_categoricals=False)

    def add() -> bool:
        with read_errors(source, "AnnData", _HINT), _opened(path, source, "r+") as group:
            if _is_old(group):
                return False
            _add_columns(group["var"], columns)
            for key, value in members.items():
                write_member(group, "uns", key, value)
        return True

    file = split_modality(source)[0]
    if file.is_dir():
        _copy_folder(file, path)
    else:
        shutil.copyfile(file, path)
    if not called_apart(add, path):
        path.unlink()
        called_apart(rewrite, source)


@contextmanager
def _opened(path: Path, source: Path, mode: str = "r") -> Iterator[Any]:
    """Give the group of AnnData in a source or in a copy of it."""
    import h5py

    file = split_modality(path)[0]
    if file.is_dir():
        with _opened_zarr(file, mode) as group:
            yield group
        return
    with h5py.File(file, mode) as held:
        yield anndata_in(held, source)


@contextmanager
def _opened_zarr(path: Path, mode: str) -> Iterator[Any]:
    """Give the group of a Zarr folder.

    After writing, the list of all its members is made again, where it has one: readers take it for
    what there is.
    """
    if mode == "r":
        yield open_zarr_group(path)
        return
    import zarr

    plain: dict[str, Any] = {} if zarr.__version__.startswith("2.") else {"use_consolidated": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on defaults to come, and on lists of members
        yield zarr.open_group(str(path), mode=mode, **plain)
        listed = path / "zarr.json"
        content = json.loads(listed.read_bytes()) if listed.exists() else {}
        of_version_3 = content.get("consolidated_metadata")
        if of_version_3 or (path / ".zmetadata").exists():
            zarr.consolidate_metadata(str(path))


def change_copy(source: Path, path: Path, change: Callable[[Any], None]) -> None:
    """Copy an HDF5 file to a path and change the copy."""
    import anndata.io  # noqa: F401 - once, for all children
    import h5py

    def work() -> None:
        with h5py.File(path, "r+") as file:
            change(file)

    shutil.copyfile(source, path)
    call_apart(work, path)


def write_member(file: Any, group: str, key: str, value: object) -> None:
    """Write an element of a group of AnnData, which is made if it is absent."""
    from anndata.io import write_elem

    reading(f"{group}/{key}, which is written")
    if group not in file:
        write_elem(file, group, {})
    write_elem(file[group], key, value)


def _is_old(file: Any) -> bool:
    """Say whether the tables of a file are arrays of records, as AnnData wrote them before 0.7."""
    return not (hasattr(file["obs"], "keys") and hasattr(file["var"], "keys"))


def _copy_folder(source: Path, path: Path) -> None:
    # shutil.copytree goes on after an error, and raises one that does not say that a disk is full
    for folder, _, names in os.walk(source, followlinks=True):
        here = Path(folder)
        above = [here.parents[i] for i in range(len(here.relative_to(source).parts))]
        if here.resolve() in {each.resolve() for each in above}:
            raise InputError(
                "a link leads to a folder that it lies in, so that there is no end to copy",
                where=folder,
                hint="remove the link",
            )
        place = path / Path(folder).relative_to(source)
        place.mkdir()
        for name in names:
            shutil.copyfile(Path(folder) / name, place / name)


def _can_rewrite(source: Path) -> bool:
    file = split_modality(source)[0]
    return not file.is_dir() and file.suffix.lower() != H5MU


def _text_of(group: Any, key: str) -> str | None:
    """Return a text that a group holds at a place; None where there is none."""
    try:
        found = group[key][()]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    found = getattr(found, "item", lambda: found)()
    return found.decode() if isinstance(found, bytes) else found if isinstance(found, str) else None


def _read_old(source: Path) -> Any:
    import anndata

    reading("all of it, as it is of an old form")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is read to be written in the present form
        return anndata.read_h5ad(source)


def _columns(var: Any) -> list[str]:
    return list(map(decoded, var.attrs["column-order"]))


def _add_columns(var: Any, columns: dict[str, np.ndarray]) -> None:
    """Add columns to a data frame; the others stay as they are, of whatever type."""
    import h5py
    from anndata.io import write_elem

    for name, values in columns.items():
        reading(f"var/{name}, which is written")
        write_elem(var, name, values)
    names = [*(name for name in _columns(var) if name not in columns), *columns]
    in_hdf5 = isinstance(var, h5py.Group)
    var.attrs["column-order"] = np.array(names, h5py.string_dtype()) if in_hdf5 else names
