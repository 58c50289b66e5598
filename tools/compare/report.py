"""The Markdown that says how alike two versions are."""

from __future__ import annotations

import re
from collections import Counter

from tools.compare.comparing import Compared
from tools.compare.tables import Level

MOST = 8
"""Differences of one command that are written out."""


def write_report(
    compared: list[Compared], lost: list[str], skipped: int, sides: tuple[str, str]
) -> str:
    """Return the whole report; its last line is the sum of it."""
    counts = Counter(c.found.level for c in compared)
    parts = [
        f"# Before and after\n\nBefore: `{sides[0]}`; after: `{sides[1]}`.",
        _groups(compared),
        _differences([c for c in compared if c.found.level == Level.DIFFERENT]),
        _options(lost),
        _unexpected(compared),
        _refusals([c for c in compared if c.command.fails and c.ends != ("", "")]),
        _notes(compared),
        f"{skipped} commands were left out, for lack of their data." if skipped else "",
        f"{len(compared)} commands: {counts[Level.BYTES]} same bytes, "
        f"{counts[Level.WITHIN]} within tolerance, {counts[Level.DIFFERENT]} different",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _groups(compared: list[Compared]) -> str:
    lines = [
        "| group | commands | same bytes | within tolerance | different | seconds before, after |",
        "|---|---|---|---|---|---|",
    ]
    for group in dict.fromkeys(c.command.group for c in compared):
        members = [c for c in compared if c.command.group == group]
        counts = Counter(c.found.level for c in members)
        seconds = [sum(c.seconds[i] for c in members) for i in (0, 1)]
        told = " | ".join(str(counts[level]) for level in Level)
        lines.append(f"| {group} | {len(members)} | {told} | {seconds[0]:.0f}, {seconds[1]:.0f} |")
    return "\n".join(lines)


def _differences(different: list[Compared]) -> str:
    if not different:
        return ""
    lines = ["## What differs"]
    for one in different:
        lines.append(f"\n`sfs {one.command.line}`\n")
        told = one.found.differences
        lines += [f"- {_plain(text)}" for text in told[:MOST]]
        if len(told) > MOST:
            lines.append(f"- and {len(told) - MOST} more")
    return "\n".join(lines)


def _options(lost: list[str]) -> str:
    if not lost:
        return "Every verb and option that the help of before documents is still taken."
    return "\n".join(["## Verbs and options that are not taken any more\n", *_list(lost)])


def _unexpected(compared: list[Compared]) -> str:
    found = [c for c in compared if c.unexpected]
    if not found:
        return ""
    lines = [f"- `sfs {c.command.line}`: {_plain(c.unexpected)}" for c in found]
    return "\n".join(["## On both sides otherwise than expected\n", *lines])


def _refusals(refused: list[Compared]) -> str:
    other = [c for c in refused if c.ends[0] != c.ends[1]]
    head = f"## What is said of errors\n\n{len(refused) - len(other)} first lines are the same"
    if not other:
        return head + "."
    lines = [
        head + f", {len(other)} are not:\n",
        "| command | before | after |",
        "|---|---|---|",
    ]
    for c in other:
        cells = (f"`sfs {c.command.line}`", *c.ends)
        lines.append("| " + " | ".join(_plain(t).replace("|", "\\|") for t in cells) + " |")
    return "\n".join(lines)


def _notes(compared: list[Compared]) -> str:
    """Tell what may have changed, each thing once, with the number of commands and an example."""
    found: dict[str, list[str]] = {}
    for c in compared:
        for note in dict.fromkeys(_without_details(n) for n in c.found.notes):
            found.setdefault(note, []).append(c.command.line)
    if not found:
        return ""
    lines = ["## Noted, but not counted\n"]
    for note, where in sorted(found.items(), key=lambda item: -len(item[1])):
        lines.append(f"- {_plain(note)} ({len(where)} commands, such as `sfs {where[0]}`)")
    return "\n".join(lines)


def _without_details(note: str) -> str:
    note = re.sub(r"^files: (?:[\w.-]+/)*", "", note)
    return re.sub(r"^sfs (\S+).*?: stdout: ", r"stdout of \1: ", note)


def _list(names: list[str]) -> list[str]:
    return [f"- `{name}`" for name in names]


def _plain(text: str) -> str:
    return text.replace("\n", " ")
