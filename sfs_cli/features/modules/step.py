"""The work of ``--modules``: correlations of the best features, and the groups that they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from sfs_cli.errors import counted, listed
from sfs_cli.features.modules import CORRELATION, GROUPED
from sfs_cli.features.modules.traits import tested_traits, trait_table
from sfs_cli.features.pruning.step import standardized_features
from sfs_cli.features.step import Step, Tsv
from sfs_cli.ranking.modules import find_modules
from sfs_cli.report.model import Table
from sfs_cli.run.cohort import TRAITS as TRAIT_COLUMNS
from sfs_cli.run.load import Run
from sfs_cli.run.needs import Shape
from sfs_cli.run.rank import RankResult
from sfs_cli.tables import header

Rows = Iterable[Sequence[Any]]
MODULES, PROFILES, EDGES = "modules.tsv", "module_profiles.tsv", "module_edges.tsv"
EIGENGENES, TRAITS = "module_eigengenes.tsv", "module_traits.tsv"
LARGEST = 10
"""Modules that ``run.json`` and the report list."""


class ModuleStep(Step):
    """Finds the modules of the first features, by their values as they were scored."""

    downloads = (
        (MODULES, "the modules of the best features"),
        (PROFILES, "their mean profiles, a column for each sample"),
        (EIGENGENES, "their eigengenes, a column for each sample"),
        (TRAITS, "tests of the eigengenes against columns of the samples"),
        (EDGES, "pairs of correlated features, for Cytoscape and other network viewers"),
    )

    def held(self, shape: Shape) -> int:
        """Return the bytes of the correlations, their absolute values and the distances."""
        return 24 * min(GROUPED, shape.m) ** 2

    def find(self, run: Run, found: RankResult) -> None:
        """Find the modules.

        Of the first `features`, `in_modules` are in one of two members or more; `largest` describes
        the first modules, and `edges` counts the pairs with a correlation above the bound.
        """
        ranking, n = found.ranking, run.matrix.n_samples
        count, least = min(ranking.n_scored, GROUPED), CORRELATION
        what = f"correlations of the first {count:,} features, for --modules"
        with standardized_features(what, ranking.order[:count], run) as rows:
            names = ranking.feature[:count]
            modules = find_modules(rows, names, run.matrix.ids.samples, least)
        eigengenes = np.array([each.eigengene for each in modules.modules]).reshape(-1, n)
        traits, ids = run.columns.get(TRAIT_COLUMNS, []), run.matrix.ids.samples
        self.tests, unused = tested_traits(eigengenes, traits, ids, run.context.basis)
        if unused:
            run.log.note(
                "--module-traits leaves out columns of one value, of too many classes, or that "
                f"follow from what is taken out of the features: {listed(unused)}"
            )
        order = run.matrix.as_in_file
        self.modules = replace(
            modules,
            modules=[
                replace(each, profile=each.profile[order], eigengene=each.eigengene[order])
                for each in modules.modules
            ],
            samples=[modules.samples[i] for i in order.tolist()],
        )
        inside = sum(len(module.members) for module in modules.modules)
        run.log.note(
            f"{len(modules.modules):,} modules of {inside:,} of the first {count:,} features "
            f"(average linkage, mean absolute correlation of {least:g} or more); "
            f"{count - inside:,} are in none"
        )
        found.facts["modules"] = self.facts = {
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
        if traits:
            self.facts["traits"] = [list(test) for test in self.tests if test[0] <= LARGEST]

    def tsv(self) -> dict[str, Tsv]:
        """Return the modules, their profiles, eigengenes and tests, and the edges."""
        found, tables = self.modules, dict[str, Tsv]()
        numbered = list(enumerate(found.modules, 1))
        rows: dict[str, Rows] = {
            MODULES: [
                (
                    *(number, len(each.members), each.members[0], each.mean_correlation),
                    *map(";".join, (each.members, compress(each.members, each.opposite))),
                )
                for number, each in numbered
            ],
            PROFILES: [(number, *each.profile.tolist()) for number, each in numbered],
            EIGENGENES: [(i, each.explained, *each.eigengene.tolist()) for i, each in numbered],
            TRAITS: self.tests,
            EDGES: [(*pair, module or "") for *pair, module in found.edges],
        }

        for name, _ in self.files(self.facts):
            *columns, last = header(name)
            names = found.samples if last == "SAMPLE" else [last]
            tables[name] = [*columns, *names], rows[name]
        return tables

    @classmethod
    def files(cls, found: Any) -> tuple[tuple[str, str], ...]:
        """Return its files, that of the tests where there are traits."""
        return tuple(each for each in cls.downloads if each[0] != TRAITS or "traits" in found)

    @staticmethod
    def tables(facts: dict[str, Any]) -> list[Table]:
        """Return the table of the largest modules, and that of their traits."""
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
        found = [
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
        return [*found, trait_table(facts["traits"])] if facts.get("traits") else found


STEP = ModuleStep
