"""Values that a shell completes: words, files, and what a file has inside.

No numeric library is imported for words. What is inside of a file is looked for only when it is
asked for; whatever goes wrong, there are no completions, and no message.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from sfs_cli.options.fields import Option, options_of, split_word
from sfs_cli.options.paths import FILLS, SCRATCH, split_part
from sfs_cli.options.rank import RankConfig

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Text(click.types.StringParamType):
    """Text, with completions.

    Parameters
    ----------
    path : str
        What its path is used for, as in declarations; empty where it is none.
    option : Option, optional
        Its declaration.
    """

    def __init__(self, path: str = "", option: Option | None = None) -> None:
        self.path, self.option = path, option

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        """Return the values that begin as the incomplete one."""
        from click.shell_completion import CompletionItem

        # the last item of a list
        lists = self.option is not None and self.option.items is str
        done, comma, last = incomplete.rpartition(",") if lists else ("", "", incomplete)
        found: list[str] = []
        with suppress(Exception):  # a completion that cannot be made is none
            found = list(self._values(ctx, last))
        there = set(done.split(","))
        items = [
            CompletionItem(done + comma + value)
            for value in dict.fromkeys(found)
            if value.startswith(last) and value not in there
        ]
        if not items and self.path:
            kind = "dir" if self.path in (FILLS, SCRATCH) else "file"
            return [CompletionItem(incomplete, type=kind)]
        return items

    def _values(self, ctx: click.Context, text: str) -> Iterable[str]:
        """Return what a value may be, of those that begin with a text at least."""
        option = self.option
        if option is None:
            return []
        if option.argument:
            return _modalities(text)
        start, colon, _ = text.partition(":")
        if start + colon in option.parts:
            return [f"{start}:{name}" for name in _names(_matrix(ctx), start)]
        if option.name == "layer":
            return _names(_matrix(ctx), "layers")
        if option.column and colon:
            return _columns(text)
        if option.parts and option.path:
            return [part for part in option.parts if _names(_matrix(ctx), part[:-1])]
        known = option.known
        if option.key == "method":  # of compare, which takes methods one by one
            known = next(o.words for o in options_of(RankConfig) if o.name == "method")
        # of a form the part before it, such as obsp: of obsp:KEY
        return [word for word, form in map(split_word, known) if word or form is None]


def _matrix(ctx: click.Context) -> str:
    """Return the matrix of a command line that is not complete yet; "" where it has none."""
    if ctx.params.get("matrix"):
        return str(ctx.params["matrix"])
    # an option that lacks its value keeps click from giving the arguments their names
    names = [each.name for each in ctx.command.params if isinstance(each, click.Argument)]
    given: list[Any] = list(ctx.args)
    at = names.index("matrix")
    return str(given[at]) if at < len(given) else ""


def _names(matrix: str, part: str) -> list[str]:
    from sfs_cli.run.complete import names_inside

    return names_inside(matrix, part) if matrix else []


def _columns(text: str) -> list[str]:
    """Return ``FILE:COLUMN`` for the columns of a table that a text names."""
    from sfs_cli.run.complete import columns_of

    file, rest = split_part(text)
    return [f"{file}:{name}" for name in columns_of(file)] if rest else []


def _modalities(text: str) -> list[str]:
    file, rest = split_part(text)
    is_mudata = file.lower().endswith(".h5mu") and (rest or text == file)
    return [f"{file}:{name}" for name in _names(file, "mod")] if is_mudata else []
