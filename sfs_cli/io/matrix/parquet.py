"""Parquet tables, streamed page by page, in groups of columns where memory asks for it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfs_cli.errors import OutOfMemoryError
from sfs_cli.io.files.text import arrow_file
from sfs_cli.io.matrix.arrow import TableReader
from sfs_cli.io.matrix.base import MatrixReader, ReadOptions, read_errors

# pyarrow's description of the columns takes so many times the footer's size (measured); that may
# be twice what decoding may take, which is half of the memory of a run; the least is always allowed
_FOOTER_TIMES, _FOOTER_SHARE, _FOOTER_LEAST = 18, 2, 8 << 20
_CHUNK_TIMES = 3  # packed, unpacked and as a dictionary: a column chunk may be a single page
_COLUMN_BYTES = 16 << 10  # decoding a column takes at least this, however short it is
_MAX_BUFFER = 1 << 16
_SMALL_READ = 1 << 12


def open_parquet(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a Parquet table of a name column and numeric columns.

    Held at a time are a block, and of every column one page (at most 1 MiB as most writers write
    it), however large the row groups are. Where that may be more than ``options.decode_bytes``,
    the columns are decoded in groups.

    Raises
    ------
    InputError
        The file is damaged, has no names or a column that is not numeric.
    OutOfMemoryError
        pyarrow needs more memory to open that many columns.
    """
    with read_errors(path, "parquet"):
        if options.decode_bytes is not None:
            _refuse_too_wide(path, options.decode_bytes)
        source = ParquetSource(path, options.block_bytes)
    return TableReader(path, "parquet", source, options)


def _refuse_too_wide(path: Path, decode_bytes: int) -> None:
    """Raise before pyarrow describes every column of every row group, about 4 kB each."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 8))
        tail = file.read(8)
    size, magic = struct.unpack("<I4s", tail) if len(tail) == 8 else (0, b"")
    needed = _FOOTER_TIMES * size if size < end else 0  # a damaged size is found by pyarrow
    if magic == b"PAR1" and needed > max(_FOOTER_SHARE * decode_bytes, _FOOTER_LEAST):
        raise OutOfMemoryError(
            f"opening a Parquet file with so many columns needs {needed / 2**20:,.0f} MiB",
            where=f"{path}, whose description of the columns has {size / 2**20:,.0f} MiB",
            hint=f"give --memory {needed // 2**29 + 1}G or more; or write the table with features "
            "in rows, or as Feather or h5ad",
        )


class ParquetSource:
    """A Parquet file as a `TableSource`; its parts are row groups."""

    def __init__(self, path: Path, block_bytes: int) -> None:
        with arrow_file(path) as file:
            metadata = pq.read_metadata(file)
        width = metadata.num_columns
        buffer = min(max(block_bytes // max(1, width), _SMALL_READ), _MAX_BUFFER)
        self._file = pq.ParquetFile(
            arrow_file(path), metadata=metadata, buffer_size=buffer, pre_buffer=False
        )
        self.schema = self._file.schema_arrow
        self.n_parts, self.n_rows = metadata.num_row_groups, metadata.num_rows
        groups = map(metadata.row_group, range(self.n_parts))
        largest = max(groups, key=lambda group: group.total_byte_size, default=None)
        chunks = [] if largest is None else map(largest.column, range(width))
        self.costs = [_COLUMN_BYTES + _CHUNK_TIMES * c.total_uncompressed_size for c in chunks]

    def batches(
        self, columns: Sequence[int], n_rows: int, part: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns (rising) of one row group or all, at most `n_rows` rows at a time."""
        # by position, since a name may be that of several columns; none of them is nested
        yield from self._file.reader.iter_batches(
            n_rows,
            row_groups=range(self.n_parts) if part is None else [part],
            column_indices=columns,
            use_threads=part is None,
        )

    def close(self) -> None:
        """Release the file."""
        self._file.close(force=True)
