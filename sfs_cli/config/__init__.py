"""What runs are asked to do: every option once, with its default and what it goes with."""

from __future__ import annotations

from sfs_cli.config.choices import FORMATS, METHODS
from sfs_cli.config.flags import flag
from sfs_cli.config.rank import RankConfig
from sfs_cli.sources.parsing import parse_source

__all__ = ["FORMATS", "METHODS", "RankConfig", "flag", "parse_source"]
