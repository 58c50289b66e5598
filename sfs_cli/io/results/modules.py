"""Writing modules of features: a table, their mean profiles, and edges for network viewers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from sfs_cli.io.results.writers import number_text, quoted
from sfs_cli.ranking.modules import Modules
from sfs_cli.tables import header

MODULES, PROFILES, EDGES = "modules.tsv", "module_profiles.tsv", "module_edges.tsv"
BETWEEN_IDS = ";"
"""Between the ids of the members of a module."""


def module_writers(found: Modules, digits: int) -> dict[str, Callable[[Path], None]]:
    """Return what writes each file, by its name; numbers have so many significant digits."""

    def text(value: float) -> str:
        return number_text(value, digits)

    def modules() -> Iterable[Iterable[str]]:
        yield header(MODULES)
        for number, each in enumerate(found.modules, 1):
            opposite = [name for name, other in zip(each.members, each.opposite) if other]
            counts = (str(number), str(len(each.members)), each.members[0])
            lists = (BETWEEN_IDS.join(each.members), BETWEEN_IDS.join(opposite))
            yield *counts, text(each.mean_correlation), *lists

    def profiles() -> Iterable[Iterable[str]]:
        yield *header(PROFILES)[:-1], *found.samples
        for number, each in enumerate(found.modules, 1):
            yield str(number), *map(text, each.profile.tolist())

    def edges() -> Iterable[Iterable[str]]:
        yield header(EDGES)
        for source, target, correlation, module in found.edges:
            yield source, target, text(correlation), "" if module is None else str(module)

    tables = {MODULES: modules, PROFILES: profiles, EDGES: edges}
    return {name: _writer(rows) for name, rows in tables.items()}


def _writer(rows: Callable[[], Iterable[Iterable[str]]]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            for row in rows():
                file.write("\t".join(quoted(cell, "\t") for cell in row) + "\n")

    return write
