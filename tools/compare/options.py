"""The options of every verb, as --help documents them, and whether they are still taken."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.compare.running import Program

UNKNOWN = re.compile(r"no (such )?(option|command)|(unknown|unexpected) (option|command)", re.I)
TOO_MANY = 4
"""Verbs below verbs: no command line goes as deep."""


def documented(program: Program) -> dict[str, list[str]]:
    """Return the options of every verb, the verbs below it too, under its words."""
    with tempfile.TemporaryDirectory() as folder:
        return dict(_walk(program, [], Path(folder)))


def _walk(program: Program, verb: list[str], folder: Path) -> Iterator[tuple[str, list[str]]]:
    text = program.run([*verb, "--help"], folder).stdout.decode()
    yield " ".join(verb), sorted(set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", _options(text))))
    listed = re.search(r"^Commands:\n((?:  .*\n?)+)", text, re.M)
    if listed and len(verb) < TOO_MANY:
        for name in re.findall(r"^  (\S+)", listed[1], re.M):
            yield from _walk(program, [*verb, name], folder)


def _options(text: str) -> str:
    """Return the columns of a help text where options are: what begins with two spaces."""
    lines = re.findall(r"^  (-.*?)(?:  |$)", text, re.M)
    return "\n".join(lines)


def not_taken(program: Program, before: dict[str, list[str]]) -> list[str]:
    """Return the verbs and options of before that a command line does not take."""
    now = documented(program)
    lost = []
    with tempfile.TemporaryDirectory() as folder:
        for verb, options in before.items():
            if verb not in now and _refuses(program, [*verb.split(), "--help"], Path(folder)):
                lost.append(f"sfs {verb}")
                continue
            for option in options:
                if option in now.get(verb, ()):
                    continue
                if _refuses(program, [*verb.split(), option], Path(folder)):
                    lost.append(f"sfs {verb} {option}".replace("  ", " "))
    return lost


def _refuses(program: Program, words: list[str], folder: Path) -> bool:
    done = program.run(words, folder)
    return done.returncode != 0 and bool(UNKNOWN.search(done.stderr.decode("utf-8", "replace")))
