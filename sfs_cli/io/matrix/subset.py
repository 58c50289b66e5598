"""Copies of matrix files that hold some of the features, otherwise as they are.

Text is copied field by field, so that no number changes; a table keeps its types, and AnnData all
that it knows of its observations and of the variables that stay.
"""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from sfs_cli.io.files.table import quoted_fields, read_header
from sfs_cli.io.files.text import PACKED, LineStream, arrow_file
from sfs_cli.io.matrix.base import Axis, ReadOptions, read_errors
from sfs_cli.io.matrix.delimited import open_text

if TYPE_CHECKING:
    import pyarrow as pa

Writer = Callable[[Path, Path, Path, np.ndarray, Axis], None]
"""Takes the source, the path to write to, the target that it will become, the features (ascending
indices) and what a row is."""


@contextmanager
def _text_to(path: Path, named: Path) -> Iterator[Any]:
    """Give a binary file for text, compressed as the name of the target says."""
    import pyarrow as pa

    kind = next((kind for kind, end in PACKED.items() if end == named.suffix.lower()), None)
    with path.open("wb") as file:
        if kind is None:
            yield file
            return
        with pa.CompressedOutputStream(pa.PythonFile(file, "w"), kind) as packed:
            yield packed


def _write_text(source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis) -> None:
    with LineStream(source) as stream:
        header = read_header(stream, titles=True)
        first = stream.line  # of the rows
    with LineStream(source) as stream, _text_to(path, target) as out:
        if rows == "features":
            _copy_lines(stream, out, first - 1)
            _copy_rows(stream, out, features)
            return
        _copy_lines(stream, out, header.line - 1)
        reader = open_text(source, ReadOptions(leave_out=True))
        reader.close()
        values = reader.layout.values
        dropped = {*values} - {values[i] for i in features.tolist()}
        for raw in _lines(stream):
            fields = _fields(raw, header.delimiter, source)
            # R's write.table has no name for the row ids, and its header one field fewer
            places = enumerate(fields, len(header.names) - len(fields))
            kept = [field for at, field in places if at not in dropped]
            out.write(_joined(kept, header.delimiter) + b"\n")


def _write_gct(source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis) -> None:
    with LineStream(source) as stream, _text_to(path, target) as out:
        _copy_lines(stream, out, 1)
        sizes = (stream.read_line() or b"").split(b"\t")
        sizes[0] = str(len(features)).encode()
        out.write(b"\t".join(sizes) + b"\n")
        _copy_lines(stream, out, 1 + (int(sizes[3]) if len(sizes) > 3 and sizes[3].strip() else 0))
        _copy_rows(stream, out, features)


def _lines(stream: LineStream) -> Iterator[bytes]:
    while (raw := stream.read_line()) is not None:
        if raw.strip():
            yield raw


def _copy_lines(stream: LineStream, out: IO[bytes], count: int) -> None:
    for _ in range(count):
        out.write((stream.read_line() or b"") + b"\n")


def _copy_rows(stream: LineStream, out: IO[bytes], features: np.ndarray) -> None:
    wanted = iter(features.tolist())
    following = next(wanted, -1)
    for at, raw in enumerate(_lines(stream)):
        if at == following:
            out.write(raw + b"\n")
            following = next(wanted, -1)


def _fields(raw: bytes, delimiter: str, where: object) -> list[bytes]:
    if b'"' not in raw:
        return raw.split(delimiter.encode())
    return [field.encode() for field in quoted_fields(raw.decode(), delimiter, where)]


def _joined(fields: list[bytes], delimiter: str) -> bytes:
    sign = delimiter.encode()
    if not any(sign in field or b'"' in field for field in fields):
        return sign.join(fields)
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="").writerow(
        [field.decode() for field in fields]
    )
    return line.getvalue().encode()


def _cut(table: pa.Table, source: Path, features: np.ndarray, rows: Axis, first: int) -> pa.Table:
    """Return the rows of a part of a table that are wanted, or its columns."""
    if rows == "features":
        inside = features[(features >= first) & (features < first + table.num_rows)] - first
        return table.take(inside)
    from sfs_cli.io.matrix.arrow import choose_columns

    values = choose_columns(table.schema, source, texts=True)[1]
    wanted = {values[i] for i in features.tolist()}
    left_out = set(values) - wanted
    return table.select([i for i in range(table.num_columns) if i not in left_out])


def _write_parquet(
    source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis
) -> None:
    import pyarrow.parquet as pq

    with read_errors(source, "parquet"), arrow_file(source) as raw, pq.ParquetFile(raw) as file:
        empty = _cut(file.schema_arrow.empty_table(), source, features, rows, 0)
        with arrow_file(path, "wb") as out, pq.ParquetWriter(out, empty.schema) as writer:
            first = 0
            for group in range(file.num_row_groups):
                names = empty.column_names if rows == "samples" else None
                table = file.read_row_group(group, columns=names)
                made = table if rows == "samples" else _cut(table, source, features, rows, first)
                writer.write_table(made.select(empty.column_names).cast(empty.schema))
                first += table.num_rows


def _write_feather(
    source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis
) -> None:
    import pyarrow as pa

    with read_errors(source, "feather"), pa.memory_map(os.fsencode(source)) as mapped:
        file = pa.ipc.open_file(mapped)
        first = 0
        empty = _cut(file.schema.empty_table(), source, features, rows, 0)
        with arrow_file(path, "wb") as out, pa.ipc.new_file(out, empty.schema) as writer:
            for part in range(file.num_record_batches):
                table = pa.Table.from_batches([file.get_batch(part)])
                writer.write_table(_cut(table, source, features, rows, first))
                first += table.num_rows


def _write_anndata(
    source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis
) -> None:
    import anndata

    in_zarr = source.is_dir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the version of Zarr: both are read
        with read_errors(source, "zarr" if in_zarr else "h5ad"):
            whole = anndata.read_zarr(source) if in_zarr else anndata.read_h5ad(source, backed="r")
            try:
                made = whole[:, features].to_memory()
            finally:
                whole.file.close()
        (made.write_zarr if in_zarr else made.write_h5ad)(path)


WRITERS: dict[str, Writer] = {
    "text": _write_text,
    "gct": _write_gct,
    "parquet": _write_parquet,
    "feather": _write_feather,
    "h5ad": _write_anndata,
    "zarr": _write_anndata,
}
"""What writes each format."""
