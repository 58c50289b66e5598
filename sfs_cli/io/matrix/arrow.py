"""Tables of Arrow columns, Parquet and Feather version 2, as blocks of rows.

A Parquet file is streamed page by page. Feather is the Arrow IPC file format, through a memory map;
a record batch (65,536 rows as pyarrow and R write them) that is compressed is unpacked as a whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.table import is_index_name, pandas_index, texts_of
from sfs_cli.io.files.text import arrow_file
from sfs_cli.io.matrix.base import (
    Annotations,
    MatrixReader,
    ReadOptions,
    RowBlock,
    cast_values,
    read_errors,
    releasing,
)

_LEAST_ROWS = 128  # that are decoded together: each time costs the more the more columns there are
_BUFFER = 1 << 12  # of each column of a Parquet file
_FEATHER_1 = b"FEA1"
_ID_WORD = re.compile(r"(^|[_ .-])(id|gene|feature|entrez|geneid|entrezid|index)([_ .-]|$)", re.I)

Batches = Callable[[Sequence[int], int], Iterator[pa.RecordBatch]]
"""Takes positions of columns (rising) and a number of rows; yields all rows, so many at a time."""


def open_parquet(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a Parquet table of a name column and numeric columns.

    Held at a time are a block, and of every column one page (at most 1 MiB as most writers write
    it) and its dictionary, however large the row groups are. A damaged file, one without names, or
    with a column that is not numeric, is an `InputError`.
    """
    with read_errors(path, "parquet"):
        file = pq.ParquetFile(arrow_file(path), buffer_size=_BUFFER)
        metadata = file.metadata

    def batches(columns: Sequence[int], n_rows: int) -> Iterator[pa.RecordBatch]:
        # by position, since a name may be that of several columns; none of them is nested
        groups = range(metadata.num_row_groups)
        yield from file.reader.iter_batches(n_rows, groups, column_indices=columns)

    def close() -> None:
        file.close(force=True)

    schema, n_rows = file.schema_arrow, metadata.num_rows
    return TableReader(path, "parquet", schema, n_rows, batches, close, options)


def open_feather(path: Path, options: ReadOptions) -> MatrixReader:
    """Open an Arrow IPC file (Feather version 2), compressed or not.

    What is refused is as of `open_parquet`.
    """
    with path.open("rb") as raw:
        if raw.read(4) == _FEATHER_1:
            raise InputError(
                "this is Feather version 1, which is not supported",
                where=path,
                hint="write it again with a current pyarrow, or R's arrow::write_feather",
            )
    mapped = pa.memory_map(os.fsencode(path))

    def parts(columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
        file = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=[*columns]))
        yield from map(file.get_batch, range(file.num_record_batches))

    def batches(columns: Sequence[int], n_rows: int) -> Iterator[pa.RecordBatch]:
        for batch in parts(columns):
            batch.validate(full=True)  # offsets that lie would crash whoever makes texts of them
            yield from (batch.slice(at, n_rows) for at in range(0, len(batch), n_rows))

    with releasing(mapped.close), read_errors(path, "feather"):
        schema = pa.ipc.open_file(mapped).schema
        n_rows = sum(map(len, parts(range(len(schema))[:1])))
    return TableReader(path, "feather", schema, n_rows, batches, mapped.close, options)


class TableReader(MatrixReader):
    """A reader of a table with a column of ids and numeric columns."""

    def __init__(
        self,
        path: Path,
        name: str,
        schema: pa.Schema,
        n_rows: int,
        batches: Batches,
        release: Callable[[], None],
        options: ReadOptions,
    ) -> None:
        self.path = path
        self.format = name
        self.annotations = Annotations()
        self.names = schema.names
        self.n_rows = n_rows
        self._schema, self._batches, self._options = schema, batches, options
        self._release = release
        with releasing(release):
            self._ids, self._values, self._texts, self.notes = choose_columns(schema, path)
        self.column_ids = [self.names[i] for i in self._values]
        self.left_out = self.beside

    @property
    def beside(self) -> Sequence[str]:
        """The names of the annotations."""
        return [self.names[i] for i in self._texts]

    @property
    def booleans(self) -> list[str]:
        """As of `MatrixReader`."""
        types = self._schema.types
        return [self.names[i] for i in self._values if pa.types.is_boolean(types[i])]

    def leave_out(self, names: Sequence[str]) -> None:
        """Take columns for annotations of the rows, before the first block."""
        more = {i for i in self._values if self.names[i] in {*names}}
        self._values = [i for i in self._values if i not in more]
        self._texts = sorted({*self._texts, *more})
        self.column_ids = [self.names[i] for i in self._values]

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows; only the id column is read."""
        with read_errors(self.path, self.format):
            batches = filter(len, self._batches((self._ids,), 1024))
            return next((_id_strings(batch.column(0), self.path) for batch in batches), [])

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        columns = sorted([self._ids, *self._texts, *self._values])
        positions = np.searchsorted(columns, self._values).tolist()
        # numbers as Arrow has them, and a block and its transposed twin, are held together
        width = len(positions) * (8 + np.dtype(self._options.dtype).itemsize)
        n_rows = max(_LEAST_ROWS, self._options.block_bytes // width)

        def where(at: int) -> str:
            return f"{self.path}, column {self.names[self._values[at % len(positions)]]!r}"

        with read_errors(self.path, self.format):
            for batch in self._batches(columns, n_rows):
                values = cast_values(numbers(batch.select(positions)), self._options.dtype, where)
                found = dict(zip(columns, batch.columns, strict=True))
                texts = [(self.names[i], texts_of(found[i].to_pylist())) for i in self._texts]
                yield RowBlock(_id_strings(found[self._ids], self.path), values, texts)

    def close(self) -> None:
        """Release the file."""
        self._release()


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
    """Return columns of numbers, shape (rows, columns), nulls as NaN."""
    t = pa.types
    kinds = batch.schema.types
    if not all(t.is_integer(k) or t.is_float32(k) or t.is_float64(k) for k in kinds):
        wide = pa.schema([(name, pa.float64()) for name in batch.schema.names])
        batch = batch.cast(wide, safe=False)
    return np.asarray(batch.to_tensor(null_to_nan=True))


def _id_strings(column: pa.Array, path: Path) -> list[str]:
    names = column.cast(pa.large_string())  # which turns categories and numbers into their texts
    if names.null_count:
        raise InputError(
            f"at least {counted(names.null_count, 'row')} without a name",
            where=path,
            hint="name every row",
        )
    return names.to_pylist()
