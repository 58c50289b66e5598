"""``sfs help``."""

from __future__ import annotations

import click

from sfs_cli.cli.app import VERBS, app
from sfs_cli.cli.streams import write_stdout
from sfs_cli.cli.topics import TOPICS, listed, text_of
from sfs_cli.errors import UsageError, nearest


def _begun(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the topics and commands that begin as an incomplete word."""
    return [name for name in (*TOPICS, *VERBS) if name.startswith(incomplete)]


@click.command(short_help="Explain a topic or a command.")
@click.argument("words", metavar="[TOPIC or COMMAND]", nargs=-1, shell_complete=_begun)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a topic, with commands to try, or show the options of a command.

    Without an argument it lists the topics.

    \b
    sfs help
    sfs help choosing
    sfs help rank
    """
    if not words:
        write_stdout(listed())
    elif len(words) == 1 and words[0] in TOPICS:
        write_stdout(text_of(words[0]))
    else:
        write_stdout(_command_help(ctx, words) + "\n")


def _command_help(ctx: click.Context, words: tuple[str, ...]) -> str:
    """Return the help of a command; UsageError for what is neither that nor a topic."""
    assert ctx.parent is not None
    found: click.Command = app
    at, known = ctx.parent, [*TOPICS, *VERBS]
    for word in words:
        inner = found.get_command(at, word) if isinstance(found, click.Group) else None
        if inner is None:
            raise UsageError(
                f"there is no topic and no command {' '.join(words)!r}",
                hint=f"{nearest(word, known)}; `sfs help` lists the topics",
                option="words",
            )
        found, at = inner, click.Context(inner, info_name=word, parent=at)
        known = list(found.list_commands(at)) if isinstance(found, click.Group) else []
    return found.get_help(at)
