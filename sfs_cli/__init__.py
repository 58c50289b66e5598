"""Spectral feature selection for expression matrices.

Importing this package has no side effects and loads no numeric library; everything public is
loaded at first use.
"""

from typing import Any

_PUBLIC = {
    "rank": "sfs_cli.run.rank",
    "RankConfig": "sfs_cli.options",
    "SfsError": "sfs_cli.errors",
}

__all__ = ["RankConfig", "SfsError", "__version__", "rank"]


def __getattr__(name: str) -> Any:
    """Load a public name, or the version, when it is first asked for."""
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        return version("sfs-cli")
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'sfs_cli' has no attribute {name!r}")
