"""Comparing numbers, tables and arrays: the same to the byte, within a tolerance, or different."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import pandas as pd

FLOOR = 8
"""Times the machine epsilon and the largest number: what is below does not tell of a change."""


class Level(IntEnum):
    """How alike two outputs are."""

    BYTES = 0
    WITHIN = 1
    DIFFERENT = 2


@dataclass(frozen=True)
class Tolerance:
    """How far two numbers may be apart, relative to them."""

    relative: float = 1e-9

    @property
    def floor(self) -> float:
        """How far they may be apart, relative to the largest number."""
        kind = np.float64 if self.relative < 1e-7 else np.float32
        return FLOOR * float(np.finfo(kind).eps)

    def apart(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return where two arrays are further apart; NaN is equal to NaN."""
        a, b = np.asarray(a, float), np.asarray(b, float)
        finite = np.abs(a[np.isfinite(a)])
        least = self.floor * finite.max() if finite.size else 0.0
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= self.relative * np.maximum(np.abs(a), np.abs(b)) + least
        return ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))


@dataclass
class Findings:
    """What was found in one output or more."""

    level: Level = Level.BYTES
    differences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def differ(self, text: str) -> None:
        self.level = Level.DIFFERENT
        self.differences.append(text)

    def near(self) -> None:
        self.level = max(self.level, Level.WITHIN)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def add(self, other: Findings, where: str) -> None:
        """Take over what was found in a part."""
        self.level = max(self.level, other.level)
        self.differences += [f"{where}: {text}" for text in other.differences]
        self.notes += [f"{where}: {text}" for text in other.notes]


def read_table(content: bytes, form: str) -> pd.DataFrame | None:
    """Return a table whose columns are numbers or text; None if it is no table."""
    if form == "parquet":
        made = pd.read_parquet(io.BytesIO(content))
        return made if isinstance(made.index, pd.RangeIndex) else made.reset_index()
    text = content.decode("utf-8")
    if form == "json":
        found = json.loads(text)
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            return None
        return pd.DataFrame(found)
    lines = text.splitlines()
    mark = "," if form == "csv" else "\t"
    if len(lines) < 2 or any(line.count(mark) != lines[0].count(mark) for line in lines):
        return None
    if mark not in lines[0]:
        return None
    header = None if form == "rnk" else 0
    made = pd.read_csv(io.StringIO(text), sep=mark, header=header, dtype=str, na_filter=False)
    made.columns = made.columns.map(str)
    return made.apply(_numbers)


def _numbers(column: pd.Series) -> pd.Series:
    words = column.replace({"": "nan", "NA": "nan"})
    try:
        return words.astype(float)
    except ValueError:
        return column


def compare_tables(a: pd.DataFrame, b: pd.DataFrame, tolerance: Tolerance) -> Findings:
    """Compare two tables; rows are told by the ids of their first column of unique text."""
    found = Findings(Level.WITHIN)
    if list(a.columns) != list(b.columns):
        found.differ(f"columns {_some(a.columns)}, now {_some(b.columns)}")
        return found
    if len(a) != len(b):
        found.differ(f"{len(a)} rows, now {len(b)}")
        return found
    key = _key(a)
    if key is None:
        _compare_columns(a, b, tolerance, found)
        return found
    if set(a[key]) != set(b[key]) or b[key].duplicated().any():
        found.differ(f"other ids: {_some(set(a[key]) ^ set(b[key]))}")
        return found
    by_place = [c for c in a.columns if c == "rank"]
    _compare_columns(a[by_place], b[by_place], tolerance, found)
    aligned = b.set_index(key).loc[a[key]].reset_index()
    _compare_columns(a.drop(columns=by_place), aligned[a.columns.drop(by_place)], tolerance, found)
    _compare_order(a.set_index(key), b[key].tolist(), tolerance, found)
    return found


def _key(table: pd.DataFrame) -> str | None:
    texts = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
    texts.sort(key=lambda c: c != "feature")
    return next((c for c in texts if table[c].is_unique), None)


def _compare_columns(a: pd.DataFrame, b: pd.DataFrame, near: Tolerance, found: Findings) -> None:
    for name in a.columns:
        one, other = a[name], b[name]
        numbers = [pd.api.types.is_numeric_dtype(c) for c in (one, other)]
        if all(numbers):
            wrong = near.apart(one.to_numpy(float), other.to_numpy(float))
        else:
            wrong = one.astype(str).to_numpy() != other.astype(str).to_numpy()
        if wrong.any():
            first = int(np.argmax(wrong))
            id = a.iloc[first, 0]
            values = f"{one.iloc[first]!r}, now {other.iloc[first]!r}"
            found.differ(f"{name}: {int(wrong.sum())} of {len(a)} rows, such as {id}: {values}")


def _compare_order(
    a: pd.DataFrame, order: list[str], tolerance: Tolerance, found: Findings
) -> None:
    """Features may change places only where their scores are tied within the tolerance."""
    before = a.index.tolist()
    if before == order:
        return
    moved = [i for i, (one, other) in enumerate(zip(before, order)) if one != other]
    if "score" in a.columns and pd.api.types.is_numeric_dtype(a["score"]):
        scores = a["score"]
        apart = tolerance.apart(scores.to_numpy(), scores.loc[order].to_numpy())
        if "status" in a.columns:
            apart |= a["status"].to_numpy() != a["status"].loc[order].to_numpy()
        if not apart.any():
            found.note(f"{len(moved)} tied features in another order")
            return
        moved = np.flatnonzero(apart).tolist()
    i = moved[0]
    found.differ(f"order: {len(moved)} places, first {i + 1}: {before[i]}, now {order[i]}")


def compare_arrays(a: np.ndarray, b: np.ndarray, tolerance: Tolerance) -> Findings:
    """Compare two arrays of any type."""
    found = Findings(Level.WITHIN)
    if a.shape != b.shape:
        found.differ(f"shape {a.shape}, now {b.shape}")
    elif a.dtype.kind == b.dtype.kind == "f":
        wrong = tolerance.apart(a, b)
        if wrong.any():
            most = np.nanmax(np.abs(np.asarray(a - b, float)))
            found.differ(f"{int(wrong.sum())} of {a.size} numbers, by up to {most:.3g}")
    elif not np.array_equal(a, b):
        found.differ("other values")
    return found


def _some(names: object, most: int = 6) -> str:
    listed = [str(n) for n in names]  # type: ignore[attr-defined]
    return ", ".join(listed[:most]) + (" ..." if len(listed) > most else "")
