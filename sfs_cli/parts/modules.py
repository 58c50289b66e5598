"""The work of ``--modules``: correlations of the best features, and the groups that they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from sfs_cli.errors import counted, listed
from sfs_cli.options.parts import CORRELATION, GROUPED
from sfs_cli.parts.pruning import standardized_features
from sfs_cli.parts.traits import tested_traits, trait_table
from sfs_cli.ranking.modules import find_modules
from sfs_cli.report.model import Section, Table
from sfs_cli.run.cohort import TRAITS as TRAIT_COLUMNS
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult
from sfs_cli.tables import header

Rows = Iterable[Sequence[Any]]
MODULES, PROFILES, EDGES = "modules.tsv", "module_profiles.tsv", "module_edges.tsv"
EIGENGENES, TRAITS = "module_eigengenes.tsv", "module_traits.tsv"
FILES = (
    (MODULES, "the modules of the best features"),
    (PROFILES, "their mean profiles, a column for each sample"),
    (EIGENGENES, "their eigengenes, a column for each sample"),
    (TRAITS, "tests of the eigengenes against columns of the samples"),
    (EDGES, "pairs of correlated features, for Cytoscape and other network viewers"),
)
LARGEST = 10
"""Modules that ``run.json`` and the report list."""


def add_modules(run: Run, found: RankResult) -> None:
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
    tests, unused = tested_traits(eigengenes, traits, ids, run.context.basis)
    if unused:
        run.log.note(
            "--module-traits leaves out columns of one value, of too many classes, or that "
            f"follow from what is taken out of the features: {listed(unused)}"
        )
    order = run.matrix.as_in_file
    made = [
        replace(each, profile=each.profile[order], eigengene=each.eigengene[order])
        for each in modules.modules
    ]
    inside = sum(len(each.members) for each in made)
    run.log.note(
        f"{len(made):,} modules of {inside:,} of the first {count:,} features "
        f"(average linkage, mean absolute correlation of {least:g} or more); "
        f"{count - inside:,} are in none"
    )
    facts = found.facts["modules"] = {
        "features": count,
        "min_correlation": least,
        "modules": len(made),
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
            for number, module in enumerate(made[:LARGEST], 1)
        ],
    }
    if traits:
        facts["traits"] = [list(test) for test in tests if test[0] <= LARGEST]
    numbered = list(enumerate(made, 1))
    tables: dict[str, Rows] = {
        MODULES: [
            (
                *(number, len(each.members), each.members[0], each.mean_correlation),
                *map(";".join, (each.members, compress(each.members, each.opposite))),
            )
            for number, each in numbered
        ],
        PROFILES: [(number, *each.profile.tolist()) for number, each in numbered],
        EIGENGENES: [(i, each.explained, *each.eigengene.tolist()) for i, each in numbered],
        TRAITS: tests,
        EDGES: [(*pair, module or "") for *pair, module in modules.edges],
    }
    for name, _ in _files(facts):
        *columns, last = header(name)
        columns += [ids[i] for i in order.tolist()] if last == "SAMPLE" else [last]
        found.add_table(name, tables[name], columns)


def _files(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the files and what they are, that of the tests where there are traits."""
    return [each for each in FILES if each[0] != TRAITS or "traits" in facts]


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of the modules: the largest, and their traits."""
    keys = ("module", "size", "representative", "mean_correlation")
    rows = [(*(m[key] for key in keys), listed(m["members"])) for m in facts["largest"]]
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
    if facts.get("traits"):
        found.append(trait_table(facts["traits"]))
    return Section(tables=found, files=_files(facts))
