"""A ranking as delimited text, made of whole columns at a time.

Arrow joins the pieces of the lines, so that a million of them take a part of a second; every
number has the digits that Python would write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.io.arrow_arrays import numbers, strings

if TYPE_CHECKING:
    import pyarrow as pa

    from sfs_cli.ranking.picked import Picked
    from sfs_cli.ranking.table import Ranking

InOrder = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Calls a function of many things, and gives what it returns in their order: `map`, or threads."""

CHUNK = 65_536
"""Rows that are turned to text at a time."""

_LEAST, _MOST = -4, 9
"""From ``1e-4`` to ``1e9`` neither Arrow nor ``%g`` writes an exponent, digits permitting."""
_MOST_DIGITS = 15
"""Decimals of so many digits are told apart by their nearest numbers of 64 bits."""
_STEPS = np.array([float(f"1e{power}") for power in range(_LEAST, _MOST + 1)])
_TENS = np.array([float(f"1e{power}") for power in range(_MOST_DIGITS - _LEAST)])
"""Powers of ten from 1 on; up to ``1e22`` they are exact."""


def delimited(
    ranking: Ranking, delimiter: str, digits: int, in_order: InOrder = map
) -> Iterator[bytes | pa.Buffer]:
    """Yield the table as UTF-8: the header, then many lines at a time.

    Parameters
    ----------
    ranking : Ranking
        The table.
    delimiter : str
        Between two cells; ids that hold it are quoted, as RFC 4180 has it.
    digits : int
        Significant digits of numbers.
    in_order : callable
        Makes the lines, as `map` does or beside each other.

    Yields
    ------
    bytes-like
    """
    import pyarrow.compute as pc

    names = list(ranking.columns(0, 0))
    yield (delimiter.join(map(_quoter(delimiter), names)) + "\n").encode()
    between, end, nothing = strings([delimiter, "\n", ""])
    features, statuses = _names(ranking.feature), _names(ranking.status)

    def lines(lo: int) -> pa.Buffer:
        rows = slice(lo, min(lo + CHUNK, len(ranking)))
        cells = [
            _integers(np.arange(rows.start + 1, rows.stop + 1)),
            _quoted(_picked(features, ranking.feature, rows), delimiter),
            number_texts(ranking.score[rows], digits),
            _picked(statuses, ranking.status, rows),
            *(_texts(column[rows], digits) for column in ranking.extra.values()),
        ]
        joined = pc.binary_join_element_wise(*cells, between)
        return pc.binary_join_element_wise(joined, end, nothing).buffers()[2]

    yield from in_order(lines, range(0, len(ranking), CHUNK))


def number_texts(values: np.ndarray, digits: int) -> pa.Array:
    """Return numbers with so many significant digits, as ``%g`` has them, and NaN as ``NaN``.

    Parameters
    ----------
    values : ndarray of float, shape (b,)
        The numbers.
    digits : int
        From 1 to 17.

    Returns
    -------
    pyarrow.LargeStringArray, length b
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = values.astype(np.float64, copy=False)
    nearest, sure = _rounded(values, digits)
    texts = numbers(nearest).cast(pa.large_string())
    if sure.all():
        return texts
    pattern = f"%.{digits}g"
    rest = [pattern % v if v == v else "NaN" for v in values[~sure].tolist()]
    return pc.replace_with_mask(texts, numbers(~sure), strings(rest))


def _rounded(values: np.ndarray, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Round to so many digits; tell where the shortest text of the result is that of ``%g``.

    That is so where it has no exponent, and where the rounding of the product with a power of ten
    cannot have crossed the middle between two decimals.
    """
    if digits > _MOST_DIGITS:
        return values, np.zeros(len(values), bool)
    exponents = np.searchsorted(_STEPS, np.abs(values), "right") - 1 + _LEAST
    sure = (exponents >= _LEAST) & (exponents < min(_MOST, digits - 1))
    tens = _TENS[digits - 1 - np.where(sure, exponents, 0)]
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * tens
        whole = np.rint(scaled)
        from_middle = np.abs(np.abs(scaled - whole) - 0.5)
        sure &= from_middle > np.abs(scaled) * np.finfo(np.float64).eps
        return whole / tens, sure


def _names(picked: Picked) -> pa.Array:
    """Return what is picked from; ids that lie side by side already are not copied."""
    names = picked.names
    return names.__arrow_array__() if hasattr(names, "__arrow_array__") else strings(names)


def _picked(names: pa.Array, picked: Picked, rows: slice) -> pa.Array:
    import pyarrow as pa

    return names.take(numbers(picked.places[rows])).cast(pa.large_string())


def _texts(column: np.ndarray, digits: int) -> pa.Array:
    """Return a column of a method's own as text."""
    if column.dtype.kind == "f":
        return number_texts(column, digits)
    if column.dtype.kind in "iu":
        return _integers(column)
    return strings(map(str, column))


def _integers(column: np.ndarray) -> pa.Array:
    import pyarrow as pa

    return numbers(column).cast(pa.large_string())


def _quoted(texts: pa.Array, delimiter: str) -> pa.Array:
    """Quote the ids that need it; there are hardly ever any."""
    letters = texts.buffers()[2].to_pybytes()
    if not any(mark in letters for mark in (delimiter.encode(), b'"', b"\n", b"\r")):
        return texts
    return strings(map(_quoter(delimiter), texts.to_pylist()))


def _quoter(delimiter: str) -> Callable[[str], str]:
    """Return what quotes an id where it must be, as RFC 4180 has it."""

    def quote(text: str) -> str:
        if delimiter in text or '"' in text or "\n" in text or "\r" in text:
            return '"' + text.replace('"', '""') + '"'
        return text

    return quote
