"""Reading tables that rank features, ours or anyone's, as columns of text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sfs_cli.errors import COPY_AGAIN, InputError, counted, listed
from sfs_cli.io.compression import open_binary
from sfs_cli.io.header import decode, is_number, split_fields
from sfs_cli.io.lines import LineStream
from sfs_cli.io.sniff import Kind, recognise, refuse_absent
from sfs_cli.io.table import read_table, read_text_rows
from sfs_cli.io.text import text_suffix

RNK_COLUMNS = ("feature", "score")
"""What the two columns of GSEA's rnk hold."""


@dataclass(frozen=True)
class RankTable:
    """A table as it stands in a file.

    Attributes
    ----------
    path : Path
        The file.
    columns : dict of str to list of str
        The columns, in order; missing values are "".
    rows : list of int
        Where each row stands, for messages.
    unit : str
        What `rows` counts: ``line``, ``row`` or ``record``.
    """

    path: Path
    columns: dict[str, list[str]]
    rows: list[int]
    unit: str

    def where(self, row: int, column: str) -> str:
        """Name the place of a value."""
        return f"{self.path}, {self.unit} {self.rows[row]}, column {column!r}"


def read_rank_table(path: Path) -> RankTable:
    """Read delimited text, Parquet, JSON records or rnk.

    Raises
    ------
    InputError
        If the file is none of them, is damaged or has no rows.
    """
    content = recognise(path)
    refuse_absent(path, content)
    if content.kind is Kind.TEXT:
        if text_suffix(path) == ".rnk":
            return _read_rnk(path)
        if _begins_as_json(path):
            return _read_json(path)
        names, lines, rows = read_text_rows(path)
        columns = {name: list(column) for name, column in zip(names, zip(*rows), strict=True)}
        return RankTable(path, columns, lines, "line")
    columns = read_table(path)  # which refuses what is no table
    n_rows = len(next(iter(columns.values())))
    if not n_rows:
        raise InputError("the table has no rows", where=str(path), hint=COPY_AGAIN)
    return RankTable(path, columns, list(range(1, n_rows + 1)), "row")


def _read_rnk(path: Path) -> RankTable:
    """Read GSEA's two columns, which have no names; a first line without a number is one of names.

    Lines that begin with ``#`` are comments.
    """
    stream = LineStream(path)
    lines, rows = [], []
    try:
        while (raw := stream.read_line()) is not None:
            line = stream.line - 1
            if not raw.strip() or raw.startswith(b"#"):
                continue
            fields = split_fields(decode(raw, path, line), "\t")
            if len(fields) != len(RNK_COLUMNS):
                raise InputError(
                    f"a row of the rnk file has {counted(len(fields), 'field')}, not 2",
                    where=f"{path}, line {line}",
                    hint="write a feature, a tab and its score in each line",
                )
            lines.append(line)
            rows.append(fields)
    finally:
        stream.close()
    if rows and not is_number(rows[0][1]):
        lines, rows = lines[1:], rows[1:]
    if not rows:
        raise InputError("the rnk file has no rows", where=str(path), hint=COPY_AGAIN)
    columns = dict(zip(RNK_COLUMNS, map(list, zip(*rows))))
    return RankTable(path, columns, lines, "line")


def _begins_as_json(path: Path) -> bool:
    with open_binary(path) as stream:
        return stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"[", b"{"))


def _read_json(path: Path) -> RankTable:
    """Read a list of records with the same names."""
    with open_binary(path) as stream:
        parts = []
        while data := stream.read(1 << 22):
            parts.append(data)
    try:
        records = json.loads(b"".join(parts))
    except ValueError as error:
        raise InputError(
            f"the JSON cannot be read ({error})", where=str(path), hint=COPY_AGAIN
        ) from None
    if not isinstance(records, list) or not records:
        raise InputError("the JSON is not a list of records", where=str(path), hint=_JSON_HINT)
    names = list(records[0]) if isinstance(records[0], dict) else []
    for at, record in enumerate(records, 1):
        if not isinstance(record, dict) or not names or set(record) != set(names):
            raise InputError(
                f"record {at:,} does not have the names {listed(names)}"
                if names
                else "the first record has no names",
                where=f"{path}, record {at}",
                hint=_JSON_HINT,
            )
    columns = {name: [_text(record[name]) for record in records] for name in names}
    return RankTable(path, columns, list(range(1, len(records) + 1)), "record")


_JSON_HINT = 'write it as [{"feature": "TP53", "rank": 1}, ...], as `sfs rank --format json` does'


def _text(value: object) -> str:
    return "" if value is None else str(value)
