"""The options of the commands: each declared once, with its type, values, default and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfs_cli.options.rank import RankConfig
    from sfs_cli.options.source import parse_source

__all__ = ["RankConfig", "parse_source"]


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: help needs other modules of this room alone."""
    if name == "RankConfig":
        from sfs_cli.options.rank import RankConfig

        return RankConfig
    if name == "parse_source":
        from sfs_cli.options.source import parse_source

        return parse_source
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
