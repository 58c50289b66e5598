"""Spectral feature selection for expression matrices.

Importing this package has no side effects and loads no numeric library; everything public is
loaded at first use.
"""

from typing import Any

_PUBLIC = {
    "Evaluated": "sfs_cli.api",
    "RankConfig": "sfs_cli.options",
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


def __getattr__(name: str) -> Any:
    """Load a public name, or the version, when it is first asked for."""
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        return version("sfs-cli")
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'sfs_cli' has no attribute {name!r}")
