"""Small tables of text, and the labels of samples that are read from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfs_cli.errors import COPY_AGAIN, InputError, counted, listed
from sfs_cli.io.header import NULL_TOKENS, decode, read_header, split_fields
from sfs_cli.io.lines import LineStream
from sfs_cli.io.sniff import Kind, recognise, refuse_absent
from sfs_cli.io.text import text_suffix

if TYPE_CHECKING:
    import pyarrow as pa

_LABEL_NAMES = ("label", "class", "group", "condition", "cell_type")


def read_table(path: str | Path) -> dict[str, list[str]]:
    """Read a small table with a line of column names.

    Parameters
    ----------
    path : str or Path
        Delimited text (tab, comma, semicolon or space, perhaps compressed) or Parquet.

    Returns
    -------
    dict of str to list of str
        The columns, in order, the row ids first; missing values are "".

    Raises
    ------
    InputError
        If the file is neither, has no rows or only one column, a row has another number of
        fields than the first, or two columns have one name.
    """
    path = Path(path)
    content = recognise(path)
    refuse_absent(path, content)
    if content.kind is Kind.PARQUET:
        return _read_parquet(path)
    if content.kind is not Kind.TEXT:
        raise InputError(
            f"{path.name} holds {content.kind.value}, not a table of text or Parquet",
            where=str(path),
            hint="write the table as TSV or CSV with a line of column names",
        )
    return _read_text(path)


def _read_text(path: Path) -> dict[str, list[str]]:
    names, _, rows = read_text_rows(path)
    return {name: list(column) for name, column in zip(names, zip(*rows), strict=True)}


def read_text_rows(path: Path) -> tuple[list[str], list[int], list[list[str]]]:
    """Read delimited text with a line of column names.

    Returns
    -------
    names : list of str
        Of the columns; the first may be "".
    lines : list of int
        The line of the file that each row stands in, from 1.
    rows : list of list of str
        The fields of each row, as many as there are names.

    Raises
    ------
    InputError
        As `read_table`.
    """
    stream = LineStream(path)
    try:
        header = read_header(stream, text_suffix(path))
        _refuse_repeated(header.names, path)
        lines, rows = [], []
        while (raw := stream.read_line()) is not None:
            line = stream.line - 1
            if not raw.strip():
                continue
            fields = split_fields(decode(raw, path, line), header.delimiter)
            if len(fields) != len(header.names):
                raise InputError(
                    f"a row has {counted(len(fields), 'field')} where {len(header.names):,} "
                    "are expected",
                    where=f"{path}, line {line}",
                    hint="every row needs a value for each column; write missing ones as NA",
                )
            lines.append(line)
            rows.append(fields)
    finally:
        stream.close()
    return header.names, lines, rows


def _refuse_repeated(names: list[str], path: Path) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"several columns are named {listed(repeated)}",
            where=str(path),
            hint="give every column a name of its own",
        )


def _read_parquet(path: Path) -> dict[str, list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"the Parquet file cannot be read ({error})", where=str(path), hint=COPY_AGAIN
        ) from error
    _refuse_repeated(table.column_names, path)
    columns = {}
    for name in _ids_first(table):
        values = table.column(name).to_pylist()
        columns[name] = ["" if value is None else str(value) for value in values]
    return columns


def _ids_first(table: pa.Table) -> list[str]:
    import pyarrow as pa

    pandas_index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    named = [name for name in pandas_index if isinstance(name, str)]
    kinds = {f.name: f.type for f in table.schema}
    texts = [n for n, t in kinds.items() if pa.types.is_string(t) or pa.types.is_large_string(t)]
    ids = (named or texts or table.column_names)[0]
    return [ids, *(name for name in table.column_names if name != ids)]


def read_labels(spec: str) -> dict[str, str]:
    """Read the class of each sample.

    Parameters
    ----------
    spec : str
        ``FILE`` or ``FILE:COLUMN``. The first column holds the sample ids. Without COLUMN the
        labels are the only other column, or the one named label, class, group, condition or
        cell_type (in this order, whatever the case).

    Returns
    -------
    dict of str to str
        Sample id to label, in the order of the file; samples whose label is missing are left out.

    Raises
    ------
    InputError
        If the file or column cannot be found or told, or a sample has two labels.
    """
    path, column = split_label_spec(spec)
    table = read_table(path)
    ids_name, *others = table
    name = _label_column(others, column, path)
    labels: dict[str, str] = {}
    for sample, label in zip(table[ids_name], table[name], strict=True):
        if label in NULL_TOKENS:
            continue
        if labels.setdefault(sample, label) != label:
            raise InputError(
                f"sample {sample!r} has two labels, {labels[sample]!r} and {label!r}",
                where=f"{path}, column {name!r}",
                hint="leave one row for each sample",
            )
    if not labels:
        raise InputError(
            "no sample has a label",
            where=f"{path}, column {name!r}",
            hint=f"name another column, as {path.name}:COLUMN",
        )
    return labels


def split_label_spec(spec: str) -> tuple[Path, str | None]:
    """Split ``FILE[:COLUMN]``; a path that exists, and a Windows drive, are a file alone."""
    if ":" not in spec or Path(spec).exists():
        return Path(spec), None
    file, column = spec.rsplit(":", 1)
    is_drive = len(file) == 1 and column.startswith(("\\", "/"))
    return (Path(spec), None) if is_drive else (Path(file), column)


def _label_column(others: list[str], asked: str | None, path: Path) -> str:
    if asked is not None:
        if asked in others:
            return asked
        raise InputError(
            f"there is no column {asked!r}",
            where=str(path),
            hint=f"columns that can hold labels: {listed(others, 20)}",
        )
    if len(others) == 1:
        return others[0]
    by_lower = {name.lower(): name for name in reversed(others)}
    named = [by_lower[name] for name in _LABEL_NAMES if name in by_lower]
    if named:
        return named[0]
    raise InputError(
        "which column holds the labels cannot be told",
        where=str(path),
        hint=f"add it to the option as {path.name}:COLUMN, one of {listed(others, 20)}",
    )
