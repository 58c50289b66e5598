"""Deciding whether a row of a matrix file is a feature or a sample."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.base import Axis, MatrixReader

Rows = Literal["features", "samples", "auto"]

BY_CONVENTION = "rows are taken as features, the convention of expression matrices"
"""The reason where nothing tells what a row is."""
CARRY_SAMPLES = "rows are samples, since they carry the known sample ids"
"""The reason where the ids of a matrix with samples in rows were found elsewhere."""


def decide(reader: MatrixReader, rows: Rows, known_samples: Collection[str]) -> tuple[Axis, str]:
    """Say what the rows of a matrix are, and why.

    Parameters
    ----------
    reader : MatrixReader
        The matrix, opened.
    rows : {"features", "samples", "auto"}
        What the user says.
    known_samples : collection of str
        Sample ids that are known from labels and sources; may be empty.

    Returns
    -------
    axis : {"features", "samples"}
        What a row is.
    reason : str
        One sentence for the user.

    Raises
    ------
    UsageError
        If the user's word contradicts the format.
    InputError
        If the known samples fit rows and columns equally well.
    """
    if reader.fixed_rows is not None:
        return _fixed(reader, reader.fixed_rows, rows)
    if rows != "auto":
        return rows, f"rows are {rows}, as --rows says"
    return _matched(reader, frozenset(known_samples))


def _fixed(reader: MatrixReader, axis: Axis, rows: Rows) -> tuple[Axis, str]:
    if rows not in ("auto", axis):
        raise UsageError(
            f"--rows {rows} contradicts the file: rows of this format ({reader.format}) are {axis}",
            where=str(reader.path),
            hint="leave --rows out",
        )
    return axis, f"rows are {axis}, by the format ({reader.format})"


def _matched(reader: MatrixReader, known: frozenset[str]) -> tuple[Axis, str]:
    columns = _share(reader.column_ids, known)
    rows = _share(reader.first_row_ids(), known)
    if columns == rows == 0.0:
        return "features", BY_CONVENTION
    if columns == rows:
        raise InputError(
            "the known sample ids match the rows as well as the columns",
            where=str(reader.path),
            hint="say with --rows features or --rows samples what a row is",
        )
    if columns > rows:
        return "features", "rows are features, since the columns carry the known sample ids"
    return "samples", CARRY_SAMPLES


def _share(ids: Sequence[str], known: frozenset[str]) -> float:
    # a share, not a count: of the rows only the first ones are looked at
    return sum(i in known for i in ids) / len(ids) if len(ids) else 0.0
