"""Gene sets in GMT: a name, a description and genes in each line, divided by tabs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.plain_text import refuse_other_than_text, text_lines

_FORM = "a line of GMT is a name, a description (it may be empty) and genes, divided by tabs"
_END = re.compile(r"\.(gmt|gaf)(\.gz|\.zst)?", re.IGNORECASE)


def read_gmt(path: Path) -> dict[str, list[str]]:
    """Read gene sets.

    Parameters
    ----------
    path : Path
        GMT; gzip and zstd are decompressed. Blank lines and those that begin with ``#`` are
        skipped.

    Returns
    -------
    dict of str to list of str
        Name of each set to its genes, both in the order of the file; a gene that a set repeats is
        there once.

    Raises
    ------
    InputError
        If the file cannot be read or has no sets, or a line has fewer than three fields, no name,
        no genes, or the name of another.
    """
    path = Path(path)
    refuse_other_than_text(path, "gene sets (GMT)")
    sets: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for line, text in text_lines(path):
        if text.startswith("#"):
            continue
        name, genes = _set_of(text, f"{path}, line {line}")
        if name in lines:
            raise InputError(
                f"the set {name!r} is there twice, in lines {lines[name]} and {line}",
                where=f"{path}, line {line}",
                hint="give each set a name of its own, or remove one of them",
            )
        sets[name], lines[name] = genes, line
    if not sets:
        raise InputError("the file holds no gene sets", where=str(path), hint=_FORM)
    return sets


def _set_of(text: str, where: str) -> tuple[str, list[str]]:
    fields = [field.strip() for field in text.split("\t")]
    if len(fields) < 3:
        raise InputError(
            f"the line has {counted(len(fields), 'field')}, fewer than 3", where=where, hint=_FORM
        )
    if not fields[0]:
        raise InputError("the set has no name", where=where, hint=_FORM)
    genes = list(dict.fromkeys(filter(None, fields[2:])))
    if not genes:
        raise InputError(
            f"the set {fields[0]!r} has no genes", where=where, hint="remove it, or add its genes"
        )
    return fields[0], genes


def split_set_spec(spec: str) -> tuple[Path, list[str]]:
    """Split ``FILE.gmt[:SET1,SET2]`` (or ``FILE.gaf[:TERM1]``) into the file and the names.

    Names may hold colons (``go.gmt:GO:0000002``); a path that exists is a file alone.
    """
    if Path(spec).exists():
        return Path(spec), []
    for ending in _END.finditer(spec):
        if spec[ending.end() :].startswith(":"):
            names = spec[ending.end() + 1 :].split(",")
            return Path(spec[: ending.end()]), [name.strip() for name in names if name.strip()]
    return Path(spec), []


def choose_sets(
    sets: Mapping[str, list[str]], patterns: Sequence[str], path: Path
) -> dict[str, list[str]]:
    """Return the sets that are asked for.

    Parameters
    ----------
    sets : mapping of str to list of str
        All sets.
    patterns : sequence of str
        Names, or patterns with ``*`` (any text) and ``?`` (one character); upper and lower case
        differ.
    path : Path
        The file, for messages.

    Returns
    -------
    dict of str to list of str
        In the order of `sets`.

    Raises
    ------
    InputError
        If a pattern fits no name.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        found = [pattern] if pattern in sets else _fitting(pattern, sets)
        if not found:
            raise InputError(
                f"there is no set {pattern!r} among {counted(len(sets), 'set')}",
                where=str(path),
                hint=_near(pattern, list(sets)),
            )
        chosen.update(found)
    return {name: genes for name, genes in sets.items() if name in chosen}


def _fitting(pattern: str, sets: Mapping[str, list[str]]) -> list[str]:
    escaped = pattern.replace("[", "[[]")  # a bracket of fnmatch, which names may hold
    return [name for name in sets if fnmatchcase(name, escaped)]


def _near(pattern: str, names: list[str]) -> str:
    word = pattern.strip("*?").lower()
    lower = {name.lower(): name for name in reversed(names)}
    close = [name for text, name in lower.items() if word and word in text]
    close = close[::-1] or [lower[text] for text in get_close_matches(word, lower, 3)]
    if close:
        return f"did you mean {listed(close, 3)}?"
    return f"sets of the file are {listed(names, 3)}"
