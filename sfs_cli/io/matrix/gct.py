"""GCT 1.2 and 1.3, the matrix formats of the Broad Institute's GSEA and CMap.

A first line with the version, a second with the declared sizes, a line of column names, in 1.3
lines that annotate the samples, then the rows: an id, further fields about the row, the values.
"""

from __future__ import annotations

from pathlib import Path

from sfs_cli.errors import COPY_AGAIN, InputError
from sfs_cli.io.files.names import BLANKS
from sfs_cli.io.files.table import null_table, refuse_unnamed
from sfs_cli.io.files.text import LineStream, decode
from sfs_cli.io.matrix.base import Annotations, MatrixReader, ReadOptions, releasing
from sfs_cli.io.matrix.delimited import DelimitedReader, Layout


def open_gct(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a GCT file of version 1.2 or 1.3; gzip and zstd are decompressed.

    Rows are features; the sample annotations of version 1.3 are in ``annotations.obs``.
    """
    stream = LineStream(path)
    with releasing(stream.close):
        expected = 4 if _fields(stream) == ["#1.3"] else 2
        sizes = _fields(stream)
        if len(sizes) != expected or not all(s.isascii() and s.isdigit() for s in sizes):
            raise InputError(
                f"the second line must declare {expected} sizes, but is {' '.join(sizes)[:80]!r}",
                where=f"{path}, line 2",
                hint="the sizes are the numbers of rows and samples (and of annotations in GCT "
                "1.3)",
            )
        # version 1.2 has one field on each row and none on samples
        n_rows, n_samples, row_fields, sample_fields = [*map(int, sizes), 1, 0][:4]
        n_lead = 1 + row_fields
        names = _fields(stream)
        if len(names) != n_lead + n_samples:
            raise InputError(
                f"the file says it has {n_samples:,} samples and {n_lead} fields before them, "
                f"but its line of names has {len(names):,} fields",
                where=f"{path}, line 3",
                hint="correct the sizes in line 2, or the names in line 3",
            )
        refuse_unnamed(names, n_lead, f"{path}, line 3")
        known: dict[str, list[str]] = {}
        for _ in range(sample_fields):
            name, *values = _fields(stream)
            values = values[row_fields:]
            if len(values) > n_samples:
                raise InputError(
                    f"the annotation {name!r} has {len(values):,} values for {n_samples:,} samples",
                    where=f"{path}, line {stream.line - 1}",
                    hint="give one value for each sample",
                )
            known[name] = values + [""] * (n_samples - len(values))
        if stream.peek_line() is None:
            raise InputError("the file has no rows", where=path, hint=COPY_AGAIN)
        layout = Layout(path, "\t", names, tuple(range(1, n_lead)), quoting=False)
        reader = DelimitedReader(stream, layout, options)
    reader.format, reader.fixed_rows, reader.n_rows = "gct", "features", n_rows
    reader.annotations = Annotations(null_table(known) if known else None)
    return reader


def _fields(stream: LineStream) -> list[str]:
    raw = stream.read_line()
    if raw is None:
        what = "the file ends before its line of column names"
        raise InputError(what, where=stream.path, hint=COPY_AGAIN)
    # spreadsheets pad the short lines at the top with tabs
    text = decode(raw, stream.path, stream.line - 1).rstrip("\t ")
    return [field.strip(BLANKS) for field in text.split("\t")]
