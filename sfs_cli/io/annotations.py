"""Annotations of the samples that come with a matrix (`obs` of AnnData, or of a GCT)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfs_cli.errors import InputError, listed

if TYPE_CHECKING:
    import pyarrow as pa


def read_annotation(
    key: str, samples: list[str], obs: pa.Table | None, matrix: str, option: str = "--labels "
) -> dict[str, str]:
    """Return an annotation by sample; samples without a value are left out.

    Parameters
    ----------
    key : str
        Name of the annotation.
    samples : list of str
        Ids of the samples, in the order of `obs`.
    obs : pyarrow.Table, optional
        The annotations.
    matrix : str
        The path of the matrix, for messages.
    option : str
        What asked for it, for messages.

    Raises
    ------
    InputError
        When there is no such annotation.
    """
    if obs is None:
        raise InputError(
            f"{option}obs:{key} needs annotations of the samples, and the matrix has none",
            where=matrix,
            hint=f"give {option}FILE[:COLUMN]; annotations are found in h5ad, zarr and GCT",
        )
    names = obs.column_names
    if key not in names:
        raise InputError(
            f"the samples have no annotation {key!r}",
            where=f"{matrix}: obs has {listed(names, 20)}",
            hint=f"choose one of those, or give {option}FILE[:COLUMN]",
        )
    return {s: str(v) for s, v in zip(samples, obs[key].to_pylist()) if v is not None}
