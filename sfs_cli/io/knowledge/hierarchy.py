"""Hierarchies of samples: a path for each in a table, or a Newick tree whose leaves they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sfs_cli.errors import InputError
from sfs_cli.io.files.names import BLANKS
from sfs_cli.io.files.sniff import examine
from sfs_cli.io.files.table import is_number
from sfs_cli.io.files.text import first_lines, read_whole
from sfs_cli.io.knowledge.sample_columns import Wanted, find_columns, read_column

MOST_NODES = 20_000_000
"""The most nodes that the paths of all leaves of a tree may have: some 160 MB."""
_USUAL_NAMES = ("path", "hierarchy", "lineage", "ontology", "taxonomy", "class")
_PATH_HINT = "write a path as epithelial/colon/tumor, from the most general class to the narrowest"


@dataclass(frozen=True)
class Hierarchy:
    """Where samples hang in a tree.

    The lowest common ancestor of two samples is as many edges below the root as their paths have
    leading components in common, so their similarity is that number over `depth`. Of a sample and
    itself it is the length of its path over `depth`.
    """

    # Sample to the nodes on its way from below the root, in the order of the file. In a table the
    # last of them is the sample's narrowest class, which other samples may share; in a Newick tree
    # it is the leaf, the sample itself.
    paths: dict[str, tuple[str, ...]]
    depth: int  # edges from the root to the deepest node: the length of the longest path

    @property
    def undivided(self) -> str:
        """The mark that seems to divide paths without a slash; empty if there is none."""
        names = [] if self.depth > 1 else [path[0] for path in self.paths.values()]
        return next((mark for mark in ">|;" if names and all(mark in n for n in names)), "")


def read_hierarchy(spec: str) -> Hierarchy:
    """Read the hierarchy of samples.

    `spec` is ``FILE`` or ``FILE:COLUMN``: a table (delimited text, perhaps compressed, or Parquet)
    with samples in the first column and their paths, divided by slashes, in another. Without
    COLUMN it is the only other one, or the one named path, hierarchy, lineage, ontology, taxonomy
    or class (in this order, in upper or lower case); samples without a path are left out. Or a
    Newick tree, recognized by the parenthesis it begins with, whose leaves are the samples;
    lengths of branches are not used. That no two samples have anything in common is an
    `InputError`, as whatever cannot be read.
    """
    path, column = find_columns(spec)
    is_text = examine(path).is_text
    start = "".join(text for _, text in first_lines(path, 1)).lstrip() if is_text else ""
    if start.startswith("(") or (start.startswith("[") and "\t" not in start):
        if column is not None:
            raise InputError(
                f"the file is a Newick tree, which has no column {column!r}",
                where=path,
                hint=f"give {path.name} alone",
            )
        paths = read_newick(read_whole(path), str(path))
    else:
        wanted = Wanted("source", "path", _components, _USUAL_NAMES)
        paths = read_column(spec, wanted)
    heads = Counter(components[0] for components in paths.values() if components)
    if not heads or max(heads.values()) == 1:
        raise InputError(
            "no two samples share a node below the root, so all similarities are zero",
            where=path,
            hint="give a deeper hierarchy: samples of one class begin with the same component, "
            "or hang below the same inner node of the tree",
        )
    return Hierarchy(paths, max(map(len, paths.values())))


def _components(text: str) -> tuple[str, ...]:
    components = tuple(component.strip(BLANKS) for component in text.split("/"))
    if not all(components):
        raise InputError(f"the path {text!r} has an empty component", hint=_PATH_HINT)
    return components


# Newick: a tree in parentheses, read token by token.

_FORM = (
    "a tree is written as ((a,b),(c,d)); with the samples as leaves; names that hold blanks or any "
    "of ()[]:;, stand in single quotes"
)
_AFTER_NODE = "a comma or a parenthesis should"
_AFTER = {
    "start": ("(", "the tree should begin with a parenthesis"),
    "(": ("( label", "the name of a leaf should"),
    ",": ("( label", "the name of a leaf should"),
    "name": (": , ) ;", _AFTER_NODE),
    ")": ("label : , ) ;", _AFTER_NODE),
    ":": ("label", "the length of a branch should"),
    "length": (", ) ;", _AFTER_NODE),
    "end": ("", "nothing should: give one tree"),
}
"""What may follow what came last, as kinds of tokens and in words."""
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n\f\v]+) | (?P<mark>[(),:;]) | (?P<comment>\[)
    | (?P<quoted>'(?:[^']|'')*' | "(?:[^"]|"")*") | (?P<word>[^ \t\r\n\f\v()\[\]'",:;]+)""",
    re.VERBOSE,
)
_BRACKET = re.compile(r"[\[\]]")


