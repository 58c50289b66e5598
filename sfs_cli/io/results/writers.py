"""Writing results: a ranking in five formats or into a copy of an h5ad, and coefficients."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.atomic import replacing
from sfs_cli.io.files.text import string_array

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Picked, Ranking

InOrder = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Calls a function on many items and gives the results in their order: `map`, or threads."""

CHUNK = 65_536
"""Rows that become text at a time."""
ROW_GROUP = 1 << 20
"""Rows of a Parquet row group."""


def number_text(value: float, digits: int) -> str:
    """Return a number with so many significant digits, NaN as ``NaN``."""
    return "NaN" if math.isnan(value) else f"{value:.{digits}g}"


def delimited(
    ranking: Ranking, delimiter: str, digits: int, in_order: InOrder = map
) -> Iterator[bytes | pa.Buffer]:
    """Yield the table as UTF-8: the header, then `CHUNK` lines at a time.

    Arrow joins the cells to lines, outside of the interpreter's lock, so `in_order` may use
    threads. Ids that hold the delimiter are quoted (RFC 4180).
    """
    import pyarrow.compute as pc

    names = list(ranking.columns(0, 0))
    yield (delimiter.join(_quoted(name, delimiter) for name in names) + "\n").encode()
    between, newline, nothing = string_array([delimiter, "\n", ""])
    features, statuses = _names(ranking.feature), _names(ranking.status)

    def cells(column: np.ndarray, end: str) -> list[pa.Array]:
        """Return a column as text, and what follows it: printed numbers bring that along."""
        if column.dtype.kind == "f":
            return [print_numbers(f"%.{digits}g", column, end)]
        integers = column.dtype.kind in "iu"
        texts = (
            _integers(column).cast("large_string") if integers else string_array(map(str, column))
        )
        return [texts, newline if end == "\n" else between]

    def lines(lo: int) -> pa.Buffer:
        hi = min(lo + CHUNK, len(ranking))
        ids = _take(features, ranking.feature.positions[lo:hi])
        row = [
            *cells(np.arange(lo + 1, hi + 1), delimiter),
            *(_quote_where_needed(ids, delimiter), between),
            *cells(ranking.score[lo:hi], delimiter),
            _take(statuses, ranking.status.positions[lo:hi]),
        ]
        extra = [column[lo:hi] for column in ranking.extra.values()]
        row.append(between if extra else newline)
        for number, column in enumerate(extra, 1):
            row += cells(column, "\n" if number == len(extra) else delimiter)
        return pc.binary_join_element_wise(*row, nothing).buffers()[2]

    yield from in_order(lines, range(0, len(ranking), CHUNK))


# Arrays are made of buffers below: the first call of `pyarrow.array` would import pandas, which
# takes longer than writing a million lines.


def print_numbers(form: str, numbers: np.ndarray, end: str) -> pa.Array:
    """Print numbers with a ``%`` form, each followed by the character `end`; NaN as ``NaN``.

    Arrow cannot print a given number of significant digits. One ``%`` of Python for a whole chunk
    can, in less than half the time of `numpy.char.mod` or pandas.
    """
    text = (form + end) * len(numbers) % tuple(numbers.tolist())
    letters = text.replace("nan", "NaN").encode()
    bounds = np.zeros(len(numbers) + 1, np.int64)
    bounds[1:] = np.flatnonzero(np.frombuffer(letters, np.uint8) == ord(end)) + 1
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.large_string(), len(numbers), buffers)


def _integers(values: np.ndarray) -> pa.Array:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def _names(picked: Picked) -> pa.Array:
    names = picked.names
    return names.__arrow_array__() if hasattr(names, "__arrow_array__") else string_array(names)


def _take(names: pa.Array, positions: np.ndarray) -> pa.Array:
    return names.take(_integers(positions)).cast("large_string")


def _quote_where_needed(texts: pa.Array, delimiter: str) -> pa.Array:
    letters = texts.buffers()[2].to_pybytes()
    if not any(mark in letters for mark in (delimiter.encode(), b'"', b"\n", b"\r")):
        return texts  # nearly always
    return string_array(_quoted(text, delimiter) for text in texts.to_pylist())


def _quoted(text: str, delimiter: str) -> str:
    if delimiter in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def write_tsv(ranking: Ranking, file: IO[bytes], digits: int, in_order: InOrder = map) -> None:
    """Write tab-separated text with a header."""
    file.writelines(delimited(ranking, "\t", digits, in_order))


def write_csv(ranking: Ranking, file: IO[bytes], digits: int, in_order: InOrder = map) -> None:
    """Write comma-separated text with a header."""
    file.writelines(delimited(ranking, ",", digits, in_order))


