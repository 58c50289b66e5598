"""Copies of an h5ad with something added; the work on the file is done in a child process."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.io.files.apart import call_apart, reading
from sfs_cli.io.matrix.base import read_errors

_HINT = "read it with anndata, write it again with AnnData.write_h5ad, and rank that"


def check_additions(source: Path) -> None:
    """Raise an `InputError` if columns of ``var`` cannot be added to a copy of an h5ad."""
    import anndata.io  # noqa: F401 - once, for all children
    import h5py

    def work() -> None:
        with read_errors(source, "AnnData", _HINT), h5py.File(source, "r") as file:
            if _is_old(file):
                _read_old(source)
            else:
                _columns(file["var"])
                if "uns" in file and not hasattr(file["uns"], "keys"):
                    raise InputError("uns is not a group", where=str(source), hint=_HINT)

    call_apart(work, source)


def add_to_copy(
    source: Path, path: Path, columns: dict[str, np.ndarray], about: dict[str, str]
) -> None:
    """Copy an h5ad to a path, with columns of ``var`` and members of ``uns`` added or replaced.

    A file from before AnnData 0.7 is written again in the present form, which takes the memory of
    its content.
    """
    import anndata.io  # noqa: F401 - once, for all children
    import h5py

    def rewrite() -> None:
        data = _read_old(source)
        for name, values in columns.items():
            data.var[name] = values
        data.uns.update(about)
        reading("the copy that is written")
        data.write_h5ad(path, convert_strings_to_categoricals=False)

    def add() -> bool:
        with h5py.File(path, "r+") as file:
            if _is_old(file):
                return False
            _add_columns(file["var"], columns)
            for key, value in about.items():
                write_member(file, "uns", key, value)
        return True

    shutil.copyfile(source, path)
    if not call_apart(add, path):
        path.unlink()
        call_apart(rewrite, source)


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


def _read_old(source: Path) -> Any:
    import anndata

    reading("all of it, as it is of an old form")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is read to be written in the present form
        return anndata.read_h5ad(source)


def _columns(var: Any) -> list[str]:
    names = var.attrs["column-order"]
    return [name.decode() if isinstance(name, bytes) else str(name) for name in names]


def _add_columns(var: Any, columns: dict[str, np.ndarray]) -> None:
    """Add columns to a data frame; the others stay as they are, of whatever type."""
    import h5py
    from anndata.io import write_elem

    for name, values in columns.items():
        reading(f"var/{name}, which is written")
        write_elem(var, name, values)
    names = [name for name in _columns(var) if name not in columns]
    var.attrs["column-order"] = np.array([*names, *columns], h5py.string_dtype())
