"""Parquet tables, streamed page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfs_cli.io.arrow_groups import GroupedReader, group_columns
from sfs_cli.io.arrow_rows import ArrowReader, arrow_errors
from sfs_cli.io.base import MatrixReader, ReadOptions
from sfs_cli.io.parquet_footer import Footer, footer_size

_MAX_BUFFER = 1 << 16
_MIN_BUFFER = 1 << 8
_SMALL_READ = 1 << 12
_FOOTER_TIMES = 18
"""What pyarrow makes of a footer takes so many times its size."""
_CHUNK_TIMES = 3
"""Packed, unpacked and as a dictionary: a column chunk may be a single page."""
_COLUMN_BYTES = 16 << 10
"""What decoding a column takes, however short it is."""


def open_parquet(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a Parquet table of a name column and numeric columns.

    What is held at a time is a block, and of every column one page (at most 1 MiB as most writers
    have it), however large the row groups are. Where that may be more than
    ``options.decode_bytes``, the columns are decoded in groups.

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
    budget = options.decode_bytes
    with arrow_errors(path, "parquet"):
        footer = None if budget is None or _fits(path, budget) else Footer(path)
        if budget is None or footer is None or footer.nested:
            # nested columns are no numbers: the table will be refused
            source: ParquetSource | ParquetColumns = ParquetSource(path, options.block_bytes)
        else:
            source = ParquetColumns(path, footer, options.block_bytes, budget)
    try:
        if isinstance(source, ParquetColumns):
            return GroupedReader(path, "parquet", source, options)
        return ArrowReader(path, "parquet", source, options)
    except BaseException:
        source.close()
        raise


def _fits(path: Path, budget: int) -> bool:
    """Tell whether all columns can be decoded side by side."""
    needed = _FOOTER_TIMES * footer_size(path)
    if needed > budget:
        return False
    metadata = pq.read_metadata(path)
    needed += _CHUNK_TIMES * _largest_group(metadata) + _COLUMN_BYTES * metadata.num_columns
    return needed <= budget


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
        self._file = _open(path, metadata, block_bytes)
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


class ParquetColumns:
    """Columns of a Parquet file, of which some are decoded at a time.

    Parameters
    ----------
    path : Path
        The file.
    footer : Footer
        Its footer.
    block_bytes : int
        All read buffers together stay near this size.
    budget : int
        What columns that are decoded side by side may take, in bytes.
    """

    def __init__(self, path: Path, footer: Footer, block_bytes: int, budget: int) -> None:
        self._path = path
        self._footer = footer
        self._block_bytes = block_bytes
        self._budget = budget
        self.schema = footer.schema()
        self.n_rows = footer.n_rows
        self.n_parts = len(footer.row_groups)

    def groups(self, columns: Sequence[int]) -> list[Sequence[int]]:
        """Return columns in groups that may be decoded side by side."""
        parts = [group.sizes for group in self._footer.row_groups]
        largest = (max((sizes[i] for sizes in parts), default=0) for i in columns)
        costs = (_COLUMN_BYTES + _CHUNK_TIMES * size for size in largest)
        return group_columns(columns, costs, self._budget)

    def part(self, number: int, columns: Sequence[int], n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield one row group of some columns, at most `n_rows` rows at a time."""
        metadata = self._footer.subset(number, columns)
        file = _open(self._path, metadata, self._block_bytes)
        try:
            yield from file.iter_batches(batch_size=n_rows, use_threads=False)
        finally:
            file.close(force=True)

    def first_ids(self, position: int) -> pa.Array:
        """Return the first values of one column."""
        for number in range(self.n_parts):
            for batch in self.part(number, (position,), 1024):
                return batch.column(0)
        return pa.nulls(0, self.schema.field(position).type)

    def close(self) -> None:
        """Release the file."""
        self._footer.close()


def _open(path: Path, metadata: pq.FileMetaData, block_bytes: int) -> pq.ParquetFile:
    return pq.ParquetFile(
        path,
        metadata=metadata,
        buffer_size=_buffer_size(metadata, block_bytes),
        pre_buffer=False,
    )


def _buffer_size(metadata: pq.FileMetaData, block_bytes: int) -> int:
    width = max(1, metadata.num_columns)
    chunk = _largest_group(metadata) // width
    share = min(max(block_bytes // width, _SMALL_READ), _MAX_BUFFER)
    return max(min(chunk, share), _MIN_BUFFER)


def _largest_group(metadata: pq.FileMetaData) -> int:
    groups = range(metadata.num_row_groups)
    return max((metadata.row_group(i).total_byte_size for i in groups), default=0)
