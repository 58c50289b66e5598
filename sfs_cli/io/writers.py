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
from sfs_cli.io.ranking_text import CHUNK, InOrder, delimited

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Ranking

ROW_GROUP = 1 << 20
"""Rows of a row group of Parquet."""


def number(value: float, digits: int) -> str:
    """Return a number with so many significant digits, NaN as ``NaN``."""
    return "NaN" if math.isnan(value) else f"{value:.{digits}g}"


def _chunks(ranking: Ranking, rows: int) -> Iterator[dict[str, Sequence[object] | np.ndarray]]:
    """Yield the columns of so many rows at a time."""
    for lo in range(0, len(ranking), rows):
        yield ranking.columns(lo, lo + rows)


def write_tsv(ranking: Ranking, file: IO[bytes], digits: int, in_order: InOrder = map) -> None:
    """Write tab-separated text with a header."""
    file.writelines(delimited(ranking, "\t", digits, in_order))


def write_csv(ranking: Ranking, file: IO[bytes], digits: int, in_order: InOrder = map) -> None:
    """Write comma-separated text with a header."""
    file.writelines(delimited(ranking, ",", digits, in_order))


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


DELIMITED = {"tsv": write_tsv, "csv": write_csv}
WRITERS: dict[str, Callable[[Ranking, IO[bytes], int], None]] = {
    **DELIMITED,
    "parquet": write_parquet,
    "json": write_json,
    "rnk": write_rnk,
}


def write_ranking(
    ranking: Ranking, path: Path, form: str, digits: int, in_order: InOrder = map
) -> None:
    """Write a ranking to a file in one of the formats of `WRITERS`.

    Lines of delimited text are made by `in_order`, which may use threads.
    """
    with path.open("wb") as file:
        if form in DELIMITED:
            DELIMITED[form](ranking, file, digits, in_order)
        else:
            WRITERS[form](ranking, file, digits)


def ranking_bytes(ranking: Ranking, form: str, digits: int) -> bytes:
    """Return what `write_ranking` writes."""
    buffer = io.BytesIO()
    WRITERS[form](ranking, buffer, digits)
    return buffer.getvalue()
