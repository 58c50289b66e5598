"""The matrix of a ranking as AnnData, to which a function of Python adds the scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.compute.matrix import Span
from sfs_cli.io.matrix.base import is_anndata
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.run.load import loaded
from sfs_cli.store.matrix import Matrix, block_of

if TYPE_CHECKING:
    from anndata import AnnData


def anndata_of(config: RankConfig) -> AnnData:
    """Return the matrix of a configuration, samples x features, in memory.

    AnnData in a file comes with all that it holds. Of another matrix it has the values before any
    transformation, float64 unless the configuration says otherwise, with the ids and the
    annotations of the samples and of the features that were read.

    Raises
    ------
    InputError
        Where it cannot be read.
    """
    if is_anndata(config.matrix) and not config.files and config.collapse is None:
        from sfs_cli.io.matrix.anndata import read_anndata

        return read_anndata(Path(config.matrix))
    config = replace(config, dtype=config.dtype or "float64")
    with loaded(config, Messages(verbosity=-1)) as run:
        return as_anndata(run.opened.matrix)


def as_anndata(matrix: Matrix) -> AnnData:
    """Return a matrix, samples x features, with its ids and annotations, in memory."""
    import anndata
    import pandas as pd

    ids, values = matrix.ids, block_of(matrix, Span(0, matrix.n_features)).T
    samples, features = (
        pd.Index(list(names), dtype=object) for names in (ids.samples, ids.features)
    )
    obs = pd.DataFrame()
    if ids.obs is not None:
        obs, columns = ids.obs.to_pandas(), zip(ids.obs.column_names, ids.obs.columns)
        # yes, no and missing: pandas makes objects of them, which AnnData cannot write
        unsure = [name for name, of in columns if str(of.type) == "bool" and of.null_count]
        obs = obs.astype(dict.fromkeys(unsure, "boolean"))
    return anndata.AnnData(
        values.copy() if isinstance(values, np.ndarray) else values.tocsr(),
        obs.set_index(samples) if len(obs) else pd.DataFrame(index=samples),
        pd.DataFrame({k: list(v) for k, v in ids.var.items()}, index=features),
    )
