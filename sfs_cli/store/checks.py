"""Counting missing values, and refusing infinite ones, as values pass into a store."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.store.matrix import Missing

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

    def see(
        self, ids: Sequence[str], values: np.ndarray, columns: np.ndarray | None = None
    ) -> None:
        """Look at a block.

        Parameters
        ----------
        ids : sequence of str
            Ids of the rows of the block; of each value, where `columns` is given.
        values : ndarray, shape (rows, columns) or (values,)
            Dense block, or the stored values of a sparse one.
        columns : ndarray of int, shape (values,), optional
            Column of each stored value of a sparse block.
        """
        # one pass at memory speed: a sum is finite only if every value is (overflow is looked into)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.add.reduce(values, axis=None)):
                return
        bad = ~np.isfinite(values)
        if not bad.any():
            return
        if columns is None:
            row, column = np.nonzero(bad)
        else:
            row, column = np.nonzero(bad)[0], columns[bad]
        self._refuse_infinite(ids, row, column, values[bad])
        self.values += len(row)
        self.rows += len({ids[i] for i in np.unique(row)})
        self.columns[column] = True
        for i, j in zip(row[:PLACES], column[:PLACES]):
            if len(self.places) < PLACES:
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
