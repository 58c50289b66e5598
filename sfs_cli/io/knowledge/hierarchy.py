"""Hierarchies of samples: a path for each in a table, or a Newick tree whose leaves they are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from sfs_cli.errors import InputError
from sfs_cli.io.files.names import BLANKS
from sfs_cli.io.files.sniff import examine
from sfs_cli.io.files.text import first_lines, read_whole
from sfs_cli.io.knowledge.sample_columns import Wanted, find_columns, read_column

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


_FORM = (
    "a tree is written as ((a,b),(c,d)); with the samples as leaves; names that hold blanks or any "
    "of ()[]:;, stand in single quotes"
)
_TOKEN = re.compile(
    r"""(?P<comment>\[(?:[^][]|\[[^][]*\])*\])
    | (?P<label>'(?:[^']|'')*' | "(?:[^"]|"")*" | [^][ \t\r\n\f\v()'",:;]+)
    | (?P<mark>[^ \t\r\n\f\v])""",
    re.VERBOSE,
)
"""A comment may hold another one; what is neither it nor a label is a mark, if a wrong one."""
_AFTER = {"": "(", "(": "(label", ",": "(label", "label": ":,);", ")": "label:,);", ":": "label"}
"""What may follow the last token."""


def read_newick(text: str, where: str) -> dict[str, tuple[str, ...]]:
    """Return the path from the root to each leaf of a tree.

    The text is one tree, ended by a semicolon. Labels may stand in quotes (a doubled quote stands
    for one); underscores are kept. Comments in square brackets, the names of inner nodes and the
    lengths of branches are left out, so depth counts edges, whatever their lengths.

    A path has a key for each node from below the root to the leaf itself: as many as there are
    edges. Two leaves have as many leading keys in common as their lowest common ancestor is edges
    away from the root. An `InputError` names the character of `where` (the file), from 1.
    """
    leaves: dict[str, tuple[str, ...]] = {}
    opened: list[str] = []  # the nodes on the way from the root
    last = fault = ""
    # a loop, not a recursion: trees may be deeper than Python's stack
    for n_nodes, found in enumerate(_TOKEN.finditer(text)):
        if found.lastgroup == "comment":
            continue
        token = found.group()
        kind = "label" if found.lastgroup == "label" else token
        # a semicolon stands outside of the parentheses, commas and closing ones within
        misplaced = kind in (",", ")", ";") and bool(opened) == (kind == ";")
        if misplaced or kind not in _AFTER.get(last, ""):
            fault = f"{token!r} does not go with the parentheses and commas before it"
        elif kind == ")":
            opened.pop()
        elif kind == "(":
            opened.append(str(n_nodes))
        elif kind == "label" and last in ("(", ","):
            name = token
            if token[0] in ("'", '"'):
                name = token[1:-1].replace(2 * token[0], token[0]).strip(BLANKS)
            if not name or name in leaves:
                fault = f"the leaf {name!r} occurs twice" if name else "a leaf has an empty name"
            leaves[name] = (*opened[1:], str(n_nodes))  # paths begin below the root
        if fault:
            raise InputError(fault, where=f"{where}, character {found.start() + 1}", hint=_FORM)
        last = kind
    if last != ";":
        what = "the tree has no semicolon at its end, or its parentheses are not closed"
        raise InputError(what, where=where, hint=_FORM)
    return leaves
