"""The work of ``--modules``: correlations of the best features, and the groups that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

from sfs_cli.compute.passes import Pass
from sfs_cli.errors import counted, listed
from sfs_cli.features.pruning.step import read_standardized, room_for_features
from sfs_cli.features.step import Step
from sfs_cli.ranking.modules import find_modules
from sfs_cli.report.model import Table
from sfs_cli.run.load import Run
from sfs_cli.run.passes import Shape
from sfs_cli.run.rank import RankResult
from sfs_cli.tables import header

Rows = Iterable[Sequence[str | int | float]]
MODULES, PROFILES, EDGES = "modules.tsv", "module_profiles.tsv", "module_edges.tsv"
LARGEST = 10
"""Modules that ``run.json`` and the report list."""


class ModuleStep(Step):
    """Finds the modules of the first features, by their values as they were scored."""

    downloads = (
        (MODULES, "the modules of the best features"),
        (PROFILES, "their mean profiles, a column for each sample"),
        (EDGES, "pairs of correlated features, for Cytoscape and other network viewers"),
    )

    def passes(self, shape: Shape) -> list[Pass]:
        """Return the pass of the correlations."""
        few = min(self.config.modules_of, shape.m)
        what = f"correlations of the first {few:,} features, for --modules"
        return [Pass(what, "modules", sharing="merge", fraction=few / shape.m, columns=few)]

    def find(self, run: Run, found: RankResult) -> None:
        """Find the modules.

        Of the first `features`, `in_modules` are in one of two members or more; `largest` describes
        the first modules, and `edges` counts the pairs with a correlation above the bound.
        """
        config, ranking, n = run.config, found.ranking, run.matrix.n_samples
        count, least = min(ranking.n_scored, config.modules_of), config.least_module_correlation
        (made,) = self.passes(run.shape)
        engine = run.context.engine.at(made)
        engine.begin()
        with room_for_features((count, n), run) as rows:
            read_standardized(engine, ranking.order[:count], rows)
            names = ranking.feature[:count]
            modules = find_modules(rows, names, run.matrix.ids.samples, least)
        order = run.matrix.as_in_file
        self.modules = replace(
            modules,
            modules=[replace(each, profile=each.profile[order]) for each in modules.modules],
            samples=[modules.samples[i] for i in order.tolist()],
        )
        inside = sum(len(module.members) for module in modules.modules)
        run.log.note(
            f"{len(modules.modules):,} modules of {inside:,} of the first {count:,} features "
            f"(average linkage, mean absolute correlation of {least:g} or more); "
            f"{count - inside:,} are in none"
        )
        found.facts["modules"] = {
            "features": count,
            "min_correlation": least,
            "modules": len(modules.modules),
            "in_modules": inside,
            "edges": len(modules.edges),
            "largest": [
                {
                    "module": number,
                    "size": len(module.members),
                    "representative": module.members[0],
                    "mean_correlation": module.mean_correlation,
                    "members": module.members,
                }
                for number, module in enumerate(modules.modules[:LARGEST], 1)
            ],
        }

    def writers(self) -> dict[str, Callable[[Path], None]]:
        """Return what writes the modules, their profiles and the edges."""
        from sfs_cli.io.results.writers import table_lines

        found = self.modules
        numbered = list(enumerate(found.modules, 1))

        def modules() -> Rows:
            for number, each in numbered:
                best, lists = each.members[0], (each.members, compress(each.members, each.opposite))
                yield number, len(each.members), best, each.mean_correlation, *map(";".join, lists)

        def profiles() -> Rows:
            return ((number, *each.profile.tolist()) for number, each in numbered)

        def edges() -> Rows:
            for source, target, correlation, module in found.edges:
                yield source, target, correlation, "" if module is None else module

        def writer(columns: Sequence[str], rows: Callable[[], Rows]) -> Callable[[Path], None]:
            def write(path: Path) -> None:
                with path.open("wb") as file:
                    file.writelines(table_lines(columns, rows(), self.config.digits))

            return write

        return {
            MODULES: writer(header(MODULES), modules),
            PROFILES: writer((*header(PROFILES)[:-1], *found.samples), profiles),
            EDGES: writer(header(EDGES), edges),
        }

    @staticmethod
    def tables(facts: dict[str, Any]) -> list[Table]:
        """Return the table of the largest modules."""
        rows = [
            (
                m["module"],
                m["size"],
                m["representative"],
                m["mean_correlation"],
                listed(m["members"]),
            )
            for m in facts["largest"]
        ]
        alone, least = facts["features"] - facts["in_modules"], facts["min_correlation"]
        more = f" The largest {len(rows)} are shown." if facts["modules"] > len(rows) else ""
        return [
            Table(
                heading="Modules",
                columns=("module", "size", "representative", "mean |r|", "members"),
                rows=rows,
                note=f"Of the first {facts['features']:,} features, {facts['in_modules']:,} are in "
                f"{counted(facts['modules'], 'module')} of features that vary together (average "
                f"linkage, absolute correlations of {least:g} on average), and {alone:,} are in "
                f"none.{more} The representative is the best-ranked member.",
                digits=3,
            )
        ]


STEP = ModuleStep
