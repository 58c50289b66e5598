"""The catalogue of methods. No numeric library is loaded here.

Adding a method is adding its file and its entry; options that no other method has are added to
``sfs_cli.config.RankConfig`` and to the command line.
"""

from __future__ import annotations

from sfs_cli.methods import (
    entries_baselines,
    entries_knowledge,
    entries_sparse,
    entries_spectral,
)
from sfs_cli.methods.entry import Method

_ENTRIES = (
    *entries_spectral.ENTRIES,
    *entries_knowledge.ENTRIES,
    *entries_sparse.ENTRIES,
    *entries_baselines.ENTRIES,
)

METHODS: dict[str, Method] = {method.name: method for method in _ENTRIES}
"""The methods by name, in the order they are listed."""

OPTIONS = tuple(dict.fromkeys(option for m in METHODS.values() for option in m.options))
"""Every option that some method has."""


def takers(option: str) -> list[str]:
    """Return the names of the methods that have an option."""
    return [name for name, method in METHODS.items() if option in method.options]
