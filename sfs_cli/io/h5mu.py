"""MuData in HDF5: several AnnData in one file, of which one is read."""

from __future__ import annotations

from pathlib import Path

from sfs_cli.io.anndata_groups import open_anndata
from sfs_cli.io.base import MatrixReader, ReadOptions
from sfs_cli.io.h5ad import open_hdf5
from sfs_cli.io.modality import find_modality, split_modality


def open_h5mu(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a modality of a MuData file; see `sfs_cli.io.anndata_groups.open_anndata`.

    Parameters
    ----------
    path : Path
        ``FILE.h5mu:MODALITY``, or ``FILE.h5mu`` where there is one modality.
    options : ReadOptions
        Type and size of the blocks; which matrix of the modality.

    Returns
    -------
    MatrixReader

    Raises
    ------
    InputError
        The file is damaged or not MuData, or has no such modality or layer.
    """
    file = open_hdf5(split_modality(path)[0])
    try:
        return open_anndata(path, "h5mu", find_modality(file, path), file.close, options)
    except BaseException:
        file.close()
        raise
