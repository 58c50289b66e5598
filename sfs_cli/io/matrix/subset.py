"""Copies of matrix files that hold some of the features, otherwise as they are.

Text is copied field by field, so that no number changes; a table keeps its types, and AnnData all
that it knows of its observations and of the variables that stay.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from sfs_cli.io.files.table import quoted_fields, read_header
from sfs_cli.io.files.text import PACKED, LineStream, arrow_file
from sfs_cli.io.matrix.base import Axis, ReadOptions, read_errors
from sfs_cli.io.matrix.delimited import open_text

Writer = Callable[[Path, Path, Path, np.ndarray, Axis], None]
"""Takes the source, the path to write to, the target that it will become, the features (ascending
indices) and what a row is."""


@contextmanager
def text_to(path: Path, named: Path) -> Iterator[Any]:
    """Give a binary file for text, compressed as the name of the target says."""
    import pyarrow as pa

    kind = next((kind for kind, end in PACKED.items() if end == named.suffix.lower()), None)
    with arrow_file(path, "wb") as file:
        if kind is None:
            yield file
            return
        with pa.CompressedOutputStream(file, kind) as packed:
            yield packed


def _write_text(source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis) -> None:
    with LineStream(source) as stream:
        header = read_header(stream)
        first = stream.line  # of the rows
    with LineStream(source) as stream, text_to(path, target) as out:
        if rows == "features":
            _copy_lines(stream, out, first - 1)
            _copy_rows(stream, out, features)
            return
        _copy_lines(stream, out, header.line - 1)
        reader = open_text(source, ReadOptions())
        reader.close()
        values = reader.layout.values
        dropped = {*values} - {values[i] for i in features.tolist()}
        for raw in _lines(stream):
            fields = quoted_fields(raw.decode(), header.delimiter, source)
            # R's write.table has no name for the row ids, and its header one field fewer
            places = enumerate(fields, len(header.names) - len(fields))
            line = io.StringIO()
            writer = csv.writer(line, delimiter=header.delimiter, lineterminator="\n")
            writer.writerow([field for at, field in places if at not in dropped])
            out.write(line.getvalue().encode())


def _write_gct(source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis) -> None:
    with LineStream(source) as stream, text_to(path, target) as out:
        _copy_lines(stream, out, 1)
        sizes = (stream.read_line() or b"").split(b"\t")
        sizes[0] = str(len(features)).encode()
        out.write(b"\t".join(sizes) + b"\n")
        _copy_lines(stream, out, 1 + (int(sizes[3]) if len(sizes) > 3 and sizes[3].strip() else 0))
        _copy_rows(stream, out, features)


def _lines(stream: LineStream) -> Iterator[bytes]:
    return filter(bytes.strip, iter(stream.read_line, None))


def _copy_lines(stream: LineStream, out: IO[bytes], count: int) -> None:
    for _ in range(count):
        out.write((stream.read_line() or b"") + b"\n")


def _copy_rows(stream: LineStream, out: IO[bytes], features: np.ndarray) -> None:
    wanted = {*features.tolist()}
    for at, raw in enumerate(_lines(stream)):
        if at in wanted:
            out.write(raw + b"\n")


def _write_table(
    name: str, source: Path, path: Path, target: Path, features: np.ndarray, rows: Axis
) -> None:
    """Write a Parquet or Feather file, as `name` says."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sfs_cli.io.matrix.arrow import choose_columns

    with read_errors(source, name), arrow_file(source) as raw, arrow_file(path, "wb") as out:
        whole = (
            pq.ParquetFile(raw).read() if name == "parquet" else pa.ipc.open_file(raw).read_all()
        )
        if rows == "features":
            made = whole.take(features)
        else:
            values = choose_columns(whole.schema, source)[1]
            left_out = {*values} - {values[i] for i in features.tolist()}
            made = whole.select([at for at in range(whole.num_columns) if at not in left_out])
        if name == "parquet":
            pq.write_table(made, out)
            return
        with pa.ipc.new_file(out, made.schema) as writer:
            writer.write_table(made)


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
    "parquet": partial(_write_table, "parquet"),
    "feather": partial(_write_table, "feather"),
    "h5ad": _write_anndata,
    "zarr": _write_anndata,
}
"""What writes each format."""