def _chunks(ranking: Ranking, rows: int) -> Iterator[dict[str, Sequence[object] | np.ndarray]]:
    for lo in range(0, len(ranking), rows):
        yield ranking.columns(lo, lo + rows)


def write_json(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write a list of records; numbers that JSON lacks (NaN, infinity) are null and strings."""

    def plain(value: object) -> object:
        if isinstance(value, float):
            if math.isnan(value):
                return None
            return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)
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


def write_parquet(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write Parquet; numbers keep all their digits."""
    import pyarrow.parquet as pq

    def table(columns: dict[str, Sequence[object] | np.ndarray]) -> pa.Table:
        texts = ("feature", "status")
        return pa.table(
            {k: pa.array(v, pa.string() if k in texts else None) for k, v in columns.items()}
        )

    with pq.ParquetWriter(file, table(ranking.columns(0, 0)).schema) as writer:
        for chunk in _chunks(ranking, ROW_GROUP):
            writer.write_table(table(chunk))


def write_rnk(ranking: Ranking, file: IO[bytes], digits: int) -> None:
    """Write GSEA's two columns, id and a metric of which more is better.

    Scores of which less is better change their sign; features without a score are left out. An id
    with a tab or a line break, which the format cannot quote, is an `InputError`.
    """
    sign = 1 if ranking.larger_is_better else -1
    scored = ranking.n_scored
    names = islice(ranking.feature, scored)
    unfit = [repr(name) for name in names if any(c in name for c in "\t\r\n")]
    if unfit:
        raise InputError(
            f"{counted(len(unfit), 'feature id')} with a tab or a line break cannot be written "
            "as rnk",
            where=listed(unfit),
            hint="rename these features, or use --format tsv",
        )
    for lo in range(0, scored, CHUNK):
        hi = min(lo + CHUNK, scored)
        for name, score in zip(ranking.feature[lo:hi], ranking.score[lo:hi].tolist()):
            # + 0.0, so that a score of 0 does not become -0
            file.write(f"{name}\t{number_text(sign * score + 0.0, digits)}\n".encode())


_DELIMITED = {"tsv": write_tsv, "csv": write_csv}
WRITERS: dict[str, Callable[[Ranking, IO[bytes], int], None]] = {
    **_DELIMITED,
    "parquet": write_parquet,
    "json": write_json,
    "rnk": write_rnk,
}


def write_ranking(
    ranking: Ranking, path: Path, form: str, digits: int, in_order: InOrder = map
) -> None:
    """Write a ranking to a file in one of the formats of `WRITERS`."""
    with path.open("wb") as file:
        if form in _DELIMITED:
            _DELIMITED[form](ranking, file, digits, in_order)
        else:
            WRITERS[form](ranking, file, digits)


def ranking_bytes(ranking: Ranking, form: str, digits: int) -> bytes:
    """Return what `write_ranking` writes."""
    buffer = io.BytesIO()
    WRITERS[form](ranking, buffer, digits)
    return buffer.getvalue()


def write_scores(source: Path, target: Path, ranking: Ranking, about: str) -> None:
    """Copy an h5ad with ``sfs_rank``, ``sfs_score`` and ``sfs_status`` in ``var``.

    The ranking is of its variables (not those of ``raw``). `about` tells how it was made, as JSON
    for ``uns["sfs"]``. Only ``var`` is written again; the rest stays as it was.
    """
    import shutil

    import h5py
    from anndata.io import read_elem, write_elem

    row = np.argsort(ranking.order)
    columns = {
        "sfs_rank": row + 1,
        "sfs_score": ranking.score[row],
        "sfs_status": np.array(list(ranking.status), dtype=object)[row],
    }
    with replacing(target) as partial:
        shutil.copyfile(source, partial)
        with h5py.File(partial, "r+") as file:
            var = read_elem(file["var"])
            write_elem(file, "var", var.assign(**columns))
            if "uns" not in file:
                write_elem(file, "uns", {})
            write_elem(file["uns"], "sfs", about)


def write_coefficients(path: Path, features: list[str], rows: np.ndarray) -> None:
    """Write the non-zero coefficients of a sparse method as Parquet.

    `features` (s) and `rows`, shape (s, k), become the columns ``feature``, ``w1``, ``w2``, ...
    """
    import pyarrow.parquet as pq

    columns = {f"w{j + 1}": pa.array(rows[:, j].tolist()) for j in range(rows.shape[1])}
    with replacing(path) as partial:
        pq.write_table(pa.table({"feature": pa.array(features, pa.string()), **columns}), partial)
