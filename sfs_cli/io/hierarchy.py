"""Hierarchies of samples: a path for each in a table, or a tree whose leaves they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfs_cli.errors import InputError, listed
from sfs_cli.io.header import NULL_TOKENS
from sfs_cli.io.newick import read_newick
from sfs_cli.io.plain_text import first_lines, read_whole
from sfs_cli.io.sniff import Kind, recognise, refuse_absent
from sfs_cli.io.table import read_table, read_text_rows, split_label_spec

_NAMES = ("path", "hierarchy", "lineage", "ontology", "taxonomy", "class")
_FORM = "write a path as epithelial/colon/tumor, from the most general class to the narrowest"


@dataclass(frozen=True)
class Hierarchy:
    """Where samples hang in a tree.

    The lowest common ancestor of two samples is as many edges below the root as their paths have
    leading components in common, so their similarity is that number over `depth`. Of a sample and
    itself it is the length of its path over `depth`.

    Attributes
    ----------
    paths : dict of str to tuple of str
        Sample to the nodes on its way from below the root, in the order of the file. In a table
        the last of them is the sample's narrowest class, which other samples may share; in a
        Newick tree it is the leaf, the sample itself.
    depth : int
        Edges from the root to the deepest node: the length of the longest path.
    """

    paths: dict[str, tuple[str, ...]]
    depth: int


def read_hierarchy(spec: str) -> Hierarchy:
    """Read the hierarchy of samples.

    Parameters
    ----------
    spec : str
        ``FILE`` or ``FILE:COLUMN``: a table (delimited text, perhaps compressed, or Parquet) with
        samples in the first column and their paths, divided by slashes, in another. Without
        COLUMN it is the only other one, or the one named path, hierarchy, lineage, ontology,
        taxonomy or class (in this order, whatever the case); samples without a path are left out.
        Or a Newick tree, told by the parenthesis it begins with, whose leaves are the samples;
        lengths of branches are not used.

    Returns
    -------
    Hierarchy
        The paths and the depth of the tree.

    Raises
    ------
    InputError
        If the file or column cannot be found or told, a path has an empty component, a sample has
        two paths, the tree does not parse, or no two samples have anything in common.
    """
    path, column = split_label_spec(spec)
    content = recognise(path)
    refuse_absent(path, content)
    if content.kind is Kind.TEXT and _is_newick(path):
        if column is not None:
            raise InputError(
                f"the file is a Newick tree, which has no column {column!r}",
                where=str(path),
                hint=f"give {path.name} alone",
            )
        paths = read_newick(read_whole(path), str(path))
    else:
        paths = _read_paths(path, column, content.kind)
    _refuse_nothing_shared(paths, path)
    return Hierarchy(paths, max(map(len, paths.values())))


def _is_newick(path: Path) -> bool:
    text = "".join(text for _, text in first_lines(path, 1)).lstrip()
    return text.startswith("(") or (text.startswith("[") and "\t" not in text)


def _read_paths(path: Path, asked: str | None, kind: Kind) -> dict[str, tuple[str, ...]]:
    if kind is Kind.TEXT:
        names, lines, rows = read_text_rows(path)
        at = _path_column(names, asked, path)
        given: Iterable[tuple[int, str, str]] = (
            (line, row[0], row[at]) for line, row in zip(lines, rows)
        )
        unit = "line"
    else:
        table = read_table(path)
        names = list(table)
        columns = list(table.values())
        at = _path_column(names, asked, path)
        given = ((i, *pair) for i, pair in enumerate(zip(columns[0], columns[at]), 1))
        unit = "row"
    paths: dict[str, tuple[str, ...]] = {}
    for place, sample, text in given:
        if text in NULL_TOKENS:
            continue
        where = f"{path}, {unit} {place}, column {names[at]!r}"
        parts = _parts(text, where)
        if paths.setdefault(sample, parts) != parts:
            raise InputError(
                f"sample {sample!r} has two paths, {'/'.join(paths[sample])!r} and {text!r}",
                where=where,
                hint="leave one row for each sample",
            )
    if not paths:
        raise InputError(
            "no sample has a path",
            where=f"{path}, column {names[at]!r}",
            hint=f"name another column, as {path.name}:COLUMN",
        )
    return paths


def _parts(text: str, where: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split("/"))
    if not all(parts):
        raise InputError(f"the path {text!r} has an empty component", where=where, hint=_FORM)
    return parts


def _path_column(names: Sequence[str], asked: str | None, path: Path) -> int:
    others = list(names[1:])
    hint = f"columns that can hold paths: {listed(others, 20)}"
    if asked is not None:
        if asked not in others:
            raise InputError(f"there is no column {asked!r}", where=str(path), hint=hint)
        return 1 + others.index(asked)
    lower = [name.lower() for name in others]
    named = [lower.index(name) for name in _NAMES if name in lower]
    if not named and len(others) != 1:
        raise InputError(
            "which column holds the paths cannot be told",
            where=str(path),
            hint=f"add it to the option as {path.name}:COLUMN; {hint}",
        )
    return 1 + (named[0] if len(others) > 1 else 0)


def _refuse_nothing_shared(paths: dict[str, tuple[str, ...]], path: Path) -> None:
    heads = Counter(parts[0] for parts in paths.values() if parts)
    if not heads or max(heads.values()) == 1:
        raise InputError(
            "no two samples have a node below the root in common, so none are alike",
            where=str(path),
            hint="give a deeper hierarchy: samples of one class begin with the same component, "
            "or hang below the same inner node of the tree",
        )
