"""Finding features whose variation float32 hardly resolves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

COARSE = 1e-5
"""A feature that varies by less than this part of its size keeps about two digits of it."""


class SpreadCheck:
    """Follows the smallest and largest value of every feature of a dense float32 matrix.

    Parameters
    ----------
    rows_are_features : bool
        What a row of the incoming blocks is.
    n_columns : int
        Number of columns.
    """

    def __init__(self, rows_are_features: bool, n_columns: int) -> None:
        self.rows_are_features = rows_are_features
        self._coarse: list[str] = []
        self._low = np.full(0 if rows_are_features else n_columns, np.inf, np.float32)
        self._high = -self._low

    def see(self, ids: Sequence[str], values: np.ndarray) -> None:
        """Look at a block."""
        axis = 1 if self.rows_are_features else 0
        low, high = np.fmin.reduce(values, axis), np.fmax.reduce(values, axis)
        if self.rows_are_features:
            self._coarse += [ids[i] for i in _coarse(low, high)]
        else:
            np.fmin(self._low, low, out=self._low)
            np.fmax(self._high, high, out=self._high)

    def result(self, column_ids: Sequence[str]) -> list[str]:
        """Return the ids of the features that vary little for their size, in order."""
        if self.rows_are_features:
            return self._coarse
        return [column_ids[i] for i in _coarse(self._low, self._high)]


def _coarse(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    size = np.maximum(np.abs(low), np.abs(high))
    return np.flatnonzero((high > low) & (high - low < COARSE * size))
