"""Writing results: a ranking in six formats or into a copy of AnnData, and coefficients."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from sfs_cli.display import shown
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.text import number_array, string_array
from sfs_cli.ranking.evidence import exponential_scores
from sfs_cli.ranking.prune import InOrder
from sfs_cli.ranking.table import Picked

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Ranking

Row = Sequence[str | float]
"""The cells of a line of a table."""

CHUNK = 65_536
"""Rows that become text at a time."""
ROW_GROUP = 1 << 20
"""Rows of a Parquet row group."""
_ROUNDED_TOGETHER = 1 << 16
_SHEET_ROWS = 1 << 20
"""Rows of a sheet of Excel."""
_WIDTH = 16
"""Characters of its columns."""
_NO_DATE = datetime(1980, 1, 1)
DIGITS = 10
"""Significant digits of numbers in text."""
_LEAST, _MOST = -4, 9
"""From ``1e-4`` to ``1e9`` neither Arrow nor ``%g`` writes an exponent."""
_STEPS = np.array([float(f"1e{power}") for power in range(_LEAST, _MOST + 1)])
_TENS = np.array([float(f"1e{power}") for power in range(DIGITS - _LEAST)])
"""Powers of ten from 1 on; up to ``1e22`` they are exact."""


def number_text(value: float) -> str:
    """Return a number with `DIGITS` significant digits, NaN as ``NaN``."""
    return "NaN" if math.isnan(value) else f"{value:.{DIGITS}g}"


def delimited(
    ranking: Ranking, delimiter: str, in_order: InOrder = map
) -> Iterator[bytes | pa.Buffer]:
    """Yield the table as UTF-8: the header, then `CHUNK` lines at a time.

    Arrow joins the cells to lines, outside of the interpreter's lock, so `in_order` may use
    threads. Ids that hold the delimiter are quoted (RFC 4180).
    """
    import pyarrow.compute as pc

    header = list(ranking.columns(0, 0))
    yield (delimiter.join(quoted(name, delimiter) for name in header) + "\n").encode()
    between, newline, nothing = string_array([delimiter, "\n", ""])
    columns = [ranking.feature, ranking.score, ranking.status, *ranking.extra.values()]
    names = {id(column): _names(column) for column in columns if isinstance(column, Picked)}

    def texts(column: np.ndarray | Picked, lo: int, hi: int) -> pa.Array:
        if isinstance(column, Picked):
            picked = names[id(column)].take(number_array(column.positions[lo:hi]))
            return _quote_where_needed(picked.cast("large_string"), delimiter)
        rows = column[lo:hi]
        if rows.dtype.kind == "f":
            return number_texts(rows)
        integers = rows.dtype.kind in "iu"
        return number_array(rows).cast("large_string") if integers else string_array(map(str, rows))

    def lines(lo: int) -> pa.Buffer:
        hi = min(lo + CHUNK, ranking.n_written)
        row = pc.binary_join_element_wise(
            number_array(np.arange(lo + 1, hi + 1)).cast("large_string"),
            *(texts(column, lo, hi) for column in columns),
            between,
        )
        return pc.binary_join_element_wise(row, newline, nothing).buffers()[2]

    yield from in_order(lines, range(0, ranking.n_written, CHUNK))


# Arrays are made of buffers below, and read from them: the first call of `pyarrow.array`, or of an
# array's `to_numpy`, would import pandas, which takes longer than writing a million lines.


def number_texts(values: np.ndarray) -> pa.Array:
    """Return numbers with `DIGITS` significant digits, as ``%g`` prints them; NaN as ``NaN``.

    Arrow prints the shortest text of a number, outside of the interpreter's lock and in a quarter
    of the time of ``%``. Of a number that is rounded first, this is the text of ``%g``, unless
    one of the two writes an exponent, or the number lies so near to the middle between two
    decimals that the product with a power of ten may have crossed it: those are left to ``%``.
    """
    import pyarrow.compute as pc

    values = values.astype(np.float64, copy=False)
    shown, sure = _rounded_by_tens(values)
    texts = number_array(shown).cast("large_string")
    if sure.all():
        return texts
    others = string_array(map(number_text, values[~sure].tolist()))
    return pc.replace_with_mask(texts, number_array((~sure).astype(np.uint8)).cast("bool"), others)


def _rounded_by_tens(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers with `DIGITS` significant digits, and for which of them that is sure."""
    exponent = np.searchsorted(_STEPS, np.abs(values), "right") - 1 + _LEAST
    sure = (exponent >= _LEAST) & (exponent < _MOST)
    tens = _TENS[DIGITS - 1 - np.where(sure, exponent, 0)]
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * tens
        whole = np.rint(scaled)
        from_middle = np.abs(np.abs(scaled - whole) - 0.5)
        sure &= from_middle > np.abs(scaled) * np.finfo(np.float64).eps
    return whole / tens, sure


