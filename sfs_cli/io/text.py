"""Matrices as delimited text: one line of column ids, then rows of an id and numbers."""

from __future__ import annotations

from pathlib import Path

from sfs_cli.errors import InputError, listed
from sfs_cli.io.base import MatrixReader, ReadOptions
from sfs_cli.io.delimited import DelimitedReader
from sfs_cli.io.delimited_rows import Layout
from sfs_cli.io.header import is_decimal, read_header
from sfs_cli.io.lines import LineStream


def text_suffix(path: Path) -> str:
    """Return the suffix of a name in lower case, the one before ``.gz`` or ``.zst``."""
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in (".gz", ".zst")]
    return suffixes[-1] if suffixes else ""


def open_text(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a delimited text file.

    The delimiter (tab, comma, semicolon or space) is found from the first lines. The ids of rows
    and columns may be quoted; a header without a name for the row ids, as R's ``write.table``
    leaves it, is understood.

    Parameters
    ----------
    path : Path
        The file; gzip and zstd are decompressed.
    options : ReadOptions
        ``dtype`` and ``block_bytes`` are used.

    Returns
    -------
    MatrixReader
        With dense rows and an unknown number of them.

    Raises
    ------
    InputError
        If the first lines are not those of a matrix with ids.
    """
    stream = LineStream(path)
    try:
        header = read_header(stream, text_suffix(path))
        layout = Layout(path, header.delimiter, (header.names[0],), header.names[1:])
        reader = DelimitedReader(stream, layout, options, format="text")
        _refuse_values_as_ids(reader)
    except BaseException:
        stream.close()
        raise
    return reader


def _refuse_values_as_ids(reader: DelimitedReader) -> None:
    ids = reader.first_row_ids()
    if all(map(is_decimal, ids)):
        raise InputError(
            f"the first column holds values ({listed(list(ids), 3)}) in place of row ids",
            where=str(reader.path),
            hint="the first column must hold the ids of the rows: add it",
        )