def read_newick(text: str, where: str) -> dict[str, tuple[str, ...]]:
    """Return the path from the root to each leaf of a tree.

    The text is one tree, ended by a semicolon. Labels may stand in quotes (a doubled quote stands
    for one); underscores are kept. Comments in square brackets and the lengths of branches are
    left out, so depth counts edges, whatever their lengths. Inner nodes need no name.

    A path has a key for each node from below the root to the leaf itself: as many as there are
    edges. Two leaves have as many leading keys in common as their lowest common ancestor is edges
    away from the root. An `InputError` names the character of `where` (the file), from 1.
    """
    leaves: dict[str, tuple[str, ...]] = {}
    n_kept = 0  # nodes of all paths: those of a chain of leaves are as long as it
    opened: list[int] = []  # the character where each open parenthesis stands
    path: list[str] = []
    n_nodes = 0
    last = "start"
    fault, at = "there is no tree", 0
    # a loop, not a recursion: trees may be deeper than Python's stack
    for kind, token, at in _tokens(text, where):
        shown = repr(token if len(token) <= 30 else token[:27] + "...")
        kinds, expected = _AFTER[last]
        is_leaf = kind == "label" and last in ("(", ",")
        fault = ""
        if kind not in kinds.split():
            fault = f"{shown} stands where {expected}"
        elif last == ":" and not is_number(token):
            fault = f"the length of a branch is {shown}, not a number"
        elif kind in (",", ")") and not opened:
            fault = f"{shown} stands outside the parentheses"
        elif kind == ";" and opened:
            fault = "the tree ends before its parentheses are closed"
        elif is_leaf and (not token or token in leaves):
            fault = f"the leaf {token!r} occurs twice" if token else "a leaf has an empty name"
        elif is_leaf and n_kept + len(path) >= MOST_NODES:
            fault = f"the paths of all leaves have more than {MOST_NODES:,} nodes"
        if fault:
            break
        if is_leaf or kind == "(":
            n_nodes += 1
        if is_leaf:
            leaves[token] = (*path, str(n_nodes))
            n_kept += len(leaves[token])
        elif kind == "(":
            if opened:  # paths begin below the root
                path.append(str(n_nodes))
            opened.append(at)
        elif kind == ")":
            opened.pop()
            path[-1:] = []
        last = {"label": "length" if last == ":" else "name", ";": "end"}.get(kind, kind)
    else:
        if opened:
            fault, at = "a parenthesis is not closed", opened[-1]
        elif last not in ("start", "end"):
            fault, at = "the tree has no semicolon at its end", len(text)
    if fault:
        raise InputError(fault, where=f"{where}, character {at + 1}", hint=_FORM)
    return leaves


def _tokens(text: str, where: str) -> Iterator[tuple[str, str, int]]:
    """Yield the kind of each token (a mark or "label"), its text, and where it begins, from 0."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            what = "a quote is not closed" if text[at] in "'\"" else "a bracket closes no comment"
            raise InputError(what, where=f"{where}, character {at + 1}", hint=_FORM)
        start, at = at, found.end()
        if found.lastgroup == "comment":
            depth = 0  # comments may hold others
            for bracket in _BRACKET.finditer(text, start):
                depth += 1 if bracket.group() == "[" else -1
                if not depth:
                    at = bracket.end()
                    break
            else:
                where = f"{where}, character {start + 1}"
                raise InputError("a comment is not closed", where=where, hint="close it with ]")
        elif found.lastgroup == "quoted":
            quote = text[start]
            yield "label", text[start + 1 : at - 1].replace(quote * 2, quote).strip(BLANKS), start
        elif found.lastgroup != "blank":
            yield "label" if found.lastgroup == "word" else found.group(), found.group(), start
