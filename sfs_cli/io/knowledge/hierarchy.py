"""Hierarchies of samples: a path for each in a table, or a Newick tree whose leaves they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sfs_cli.errors import InputError
from sfs_cli.io.files.sniff import Kind, recognize, refuse_absent
from sfs_cli.io.files.table import NULL_TOKENS, is_number, read_table
from sfs_cli.io.files.text import first_lines, read_whole
from sfs_cli.io.knowledge.labels import choose_column, split_label_spec

_USUAL_NAMES = ("path", "hierarchy", "lineage", "ontology", "taxonomy", "class")
_PATH_HINT = "write a path as epithelial/colon/tumor, from the most general class to the narrowest"


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
        taxonomy or class (in this order, in upper or lower case); samples without a path are left
        out. Or a Newick tree, recognized by the parenthesis it begins with, whose leaves are the
        samples; lengths of branches are not used.

    Raises
    ------
    InputError
        If there is no such file or column, several columns could be meant, a path has an empty
        component, a sample has two paths, the tree does not parse, or no two samples have anything
        in common.
    """
    path, column = split_label_spec(spec)
    content = recognize(path)
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
        paths = _read_paths(path, column)
    heads = Counter(components[0] for components in paths.values() if components)
    if not heads or max(heads.values()) == 1:
        raise InputError(
            "no two samples share a node below the root, so all similarities are zero",
            where=str(path),
            hint="give a deeper hierarchy: samples of one class begin with the same component, "
            "or hang below the same inner node of the tree",
        )
    return Hierarchy(paths, max(map(len, paths.values())))


def _is_newick(path: Path) -> bool:
    text = "".join(text for _, text in first_lines(path, 1)).lstrip()
    return text.startswith("(") or (text.startswith("[") and "\t" not in text)


def _read_paths(path: Path, asked: str | None) -> dict[str, tuple[str, ...]]:
    table = read_table(path)
    ids_name, *others = table.columns
    name = choose_column(others, asked, _USUAL_NAMES, path, "paths")
    paths: dict[str, tuple[str, ...]] = {}
    for row, sample in enumerate(table.columns[ids_name]):
        text, where = table.columns[name][row], table.where(row, name)
        if text in NULL_TOKENS:
            continue
        components = tuple(component.strip() for component in text.split("/"))
        if not all(components):
            raise InputError(
                f"the path {text!r} has an empty component", where=where, hint=_PATH_HINT
            )
        if paths.setdefault(sample, components) != components:
            raise InputError(
                f"sample {sample!r} has two paths, {'/'.join(paths[sample])!r} and {text!r}",
                where=where,
                hint="leave one row for each sample",
            )
    if not paths:
        raise InputError(
            "no sample has a path",
            where=f"{path}, column {name!r}",
            hint=f"name another column, as {path.name}:COLUMN",
        )
    return paths


# Newick: a tree in parentheses, read token by token.

_FORM = "a tree is written as ((a,b),(c,d)); with a semicolon at its end"
_QUOTE = "put names that hold blanks or any of ()[]:;, in single quotes"
_NAME_LEAVES = "name every leaf by its sample"
_TOKEN = re.compile(
    r"""(?P<blank>\s+) | (?P<mark>[(),:;]) | (?P<comment>\[)
    | (?P<quoted>'(?:[^']|'')*' | "(?:[^"]|"")*") | (?P<word>[^\s()\[\]'",:;]+)""",
    re.VERBOSE,
)
_BRACKET = re.compile(r"[\[\]]")


class _Token(NamedTuple):
    """A mark or a label, and where it begins, from 0."""

    text: str
    is_label: bool
    start: int


def read_newick(text: str, where: str) -> dict[str, tuple[str, ...]]:
    """Return the path from the root to each leaf of a tree.

    Parameters
    ----------
    text : str
        One tree, ended by a semicolon. Labels may stand in quotes (a doubled quote stands for
        one); underscores are kept. Comments in square brackets and the lengths of branches are
        left out, so depth counts edges, whatever their lengths. Inner nodes need no name.
    where : str
        The file, for messages.

    Returns
    -------
    dict of str to tuple of str
        Leaf to a key for each node on its way, from below the root to the leaf itself: as many as
        there are edges. Two leaves have as many leading keys in common as their lowest common
        ancestor is edges away from the root.

    Raises
    ------
    InputError
        Naming the character (from 1), if the text is not a tree, is cut off or followed by more, a
        leaf has no name, or two have the same.
    """
    tree = _Tree(where)
    for token in _tokens(text, where):
        tree.take(token)
    return tree.finished(len(text))


