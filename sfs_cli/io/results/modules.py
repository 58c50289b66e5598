"""Writing modules of features: a table, their mean profiles, and edges for network viewers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sfs_cli.io.results.writers import table_bytes
from sfs_cli.ranking.modules import Modules
from sfs_cli.tables import header

Row = Sequence[str | int | float]
MODULES, PROFILES, EDGES = "modules.tsv", "module_profiles.tsv", "module_edges.tsv"
BETWEEN_IDS = ";"
"""Between the ids of the members of a module."""


def module_writers(found: Modules, digits: int) -> dict[str, Callable[[Path], None]]:
    """Return what writes each file, by its name; numbers have so many significant digits."""

    def modules() -> Iterator[Row]:
        for number, each in enumerate(found.modules, 1):
            opposite = [name for name, other in zip(each.members, each.opposite) if other]
            lists = (BETWEEN_IDS.join(each.members), BETWEEN_IDS.join(opposite))
            yield number, len(each.members), each.members[0], each.mean_correlation, *lists

    def profiles() -> Iterator[Row]:
        for number, each in enumerate(found.modules, 1):
            yield number, *each.profile.tolist()

    def edges() -> Iterator[Row]:
        for source, target, correlation, module in found.edges:
            yield source, target, correlation, "" if module is None else module

    def writer(columns: Sequence[str], rows: Callable[[], Iterator[Row]]) -> Callable[[Path], Any]:
        return lambda path: path.write_bytes(table_bytes(columns, rows(), digits))

    return {
        MODULES: writer(header(MODULES), modules),
        PROFILES: writer([*header(PROFILES)[:-1], *found.samples], profiles),
        EDGES: writer(header(EDGES), edges),
    }
