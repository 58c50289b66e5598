"""Tables that pair two kinds of ids, such as probes and gene symbols."""

from __future__ import annotations

from pathlib import Path

from sfs_cli.errors import InputError, counted
from sfs_cli.io.header import NULL_TOKENS, sniff_delimiter, split_fields
from sfs_cli.io.id_names import is_id_name
from sfs_cli.io.plain_text import first_lines, refuse_other_than_text, text_lines
from sfs_cli.io.text import text_suffix

_MISSING = frozenset((*NULL_TOKENS, "-", "--", "---"))
_SEVERAL = "///"
_FORM = "a map has two columns, divided by tabs, commas or semicolons"


def read_id_map(path: Path) -> list[tuple[str, str]]:
    """Read pairs of ids.

    Parameters
    ----------
    path : Path
        Text of two columns (gzip and zstd are decompressed). A first line is one of names when
        one of its fields is a usual name of such a column (probe_id, symbol). Blank lines and
        those that begin with ``#`` are skipped, and so are rows without an id in one of the
        columns (empty, NA, ``---``). Several ids in one field, as Affymetrix writes them
        (``A /// B``), each make a pair.

    Returns
    -------
    list of (str, str)
        Each pair once, in the order of the file.

    Raises
    ------
    InputError
        If the file cannot be read, a line has another number of fields, or no pair is there.
    """
    path = Path(path)
    refuse_other_than_text(path, "a map of ids")
    delimiter = _delimiter(path)
    pairs: dict[tuple[str, str], None] = {}
    is_first = True
    for line, text in text_lines(path):
        if text.startswith("#"):
            continue
        fields = split_fields(text, delimiter)
        if len(fields) != 2:
            raise InputError(
                f"the line has {counted(len(fields), 'field')}, not 2",
                where=f"{path}, line {line}",
                hint=_FORM,
            )
        if not (is_first and any(map(is_id_name, fields))):
            lefts, rights = map(_ids, fields)
            pairs.update(((left, right), None) for left in lefts for right in rights)
        is_first = False
    if not pairs:
        raise InputError("the map holds no pair of ids", where=str(path), hint=_FORM)
    return list(pairs)


def _delimiter(path: Path) -> str:
    lines = [text for _, text in first_lines(path, 100) if not text.startswith("#")][:2]
    found = sniff_delimiter(lines[0], lines[-1], text_suffix(path)) if lines else "\t"
    return found or "\t"


def _ids(field: str) -> list[str]:
    ids = [name.strip() for name in field.split(_SEVERAL)]
    return [name for name in ids if name not in _MISSING]
