"""The commands that are run on both sides, read from the text files of the catalogue.

``[group] PATTERN`` opens a group, and every line below it is put in place of ``{}``; a line of a
point is no words at all. Steps of one command are divided by `` ; ``. A step that begins with ``?``
may end with any exit code; one that begins with ``@`` changes a file: ``@cut FILE`` leaves six
tenths of it, ``@remove FILE`` nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

CATALOGUE = Path(__file__).parent / "catalogue"
FILES = ("methods", "inputs", "sources", "running", "real_data", "errors")


@dataclass(frozen=True)
class Step:
    """One call of the command line, or one change of a file."""

    words: str
    free: bool
    """It may end with any exit code, and what it prints is not compared."""

    @property
    def action(self) -> str:
        """Name of the change of a file; empty where it is a call."""
        return self.words[1:].split()[0] if self.words.startswith("@") else ""


@dataclass(frozen=True)
class Command:
    """What is run in one fresh folder."""

    group: str
    line: str

    @property
    def steps(self) -> list[Step]:
        parts = [part.strip() for part in self.line.split(" ; ")]
        return [Step(part.removeprefix("? "), part.startswith("? ")) for part in parts]

    @property
    def name(self) -> str:
        """Name of its folder, which stays as long as the command does."""
        group = re.sub(r"\W+", "-", self.group)
        return f"{group}-{hashlib.sha256(self.line.encode()).hexdigest()[:10]}"

    @property
    def fails(self) -> bool:
        """Whether it is there to be refused."""
        return self.group.startswith("errors")

    @property
    def data(self) -> set[str]:
        """Folders of real data that it needs."""
        return set(re.findall(r"(?<![\w/])data/(\w+)/", self.line))

    def matches(self, pattern: str | None) -> bool:
        """Tell whether a pattern of the shell, or a part of the text, fits group or command."""
        if pattern is None:
            return True
        return any(fnmatch(t, pattern) or pattern in t for t in (self.group, self.line))


def read_commands(only: str | None = None, every: int = 1) -> list[Command]:
    """Return the commands of the catalogue that fit a pattern, or one of so many of each group.

    Raises
    ------
    ValueError
        When a command is there twice.
    """
    found = [c for name in FILES for c in _read(CATALOGUE / f"{name}.txt")]
    names = [c.name for c in found]
    for one in found:
        if names.count(one.name) > 1:
            raise ValueError(f"twice in the catalogue: {one.line}")
    groups: dict[str, list[Command]] = {}
    for one in found:
        if one.matches(only):
            groups.setdefault(one.group, []).append(one)
    return [c for members in groups.values() for c in members[::every]]


def _read(path: Path) -> Iterator[Command]:
    group, pattern = "", "{}"
    for line in path.read_text(encoding="utf-8").splitlines():
        head = re.match(r"\[(.+?)\] (.+)", line)
        if head:
            group, pattern = head.groups()
        elif line.strip() and not line.startswith("#"):
            words = pattern.replace("{}", "" if line == "." else line)
            yield Command(group, re.sub(r"(?<=\S) {2,}", " ", words).strip())
