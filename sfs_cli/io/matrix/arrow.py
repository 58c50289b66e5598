"""Tables of Arrow columns as blocks of rows: what Parquet and Feather share.

All columns are decoded together where memory allows. Otherwise they are decoded in groups: the
values of each group are written to a scratch file, and blocks of rows are put together from it, one
part of the table (row group, record batch) after the other.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfs_cli.errors import InputError, counted, listed, unwritable
from sfs_cli.io.files.atomic import made
from sfs_cli.io.files.table import is_index_name, pandas_index, texts_of
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
    costs: list[int]  # the bytes that decoding each column takes; empty where there are no rows

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

    unused: Collection[str] = ()  # types say what is text

    def __init__(self, path: Path, name: str, source: TableSource, options: ReadOptions) -> None:
        self.path = path
        self.format = name
        self.annotations = Annotations()
        self._source = source
        self._options = options
        self.names = source.schema.names  # which makes the list anew each time
        self.n_rows = source.n_rows
        with releasing(source.close):
            chosen = choose_columns(source.schema, path)
            self._ids, values, texts, self.notes = chosen
            self._choose(values, texts)
        self.left_out = self.beside

    def _choose(self, values: Sequence[int], texts: Sequence[int]) -> None:
        self._values, self._texts = values, texts
        self.column_ids = [self.names[i] for i in values]
        self.groups = [values]
        costs, budget = self._source.costs, self._options.decode_bytes
        if budget is not None and costs:
            groups = np.cumsum([costs[i] for i in values]) // budget
            parts = np.split(values, np.flatnonzero(np.diff(groups)) + 1)
            self.groups = [part.tolist() for part in parts]

    @property
    def beside(self) -> Sequence[str]:
        """The names of the annotations."""
        return [self.names[i] for i in self._texts]

    def leave_out(self, names: Sequence[str]) -> None:
        """Take columns for annotations of the rows, before the first block."""
        more = {i for i in self._values if self.names[i] in {*names}}
        self._choose([i for i in self._values if i not in more], sorted({*self._texts, *more}))

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows; only the id column is read."""
        with read_errors(self.path, self.format):
            batches = filter(len, self._source.batches((self._ids,), 1024))
            return next((_id_strings(batch.column(0), self.path) for batch in batches), [])

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        with read_errors(self.path, self.format):
            if len(self.groups) > 1:
                yield from self._in_groups()
                return
            columns = sorted([self._ids, *self._texts, *self._values])
            positions = np.searchsorted(columns, self._values).tolist()
            for batch in self._source.batches(columns, self._block_rows(len(positions))):
                values = self._rows(batch.select(positions), self.column_ids)
                yield self._block(batch, columns, values)

    def close(self) -> None:
        """Release the file."""
        self._source.close()

    def _in_groups(self) -> Iterator[RowBlock]:
        dtype = np.dtype(self._options.dtype)
        columns = sorted([self._ids, *self._texts])
        n_rows = self._block_rows(len(self._values))
        folder = self._options.scratch
        with self._writing():
            made_in = folder and made(folder)
            file = tempfile.TemporaryFile(dir=made_in, buffering=0)  # noqa: SIM115
        with file:
            for part in range(self._source.n_parts):
                ends = [0]
                for group in self.groups:
                    file.seek(ends[-1])
                    names = [self.names[i] for i in group]
                    for batch in self._source.batches(group, self._block_rows(len(group)), part):
                        rest = self._rows(batch, names).reshape(-1).view(np.uint8).data
                        with self._writing():
                            while rest:
                                rest = rest[file.write(rest) :]
                    ends.append(file.tell())
                    # Arrow's pool keeps what it freed, which the next group may not fit beside
                    pa.default_memory_pool().release_unused()
                start = 0
                for batch in self._source.batches(columns, n_rows, part):
                    panels = []
                    for first, group in zip(ends, self.groups, strict=False):
                        file.seek(first + start * len(group) * dtype.itemsize)
                        panel = np.fromfile(file, dtype, batch.num_rows * len(group))
                        panels.append(panel.reshape(batch.num_rows, len(group)))
                    yield self._block(batch, columns, np.hstack(panels))
                    start += batch.num_rows
                sizes = [start * len(group) * dtype.itemsize for group in self.groups]
                if np.diff(ends).tolist() != sizes:
                    raise EOFError("columns have different numbers of rows")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            folder = self._options.scratch or tempfile.gettempdir()
            raise unwritable(folder, error, "TMPDIR") from None

    def _block(self, batch: pa.RecordBatch, columns: Sequence[int], values: np.ndarray) -> RowBlock:
        """Return values with the ids and annotations of their rows, from a batch of columns."""
        found = dict(zip(columns, batch.columns, strict=True))
        texts = [(self.names[i], texts_of(found[i].to_pylist())) for i in self._texts]
        return RowBlock(_id_strings(found[self._ids], self.path), values, texts)

    def _block_rows(self, n_columns: int) -> int:
        # numbers as Arrow has them, and a block and its transposed twin, are held together
        width = n_columns * (8 + np.dtype(self._options.dtype).itemsize)
        return max(1, self._options.block_bytes // width)

    def _rows(self, batch: pa.RecordBatch, names: Sequence[str]) -> np.ndarray:
        """Return columns of numbers as rows of the matrix, shape (batch.num_rows, columns)."""

        def where(at: int) -> str:
            return f"{self.path}, column {names[at // batch.num_rows]!r}"

        columns = cast_values(numbers(batch).T, self._options.dtype, where)
        # strips of rows stay in cache, which a plain transposed copy does not
        rows = np.empty(columns.shape[::-1], columns.dtype)
        for start in range(0, len(rows), _TILE_ROWS):
            rows[start : start + _TILE_ROWS] = columns[:, start : start + _TILE_ROWS].T
        return rows


def choose_columns(
    schema: pa.Schema, path: Path
) -> tuple[int, Sequence[int], Sequence[int], list[str]]:
    """Tell the id column of a table from its numeric columns.

    The ids are the one column of strings, or of integers named like an id, that pandas wrote as the
    index; else the first column, if it is such one; else the first of strings; else the first of
    integers. Other columns that index or number the rows are not samples and are left out.

    Returned are the position of the id column, those of the numeric columns, those of other columns
    of text, and notes on what was left out. No id column, another
    column that is neither id nor number, or no numeric column is an `InputError`.
    """
    index = list(chain(*map(schema.get_all_field_indices, pandas_index(schema))))
    of_text = [i for i, f in enumerate(schema) if holds_text(f.type)]
    whole = [i for i, f in enumerate(schema) if pa.types.is_integer(f.type)]
    counts = [i for i in whole if is_index_name(schema.field(i).name)]  # they number the rows
    codes = [i for i in whole if i not in counts and _ID_WORD.search(schema.field(i).name.strip())]
    indexed = [i for i in (*of_text, *codes) if i in index]
    first = indexed if len(indexed) == 1 else [0] if 0 in codes else []
    ids = next(chain(first, of_text, codes, counts), None)
    if ids is None:
        raise InputError(
            "no column holds the names of the rows",
            where=f"{path}: {listed([f'{f.name} ({f.type})' for f in schema], 3)}",
            hint="store the names as a text column, the first one",
        )
    out = {*index, *counts[:1]} - {ids}
    beside = sorted({*of_text} - {ids, *out})
    values = sorted({*range(len(schema))} - {ids, *out, *beside})
    t = pa.types
    numeric = (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal, t.is_null)
    fields = [schema.field(i) for i in values]
    bad = {f.name: f"{f.name!r} ({f.type})" for f in fields if not any(n(f.type) for n in numeric)}
    if bad:
        raise InputError(
            f"{counted(len(bad), 'column')} without numbers besides the names "
            f"({schema.field(ids).name!r})",
            where=f"{path}: {listed(list(bad.values()), 8)}",
            hint="leave out annotation columns; values are numbers",
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


def numbers(batch: pa.RecordBatch) -> np.ndarray:
    """Return columns of numbers, shape (rows, columns) and Fortran-ordered, nulls as NaN."""
    t = pa.types
    kinds = batch.schema.types
    if not all(t.is_integer(k) or t.is_float32(k) or t.is_float64(k) for k in kinds):
        wide = pa.schema([(name, pa.float64()) for name in batch.schema.names])
        batch = batch.cast(wide, safe=False)
    return np.asarray(batch.to_tensor(null_to_nan=True, row_major=False))


def _id_strings(column: pa.Array, path: Path) -> list[str]:
    names = column.cast(pa.large_string())  # which turns categories and numbers into their texts
    if names.null_count:
        raise InputError(
            f"at least {counted(names.null_count, 'row')} without a name",
            where=path,
            hint="name every row",
        )
    return names.to_pylist()