def as_written(ranking: Ranking, form: str, in_order: InOrder = map) -> Ranking:
    """Return a ranking with the numbers that its table has, as who reads the table gets them.

    Text has `DIGITS` significant digits; Parquet has all of them.
    """

    def read(column: np.ndarray | Picked) -> np.ndarray | Picked:
        if isinstance(column, Picked) or column.dtype.kind != "f":
            return column
        if form == "parquet":
            return column.astype(np.float64, copy=False)
        found = np.empty(len(column))

        def round_part(lo: int) -> None:
            part = slice(lo, lo + _ROUNDED_TOGETHER)
            values = column[part].astype(np.float64)
            found[part], sure = _rounded_by_tens(values)
            if not sure.all():
                buffer = number_texts(values[~sure]).cast("double").buffers()[1]
                found[part][~sure] = np.frombuffer(buffer, np.float64, len(values) - sure.sum())

        for _ in in_order(round_part, range(0, len(column), _ROUNDED_TOGETHER)):
            pass
        return found

    extra = {name: read(column) for name, column in ranking.extra.items()}
    return replace(ranking, score=cast(np.ndarray, read(ranking.score)), extra=extra)


def _names(picked: Picked) -> pa.Array:
    names = picked.names
    return names.__arrow_array__() if hasattr(names, "__arrow_array__") else string_array(names)


def _quote_where_needed(texts: pa.Array, delimiter: str) -> pa.Array:
    buffer = texts.buffers()[2]
    letters = b"" if buffer is None else buffer.to_pybytes()
    if not any(mark in letters for mark in (delimiter.encode(), b'"', b"\n", b"\r")):
        return texts  # nearly always
    return string_array(quoted(text, delimiter) for text in texts.to_pylist())


