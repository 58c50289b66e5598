"""Reading delimited files of any size, tall or wide, in bounded memory.

Chunks of text are parsed side by side, since pyarrow releases the interpreter's lock, and come out
in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from sfs_cli.errors import InputError
from sfs_cli.io.base import Annotations, Axis, ReadOptions, RowBlock
from sfs_cli.io.delimited_rows import Layout, first_ids, parse_chunk
from sfs_cli.io.lines import LineStream

_MAX_WORKERS = 4


def _chunk_size(options: ReadOptions) -> int:
    # short numbers take up to ten times the room of their text, in several chunks at once
    return max(options.block_bytes // 16, 1)


def parse_blocks(stream: LineStream, layout: Layout, options: ReadOptions) -> Iterator[RowBlock]:
    """Parse all remaining rows, in order.

    Parameters
    ----------
    stream : LineStream
        At the first row.
    layout : Layout
        How a row is built.
    options : ReadOptions
        ``dtype`` and ``block_bytes`` are used.

    Yields
    ------
    RowBlock
        Dense rows in file order.

    Raises
    ------
    InputError
        At the first row that is not as the layout says, or the first value that is no number.
    """
    workers = min(pa.cpu_count(), _MAX_WORKERS)
    pending: deque[tuple[int, Future[RowBlock]]] = deque()
    in_flight = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="sfs-text") as pool:
        try:
            while chunk := stream.read_chunk(_chunk_size(options)):
                size = len(chunk.text)
                while pending and (
                    len(pending) > workers or in_flight + size > options.block_bytes // 2
                ):
                    done, parsed = pending.popleft()
                    in_flight -= done
                    yield parsed.result()
                pending.append((size, pool.submit(parse_chunk, chunk, layout, options.dtype)))
                in_flight += size
            while pending:
                yield pending.popleft()[1].result()
        finally:
            pool.shutdown(cancel_futures=True)


class DelimitedReader:
    """A `MatrixReader` of a delimited file whose first lines have been read.

    Parameters
    ----------
    stream : LineStream
        At the first row; it must have one.
    layout : Layout
        How a row is built.
    options : ReadOptions
        ``dtype`` and ``block_bytes`` are used.
    format : str
        Name of the format in the registry.
    fixed_rows : {"features", "samples"}, optional
        What a row is, where the format says.
    n_rows : int, optional
        How many rows the file says it has.
    annotations : Annotations, optional
        What it says of its samples.

    Raises
    ------
    InputError
        If one of the first rows has no id.
    """

    sparse = False

    def __init__(
        self,
        stream: LineStream,
        layout: Layout,
        options: ReadOptions,
        *,
        format: str,
        fixed_rows: Axis | None = None,
        n_rows: int | None = None,
        annotations: Annotations | None = None,
    ) -> None:
        self.path = layout.path
        self.format = format
        self.fixed_rows = fixed_rows
        self.column_ids: Sequence[str] = layout.column_ids
        self.n_rows = n_rows
        self.annotations = annotations or Annotations()
        self._stream = stream
        self._layout = layout
        self._options = options
        chunk = stream.peek_chunk(_chunk_size(options))
        self._first_ids = first_ids(chunk, layout) if chunk else []

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows, as many as are parsed at a time."""
        return self._first_ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows in order; see `parse_blocks` for what is raised."""
        found = 0
        for block in parse_blocks(self._stream, self._layout, self._options):
            found += len(block.ids)
            yield block
        if self.n_rows is not None and found != self.n_rows:
            raise InputError(
                f"the file says it has {self.n_rows:,} rows, but it has {found:,}",
                where=str(self.path),
                hint="the file may be cut off: copy or download it again",
            )

    def close(self) -> None:
        """Release the file."""
        self._stream.close()
