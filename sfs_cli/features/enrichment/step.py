"""Gene sets that knowledge sources name: which of them are over-represented at the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfs_cli.errors import counted, listed
from sfs_cli.features.step import Step
from sfs_cli.knowledge.base import Source, SourceContext
from sfs_cli.knowledge.genes import Genes, SharedTerms
from sfs_cli.provenance import RunFacts
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Table
from sfs_cli.run.load import Run
from sfs_cli.run.rank import RankResult

LENGTH, SHARE = 100, 4
"""Number of first features that are tested, and the largest fraction (1/N) of all."""
FEWEST = 5
"""Least number of first features that are tested."""
SHOWN = 10
"""Sets that ``run.json`` and the report list."""
MEMBERS = 8
LEVEL = 0.05
"""The largest q-value of a set that the page mentions."""


def source_sets(source: Source) -> dict[str, list[str]]:
    """Return the gene sets of a source by their names; nothing for one without sets."""
    if isinstance(source, SharedTerms):
        terms = source.terms
        columns = terms.matrix.tocsc()
        starts = columns.indptr.tolist()
        return {
            name: [terms.genes[i] for i in columns.indices[a:b].tolist()]
            for name, a, b in zip(terms.terms, starts, starts[1:])
        }
    return source.sets if isinstance(source, Genes) else {}


def enriched_sets(run: Run, ranking: Ranking) -> dict[str, list[dict[str, Any]]]:
    """Test the sets of each source among the first features, as `sfs evaluate` does.

    Genes are found among the features as the source has found them. ``enrichment`` has for each
    source with sets its name, the numbers of first features, ranked features and tested sets, and
    the best of the tests.
    """
    if tested_length(ranking) < FEWEST or not any(source_sets(source) for source in run.sources):
        return {}
    ids = run.matrix.ids.features
    context = SourceContext(run.context, run.config.id_map, allow_unmatched=True)
    found: list[dict[str, Any]] = []
    for source in run.sources:
        sets = source_sets(source)
        if not sets:
            continue
        genes = list(dict.fromkeys(gene for members in sets.values() for gene in members))
        of_gene: dict[int, list[str]] = {}
        matched = context.matched(source.spec, genes)
        for gene, feature in zip(matched.source.tolist(), matched.feature.tolist()):
            of_gene.setdefault(gene, []).append(ids[feature])
        place = {gene: of_gene.get(i, []) for i, gene in enumerate(genes)}
        features = {
            name: [feature for gene in members for feature in place[gene]]
            for name, members in sets.items()
        }
        found.append(tested_sets(ranking, source.spec.name, features))
    return {"enrichment": found}


def tested_length(ranking: Ranking) -> int:
    """Return how many of the first features are tested; fewer than `FEWEST` are too few."""
    return min(LENGTH, ranking.n_scored // SHARE)


def tested_sets(ranking: Ranking, name: str, sets: dict[str, list[str]]) -> dict[str, Any]:
    """Test the sets of a name among the first features; return the numbers and the best tests."""
    from sfs_cli.evaluation.measures import enrichment  # imports SciPy

    ranked, length = ranking.feature[: ranking.n_scored], tested_length(ranking)
    tests = enrichment(ranked, length, sets)
    return {
        "source": name,
        "first": length,
        "ranked": len(ranked),
        "tested": len(tests),
        "best": [
            {
                "set": test.name,
                "features": test.size,
                "among_first": test.overlap,
                "expected": test.expected,
                "p_value": test.p_value,
                "q_value": test.q_value,
                "members": test.members[:MEMBERS],
            }
            for test in tests[:SHOWN]
        ],
    }


class EnrichmentStep(Step):
    """Tests the gene sets of the sources among the first features."""

    def find(self, run: Run, found: RankResult) -> None:
        """Add the tests to the facts of the sources."""
        found.facts["knowledge"] |= enriched_sets(run, found.ranking)

    @staticmethod
    def sentences(facts: RunFacts) -> list[str]:
        """Say which gene set is over-represented at the top."""
        tests = [(t, e["first"]) for e in facts["knowledge"]["enrichment"] for t in e["best"]]
        known = [each for each in tests if each[0]["q_value"] <= LEVEL]
        if not known:
            return []
        best, first = min(known, key=lambda each: each[0]["p_value"])
        return [
            f"Among the first {first:,} features are {best['among_first']:,} of the "
            f"{best['features']:,} features of {best['set']} ({best['expected']:.1f} by chance)."
        ]

    @staticmethod
    def tables(facts: Sequence[dict[str, Any]]) -> list[Table]:
        """Return a table of the best sets of each source that has some."""
        return [_table(tested) for tested in facts if tested["best"]]


STEP = EnrichmentStep


def _table(tested: dict[str, Any]) -> Table:
    best, first = tested["best"], f"the first {tested['first']:,}"
    notes = [
        f"Over-representation of {counted(tested['tested'], 'set')} among {first} of "
        f"{tested['ranked']:,} ranked features (hypergeometric test; q-values of Benjamini and "
        "Hochberg)."
    ]
    if tested["tested"] > len(best):
        notes.append(f"The best {len(best)} are shown.")
    if not tested.get("given"):
        notes.append(
            "The sets took part in the ranking as a source, so the test is no independent "
            "confirmation."
        )
    shown = ("set", "features", "among_first", "expected", "p_value", "q_value")
    return Table(
        heading=f"Gene sets of {tested['source']} among {first}",
        columns=("set", "features", "among the first", "by chance", "p-value", "q-value", "which"),
        rows=[(*(test[name] for name in shown), listed(test["members"], 8)) for test in best],
        note=" ".join(notes),
        digits=3,
        of_best=True,
    )
