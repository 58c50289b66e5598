"""Matrix Market files of any kind: read by SciPy as a whole, or streamed where they are too large.

Only coordinates that are sorted by column or by row, with one space or tab between, are streamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from scipy.io import mminfo, mmread
from scipy.sparse import coo_array, csr_array

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.io.files.text import ByteStream
from sfs_cli.io.matrix.base import ReadOptions, cast_values, read_errors
from sfs_cli.io.matrix.stored import SparseRows, StoredMatrix, csr_block

_LOOK_BYTES = 1 << 18
_HELD_BYTES = 32  # an entry as SciPy reads it, two indices and a value, and in sorted rows
_TOP = re.compile(rb"(%.*\n|[ \t\r]*\n)*.*\n")
"""The lines up to the sizes."""
_COLUMNS = {"row": pa.int64(), "column": pa.int64(), "value": pa.float64()}


class _Numbers(ByteStream):
    """A file whose values are read as fractions: SciPy cuts off those of whole numbers."""

    closed = False  # for Arrow

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.head = re.sub(rb"(unsigned-)?integer", b"real", super().read(_LOOK_BYTES), count=1)
        self._rest = self.head

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end of the first ones or of all."""
        data, self._rest = self._rest[:size], self._rest[size:]
        return data or super().read(size)


class MatrixMarketRows(StoredMatrix):
    """The columns of a file (or its rows, where its entries are sorted by row) as rows.

    A matrix that takes more memory than ``options.decode_bytes`` is streamed; one that cannot be is
    an `OutOfMemoryError`.
    """

    sparse = True

    def __init__(self, path: Path, options: ReadOptions) -> None:
        with read_errors(path, "a Matrix Market file"), _Numbers(path) as file:
            n, m, self._n_entries, kind, values, symmetry = mminfo(pa.PythonFile(file, "r"))
        found = _TOP.match(file.head)
        self._top = found.group() if found else b""
        entries = file.head[len(self._top) :].splitlines(keepends=True)
        self._is_tabbed = b"\t" in b"".join(entries[:1])
        self._names = list(_COLUMNS)[: 2 if values == "pattern" else 3]
        # the last one may be cut off
        by_row, by_column = _order(entries[:-1]) if kind == "coordinate" else (False, False)
        self.by_column = not by_row
        self.path = path
        self.shape = (m, n) if self.by_column else (n, m)
        held = _HELD_BYTES * self._n_entries * (1 if symmetry == "general" else 2)
        self._held = options.decode_bytes is None or held <= options.decode_bytes
        if not self._held and (symmetry != "general" or not (by_row or by_column)):
            raise OutOfMemoryError(
                f"to sort the entries of the matrix takes {held / 2**20:,.0f} MiB",
                where=path,
                hint=f"give --memory {held // 2**29 + 1}G or more, or write the matrix as a "
                "general one in coordinates that are sorted by column",
            )

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, csr_array]]:
        """Yield whole columns (or rows), which are rows of the blocks.

        Entries that are out of bounds, repeated, or not as many as declared, are an `InputError`,
        and so are those of a streamed file that are not in the order of its first ones.
        """
        yield from self._read().blocks(options) if self._held else self._stream(options)

    def _read(self) -> SparseRows:
        with _Numbers(self.path) as file:
            # SciPy asks for a kilobyte at a time
            buffered = pa.BufferedInputStream(pa.PythonFile(file, "r"), _LOOK_BYTES)
            entries = coo_array(mmread(buffered))
        rows = csr_array(entries.T if self.by_column else entries)
        if rows.nnz < entries.nnz:
            raise InputError(
                "the sparse matrix has two values for one row and column",
                where=self.path,
                hint="add them up if that is meant, and write the file again",
            )
        parts = {name: getattr(rows, name) for name in ("data", "indices", "indptr")}
        return SparseRows(parts, self.shape, self.path)

    def _stream(self, options: ReadOptions) -> Iterator[tuple[int, int, csr_array]]:
        by = ("column", "row") if self.by_column else ("row", "column")
        read = pacsv.ReadOptions(
            column_names=self._names,
            skip_rows=self._top.count(b"\n"),
            block_size=max(options.block_bytes // 4, 1 << 12),
            use_threads=False,
        )
        parse = pacsv.ParseOptions(delimiter="\t" if self._is_tabbed else " ", quote_char=False)
        convert = pacsv.ConvertOptions(column_types=_COLUMNS, null_values=[])
        # the two indices and the values of the entries of whole rows, and of the beginning of one
        waiting, start, found = np.empty((3, 0)), 0, 0
        with (
            _Numbers(self.path) as file,
            pacsv.open_csv(pa.PythonFile(file, "r"), read, parse, convert) as batches,
        ):
            for batch in batches:
                major, minor = (np.from_dlpack(batch[name]) - 1 for name in by)
                found += len(major)
                values = np.ones(len(major)) if batch.num_columns < 3 else np.from_dlpack(batch[2])
                waiting = np.hstack([waiting, [major, minor, values]])
                if (np.diff(waiting[0], prepend=start, append=self.shape[0] - 1) < 0).any():
                    raise InputError(
                        "entries are outside of the declared size, or not sorted as the first ones "
                        f"are, by {by[0]}",
                        where=self.path,
                        hint=f"write the file again, sorted by {by[0]}, or give more --memory",
                    )
                last = int(waiting[0, -1])
                if waiting.nbytes >= options.block_bytes and last > start:
                    cut = int(np.searchsorted(waiting[0], last))
                    yield start, last, self._block(waiting[:, :cut], start, last, options)
                    start, waiting = last, waiting[:, cut:]
        if found != self._n_entries:
            raise InputError(
                f"the matrix has {found:,} entries, but its header declares {self._n_entries:,}",
                where=self.path,
                hint="the file is cut off or was changed: copy or download it again",
            )
        stop = self.shape[0]
        yield start, stop, self._block(waiting, start, stop, options)

    def _block(self, entries: np.ndarray, start: int, stop: int, options: ReadOptions) -> csr_array:
        values = cast_values(entries[2], options.dtype, self.path)
        indptr = np.searchsorted(entries[0], np.arange(start, stop + 1))
        shape = stop - start, self.shape[1]
        return csr_block(values, entries[1].astype(np.int64), indptr, shape, self.path)


def _order(entries: list[bytes]) -> tuple[bool, bool]:
    """Say whether entries are sorted by row and by column; by the one that has fewer, if by both.

    What is wrong with entries is told by who reads them.
    """
    with suppress(ValueError):
        rows, columns = np.array([e.split()[:2] for e in entries if e.strip()]).astype(int).T
        by_row, by_column = bool((np.diff(rows) >= 0).all()), bool((np.diff(columns) >= 0).all())
        if not (by_row and by_column):
            return by_row, by_column
        fewer_rows = len(np.unique(rows)) < len(np.unique(columns))
        return fewer_rows, not fewer_rows
    return False, False
