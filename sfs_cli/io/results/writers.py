"""Writing results: a ranking in six formats or into a copy of AnnData, and coefficients."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from sfs_cli.display import shown
from sfs_cli.errors import InputError
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
_SHEET_ROWS = 1 << 20
"""Rows of a sheet of Excel."""
_WIDTH = 16
"""Characters of its columns."""
_NO_DATE = datetime(1980, 1, 1)
DIGITS = 10
"""Significant digits of numbers in text."""
_TENS = np.array([float(f"1e{power}") for power in range(23)])
"""The powers of ten that are exact."""


def number_text(value: float) -> str:
    """Return a number with `DIGITS` significant digits, NaN as ``NaN``."""
    return "NaN" if math.isnan(value) else f"{value:.{DIGITS}g}"


def rounded(values: np.ndarray) -> np.ndarray:
    """Return numbers, shape (m,), with `DIGITS` significant digits.

    A product with a power of ten is rounded, which takes a tenth of the time of text; where that
    power is not exact, and of infinities and NaN, text is made and read.
    """
    with np.errstate(divide="ignore"):
        power = DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    exact = (power >= 0) & (power < len(_TENS))
    tens = _TENS[np.where(exact, power, 0).astype(int)]
    found = np.rint(values * tens) / tens
    found[~exact] = [float(number_text(value)) for value in values[~exact].tolist()]
    return found


def as_written(ranking: Ranking, form: str, in_order: InOrder = map) -> Ranking:
    """Return a ranking with the numbers that its table has, as who reads the table gets them.

    Text has `DIGITS` significant digits; Parquet has all of them.
    """

    def read(column: np.ndarray | Picked) -> np.ndarray | Picked:
        if isinstance(column, Picked) or column.dtype.kind != "f":
            return column
        values = column.astype(np.float64, copy=False)
        parts = np.array_split(values, len(values) // CHUNK + 1)
        return values if form == "parquet" else np.concatenate([*in_order(rounded, parts)])

    extra = {name: read(column) for name, column in ranking.extra.items()}
    return replace(ranking, score=cast(np.ndarray, read(ranking.score)), extra=extra)


# Arrays are made of buffers below, and read from them: the first call of `pyarrow.array`, or of an
# array's `to_numpy`, would import pandas, which takes longer than writing a million lines.


def _parts(
    ranking: Ranking, size: int, change: Callable[[pa.Array], pa.Array] = lambda names: names
) -> Iterator[Callable[[], dict[str, pa.Array]]]:
    """Yield what makes the columns of the next rows, `size` at a time.

    Names, which many rows may share, go through `change` once.
    """
    columns: dict[str, np.ndarray | Picked] = {"feature": ranking.feature, "score": ranking.score}
    columns |= {"status": ranking.status, **ranking.extra}
    names = {
        name: change(
            held.__arrow_array__()
            if hasattr(held := column.names, "__arrow_array__")
            else string_array(held)
        )
        for name, column in columns.items()
        if isinstance(column, Picked)
    }

    def rows(lo: int, hi: int) -> dict[str, pa.Array]:
        found = {"rank": number_array(np.arange(lo + 1, hi + 1))}
        for name, column in columns.items():
            if isinstance(column, Picked):
                found[name] = names[name].take(number_array(column.positions[lo:hi]))
            else:
                found[name] = number_array(column[lo:hi])
        return found

    for lo in range(0, ranking.n_written, size):
        yield partial(rows, lo, min(lo + size, ranking.n_written))


def write_delimited(delimiter: str, ranking: Ranking, file: IO[bytes], in_order: InOrder) -> None:
    """Write UTF-8; ids that hold the delimiter or a quotation mark are quoted (RFC 4180).

    Arrow joins the cells to lines, outside of the interpreter's lock, so `in_order` may use
    threads.
    """
    import pyarrow.compute as pc

    between, newline, mark, nan, nothing = string_array([delimiter, "\n", '"', "NaN", ""])

    def quoted(names: pa.Array) -> pa.Array:
        special = pc.match_substring_regex(names, f'[{delimiter}"\r\n]')
        names = names.cast("large_string")
        if not pc.any(special).as_py():
            return names  # nearly always
        inside = pc.replace_substring(names, '"', '""')
        return pc.if_else(special, pc.binary_join_element_wise(mark, inside, mark, nothing), names)

    def text(column: pa.Array) -> pa.Array:
        if not pa.types.is_floating(column.type):
            return column.cast("large_string")
        numbers = number_array(rounded(np.from_dlpack(column).astype(np.float64)))
        return pc.if_else(pc.is_nan(numbers), nan, numbers.cast("large_string"))

    def lines(part: Callable[[], dict[str, pa.Array]]) -> pa.Buffer:
        row = pc.binary_join_element_wise(*map(text, part().values()), between)
        return pc.binary_join_element_wise(row, newline, nothing).buffers()[2]

    header = quoted(string_array(ranking.columns(0, 0))).to_pylist()
    file.write((delimiter.join(header) + "\n").encode())
    file.writelines(in_order(lines, _parts(ranking, CHUNK, quoted)))


def table_bytes(header: Sequence[str], rows: Iterable[Row]) -> bytes:
    """Return a small TSV; numbers that are not whole have `DIGITS` significant digits."""
    text = io.StringIO()
    table = csv.writer(text, "excel-tab", lineterminator="\n")
    table.writerow(map(_cell, header))
    table.writerows(map(_cell, row) for row in rows)
    return text.getvalue().encode()


def _cell(value: str | float) -> str:
    return number_text(value) if isinstance(value, float) else shown(str(value))


def write_json(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write a list of records; numbers that JSON lacks (NaN, infinity) are null and strings."""

    def plain(value: object) -> object:
        if not isinstance(value, float) or math.isfinite(value):
            return value
        return None if math.isnan(value) else str(value)

    lead = "[\n "
    for part in _parts(as_written(ranking, "json"), CHUNK):
        for record in pa.table(part()).to_pylist():
            record = {name: plain(value) for name, value in record.items()}
            text = json.dumps(record, ensure_ascii=False, allow_nan=False)
            file.write((lead + text).encode())
            lead = ",\n "
    file.write(b"\n]\n")


