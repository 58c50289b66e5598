"""Tables of Arrow columns as blocks of rows: what Parquet and Feather share.

All columns are decoded together where memory allows. Otherwise they are decoded in groups: the
values of each group are written to a panel of a scratch file, and blocks of rows are put together
from the panels, one part of the table (row group, record batch) after the other.

pandas stays out: `pyarrow.Array.to_numpy` imports it, so columns reach NumPy through DLPack.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfs_cli.errors import InputError, counted, listed, unwritable
from sfs_cli.io.files.scratch import made
from sfs_cli.io.files.table import is_index_name, other_annotations, pandas_index, texts_of
from sfs_cli.io.matrix.base import (
    Annotations,
    MatrixReader,
    ReadOptions,
    RowBlock,
    cast_values,
    read_errors,
    releasing,
)

_TILE_ROWS = 128
_ID_WORD = re.compile(r"(^|[_ .-])(id|gene|feature|entrez|geneid|entrezid|index)([_ .-]|$)", re.I)


class TableSource(Protocol):
    """An open table, of which some columns can be decoded without the others."""

    schema: pa.Schema
    n_parts: int  # parts that the rows are stored in, one after the other
    n_rows: int

    def groups(self, columns: Sequence[int]) -> list[Sequence[int]]:
        """Return columns in groups that may be decoded together."""
        ...

    def batches(
        self, columns: Sequence[int], n_rows: int, part: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns (rising) of one part or all, at most about `n_rows` rows at a time."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class TableReader(MatrixReader):
    """A reader of a table with a column of ids and numeric columns.

    ``groups`` are the positions of the columns that are decoded together.
    """

    def __init__(self, path: Path, name: str, source: TableSource, options: ReadOptions) -> None:
        self.path = path
        self.format = name
        self.annotations = Annotations()
        chosen = choose_columns(source.schema, path, texts=options.leave_out)
        self._ids, values, texts, self.notes = chosen
        self.n_rows = source.n_rows
        self._names = source.schema.names
        self._source = source
        self._options = options
        self._choose(values, texts)

    def _choose(self, values: Sequence[int], texts: Sequence[int]) -> None:
        self._values, self._texts = values, texts
        self.column_ids = [self._names[i] for i in values]
        self.groups = self._source.groups(values)

    @property
    def beside(self) -> Sequence[str]:
        """The names of the annotations."""
        return [self._names[i] for i in self._texts]

    def leave_out(self, names: Sequence[str]) -> None:
        """Take columns for annotations of the rows, before the first block."""
        more = {i for i in self._values if self._names[i] in {*names}}
        self._choose([i for i in self._values if i not in more], sorted({*self._texts, *more}))

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows; only the id column is read."""
        with read_errors(self.path, self.format):
            for part in range(self._source.n_parts):
                for batch in self._source.batches((self._ids,), 1024, part):
                    if batch.num_rows:
                        return _id_strings(batch.column(0), self.path)
        return []

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        with read_errors(self.path, self.format):
            if len(self.groups) > 1:
                yield from self._in_groups()
                return
            columns = sorted([self._ids, *self._texts, *self._values])
            values = [columns.index(each) for each in self._values]
            for batch in self._source.batches(columns, self._block_rows(len(values))):
                rows = self._rows(batch, values, self.column_ids)
                yield self._block(batch, columns, rows)

    def close(self) -> None:
        """Release the file."""
        self._source.close()

    def _in_groups(self) -> Iterator[RowBlock]:
        dtype = np.dtype(self._options.dtype)
        with closing(Panels(self._options.scratch, dtype)) as panels:
            for part in range(self._source.n_parts):
                panels.clear()
                first = 0
                for group in self.groups:
                    width = len(group)
                    names = self.column_ids[first : first + width]
                    panels.begin(width)
                    for batch in self._source.batches(group, self._block_rows(width), part):
                        panels.add(self._rows(batch, range(width), names))
                    first += width
                    # Arrow's pool keeps what it freed, which the next group may not fit beside
                    pa.default_memory_pool().release_unused()
                start = 0
                n_rows = self._block_rows(len(self._values))
                columns = sorted([self._ids, *self._texts])
                for batch in self._source.batches(columns, n_rows, part):
                    stop = start + batch.num_rows
                    yield self._block(batch, columns, panels.rows(start, stop))
                    start = stop
                panels.check_rows(start)

    def _block(self, batch: pa.RecordBatch, columns: Sequence[int], values: np.ndarray) -> RowBlock:
        """Return values with the ids and annotations of their rows, from a batch of columns."""
        found = {column: batch.column(at) for at, column in enumerate(columns)}
        texts = [(self._names[i], texts_of(found[i].to_pylist())) for i in self._texts]
        return RowBlock(_id_strings(found[self._ids], self.path), values, texts)

    def _block_rows(self, n_columns: int) -> int:
        width = n_columns * np.dtype(self._options.dtype).itemsize
        # a block and its transposed twin are held together
        return max(1, self._options.block_bytes // (2 * width))

    def _rows(
        self, batch: pa.RecordBatch, positions: Sequence[int], names: Sequence[str]
    ) -> np.ndarray:
        """Return columns of a batch as rows of the matrix, (batch.num_rows, len(positions))."""
        columns = np.empty((len(positions), batch.num_rows), self._options.dtype)
        for row, (position, name) in enumerate(zip(positions, names, strict=True)):
            column = column_values(batch.column(position))
            where = f"{self.path}, column {name!r}"
            columns[row] = cast_values(column, self._options.dtype, where)
        # strips of rows stay in cache, which a plain transposed copy does not
        rows = np.empty(columns.shape[::-1], columns.dtype)
        for start in range(0, len(rows), _TILE_ROWS):
            rows[start : start + _TILE_ROWS] = columns[:, start : start + _TILE_ROWS].T
        return rows


def open_table(path: Path, name: str, source: TableSource, options: ReadOptions) -> TableReader:
    """Return the reader of a table; the table is closed if it has no ids or no numbers."""
    with releasing(source.close):
        return TableReader(path, name, source, options)


def choose_columns(
    schema: pa.Schema, path: Path, *, texts: bool = False
) -> tuple[int, Sequence[int], Sequence[int], list[str]]:
    """Tell the id column of a table from its numeric columns.

    The ids are the one column of strings, or of integers named like an id, that pandas wrote as the
    index; else the first column, if it is such one; else the first of strings; else the first of
    integers. Other columns that index or number the rows are not samples and are left out.

    Returned are the position of the id column, those of the numeric columns, those of other columns
    of text, if they are asked for as `texts`, and notes on what was left out. No id column, another
    column that is neither id nor number, or no numeric column is an `InputError`.
    """
    found = (schema.get_all_field_indices(name) for name in pandas_index(schema, path))
    index = list(chain.from_iterable(found))
    of_text = [i for i, f in enumerate(schema) if holds_text(f.type)]
    whole = [i for i, f in enumerate(schema) if pa.types.is_integer(f.type)]
    counts = [i for i in whole if is_index_name(schema.field(i).name)]  # they number the rows
    codes = [i for i in whole if i not in counts and _ID_WORD.search(schema.field(i).name.strip())]
    indexed = [i for i in (*of_text, *codes) if i in index]
    first = [0] if 0 in codes else []
    ids = indexed[0] if len(indexed) == 1 else next(chain(first, of_text, codes, counts), None)
    if ids is None:
        raise InputError(
            "no column holds the names of the rows",
            where=f"{path}: {listed([f'{f.name} ({f.type})' for f in schema], 3)}",
            hint="store the names as a text column, the first one",
        )
    out = {i for i in (*index, *counts[:1]) if i != ids}
    others = [i for i in range(len(schema)) if i != ids and i not in out]
    beside = [i for i in others if texts and i in of_text]
    values = [i for i in others if i not in {*beside}]
    t = pa.types
    numeric = (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal, t.is_null)
    fields = [schema.field(i) for i in values]
    bad = {f.name: f"{f.name!r} ({f.type})" for f in fields if not any(n(f.type) for n in numeric)}
    if bad:
        raise InputError(
            f"{counted(len(bad), 'column')} without numbers besides the names "
            f"({schema.field(ids).name!r})",
            where=f"{path}: {listed(list(bad.values()), 8)}",
            hint="leave out annotation columns"
            f"{other_annotations([f.name for f in fields], bad)}; values are numbers",
        )
    if not values:
        raise InputError(
            "the table has no numeric column",
            where=path,
            hint="a matrix has row ids in one column and values in the others",
        )
    names = listed([schema.field(i).name for i in sorted(out)])
    return ids, values, beside, [f"index columns left out: {names}"] if out else []


def holds_text(kind: pa.DataType) -> bool:
    """Tell columns of texts, or of categories that are texts, from others."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    t = pa.types
    return t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)


def group_columns(
    positions: Sequence[int], costs: Iterable[int], budget: int
) -> list[Sequence[int]]:
    """Split columns into runs that are decoded together.

    `costs` are the bytes that decoding each takes; a run takes at most `budget`, unless it is a
    single column.
    """
    groups: list[Sequence[int]] = []
    start, held = 0, 0
    for at, cost in enumerate(costs):
        if at > start and held + cost > budget:
            groups.append(positions[start:at])
            start, held = at, 0
        held += cost
    return [*groups, positions[start:]]


def column_values(column: pa.Array) -> np.ndarray:
    """Return a numeric Arrow column as a NumPy array, nulls as NaN."""
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if column.null_count == 0:
        return np.from_dlpack(column)
    # DLPack knows no nulls: the values are taken without their mask, which is put on after it
    valid = np.from_dlpack(column.is_valid().cast(pa.uint8())).astype(bool)
    data = [None, column.buffers()[1]]
    raw = pa.Array.from_buffers(column.type, len(column), data, offset=column.offset)
    return np.where(valid, np.from_dlpack(raw), np.nan)


def _id_strings(column: pa.Array, path: Path) -> list[str]:
    texts = column.dictionary if pa.types.is_dictionary(column.type) else None
    missing = column.null_count
    if texts is not None and texts.null_count:
        missing += sum(not texts[at.as_py()].is_valid for at in column.indices.drop_null())
    if missing:
        raise InputError(
            f"at least {counted(missing, 'row')} without a name",
            where=path,
            hint="name every row",
        )
    if texts is not None:  # a name of many rows is one text
        names = texts.to_pylist()
        return [str(names[at]) for at in column.indices.to_pylist()]
    return [str(name) for name in column.to_pylist()]


class Panels:
    """Groups of columns in a scratch file without a name, which is gone when it is closed."""

    def __init__(self, folder: Path | None, dtype: np.dtype[Any]) -> None:
        self._folder = folder
        self._dtype = dtype
        with self._writing():
            self._file = tempfile.TemporaryFile(dir=folder and made(folder))  # noqa: SIM115
        self.clear()

    def clear(self) -> None:
        """Forget all panels; their space is used again."""
        self._panels: list[tuple[int, int]] = []  # offset and width
        self._end = 0

    def begin(self, width: int) -> None:
        """Begin a panel of so many columns."""
        self._panels.append((self._end, width))

    def add(self, values: np.ndarray) -> None:
        """Add rows to the panel, shape (rows, width), C-ordered."""
        with self._writing():
            self._file.seek(self._end)
            self._end += self._file.write(values.reshape(-1).data.cast("B"))
            self._file.flush()  # a full disk is found here, where it can be reported

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return rows of all panels, one panel beside the other."""
        out = np.empty((stop - start, sum(width for _, width in self._panels)), self._dtype)
        at = 0
        for offset, width in self._panels:
            panel = np.empty((stop - start, width), self._dtype)
            self._file.seek(offset + start * width * self._dtype.itemsize)
            if self._file.readinto(panel.reshape(-1).data.cast("B")) < panel.nbytes:
                raise EOFError("columns have different numbers of rows")
            out[:, at : at + width] = panel
            at += width
        return out

    def check_rows(self, n_rows: int) -> None:
        """Raise an `EOFError` if a panel has another number of rows."""
        ends = [offset for offset, _ in self._panels[1:]] + [self._end]
        for (offset, width), end in zip(self._panels, ends, strict=True):
            if end - offset != n_rows * width * self._dtype.itemsize:
                raise EOFError("columns have different numbers of rows")

    def close(self) -> None:
        """Give the space back."""
        with suppress(OSError):  # what a full disk did not take is tried again
            self._file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self._folder or tempfile.gettempdir(), error, "TMPDIR") from None
