"""Counting missing values, and refusing infinite ones, as values pass into a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.store.matrix import Missing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PLACES = 5


class FiniteCheck:
    """Looks at every value once, on its way into the store.

    Parameters
    ----------
    where : str
        The file, for messages.
    rows_are_features : bool
        What a row of the incoming blocks is.
    column_ids : sequence of str
        Ids of the columns of the incoming blocks.
    """

    def __init__(self, where: str, rows_are_features: bool, column_ids: Sequence[str]) -> None:
        self.where = where
        self.rows_are_features = rows_are_features
        self.column_ids = column_ids
        self.values = 0
        self.rows = 0
        self.columns = np.zeros(len(column_ids), bool)
        self.places: list[tuple[str, str]] = []

    def see(self, ids: Sequence[str], values: np.ndarray | csr_array) -> None:
        """Look at a block.

        Parameters
        ----------
        ids : sequence of str
            Ids of the rows of the block.
        values : ndarray or csr_array, shape (rows, columns)
            The block.
        """
        if isinstance(values, np.ndarray):
            if not _finite(values):
                bad = ~np.isfinite(values)
                row, column = np.nonzero(bad)
                self._note(ids, row, column, values[bad])
        elif not _finite(values.data):
            at = np.flatnonzero(~np.isfinite(values.data))
            row = np.searchsorted(values.indptr, at, side="right") - 1
            self._note(ids, row, values.indices[at], values.data[at])

    def _note(
        self, ids: Sequence[str], row: np.ndarray, column: np.ndarray, found: np.ndarray
    ) -> None:
        """Count the values that are not finite, given with their places in the block."""
        self._refuse_infinite(ids, row, column, found)
        self.values += len(found)
        self.rows += len(np.unique(row))
        self.columns[column] = True
        free = PLACES - len(self.places)
        for i, j in zip(row[:free], column[:free]):
            self.places.append(self._place(ids[i], self.column_ids[j]))

    def _place(self, row: str, column: str) -> tuple[str, str]:
        return (row, column) if self.rows_are_features else (column, row)

    def _refuse_infinite(
        self, ids: Sequence[str], row: np.ndarray, column: np.ndarray, found: np.ndarray
    ) -> None:
        infinite = np.isinf(found)
        if not infinite.any():
            return
        first = int(np.argmax(infinite))
        feature, sample = self._place(ids[row[first]], self.column_ids[column[first]])
        raise InputError(
            f"the matrix holds an infinite value ({found[first]})",
            where=f"{self.where}: feature {feature}, sample {sample}",
            hint="replace infinite values; empty or NA fields are missing values (--missing)",
        )

    def result(self) -> Missing:
        """Return what was found."""
        features = self.rows if self.rows_are_features else int(self.columns.sum())
        return Missing(self.values, features, tuple(self.places))


def _finite(values: np.ndarray) -> bool:
    """Tell whether all values are finite, where one pass at memory speed can tell.

    A finite sum has no other than finite terms; a sum that has overflowed is looked into.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.add.reduce(values, axis=None)) or np.isfinite(values).all())
