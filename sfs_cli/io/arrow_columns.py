"""Which columns of a table are the names of the rows, and which the values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pyarrow as pa

from sfs_cli.errors import InputError, counted, listed

_ID_WORD = re.compile(r"(^|[_ .-])(id|gene|feature|entrez|geneid|entrezid|index)([_ .-]|$)", re.I)


@dataclass(frozen=True)
class TableColumns:
    """Which columns of a table hold the ids and which the values.

    Attributes
    ----------
    ids : int
        Position of the id column.
    values : tuple of int
        Positions of the numeric columns.
    notes : tuple of str
        What a user should know of the choice.
    """

    ids: int
    values: tuple[int, ...]
    notes: tuple[str, ...] = field(default=())


def choose_columns(schema: pa.Schema, path: Path) -> TableColumns:
    """Tell the id column of a table from its numeric columns.

    The ids are the one string column that pandas wrote as the index, else the first string column,
    else the first integer column named like an id. Other columns of a pandas index are no samples
    and are left out.

    Raises
    ------
    InputError
        No id column, a column that is neither id nor number, or no numeric column.
    """
    index = _pandas_index(schema)
    ids = _id_position(schema, index)
    if ids is None:
        raise InputError(
            "no column holds the names of the rows",
            where=f"{path}: {listed([f'{f.name} ({f.type})' for f in schema], 3)}",
            hint="store the names as a text column, the first one",
        )
    left_out = [i for i in index if i != ids]
    values = tuple(i for i in range(len(schema)) if i != ids and i not in left_out)
    _refuse_other_types(schema, values, ids, path)
    names = listed([schema.field(i).name for i in left_out])
    notes = (f"index columns left out: {names}",) if left_out else ()
    return TableColumns(ids, values, notes)


def _pandas_index(schema: pa.Schema) -> list[int]:
    if not schema.metadata or b"pandas" not in schema.metadata:
        return []
    named = (schema.pandas_metadata or {}).get("index_columns", [])
    # a RangeIndex is stored as a dict, not as a column
    positions = chain.from_iterable(
        schema.get_all_field_indices(name) for name in named if isinstance(name, str)
    )
    return list(positions)


def _id_position(schema: pa.Schema, index: list[int]) -> int | None:
    indexed = [i for i in index if _is_text(schema.field(i).type)]
    if len(indexed) == 1:
        return indexed[0]
    text = (i for i, f in enumerate(schema) if _is_text(f.type))
    coded = (
        i
        for i, f in enumerate(schema)
        if pa.types.is_integer(f.type) and _ID_WORD.search(f.name.strip())
    )
    return next(chain(text, coded), None)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_number(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _refuse_other_types(schema: pa.Schema, values: tuple[int, ...], ids: int, path: Path) -> None:
    fields = [schema.field(i) for i in values]
    bad = [f"{f.name!r} ({f.type})" for f in fields if not _is_number(f.type)]
    if bad:
        raise InputError(
            f"{counted(len(bad), 'column')} besides the names ({schema.field(ids).name!r}) "
            "without numbers",
            where=f"{path}: {listed(bad, 3)}",
            hint="leave out annotation columns and store values as numbers",
        )
    if not values:
        raise InputError(
            "the table has no numeric column",
            where=str(path),
            hint="a matrix has row ids in one column and values in the others",
        )
