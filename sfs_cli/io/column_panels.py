"""Values of groups of columns in a scratch file, from which rows are put together."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.errors import unwritable


class Panels:
    """Groups of columns in a scratch file that has no name, and is gone when it is closed.

    Parameters
    ----------
    folder : Path or None
        Where the file is; None is the system's folder for such.
    dtype : dtype
        Type of the values.

    Raises
    ------
    InputError
        The file cannot be made.
    """

    def __init__(self, folder: Path | None, dtype: np.dtype[Any]) -> None:
        self._folder = folder
        self._dtype = dtype
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise unwritable(folder or tempfile.gettempdir(), error, "--scratch") from None
        self.clear()

    def clear(self) -> None:
        """Begin anew; the space is used again."""
        self._places: list[tuple[int, int]] = []
        self._end = 0

    def begin(self, width: int) -> None:
        """Begin a panel of so many columns."""
        self._places.append((self._end, width))

    def add(self, values: np.ndarray) -> None:
        """Add rows to the panel, shape (rows, width), C-ordered.

        Raises
        ------
        InputError
            The disk is full.
        """
        view = values.reshape(-1).data.cast("B")
        try:
            while len(view):
                written = os.pwrite(self._file.fileno(), view, self._end)
                view = view[written:]
                self._end += written
        except OSError as error:
            raise unwritable(self._folder or tempfile.gettempdir(), error, "--scratch") from None

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return rows of all panels side by side."""
        out = np.empty((stop - start, sum(width for _, width in self._places)), self._dtype)
        at = 0
        for place, width in self._places:
            part = np.empty((stop - start, width), self._dtype)
            offset = place + start * width * self._dtype.itemsize
            self._read(offset, part.reshape(-1).data.cast("B"))
            out[:, at : at + width] = part
            at += width
        return out

    def check_rows(self, n_rows: int) -> None:
        """See whether all panels have as many rows.

        Raises
        ------
        EOFError
            One has more or fewer.
        """
        ends = [place for place, _ in self._places[1:]] + [self._end]
        for (place, width), end in zip(self._places, ends, strict=True):
            if end - place != n_rows * width * self._dtype.itemsize:
                raise EOFError("columns have different numbers of rows")

    def _read(self, offset: int, view: memoryview) -> None:
        while len(view):
            count = os.preadv(self._file.fileno(), [view], offset)
            if count == 0:
                raise EOFError("columns have different numbers of rows")
            view = view[count:]
            offset += count

    def close(self) -> None:
        """Give the space back."""
        self._file.close()
