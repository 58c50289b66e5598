"""The options of the commands: each declared once, with its type, values, default and help."""

from sfs_cli.options.rank import RankConfig
from sfs_cli.options.source import parse_source

__all__ = ["RankConfig", "parse_source"]
