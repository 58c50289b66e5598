"""Writing a ranking: one function per format."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError, listed

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Ranking

CHUNK = 65_536
"""Rows that are turned to text at a time."""
ROW_GROUP = 1 << 20
"""Rows of a row group of Parquet."""


def number(value: float, digits: int) -> str:
    """Return a number with so many significant digits, NaN as ``NaN``."""
    return "NaN" if math.isnan(value) else f"{value:.{digits}g}"


def _texts(column: Sequence[object] | np.ndarray, digits: int) -> list[str]:
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        pattern = f"%.{digits}g"
        return [pattern % v if v == v else "NaN" for v in column.tolist()]
    return [str(v) for v in column]


def _chunks(ranking: Ranking, rows: int) -> Iterator[dict[str, Sequence[object] | np.ndarray]]:
    """Yield the columns of so many rows at a time."""
    for lo in range(0, len(ranking), rows):
        yield ranking.columns(lo, lo + rows)


def _delimited(ranking: Ranking, delimiter: str, digits: int) -> Iterator[str]:
    quote = _quoter(delimiter)
    yield delimiter.join(map(quote, ranking.columns(0, 0))) + "\n"
    for part in _chunks(ranking, CHUNK):
        texts = [_texts(v, digits) for v in part.values()]
        texts[1] = [quote(t) for t in texts[1]]
        yield "".join([delimiter.join(row) + "\n" for row in zip(*texts)])


def _quoter(delimiter: str) -> Callable[[str], str]:
    """Return what quotes an id where it must be, as RFC 4180 has it."""

    def quote(text: str) -> str:
        if delimiter in text or '"' in text or "\n" in text or "\r" in text:
            return '"' + text.replace('"', '""') + '"'
        return text

    return quote


def _write_text(pieces: Iterator[str], file: IO[bytes]) -> None:
    for piece in pieces:
        file.write(piece.encode("utf-8"))


def write_tsv(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write tab-separated text with a header."""
    _write_text(_delimited(ranking, "\t", digits), file)


def write_csv(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write comma-separated text with a header."""
    _write_text(_delimited(ranking, ",", digits), file)


def write_json(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write a list of records; numbers that JSON lacks (NaN, infinity) are null and strings."""

    def plain(value: object) -> object:
        if isinstance(value, float):
            if math.isnan(value):
                return None
            return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)
        return value

    lead = "[\n "
    for part in _chunks(ranking, CHUNK):
        lists = [c.tolist() if isinstance(c, np.ndarray) else list(c) for c in part.values()]
        for row in zip(*lists):
            record = dict(zip(part, map(plain, row)))
            text = json.dumps(record, ensure_ascii=False, allow_nan=False)
            file.write((lead + text).encode("utf-8"))
            lead = ",\n "
    file.write(b"\n]\n" if len(ranking) else b"[\n]\n")


def write_parquet(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write Parquet; numbers keep all their digits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def table(columns: dict[str, Sequence[object] | np.ndarray]) -> pa.Table:
        texts = ("feature", "status")
        return pa.table(
            {k: pa.array(v, pa.string() if k in texts else None) for k, v in columns.items()}
        )

    with pq.ParquetWriter(file, table(ranking.columns(0, 0)).schema) as writer:
        for part in _chunks(ranking, ROW_GROUP):
            writer.write_table(table(part))


def write_rnk(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write GSEA's two columns, id and a metric of which more is better.

    Scores of which less is better change their sign; features without a score are left out.

    Raises
    ------
    InputError
        For an id with a tab or a line break, which the format cannot quote.
    """
    sign = 1 if ranking.larger_is_better else -1
    scored = ranking.n_scored
    names = islice(ranking.feature, scored)
    unfit = [repr(name) for name in names if any(c in name for c in "\t\r\n")]
    if unfit:
        raise InputError(
            f"{len(unfit):,} feature ids hold a tab or a line break, which rnk has no place for",
            where=listed(unfit),
            hint="rename these features, or take --format tsv",
        )
    for lo in range(0, scored, CHUNK):
        hi = min(lo + CHUNK, scored)
        for name, score in zip(ranking.feature[lo:hi], ranking.score[lo:hi].tolist()):
            # a score of 0 is not to become -0
            file.write(f"{name}\t{number(sign * score + 0.0, digits)}\n".encode())


WRITERS: dict[str, Callable[[Ranking, IO[bytes], int], None]] = {
    "tsv": write_tsv,
    "csv": write_csv,
    "parquet": write_parquet,
    "json": write_json,
    "rnk": write_rnk,
}


def write_ranking(ranking: Ranking, path: Path, form: str, digits: int) -> None:
    """Write a ranking to a file in one of the formats of `WRITERS`."""
    with path.open("wb") as file:
        WRITERS[form](ranking, file, digits)


def ranking_bytes(ranking: Ranking, form: str, digits: int) -> bytes:
    """Return what `write_ranking` writes."""
    buffer = io.BytesIO()
    WRITERS[form](ranking, buffer, digits)
    return buffer.getvalue()
