"""Make the manual pages of `sfs` and its commands from the declarations of the command line.

usage: python docs/make_man.py DIR

DIR gets one page for each command, such as ``sfs-rank.1``. `man` finds pages in share/man/man1 of
an environment, and in ~/.local/share/man/man1.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click

from sfs_cli.cli.app import app
from sfs_cli.errors import ExitCode
from sfs_cli.options.fields import SECTIONS

AS_IT_IS = "\b\n"
"""What a paragraph of help begins with whose lines are kept."""
COMMAND_LINE = re.compile(r"sfs( |$)|  +|[$#] ")
"""What the lines of examples begin with."""


def commands(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, click.Context]]:
    """Yield a command and those below it, by the words that call them, in the order of the help."""
    yield ctx.command_path, ctx
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            with click.Context(inner, info_name=name, parent=ctx) as below:
                yield from commands(inner, below)


def pages() -> dict[str, str]:
    """Return the pages by the names of their files."""
    with click.Context(app, info_name="sfs", **app.context_settings) as ctx:
        return {f"{path.replace(' ', '-')}.1": page(path, of) for path, of in commands(app, ctx)}


def page(path: str, ctx: click.Context) -> str:
    """Return the page of a command in the language of troff."""
    command, name = ctx.command, path.replace(" ", "-")
    of = f"sfs {version('sfs-cli')}"
    lines = [
        f'.TH {quoted(name.upper())} 1 "" {quoted(of)}',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(command.get_short_help_str(200).rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {escaped(path)}",
        escaped(" ".join(command.collect_usage_pieces(ctx))),
        ".SH DESCRIPTION",
        *text(command.help or ""),
    ]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for each in command.list_commands(ctx):
            inner = command.get_command(ctx, each)
            assert inner is not None
            about = inner.get_short_help_str(200)
            lines += [".TP", bold(f"{name}-{each}(1)"), escaped(about)]
    lines += [".SH OPTIONS", *options(ctx)]
    lines += [".SH EXIT STATUS"]
    for code in ExitCode:
        lines += [".TP", bold(str(int(code))), escaped(code.name.lower().replace("_", " "))]
    parents = path.split(" ")[:-1]
    also = ["-".join(parents[: i + 1]) for i in range(len(parents))] or ["sfs-rank"]
    lines += [".SH SEE ALSO", escaped(", ".join(f"{each}(1)" for each in also))]
    return "\n".join(lines) + "\n"


def options(ctx: click.Context) -> Iterator[str]:
    """Yield the options of a command under the headings of ``--help-all``."""
    sections: dict[str, list[tuple[str, str]]] = {name: [] for name in SECTIONS}
    for each in ctx.command.get_params(ctx):
        record = each.get_help_record(ctx)
        if record is not None and isinstance(each, click.Option):
            sections.setdefault(getattr(each, "section", "Other"), []).append(record)
    for heading, records in sections.items():
        if records and len([each for each in sections.values() if each]) > 1:
            yield f".SS {quoted(heading)}"
        for flags, about in records:
            yield from (".TP", bold(flags), *text(about))


def text(words: str) -> Iterator[str]:
    """Yield paragraphs; lines of examples stay lines."""
    for i, paragraph in enumerate(inspect.cleandoc(words).split("\n\n")):
        lines = paragraph.strip("\n").split("\n")
        kept = lines[0] == AS_IT_IS.strip("\n") or all(map(COMMAND_LINE.match, lines))
        lines = [line for line in lines if line != AS_IT_IS.strip("\n")]
        if i:
            yield ".PP"
        if kept:
            yield from (".nf", *map(escaped, lines), ".fi")
        else:
            yield from map(escaped, (line.strip() for line in lines))


def escaped(words: str) -> str:
    """Write text so that troff takes no sign of it as a command."""
    words = words.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^([.'])", r"\\&\1", words)


def quoted(words: str) -> str:
    """Write an argument of a request."""
    return '"{}"'.format(escaped(words).replace('"', "\\(dq"))


def bold(words: str) -> str:
    """Write a line in bold."""
    return f".B {quoted(words)}"


def main(arguments: list[str]) -> None:
    """Write the pages."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(str(__doc__))
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pages().items():
        (folder / name).write_text(content, encoding="utf-8")
    print(f"wrote {len(pages())} pages to {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
