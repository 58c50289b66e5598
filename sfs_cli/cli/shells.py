"""The scripts by which shells complete, and the answers that they ask for."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any

import click

from sfs_cli.cli.streams import write_stdout

_BASH = """\
%(complete_func)s() {
    local kind value
    COMPREPLY=()
    while IFS=',' read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            open) COMPREPLY+=("$value"); compopt -o nospace ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${COMP_LINE:0:$COMP_POINT}" COMP_WORD="${COMP_WORDS[COMP_CWORD]}" \\
        COMP_WORDBREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete \\
        "${1/#\\~/$HOME}" 2>/dev/null)
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""
SHELLS = ("bash", "zsh", "fish")
_SPECIAL = re.compile(r"([^\w@%+=:,./^~-])")


def answer(app: click.Command, variable: str, asked: str) -> int | None:
    """Answer what a shell has asked by a variable; nothing where that fails, and no message.

    Returns the exit code; None where it is no shell that has set it, with the line that it
    completes.
    """
    shell, _, instruction = asked.partition("_")
    completes = instruction == "complete" and "COMP_WORDS" in os.environ
    if shell not in SHELLS or not (completes or instruction == "source"):
        return None
    with suppress(Exception):
        made = completion_class(shell)(app, {}, "sfs", variable)
        write_stdout(made.source() if instruction == "source" else made.complete() + "\n")
        return 0
    return 1


def completion_class(shell: str) -> Any:
    """Return what makes the script of a shell, and what it answers."""
    from click.shell_completion import BashComplete, get_completion_class, split_arg_string

    class Bash(BashComplete):
        """Completion for Bash, which divides words at colons and equals signs.

        The line is divided as a shell divides it, and what bash takes for the beginning of the word
        is taken off the completions.
        """

        source_template = _BASH

        def get_completion_args(self) -> tuple[list[str], str]:
            """Return the arguments before the incomplete one, and that one."""
            line = os.environ["COMP_WORDS"]
            words = split_arg_string(line)
            last = "" if not words or line[-1:].isspace() else words.pop()
            self._before = last[: len(last) - len(self._word(last))]
            return words[1:], last

        def _word(self, last: str) -> str:
            """Return the end of a word that bash replaces."""
            found = "".join(split_arg_string(os.environ.get("COMP_WORD", "")))
            breaks = os.environ.get("COMP_WORDBREAKS", "")
            if found and all(sign in breaks for sign in found):
                found = ""
            return found if last.endswith(found) else last

        def format_completion(self, item: Any) -> str:
            """Return the kind of a completion, and what bash is to insert."""
            value = item.value.removeprefix(self._before)
            kind = "open" if item.type == "plain" and value[-1:] in (":", "=") else item.type
            return f"{kind}," + _SPECIAL.sub(r"\\\1", value)

    return Bash if shell == "bash" else get_completion_class(shell)