def quoted(text: str, delimiter: str) -> str:
    """Return a cell, in quotation marks where the delimiter or a line break is in it."""
    if delimiter in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def table_lines(header: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the lines of a TSV; numbers that are not whole have `DIGITS` significant digits."""
    for row in chain([header], rows):
        line = "\t".join(quoted(_cell(value), "\t") for value in row)
        yield (line + "\n").encode()


def table_bytes(header: Sequence[str], rows: Iterable[Row]) -> bytes:
    """Return all of `table_lines`."""
    return b"".join(table_lines(header, rows))


def _cell(value: str | float) -> str:
    return number_text(value) if isinstance(value, float) else shown(str(value))


def _write_delimited(delimiter: str, ranking: Ranking, file: IO[bytes], in_order: InOrder) -> None:
    file.writelines(delimited(ranking, delimiter, in_order))


def _chunks(ranking: Ranking, rows: int) -> Iterator[dict[str, Sequence[object] | np.ndarray]]:
    for lo in range(0, ranking.n_written, rows):
        yield ranking.columns(lo, min(lo + rows, ranking.n_written))


def write_json(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write a list of records; numbers that JSON lacks (NaN, infinity) are null and strings."""

    def plain(value: object) -> object:
        if isinstance(value, float):
            if math.isnan(value):
                return None
            return float(number_text(value)) if math.isfinite(value) else str(value)
        return value

    lead = "[\n "
    for chunk in _chunks(ranking, CHUNK):
        columns = [c.tolist() if isinstance(c, np.ndarray) else list(c) for c in chunk.values()]
        for row in zip(*columns):
            record = dict(zip(chunk, map(plain, row)))
            text = json.dumps(record, ensure_ascii=False, allow_nan=False)
            file.write((lead + text).encode("utf-8"))
            lead = ",\n "
    file.write(b"\n]\n" if len(ranking) else b"[\n]\n")


def write_parquet(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write Parquet; numbers keep all their digits."""
    import pyarrow.parquet as pq

    def table(columns: dict[str, Sequence[object] | np.ndarray]) -> pa.Table:
        return pa.table(
            {
                name: pa.array(column, None if isinstance(column, np.ndarray) else pa.string())
                for name, column in columns.items()
            }
        )

    with pq.ParquetWriter(file, table(ranking.columns(0, 0)).schema) as writer:
        for chunk in _chunks(ranking, ROW_GROUP):
            writer.write_table(table(chunk))


def write_xlsx(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write a workbook with one sheet, ``ranking``: ids as text, numbers as numbers, NaN empty.

    Equal rankings have equal bytes: no date is written. More rows than a sheet has are an
    `InputError`. Of numbers there are 16 digits at most.
    """
    import pandas as pd

    written = as_written(ranking, "xlsx")
    frame = pd.DataFrame(next(_chunks(written, len(ranking))))
    if len(frame) >= _SHEET_ROWS:
        raise InputError(
            f"a sheet has {_SHEET_ROWS:,} rows, too few for {len(frame):,} features",
            hint="use --format parquet or tsv",
        )
    plain = {"strings_to_formulas": False, "strings_to_urls": False}
    target: Any = file
    with pd.ExcelWriter(target, "xlsxwriter", engine_kwargs={"options": plain}) as writer:
        writer.book.set_properties({"created": _NO_DATE})
        frame.to_excel(writer, sheet_name="ranking", index=False, freeze_panes=(1, 0))
        writer.sheets["ranking"].set_column("A:Z", _WIDTH)


def write_rnk(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write GSEA's two columns, id and a metric: positive, and largest for the best feature.

    The metric is that of `exponential_scores`, with the sign of the direction where the ranking has
    one, from the largest down; features without a score are left out. An id with a
    tab or a line break, which the format cannot quote, is an `InputError`.
    """
    scored = min(ranking.n_scored, ranking.n_written)
    names = islice(ranking.feature, scored)
    unfit = [repr(name) for name in names if any(c in name for c in "\t\r\n")]
    if unfit:
        raise InputError(
            f"{counted(len(unfit), 'feature id')} with a tab or a line break cannot be written "
            "as rnk",
            where=listed(unfit),
            hint="rename these features, or use --format tsv",
        )
    metric, features = exponential_scores(ranking)[:scored], ranking.feature
    if ranking.direction is not None:
        metric = metric * ranking.direction[:scored]
        rows = np.argsort(-metric, kind="stable")
        metric, features = metric[rows], features.reordered(rows)
    for name, value in zip(features, metric):
        file.write(f"{name}\t{number_text(value)}\n".encode())


WRITERS: dict[str, Callable[[Ranking, IO[bytes], InOrder], None]] = {
    "tsv": partial(_write_delimited, "\t"),
    "csv": partial(_write_delimited, ","),
    "parquet": write_parquet,
    "json": write_json,
    "rnk": write_rnk,
    "xlsx": write_xlsx,
}


def write_ranking(ranking: Ranking, path: Path, form: str, in_order: InOrder = map) -> None:
    """Write a ranking to a file in one of the formats of `WRITERS`."""
    with path.open("wb") as file:
        WRITERS[form](ranking, file, in_order)


def ranking_bytes(ranking: Ranking, form: str) -> bytes:
    """Return what `write_ranking` writes."""
    buffer = io.BytesIO()
    WRITERS[form](ranking, buffer, map)
    return buffer.getvalue()


def write_scores(
    source: Path,
    path: Path,
    ranking: Ranking,
    about: Mapping[str, Any],
    ids: Callable[[list[str]], Sequence[str]] = list,
    found: Callable[[list[str]], dict[str, object]] = lambda _: {},
    *,
    top: int | None = None,
    layer: str | None = None,
) -> list[str]:
    """Copy AnnData to a path with a ranking in ``var`` and ``uns``: see `additions`.

    The source is an h5ad, a zarr folder, or ``FILE.h5mu:MODALITY``, which is copied as a whole.
    `ids` makes of names what a ranking calls them, and `found` other members of ``uns`` of the
    names of the features in the order of the matrix. The rest stays as it was, except that a file
    from before AnnData 0.7, whose tables are arrays of records, is written again in the present
    form. Returned is what the user should know.
    """
    from sfs_cli.io.matrix.base import RAW
    from sfs_cli.io.matrix.h5ad_copy import add_to_copy, look_into
    from sfs_cli.io.results.additions import additions
    from sfs_cli.io.results.highly_variable import plotted_columns

    inside = look_into(source)
    plotted = None if layer == RAW else partial(plotted_columns, source, layer)
    added = additions(ranking, inside, ids(inside.names), about, plotted, top=top)
    added.members |= found(ranking.feature.reordered(np.argsort(ranking.order))[:])
    add_to_copy(source, path, added)
    return added.notes


def write_coefficients(features: Sequence[str], rows: np.ndarray, path: Path) -> None:
    """Write the coefficients (s, k) of the s features that have some, as a TSV to a path."""
    names = ["feature", *(f"w{j}" for j in range(1, rows.shape[1] + 1))]
    table = ((feature, *row.tolist()) for feature, row in zip(features, rows))
    with path.open("wb") as file:
        file.writelines(table_lines(names, table))
