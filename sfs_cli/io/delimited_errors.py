"""Finding and naming the first thing that is wrong in a chunk of delimited text.

Only called once parsing has failed, so being slow is allowed here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sfs_cli.errors import COPY_AGAIN, InputError, counted
from sfs_cli.io.header import count_fields, decode
from sfs_cli.io.lines import Chunk
from sfs_cli.io.number_column import parses

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")


def place(path: Path, line: int, column: str) -> str:
    """Say where a value stands."""
    return f"{path}, line {line}, column {column!r}"


def ragged(chunk: Chunk, row: int, path: Path, delimiter: str, expected: int) -> InputError:
    """Describe a row with too few or too many fields."""
    line = chunk.first_line + row
    text = decode(chunk.text.split(b"\n", row + 1)[row].rstrip(b"\r"), path, line)
    where = f"{path}, line {line}"
    if not text:
        return InputError("a blank line stands between the rows", where=where, hint="remove it")
    found = count_fields(text, delimiter)
    if found == expected:
        return bad_quotes(chunk, row, path)
    return InputError(
        f"a row has {counted(found, 'field')} where {expected:,} are expected",
        where=where,
        hint="every row needs an id and one value for each column; is the file cut off?",
    )


def bad_quotes(chunk: Chunk, row: int, path: Path) -> InputError:
    """Describe a row whose quotes do not pair, or that quotes a delimiter within a value."""
    return InputError(
        "the double quotes of a row do not enclose whole fields, or enclose a delimiter",
        where=f"{path}, line {chunk.first_line + row}",
        hint="write the table without quotes",
    )


def binary(chunk: Chunk, path: Path) -> InputError:
    """Describe a NUL byte."""
    line = chunk.first_line + chunk.text.count(b"\n", 0, chunk.text.index(b"\0"))
    return InputError(
        "a NUL byte stands in the text: this is binary data, or the file is damaged",
        where=f"{path}, line {line}",
        hint=COPY_AGAIN,
    )


def stray_line_end(chunk: Chunk, path: Path) -> InputError:
    """Describe values that a quote or a carriage return joins or splits."""
    rows = chunk.text.split(b"\n")
    odd = (i for i, r in enumerate(rows) if b"\r" in r.rstrip(b"\r") or r.count(b'"') % 2)
    line = chunk.first_line + next(odd, 0)
    return InputError(
        "a carriage return or an unpaired quote stands within a row",
        where=f"{path}, line {line}",
        hint="write the table without quotes, with one line per row",
    )


def not_a_number(column: bytes, chunk: Chunk, path: Path, column_ids: Sequence[str]) -> InputError:
    """Describe the first value that does not parse.

    Parameters
    ----------
    column : bytes
        The values of the chunk, row by row, one in a line.
    chunk : Chunk
        The rows they come from.
    path : Path
        The file.
    column_ids : sequence of str
        Ids of the columns of values.
    """
    values = column.split(b"\n")[:-1]
    first = _first_failing(values)
    row, at = divmod(first, len(column_ids))
    if values[first].count(b'"') % 2:
        return bad_quotes(chunk, row, path)
    text = values[first].decode("utf-8", "replace").strip().strip('"')
    same_column = values[at :: len(column_ids)]
    is_text = not any(parses([value]) for value in same_column[:20] if value.strip())
    return InputError(
        f"{text!r} is not a number",
        where=place(path, chunk.first_line + row, column_ids[at]),
        hint=_advice(text, column_ids[at] if is_text and len(same_column) > 1 else None),
    )


def _first_failing(values: list[bytes]) -> int:
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        if parses(values[low:middle]):
            low = middle
        else:
            high = middle
    return low


def _advice(text: str, text_column: str | None) -> str:
    if _DECIMAL_COMMA.fullmatch(text):
        return "decimal commas are not read: write the numbers with a point (1.5, not 1,5)"
    if text_column is not None:
        return (
            f"column {text_column!r} holds text: remove it, or write the matrix as GCT, "
            "which has room for descriptions"
        )
    return "write missing values as NA or leave them empty"
