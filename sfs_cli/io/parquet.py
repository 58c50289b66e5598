"""Parquet tables, streamed page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfs_cli.io.arrow_rows import ArrowReader, arrow_errors
from sfs_cli.io.base import MatrixReader, ReadOptions

_MAX_BUFFER = 1 << 16
_MIN_BUFFER = 1 << 8
_SMALL_READ = 1 << 12


def open_parquet(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a Parquet table of a name column and numeric columns.

    What is held at a time is a block, and of every column one page (at most 1 MiB as most writers
    have it), however large the row groups are.

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
        The file is damaged, has no names or a column that is not numeric.
    """
    with arrow_errors(path, "parquet"):
        source = ParquetSource(path, options.block_bytes)
    try:
        return ArrowReader(path, "parquet", source, options)
    except BaseException:
        source.close()
        raise


class ParquetSource:
    """Record batches of a Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    block_bytes : int
        All read buffers together stay near this size.
    """

    def __init__(self, path: Path, block_bytes: int) -> None:
        metadata = pq.read_metadata(path)
        self._file = pq.ParquetFile(
            path,
            metadata=metadata,
            buffer_size=_buffer_size(metadata, block_bytes),
            pre_buffer=False,
        )
        self.schema = self._file.schema_arrow
        self.n_rows: int = metadata.num_rows

    def batches(self, n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the whole table, at most `n_rows` rows at a time."""
        yield from self._file.iter_batches(batch_size=n_rows)

    def first_ids(self, position: int) -> pa.Array:
        """Return the first values of one column."""
        name = self.schema.names[position]
        kind = self.schema.field(position).type
        for batch in self._file.iter_batches(batch_size=1024, columns=[name]):
            # a column `a` also brings along a column named `a.b`
            return batch.column(batch.schema.get_all_field_indices(name)[0])
        return pa.nulls(0, kind)

    def close(self) -> None:
        """Release the file."""
        self._file.close(force=True)


def _buffer_size(metadata: pq.FileMetaData, block_bytes: int) -> int:
    width = max(1, metadata.num_columns)
    groups = range(metadata.num_row_groups)
    chunk = max((metadata.row_group(i).total_byte_size for i in groups), default=0) // width
    share = min(max(block_bytes // width, _SMALL_READ), _MAX_BUFFER)
    return max(min(chunk, share), _MIN_BUFFER)
