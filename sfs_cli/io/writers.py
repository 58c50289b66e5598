"""Writing a ranking: one function per format."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError, listed

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Ranking

CHUNK = 65_536
"""Rows that are turned to text at a time."""


def number(value: float, digits: int) -> str:
    """Return a number with so many significant digits, NaN as ``NaN``."""
    return "NaN" if math.isnan(value) else f"{value:.{digits}g}"


def _texts(column: Sequence[object] | np.ndarray, digits: int) -> list[str]:
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        pattern = f"%.{digits}g"
        return [pattern % v if v == v else "NaN" for v in column.tolist()]
    return [str(v) for v in column]


def _delimited(ranking: Ranking, delimiter: str, digits: int) -> Iterator[str]:
    columns = ranking.columns()
    quote = _quoter(delimiter)
    yield delimiter.join(columns) + "\n"
    for lo in range(0, len(ranking), CHUNK):
        part = {k: v[lo : lo + CHUNK] for k, v in columns.items()}
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
    columns = ranking.columns()

    def plain(value: object) -> object:
        if isinstance(value, float):
            if math.isnan(value):
                return None
            return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)
        return value

    lists = [c.tolist() if isinstance(c, np.ndarray) else list(c) for c in columns.values()]
    file.write(b"[")
    for i, row in enumerate(zip(*lists)):
        record = dict(zip(columns, map(plain, row)))
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        file.write(((",\n " if i else "\n ") + text).encode("utf-8"))
    file.write(b"\n]\n")


def write_parquet(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write Parquet; numbers keep all their digits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({k: pa.array(v) for k, v in ranking.columns().items()}), file)


def write_rnk(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write GSEA's two columns, id and a metric of which more is better.

    Scores of which less is better change their sign; features without a score are left out.

    Raises
    ------
    InputError
        For an id with a tab or a line break, which the format cannot quote.
    """
    sign = 1 if ranking.larger_is_better else -1
    scored = list(zip(ranking.feature, ranking.score.tolist()))[: ranking.n_scored]
    unfit = [repr(name) for name, _ in scored if any(c in name for c in "\t\r\n")]
    if unfit:
        raise InputError(
            f"{len(unfit):,} feature ids hold a tab or a line break, which rnk has no place for",
            where=listed(unfit),
            hint="rename these features, or take --format tsv",
        )
    for name, score in scored:
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
