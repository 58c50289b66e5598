"""Commands whose help lists options under headings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class SectionOption(click.Option):
    """An option that knows under which heading it is listed."""

    def __init__(self, *arguments: Any, section: str = "Options", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.section = section


class SectionCommand(click.Command):
    """A command whose help lists options by their sections, in the order of appearance."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                name = getattr(parameter, "section", "Help")
                sections.setdefault(name, []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


def section(name: str, *options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options, made by `option`, under a heading."""

    def decorate(function: F) -> F:
        for make in reversed(options):
            function = make(function)
            parameter = function.__click_params__[-1]  # type: ignore[attr-defined]
            parameter.section = name
        return function

    return decorate


def option(*names: str, **given: Any) -> Callable[[F], F]:
    """Return a decorator for one option of a section."""
    return click.option(*names, cls=SectionOption, **given)
