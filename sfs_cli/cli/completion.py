"""``sfs completion``."""

from __future__ import annotations

import click

from sfs_cli.cli.app import COMPLETE, app
from sfs_cli.cli.shells import SHELLS, completion_class
from sfs_cli.cli.streams import write_stdout


@click.command(short_help="Print the script that completes options and values in a shell.")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that completes commands, options and values in SHELL: bash, zsh or fish.

    Values are methods, columns of --labels and of obs, keys of obsp, obsm and layers, and files.

    \b
    bash:  echo 'eval "$(sfs completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(sfs completion zsh)"' >> ~/.zshrc
    fish:  sfs completion fish > ~/.config/fish/completions/sfs.fish
    """
    write_stdout(completion_class(shell)(app, {}, "sfs", COMPLETE).source())
