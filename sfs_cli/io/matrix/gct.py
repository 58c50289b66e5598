"""GCT 1.2 and 1.3, the matrix formats of the Broad Institute's GSEA and CMap.

A first line with the version, a second with the declared sizes, a line of column names, in 1.3
lines that annotate the samples, then the rows: an id, further fields about the row, the values.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sfs_cli.errors import COPY_AGAIN, InputError
from sfs_cli.io.files.names import BLANKS
from sfs_cli.io.files.table import null_table, refuse_unnamed
from sfs_cli.io.files.text import LineStream, decode
from sfs_cli.io.matrix.base import (
    Annotations,
    MatrixReader,
    ReadOptions,
    releasing,
)
from sfs_cli.io.matrix.delimited import DelimitedReader, Layout


class _Sizes(NamedTuple):
    """The sizes in the second line; version 1.2 has one field on rows and none on samples."""

    rows: int
    samples: int
    row_fields: int = 1
    sample_fields: int = 0


def open_gct(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a GCT file of version 1.2 or 1.3; gzip and zstd are decompressed.

    Rows are features; the sample annotations of version 1.3 are in ``annotations.obs``.
    """
    stream = LineStream(path)
    with releasing(stream.close):
        return _open(stream, path, options)


def _open(stream: LineStream, path: Path, options: ReadOptions) -> MatrixReader:
    sizes = _read_sizes(stream, path)
    n_lead = 1 + sizes.row_fields
    names = _fields(stream, path, "column names")
    if len(names) != n_lead + sizes.samples:
        raise InputError(
            f"the file says it has {sizes.samples:,} samples and {n_lead} fields before them, "
            f"but its line of names has {len(names):,} fields",
            where=f"{path}, line 3",
            hint="correct the sizes in line 2, or the names in line 3",
        )
    refuse_unnamed(names, n_lead, f"{path}, line 3")
    fields = _read_sample_fields(stream, path, sizes, n_lead)
    if stream.peek_line() is None:
        raise InputError("the file has no rows", where=path, hint=COPY_AGAIN)
    return DelimitedReader(
        stream,
        Layout(path, "\t", names, tuple(range(1, n_lead)), quoting=False),
        options,
        format="gct",
        fixed_rows="features",
        n_rows=sizes.rows,
        annotations=Annotations(null_table(fields) if fields else None),
    )


def _read_sizes(stream: LineStream, path: Path) -> _Sizes:
    version = _fields(stream, path, "version")[0]
    expected = {"#1.2": 2, "#1.3": 4}.get(version)
    if expected is None:
        raise InputError(
            f"the first line is {version[:80]!r}, not #1.2 or #1.3",
            where=f"{path}, line 1",
            hint="write the table as GCT 1.2 or 1.3, or as CSV",
        )
    sizes = _fields(stream, path, "sizes")
    whole = (s.isascii() and s.isdigit() for s in sizes)
    if len(sizes) != expected or not all(whole):
        raise InputError(
            f"the second line must declare {expected} sizes, but is {' '.join(sizes)[:80]!r}",
            where=f"{path}, line 2",
            hint="the sizes are the numbers of rows and samples (and of annotations in GCT 1.3)",
        )
    return _Sizes(*map(int, sizes))


def _fields(stream: LineStream, path: Path, what: str) -> list[str]:
    line = stream.line
    raw = stream.read_line()
    if raw is None:
        raise InputError(f"the file ends before its line of {what}", where=path, hint=COPY_AGAIN)
    # spreadsheets pad the short lines at the top with tabs
    return [field.strip(BLANKS) for field in decode(raw, path, line).rstrip("\t ").split("\t")]


def _read_sample_fields(
    stream: LineStream, path: Path, sizes: _Sizes, n_lead: int
) -> dict[str, list[str]]:
    columns = {}
    for _ in range(sizes.sample_fields):
        line = stream.line
        name, *values = _fields(stream, path, "sample annotations")
        values = values[n_lead - 1 :]
        if len(values) > sizes.samples:
            raise InputError(
                f"the annotation {name!r} has {len(values):,} values for {sizes.samples:,} samples",
                where=f"{path}, line {line}",
                hint="give one value for each sample",
            )
        columns[name] = values + [""] * (sizes.samples - len(values))
    return columns
