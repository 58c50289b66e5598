"""The methods by name. Adding one is adding its file and its line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfs_cli.methods.base import Method

MODULES = {
    "spec": "sfs_cli.methods.spec",
    "laplacian": "sfs_cli.methods.laplacian_score",
    "fisher": "sfs_cli.methods.fisher",
    "variance": "sfs_cli.methods.variance",
}
"""Where each method lives; no method is imported before it is asked for."""


def get_method(name: str) -> Method:
    """Return the method of that name (a key of `MODULES`)."""
    return import_module(MODULES[name]).METHOD
