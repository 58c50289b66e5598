"""Spectral feature selection for expression matrices.

Importing this package has no side effects and loads no numeric library; everything public is
loaded at first use.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfs_cli.api import (
        Evaluated,
        Ranked,
        SfsWarning,
        aggregate,
        compare,
        evaluate,
        fuse,
        rank,
        select,
    )
    from sfs_cli.errors import SfsError
    from sfs_cli.options import RankConfig

    __version__: str

_PUBLIC = {
    "Evaluated": "sfs_cli.api",
    "RankConfig": "sfs_cli.options.rank",
    "Ranked": "sfs_cli.api",
    "SfsError": "sfs_cli.errors",
    "SfsWarning": "sfs_cli.api",
    "aggregate": "sfs_cli.api",
    "compare": "sfs_cli.api",
    "evaluate": "sfs_cli.api",
    "fuse": "sfs_cli.api",
    "rank": "sfs_cli.api",
    "select": "sfs_cli.api",
}

__all__ = [
    "Evaluated",
    "RankConfig",
    "Ranked",
    "SfsError",
    "SfsWarning",
    "__version__",
    "aggregate",
    "compare",
    "evaluate",
    "fuse",
    "rank",
    "select",
]


if not TYPE_CHECKING:  # else every name would be one

    def __getattr__(name: str) -> Any:
        """Load a public name, or the version, when it is first asked for."""
        import importlib

        if name == "__version__":
            from importlib.metadata import version

            return version("sfs-cli")
        if name in _PUBLIC:
            return getattr(importlib.import_module(_PUBLIC[name]), name)
        raise AttributeError(f"module 'sfs_cli' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
