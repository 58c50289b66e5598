"""Trees in Newick notation, as the path from the root to each leaf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sfs_cli.errors import InputError
from sfs_cli.io.header import is_number

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
        Naming the character (from 1), if the text is no tree, is cut off or followed by more, a
        leaf has no name, or two have the same.
    """
    tree = _Tree(where)
    for token in _tokens(text, where):
        tree.take(token)
    return tree.leaves_of_whole(len(text))


class _Tree:
    """A tree that is read token by token."""

    def __init__(self, where: str) -> None:
        self.leaves: dict[str, tuple[str, ...]] = {}
        self._where = where
        self._open: list[tuple[int, int]] = []  # number of each node begun, and its character
        self._path: list[str] = []
        self._n_nodes = 0
        self._state = "start"  # what came last: start ( , ) : node length end

    def take(self, token: _Token) -> None:
        """Take the next token."""
        text, at = token.text, token.start
        if self._state == "end":
            raise self._error(f"{_shown(text)} follows the end of the tree", at, _ONE_TREE)
        if self._state == ":":
            self._take_length(token)
        elif token.is_label:
            self._take_label(text, at)
        elif text == "(":
            self._take_opening(at)
        elif text == ":":
            self._take_colon(at)
        else:
            self._take_end(text, at)

    def leaves_of_whole(self, length: int) -> dict[str, tuple[str, ...]]:
        """Return the leaves, if the tree has come to its end."""
        if self._state == "start":
            raise self._error("there is no tree", 0, _FORM)
        if self._open:
            at = self._open[-1][1]
            raise self._error("a parenthesis is not closed", at, "close it, or copy the file again")
        if self._state != "end":
            raise self._error(
                "the tree has no semicolon at its end", length, "add it, or copy the file again"
            )
        return self.leaves

    def _take_opening(self, at: int) -> None:
        if self._state not in ("start", "(", ","):
            raise self._error("a parenthesis opens where a comma should stand", at, _FORM)
        self._n_nodes += 1
        if self._state != "start":
            self._path.append(str(self._n_nodes))
        self._open.append((self._n_nodes, at))
        self._state = "("

    def _take_label(self, label: str, at: int) -> None:
        if self._state == ")":
            self._state = "node"  # the name of an inner node, which may be there twice
            return
        if self._state not in ("(", ","):
            if self._state == "start":
                raise self._error(f"{_shown(label)} stands before the tree", at, _FORM)
            what = f"{_shown(label)} stands where a comma or a parenthesis should"
            raise self._error(what, at, _QUOTE)
        if not label:
            raise self._error("a leaf has an empty name", at, "name every leaf by its sample")
        if label in self.leaves:
            raise self._error(f"the leaf {label!r} is there twice", at, "name each sample once")
        self._n_nodes += 1
        self.leaves[label] = (*self._path, str(self._n_nodes))
        self._state = "node"

    def _take_colon(self, at: int) -> None:
        if self._state in ("(", ","):
            raise self._error("a leaf has no name", at, "name every leaf by its sample")
        if self._state not in (")", "node"):
            raise self._error("a colon stands where no length can be", at, _QUOTE)
        self._state = ":"

    def _take_length(self, token: _Token) -> None:
        if not token.is_label or not is_number(token.text):
            raise self._error(
                f"the length of a branch is {_shown(token.text)}, not a number",
                token.start,
                "give a number after each colon, or no colon",
            )
        self._state = "length"

    def _take_end(self, mark: str, at: int) -> None:
        if self._state in ("(", ","):
            raise self._error("a leaf has no name", at, "name every leaf by its sample")
        if mark == ";":
            if self._open:
                raise self._error("the tree ends before its parentheses are closed", at, _FORM)
            self._state = "end"
        elif not self._open:
            what = "closes none that is open" if mark == ")" else "stands outside the parentheses"
            name = "a parenthesis" if mark == ")" else "a comma"
            raise self._error(f"{name} {what}", at, _FORM)
        elif mark == ",":
            self._state = ","
        else:
            self._open.pop()
            self._state = ")"
            if self._open:
                self._path.pop()

    def _error(self, what: str, at: int, hint: str) -> InputError:
        return InputError(what, where=f"{self._where}, character {at + 1}", hint=hint)


_FORM = "a tree is written as ((a,b),(c,d)); with a semicolon at its end"
_ONE_TREE = "give one tree"
_QUOTE = "put names that hold blanks or any of ()[]:;, in single quotes"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 30 else text[:27] + "...")


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
