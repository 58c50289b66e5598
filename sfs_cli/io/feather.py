"""Feather version 2, which is the Arrow IPC file format, through a memory map."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from sfs_cli.errors import InputError
from sfs_cli.io.arrow_rows import ArrowReader, arrow_errors
from sfs_cli.io.base import MatrixReader, ReadOptions

_MAGIC_V1 = b"FEA1"


def open_feather(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an Arrow IPC file (Feather version 2), compressed or not.

    Uncompressed values are mapped. A compressed record batch can only be unpacked as a whole
    (65,536 rows as pyarrow and R write them) and is held at a time.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Type and size of the blocks.

    Returns
    -------
    MatrixReader

    Raises
    ------
    InputError
        The file is damaged, of version 1, has no names or a column that is not numeric.
    """
    with arrow_errors(path, "feather"):
        with path.open("rb") as file:
            old = file.read(4) == _MAGIC_V1
        source = None if old else FeatherSource(path)
    if source is None:
        raise InputError(
            "this is Feather version 1, which is no longer read",
            where=str(path),
            hint="write it again with a current pyarrow, or R's arrow::write_feather",
        )
    try:
        return ArrowReader(path, "feather", source, options)
    except BaseException:
        source.close()
        raise


class FeatherSource:
    """Record batches of an Arrow IPC file.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._map = pa.memory_map(str(path))
        try:
            self._file = pa.ipc.open_file(self._map)
            self.schema = self._file.schema
            self.n_rows = sum(batch.num_rows for batch in self._one_column(0))
        except BaseException:
            self._map.close()
            raise

    def batches(self, n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the whole table, at most `n_rows` rows at a time."""
        for number in range(self._file.num_record_batches):
            batch = self._file.get_batch(number)
            batch.validate()
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)

    def first_ids(self, position: int) -> pa.Array:
        """Return the first values of one column."""
        for batch in self._one_column(position):
            if batch.num_rows:
                return batch.column(0).slice(0, 1024)
        return pa.nulls(0, self.schema.field(position).type)

    def close(self) -> None:
        """Release the file."""
        self._map.close()

    def _one_column(self, position: int) -> Iterator[pa.RecordBatch]:
        options = pa.ipc.IpcReadOptions(included_fields=[position])
        file = pa.ipc.open_file(self._map, options=options)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            batch.validate()
            yield batch