def _tokens(text: str, where: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            what = "a quote is not closed" if text[at] in "'\"" else "a bracket closes no comment"
            raise InputError(what, where=f"{where}, character {at + 1}", hint=_QUOTE)
        start, at = at, found.end()
        kind = found.lastgroup
        if kind == "comment":
            at = _end_of_comment(text, start, where)
        elif kind == "quoted":
            quote = text[start]
            yield _Token(text[start + 1 : at - 1].replace(quote * 2, quote).strip(), True, start)
        elif kind != "blank":
            yield _Token(found.group(), kind == "word", start)


def _end_of_comment(text: str, start: int, where: str) -> int:
    depth = 0  # comments may hold others
    for found in _BRACKET.finditer(text, start):
        depth += 1 if found.group() == "[" else -1
        if not depth:
            return found.end()
    raise InputError(
        "a comment is not closed", where=f"{where}, character {start + 1}", hint="close it with ]"
    )


class _Tree:
    """A tree as far as it has been read."""

    def __init__(self, where: str) -> None:
        self.leaves: dict[str, tuple[str, ...]] = {}
        self._where = where
        self._open: list[int] = []  # the character where each open parenthesis stands
        self._path: list[str] = []
        self._n_nodes = 0
        self._last = "start"  # what came last: start ( , ) : node length end

    def take(self, token: _Token) -> None:
        """Take the next token."""
        text, at = token.text, token.start
        if self._last == "end":
            raise self._error(f"{_shown(text)} follows the end of the tree", at, "give one tree")
        if self._last == ":":
            if not token.is_label or not is_number(text):
                what = f"the length of a branch is {_shown(text)}, not a number"
                raise self._error(what, at, "give a number after each colon, or no colon")
            self._last = "length"
        elif token.is_label:
            self._take_label(text, at)
        elif text == "(":
            if self._last not in ("start", "(", ","):
                raise self._error("a parenthesis opens where a comma should stand", at, _FORM)
            self._n_nodes += 1
            if self._last != "start":
                self._path.append(str(self._n_nodes))
            self._open.append(at)
            self._last = "("
        elif self._last in ("(", ","):
            raise self._error("a leaf has no name", at, _NAME_LEAVES)
        elif text == ":":
            if self._last not in (")", "node"):
                raise self._error("a colon stands where no length can be", at, _QUOTE)
            self._last = ":"
        else:
            self._take_end(text, at)

    def _take_label(self, label: str, at: int) -> None:
        if self._last == ")":
            self._last = "node"  # the name of an inner node, which may occur twice
            return
        if self._last == "start":
            raise self._error(f"{_shown(label)} stands before the tree", at, _FORM)
        if self._last not in ("(", ","):
            what = f"{_shown(label)} stands where a comma or a parenthesis should"
            raise self._error(what, at, _QUOTE)
        if not label:
            raise self._error("a leaf has an empty name", at, _NAME_LEAVES)
        if label in self.leaves:
            raise self._error(f"the leaf {label!r} occurs twice", at, "name each sample once")
        self._n_nodes += 1
        self.leaves[label] = (*self._path, str(self._n_nodes))
        self._last = "node"

    def _take_end(self, mark: str, at: int) -> None:
        if mark == ";":
            if self._open:
                raise self._error("the tree ends before its parentheses are closed", at, _FORM)
            self._last = "end"
        elif not self._open:
            what = "a parenthesis closes none that is open"
            if mark == ",":
                what = "a comma stands outside the parentheses"
            raise self._error(what, at, _FORM)
        else:
            self._last = mark
            if mark == ")":
                self._open.pop()
                if self._open:
                    self._path.pop()

    def finished(self, length: int) -> dict[str, tuple[str, ...]]:
        """Return the leaves, if the tree is complete."""
        if self._last == "start":
            raise self._error("there is no tree", 0, _FORM)
        again = "or copy the file again"
        if self._open:
            raise self._error("a parenthesis is not closed", self._open[-1], f"close it, {again}")
        if self._last != "end":
            what = "the tree has no semicolon at its end"
            raise self._error(what, length, f"add it, {again}")
        return self.leaves

    def _error(self, what: str, at: int, hint: str) -> InputError:
        return InputError(what, where=f"{self._where}, character {at + 1}", hint=hint)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 30 else text[:27] + "...")