def write_parquet(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write Parquet; numbers keep all their digits."""
    import pyarrow.parquet as pq

    tables = (pa.table(part()) for part in _parts(ranking, ROW_GROUP))
    first = next(tables)
    with pq.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def write_xlsx(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write a workbook with one sheet, ``ranking``: ids as text, numbers as numbers, NaN empty.

    Equal rankings have equal bytes: no date is written. More rows than a sheet has are an
    `InputError`. Of numbers there are 16 digits at most.
    """
    import pandas as pd

    if ranking.n_written >= _SHEET_ROWS:
        raise InputError(
            f"a sheet has {_SHEET_ROWS:,} rows, too few for {ranking.n_written:,} features",
            hint="use --format parquet or tsv",
        )
    (part,) = _parts(as_written(ranking, "xlsx"), _SHEET_ROWS)
    frame = pa.table(part()).to_pandas()
    plain = {"strings_to_formulas": False, "strings_to_urls": False}
    target: Any = file
    with pd.ExcelWriter(target, "xlsxwriter", engine_kwargs={"options": plain}) as writer:
        writer.book.set_properties({"created": _NO_DATE})
        frame.to_excel(writer, sheet_name="ranking", index=False, freeze_panes=(1, 0))
        writer.sheets["ranking"].set_column("A:Z", _WIDTH)


def write_rnk(ranking: Ranking, file: IO[bytes], _in_order: InOrder) -> None:
    """Write GSEA's two columns, id and a metric: positive, and largest for the best feature.

    The metric is that of `exponential_scores`, with the sign of the direction where the ranking has
    one, from the largest down; features without a score are left out.
    """
    scored = min(ranking.n_scored, ranking.n_written)
    metric = exponential_scores(ranking)[:scored]
    if ranking.direction is not None:
        metric = metric * ranking.direction[:scored]
    rows = np.argsort(-metric, kind="stable")
    for name, value in zip(ranking.feature.reordered(rows), metric[rows].tolist()):
        file.write(f"{name}\t{number_text(value)}\n".encode())


WRITERS: dict[str, Callable[[Ranking, IO[bytes], InOrder], None]] = {
    "tsv": partial(write_delimited, "\t"),
    "csv": partial(write_delimited, ","),
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
    ids: Callable[[list[str]], Sequence[str]],
    found: Callable[[list[str]], dict[str, object]],
    *,
    top: int | None,
) -> list[str]:
    """Copy AnnData to a path with a ranking in ``var`` and ``uns``: see `additions`.

    The source is an h5ad, a zarr folder, or ``FILE.h5mu:MODALITY``, which is copied as a whole.
    `ids` makes of names what a ranking calls them, and `found` other members of ``uns`` of the
    names of the features in the order of the matrix. The rest stays as it was, except that a file
    from before AnnData 0.7, whose tables are arrays of records, is written again in the present
    form. Returned is what the user should know.
    """
    from sfs_cli.io.matrix.h5ad_copy import add_to_copy, look_into
    from sfs_cli.io.results.additions import additions

    inside = look_into(source)
    added = additions(ranking, inside, ids(inside.names), about, top=top)
    added.members |= found(ranking.feature.reordered(np.argsort(ranking.order))[:])
    add_to_copy(source, path, added)
    return added.notes


def write_coefficients(features: Sequence[str], rows: np.ndarray, path: Path) -> None:
    """Write the coefficients (s, k) of the s features that have some, as a TSV to a path."""
    names = ["feature", *(f"w{j}" for j in range(1, rows.shape[1] + 1))]
    table = ((feature, *row.tolist()) for feature, row in zip(features, rows))
    path.write_bytes(table_bytes(names, table))
