"""Coordinates of the samples, such as an embedding or places in a tissue, from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.files.names import nfc
from sfs_cli.io.files.sniff import Kind, examine, recognize
from sfs_cli.io.knowledge.sample_columns import positions
from sfs_cli.io.matrix.base import is_anndata, read_dense_table

INSIDE = "obsm:"
"""What names coordinates in the file of the matrix."""
SHOWN = 3


@dataclass(frozen=True)
class Coordinates:
    """Coordinates as a file has them."""

    where: str  # the file and the key, for messages
    samples: Sequence[str]
    names: Sequence[str]  # of the d columns
    values: np.ndarray  # (samples, d), float64; not checked

    def aligned(self, sample_ids: Sequence[str]) -> np.ndarray:
        """Return the coordinates of some samples in their order, shape (n, d).

        Other samples of the file are left out. An `InputError` says that samples have none or
        several, that a coordinate is NaN or infinite, or that all samples have the same ones.
        """
        hint = "leave samples without coordinates out with --samples intersect"
        values = self.values[
            positions(self.samples, sample_ids, "have no coordinates", self.where, hint)
        ]
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            places = (f"sample {sample_ids[i]}, {self.names[j]}" for i, j in bad[:SHOWN])
            raise InputError(
                f"coordinates that are NaN or infinite: {len(bad):,}",
                where=f"{self.where}: first at {'; '.join(places)}",
                hint="give a number for every sample, or leave such samples out of the matrix",
            )
        if (values == values[0]).all():
            raise InputError(
                "all samples have the same coordinates",
                where=self.where,
                hint="give coordinates that differ, such as principal components",
            )
        return values


def open_coordinates(spec: str, matrix: str) -> Coordinates:
    """Read coordinates: ``obsm:KEY`` of the matrix at a path, or a table with samples in rows.

    The table is of any matrix format, with the ids of the samples in its first column. What holds
    no coordinates is an `InputError`, ``obsm:KEY`` of another format than AnnData a `UsageError`.
    """
    if spec.startswith(INSIDE):
        values, names, samples = read_inside(spec, matrix)
        where = f"{matrix}, obsm/{spec.removeprefix(INSIDE)}"
        return Coordinates(where, [*map(nfc, samples)], names, values)
    wanted = "a table of coordinates"
    hint = "give a table of numbers with a row for each sample, its id first"
    reader, samples, values = read_dense_table(Path(spec), wanted, hint)
    if not reader.column_ids or reader.fixed_rows == "features":
        raise InputError(f"this is not {wanted}", where=spec, hint=hint)
    return Coordinates(spec, samples, reader.column_ids, values)


def read_inside(spec: str, matrix: str) -> tuple[Any, Sequence[str], Sequence[str]]:
    """Read ``obsm:KEY`` or ``obsp:KEY`` of the matrix at a path, or of an object of Python.

    Returned are the coordinates, shape (n, d), or the graph, shape (n, n); the names of the columns
    of coordinates; and the ids of the samples. A matrix that is not AnnData is a `UsageError`.
    """
    from sfs_cli.io.matrix import anndata, memory

    path, (part, _, key) = Path(matrix), spec.partition(":")
    content = recognize(path)
    if content.kind is Kind.OBJECT:
        return memory.read_held(content.held, part, key, matrix)
    if not is_anndata(path):
        raise UsageError(
            f"{spec} needs an h5ad or AnnData zarr input",
            where=matrix,
            hint="give a file with a row for each sample: --coordinates FILE (also beside "
            "--spatial), --similarity file:FILE, or a source (profile:FILE,rows=samples or "
            "similarity:FILE)",
            option=("similarity", "coordinates"),
        )
    examine(path)
    return anndata.read_inside(path, part, key)
