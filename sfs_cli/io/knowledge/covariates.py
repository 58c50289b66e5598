"""Covariates of samples: columns of a table, or annotations that come with the matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sfs_cli.errors import InputError, UsageError, listed
from sfs_cli.io.files.names import nfc
from sfs_cli.io.files.table import is_number, read_table
from sfs_cli.io.given import given
from sfs_cli.io.knowledge.labels import (
    choose_column,
    read_annotation,
    read_column,
    split_label_spec,
)

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["categorical", "numeric"]
KINDS: tuple[Kind, ...] = ("categorical", "numeric")
GROUPING = {"batch": "batches", "donors": "donors"}
"""Options whose column puts samples into groups, and what these are."""
CODES = 10
"""Whole numbers of at most so many values may be codes of categories."""
_INSIDE = "obs:"


@dataclass(frozen=True)
class Covariate:
    """A covariate of samples.

    Attributes
    ----------
    name : str
        Its column or annotation.
    where : str
        The file, or the matrix, and the column, for messages.
    option : str
        The option that names it.
    kind : {"categorical", "numeric"}
        How it is taken.
    values : dict
        The value of each sample that has one, by its id: text, or a finite number.
    asked : bool
        Whether the user said how it is taken.
    held : bool
        Whether it is an object of Python, whose type says how it is taken.
    """

    name: str
    where: str
    option: str
    kind: Kind
    values: Mapping[str, str | float]
    asked: bool = False
    held: bool = False

    @property
    def codes(self) -> int:
        """How many values it has, where they may be codes that were taken as numbers; else 0."""
        if self.kind == "categorical" or self.asked:
            return 0
        found = set(self.values.values())
        whole = all(float(value).is_integer() for value in found)
        return len(found) if whole and 2 < len(found) <= CODES else 0


def read_covariates(spec: str, option: str) -> list[Covariate]:
    """Read ``FILE:COLUMN,COLUMN``; the first column of the file holds the sample ids.

    A column of numbers is numeric and any other categorical, unless the name is followed by
    ``=numeric`` or ``=categorical``. Where columns have types, as in Parquet and data frames,
    numbers that are text or categories are categorical. Without columns, the file has to have only
    one. `option` names the file.

    Raises
    ------
    InputError
        When the file cannot be read, has no such column, or a value is not what it should be.
    """
    path, columns = split_label_spec(spec)
    table = read_table(path)
    others = list(table.columns)[1:]
    if columns is None:
        columns = choose_column(others, None, (), path, "covariates")
    found = []
    for name, kind in _split_columns(columns, others, option):
        choose_column(others, name, (), path, "covariates")
        texts = read_column(path, name, (), "value", str)
        number = name not in table.categories and all(map(is_number, texts.values()))
        taken = kind or ("numeric" if number else "categorical")
        values: Mapping[str, str | float] = texts
        if taken == "numeric":
            values = read_column(path, name, (), "value", _number)
        where = f"{path}, column {name!r}"
        held = given(path) is not None
        found.append(Covariate(name, where, option, taken, values, kind is not None, held))
    return found


def covariates_of_obs(
    spec: str, samples: list[str], obs: pa.Table | None, matrix: str, option: str
) -> list[Covariate]:
    """Return the annotations that ``obs:KEY,KEY`` names, as `read_covariates` does.

    Categories stay categories, whatever their names, as the text of an AnnData is; that of a GCT,
    which has no types, is taken as in a table of text.
    """
    import pyarrow as pa

    known = [] if obs is None else obs.column_names
    found = []
    for name, kind in _split_columns(nfc(spec.removeprefix(_INSIDE)), known, option):
        texts = read_annotation(name, samples, obs, matrix, f"--{option} ")
        assert obs is not None, "refused above"
        stored = obs.schema.field(name).type
        category = pa.types.is_dictionary(stored) or pa.types.is_boolean(stored)
        number = not category and all(map(is_number, texts.values()))
        where = f"{matrix}: obs {name!r}"
        values: Mapping[str, str | float] = texts
        taken: Kind = kind or ("numeric" if number else "categorical")
        if taken == "numeric":
            try:
                values = {s: _number(text) for s, text in texts.items()}
            except InputError as error:
                error.where = where
                raise
        found.append(Covariate(name, where, option, taken, values, kind is not None))
    return found


def is_inside(spec: str) -> bool:
    """Tell whether covariates are annotations of the matrix."""
    return spec.startswith(_INSIDE)


def _split_columns(text: str, known: Sequence[str], option: str) -> list[tuple[str, Kind | None]]:
    """Return the columns of ``NAME,NAME=KIND``; a text that is a column is that column."""
    found: list[tuple[str, Kind | None]] = []
    usual: Kind | None = "categorical" if option in GROUPING else None
    for part in [text] if text in known else text.split(","):
        part = part.strip()
        start, _, kind = part.rpartition("=")
        named = next((k for k in KINDS if k == kind), None) if part not in known else None
        found.append((part if named is None else start, named or usual))
    if option in GROUPING and "numeric" in dict(found).values():
        raise UsageError(
            f"--{option} {text} is no number: {GROUPING[option]} are categories",
            hint="give --adjust for numeric covariates",
            option=option,
        )
    names = [name for name, _ in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"--{option} names {listed(twice)} twice",
            hint="name every column once",
            option=option,
        )
    return found


def _number(text: str) -> float:
    if not is_number(text) or not math.isfinite(float(text)):
        raise InputError(
            f"{text!r} is not a finite number",
            hint="correct it, or take the column as categories: COLUMN=categorical",
        )
    return float(text)
