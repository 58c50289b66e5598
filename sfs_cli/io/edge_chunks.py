"""Parsing many lines of edges at a time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from sfs_cli.errors import InputError, counted
from sfs_cli.io.edge_layout import EdgeLayout, split_line
from sfs_cli.io.header import NULL_TOKENS, is_number
from sfs_cli.io.lines import Chunk
from sfs_cli.io.plain_text import chunk_lines

_NO_SYMBOL = "-"
_MISSING = (*NULL_TOKENS, "-")
_ODD_BLANKS = (b"  ", b"\t", b" \n", b" \r", b"\n ")
_FORM = "each line needs two ids, and a score where the others have one"


Coded = tuple[np.ndarray, np.ndarray]
"""Codes, and the words that they stand for."""
_NONE: Coded = (np.empty(0, np.int32), np.empty(0, object))


class EdgeChunk(NamedTuple):
    """Some edges.

    Attributes
    ----------
    a, b : ndarray of int32
        Numbers of the ids at both ends; -1 where BioGRID has no symbol.
    score : ndarray of float64, or None
        NaN where BioGRID has none.
    """

    a: np.ndarray
    b: np.ndarray
    score: np.ndarray | None


class Vocabulary:
    """The ids met so far, numbered in the order in which they were met.

    Attributes
    ----------
    ids : list of str
        The ids.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._numbers: dict[str, int] = {}

    def numbers(self, ids: list[str]) -> np.ndarray:
        """Return the numbers of ids, giving new ones to those not met before."""
        numbers = self._numbers
        for name in ids:
            if name not in numbers:
                numbers[name] = len(self.ids)
                self.ids.append(name)
        return np.fromiter((numbers[name] for name in ids), np.int32, len(ids))


def parse_edges(chunk: Chunk, layout: EdgeLayout, vocabulary: Vocabulary) -> EdgeChunk:
    """Parse some whole lines.

    Parameters
    ----------
    chunk : Chunk
        The lines; those before the first edge, blank ones and comments (``#``) are skipped.
    layout : EdgeLayout
        What the fields hold.
    vocabulary : Vocabulary
        Grows by the ids that are new.

    Raises
    ------
    InputError
        Naming the first line that is not as the layout says.
    """
    text = _rows(chunk, layout)
    found = _columns(text, layout)
    if found is None:
        rows = [line for line in text.splitlines(keepends=True) if line.strip()]
        found = _columns(b"".join(rows), layout)  # lines of blanks are not worth a look before
    if found is None:
        raise _first_wrong(chunk, layout)
    (a, words_a), (b, words_b), score = found
    # ids are numbered in the order of lines, whatever the size of a chunk
    first = np.concatenate([words_a, words_b])[_order_met(a, b, len(words_a), len(words_b))]
    vocabulary.numbers([name for name in first if _is_id(name, layout)])
    return EdgeChunk(
        _numbered(a, words_a, layout, vocabulary), _numbered(b, words_b, layout, vocabulary), score
    )


def _columns(text: bytes, layout: EdgeLayout) -> tuple[Coded, Coded, np.ndarray | None] | None:
    """Return both ends and the scores; None if a line is not as the layout says."""
    if not text.strip():
        return _NONE, _NONE, None if layout.score is None else np.empty(0)
    try:
        table = _read_table(text, layout)
    except pa.ArrowInvalid:
        return None
    a, b = _coded(table, "a"), _coded(table, "b")
    score = None
    if layout.score is not None:
        score = table.column("score").to_numpy().astype(np.float64, copy=False)
    if b"\0" in text or "" in a[1] or "" in b[1] or _refused(score, layout):
        return None
    return a, b, score


def _is_id(name: str, layout: EdgeLayout) -> bool:
    return layout.format != "BioGRID" or name != _NO_SYMBOL


def _numbered(
    codes: np.ndarray, words: np.ndarray, layout: EdgeLayout, vocabulary: Vocabulary
) -> np.ndarray:
    numbers = np.full(len(words), -1, np.int32)
    known = np.array([_is_id(name, layout) for name in words], bool)
    numbers[known] = vocabulary.numbers(words[known].tolist())
    return numbers[codes]


