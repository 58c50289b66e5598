"""Gene sets that knowledge sources name: which of them are over-represented at the top."""

from __future__ import annotations

from typing import Any

from sfs_cli.features.step import Step
from sfs_cli.knowledge.base import Source, SourceContext
from sfs_cli.knowledge.genes import Genes, SharedTerms
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.load import Run
from sfs_cli.run.rank import RankResult

LENGTH, SHARE = 100, 4
"""The first features that are tested: so many, or at most one in so many of all."""
FEWEST = 5
"""Fewer first features are not tested."""
SHOWN = 10
"""Sets that ``run.json`` and the report list."""
MEMBERS = 8


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


STEP = EnrichmentStep
