"""AnnData in Zarr folders, of format 2 and 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfs_cli.errors import MissingExtraError
from sfs_cli.io.anndata_groups import open_anndata
from sfs_cli.io.base import MatrixReader, ReadOptions
from sfs_cli.io.stored_arrays import storage_errors


def open_zarr(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an AnnData folder; see `sfs_cli.io.anndata_groups.open_anndata`.

    Parameters
    ----------
    path : Path
        The folder.
    options : ReadOptions
        Type and size of the blocks; which matrix.

    Returns
    -------
    MatrixReader

    Raises
    ------
    InputError
        The folder is damaged or not AnnData, or has no such layer.
    MissingExtraError
        The zarr package is not installed.
    """
    return open_anndata(path, "zarr", open_zarr_group(path), _nothing_to_release, options)


def open_zarr_group(path: Path) -> Any:
    """Open a Zarr folder for reading.

    Parameters
    ----------
    path : Path
        The folder.

    Returns
    -------
    zarr.Group

    Raises
    ------
    InputError
        It is missing or no Zarr group.
    MissingExtraError
        The zarr package is not installed.
    """
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "reading Zarr needs the package zarr", where=str(path), hint="pip install zarr"
        ) from error
    with storage_errors(path, "Zarr"):
        return zarr.open_group(str(path), mode="r")


def _nothing_to_release() -> None:
    """Do nothing: a Zarr folder holds no file open between reads."""