def _order_met(a: np.ndarray, b: np.ndarray, n_a: int, n_b: int) -> np.ndarray:
    """Return the words of both columns, by the place where each is met first."""
    places = np.empty(n_a + n_b, np.int64)
    places[a[::-1]] = 2 * np.arange(len(a))[::-1]
    places[n_a + b[::-1]] = 2 * np.arange(len(b))[::-1] + 1
    return np.argsort(places, kind="stable")


def _rows(chunk: Chunk, layout: EdgeLayout) -> bytes:
    """Return the lines that hold edges, their fields divided by single delimiters."""
    text = chunk.text
    for _ in range(layout.first_line - chunk.first_line):
        text = text[text.find(b"\n") + 1 :]
    if layout.delimiter == " " and any(odd in text for odd in _ODD_BLANKS):
        text = b"\n".join([b" ".join(line.split()) for line in text.split(b"\n")])
    if text.startswith(b"#") or b"\n#" in text:
        text = b"".join([t for t in text.splitlines(keepends=True) if not t.startswith(b"#")])
    return text


def _read_table(text: bytes, layout: EdgeLayout) -> pa.Table:
    names = [f"unused {i}" for i in range(len(layout.names))]
    names[layout.a], names[layout.b] = "a", "b"
    words = pa.dictionary(pa.int32(), pa.string())
    types = {"a": words, "b": words}
    if layout.score is not None:
        names[layout.score] = "score"
        types["score"] = pa.float64()
    return pacsv.read_csv(
        pa.BufferReader(text),
        read_options=pacsv.ReadOptions(column_names=names, block_size=len(text), use_threads=True),
        parse_options=pacsv.ParseOptions(
            delimiter=layout.delimiter, quote_char='"' if layout.quoting and b'"' in text else False
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=list(_MISSING)
        ),
    )


def _coded(table: pa.Table, name: str) -> Coded:
    """Return a column of ids; the words without blanks around them."""
    column = pa.concat_arrays(table.column(name).unify_dictionaries().chunks)
    words = [word.strip() for word in column.dictionary.to_pylist()]
    return column.indices.to_numpy(), np.array(words, dtype=object)


def _refused(score: np.ndarray | None, layout: EdgeLayout) -> bool:
    if score is None:
        return False
    if layout.format == "BioGRID":
        return bool(np.isinf(score).any())
    return not bool(np.all((score >= 0) & np.isfinite(score)))


def _first_wrong(chunk: Chunk, layout: EdgeLayout) -> InputError:
    """Describe the first line that is wrong; only called once one is."""
    for line, text in chunk_lines(chunk, layout.path):
        if line < layout.first_line or text.startswith("#"):
            continue
        fields = split_line(text, layout.delimiter, layout.quoting)
        found = _wrong(fields, layout, layout.path, line)
        if found:
            return found
    last = chunk.first_line + chunk.text.count(b"\n") - 1
    return InputError(
        "quotes or line ends within the lines do not allow to read them as edges",
        where=f"{layout.path}, lines {chunk.first_line} to {last}",
        hint="write the edges without quotes, with one edge in each line",
    )


def _wrong(fields: list[str], layout: EdgeLayout, path: Path, line: int) -> InputError | None:
    where = f"{path}, line {line}"
    if len(fields) != len(layout.names):
        return InputError(
            f"the line has {counted(len(fields), 'field')} where {len(layout.names)} are expected",
            where=where,
            hint=_FORM,
        )
    for column in (layout.a, layout.b):
        if not fields[column]:
            return InputError(f"an id is missing in column {column + 1}", where=where, hint=_FORM)
    if layout.score is None:
        return None
    text = fields[layout.score]
    what = _wrong_score(text, layout)
    if what is None:
        return None
    return InputError(what, where=f"{where}, column {layout.score + 1}", hint=_SCORE_HINT)


_SCORE_HINT = "scores are numbers, zero or more; remove the edge, or the column from all lines"


def _wrong_score(text: str, layout: EdgeLayout) -> str | None:
    if layout.format == "BioGRID" and text in _MISSING:
        return None
    if text in _MISSING:
        return f"the edge has no score ({text!r})" if text else "the edge has no score"
    if not is_number(text):
        return f"the score {text!r} is not a number"
    value = float(text)
    if not np.isfinite(value):
        return f"the score {text} is not a finite number"
    return f"the score {text} is negative" if value < 0 and layout.format != "BioGRID" else None
