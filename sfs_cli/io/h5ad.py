"""AnnData in HDF5, and the sample graphs of any AnnData."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import InputError
from sfs_cli.io.anndata_frames import read_frame, read_graph
from sfs_cli.io.anndata_groups import check_anndata, open_anndata
from sfs_cli.io.base import MatrixReader, ReadOptions
from sfs_cli.io.modality import SUFFIX, find_modality, split_modality
from sfs_cli.io.stored_arrays import storage_errors

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array


def open_h5ad(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an AnnData file; see `sfs_cli.io.anndata_groups.open_anndata`.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Type and size of the blocks; which matrix.

    Returns
    -------
    MatrixReader

    Raises
    ------
    InputError
        The file is damaged or not AnnData, or has no such layer.
    """
    file = open_hdf5(path)
    try:
        return open_anndata(path, "h5ad", file, file.close, options)
    except BaseException:
        file.close()
        raise


def open_hdf5(path: Path) -> Any:
    """Open an HDF5 file for reading.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    h5py.File

    Raises
    ------
    InputError
        It is missing, damaged or no HDF5.
    """
    import h5py

    with storage_errors(path, "HDF5"):
        return h5py.File(path, "r")


def read_obsp(path: Path, key: str) -> tuple[csr_array | np.ndarray, list[str]]:
    """Read a sample graph of AnnData.

    Parameters
    ----------
    path : Path
        An ``.h5ad`` file, ``FILE.h5mu:MODALITY``, or a ``.zarr`` folder.
    key : str
        Name of the graph under ``obsp``.

    Returns
    -------
    graph : csr_array or ndarray, shape (n, n)
        As it is stored; neither symmetry nor the values are checked.
    sample_ids : list of str
        The ids of its rows and columns.

    Raises
    ------
    InputError
        It is not AnnData, or has no such graph; those there are get listed.
    """
    with _root(path) as group:
        check_anndata(group, path)
        graph = read_graph(group, key, path)
        samples = list(read_frame(group, "obs", path).index)
    if graph.shape != (len(samples), len(samples)):
        raise InputError(
            f"obsp/{key} has shape {graph.shape}, but there are {len(samples):,} samples",
            where=str(path),
            hint="write the file again with AnnData.write_h5ad",
        )
    return graph, samples


@contextmanager
def _root(path: Path) -> Iterator[Any]:
    if path.is_dir():
        from sfs_cli.io.zarr import open_zarr_group

        yield open_zarr_group(path)
        return
    file_path, _ = split_modality(path)
    with open_hdf5(file_path) as file:
        if file_path.suffix.lower() == SUFFIX:
            yield find_modality(file, path)
        else:
            yield file
