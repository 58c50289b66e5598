"""The tests of gene sets: over-representation among the first features, or preranked enrichment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.evaluation.preranked import LEAST, MOST, preranked
from sfs_cli.features.step import Step, Tsv
from sfs_cli.io.knowledge.gene_sets import read_sets
from sfs_cli.knowledge.base import Source, SourceContext
from sfs_cli.knowledge.genes import Genes, SharedTerms
from sfs_cli.provenance import RunFacts
from sfs_cli.ranking.evidence import exponential_scores
from sfs_cli.ranking.table import Picked, Ranking
from sfs_cli.report.model import Table
from sfs_cli.run.config import split_sets
from sfs_cli.run.load import Run
from sfs_cli.run.rank import RankResult
from sfs_cli.tables import header

OVERREPRESENTED, PRERANKED = "enrichment.tsv", "preranked.tsv"
Rows = list[tuple[Any, ...]]
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


def sets_of_sources(run: Run) -> dict[str, dict[str, list[str]]]:
    """Return the sets of each source that has some, by its name.

    Genes are found among the features as the source has found them.
    """
    ids = run.matrix.ids.features
    context = SourceContext(run.context, run.config.id_map, allow_unmatched=True)
    found = {}
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
        found[source.spec.name] = {
            name: [feature for gene in members for feature in place[gene]]
            for name, members in sets.items()
        }
    return found


def given_sets(
    specs: Sequence[str], features: Sequence[str], matrix: str
) -> tuple[str, dict[str, list[str]]]:
    """Return the name of ``--sets``, and the sets.

    Raises InputError when none has a feature of the matrix.
    """
    sets = read_sets(specs)
    if {name for names in sets.values() for name in names}.isdisjoint(features):
        raise InputError(
            f"--sets {' and '.join(specs)}: none of {counted(len(sets), 'set')} has a feature of "
            "the matrix",
            where=matrix,
            hint="check that both use the same kind of ids",
            option="sets",
        )
    return name_of_sets(specs), sets


def name_of_sets(specs: Sequence[str]) -> str:
    """Return the names of the files of ``--sets``."""
    return " and ".join(split_sets(each)[0].name for each in specs)


def signed_metric(ranking: Ranking) -> tuple[np.ndarray, list[str], str]:
    """Return a number of each feature with a score, the ends of the list, and what it is made of.

    The larger the number, the nearer is the feature to the top.

    Where the ranking says in which of two classes a feature is higher, it is the score with a sign:
    positive for the class whose name is last. The ends are these classes then, top first. Else, or
    where scores are infinite or negative (a feature that ReliefF finds worse than chance is no
    strong one of the other class), it has the size of `exponential_scores`, and no end without a
    sign.
    """
    n, column = ranking.n_scored, ranking.extra.get("direction")
    score, of = ranking.score[:n], "the score"
    if not ranking.larger_is_better or not (np.isfinite(score) & (score >= 0)).all():
        score, of = exponential_scores(ranking), "ranks"
    if isinstance(column, Picked):
        higher = np.array(column[:n])
        ends = sorted({*higher.tolist()} - {""}, reverse=True)
        if len(ends) == 2:
            return score * np.select([higher == ends[0], higher == ends[1]], [1.0, -1.0]), ends, of
    return exponential_scores(ranking), [], "ranks"


def tested_length(ranking: Ranking) -> int:
    """Return how many of the first features are tested; fewer than `FEWEST` are too few."""
    return min(LENGTH, ranking.n_scored // SHARE)


def tested_sets(
    ranking: Ranking,
    name: str,
    sets: dict[str, list[str]],
    how: str,
    seed: int,
    length: int | None,
) -> tuple[dict[str, Any], Rows]:
    """Test the sets of a name; return the numbers with the best tests, and the rows of the table.

    `how` is the value of ``--enrichment``, and `length` the number of first features, None for
    `tested_length`. Raises InputError when there are hardly any features.
    """
    metric, ends, made_of = signed_metric(ranking)
    ranked, enough = ranking.feature[: len(metric)], length is not None
    length = tested_length(ranking) if length is None else length
    facts: dict[str, Any] = {"source": name, "ranked": len(ranked)}
    tests: Rows
    columns: tuple[str, ...]
    first_cells: tuple[Any, ...]
    place = {feature: i for i, feature in enumerate(ranked)}
    places = {name: {place[g] for g in of if g in place} for name, of in sets.items()}
    usual = any(LEAST <= len(of) <= MOST for of in places.values())
    if how == "preranked" or (how == "auto" and ends and usual):
        tests = [
            (
                *(each.name, each.size, each.es, each.nes, each.p_value, each.q_value),
                ends[each.direction == "bottom"] if ends else "top",
                [ranked[i] for i in each.leading_edge.tolist()],
            )
            for each in preranked(metric, places, signed=bool(ends), seed=seed)
        ]
        facts |= {"ends": ends, "metric": made_of}
        best = [row for e in ends or ["top"] for row in [r for r in tests if r[-2] == e][:SHOWN]]
        columns = ("es", "nes", "p_value", "q_value", "direction")
        first_cells = (name,)
    else:
        from sfs_cli.evaluation.measures import enrichment  # imports SciPy

        if length < FEWEST and not enough:
            raise InputError(
                f"sets of {name}: too few ranked features ({len(ranked):,}) to test sets among "
                "the first",
                hint="leave the test out",
                option="sets",
            )
        tests = list(enrichment(ranked, length, sets))
        facts["first"], best = length, tests[:SHOWN]
        columns = ("among_first", "expected", "p_value", "q_value")
        first_cells = ("all samples", length)
    names = ("set", "features", *columns, "members")
    facts |= {
        "tested": len(tests),
        "best": [dict(zip(names, (*row[:-1], row[-1][:MEMBERS]))) for row in best],
    }
    return facts, [(*first_cells, *row[:-1], ";".join(row[-1])) for row in tests]


class EnrichmentStep(Step):
    """Tests the gene sets of the sources, and those that are given."""

    def check(self, run: Run) -> None:
        """Read the given sets; refuse them where none has a feature of the matrix."""
        sets, ids = run.config.sets, run.matrix.ids.features
        self.given = dict([given_sets(sets, ids, run.config.matrix)]) if sets else {}
        self.rows: dict[str, Rows] = {}

    def find(self, run: Run, found: RankResult) -> None:
        """Add the tests to the facts of the sources; keep their tables.

        ``enrichment`` has for each source with sets its name, the numbers of ranked features and
        tested sets, the ``ends`` of a preranked test and its ``metric``, or the number of ``first``
        features, and the best of the tests.
        """
        config, facts = run.config, []
        for name, sets in (sets_of_sources(run) | self.given).items():
            if name not in self.given and tested_length(found.ranking) < FEWEST:
                continue
            made, rows = tested_sets(
                found.ranking, name, sets, config.enrichment, config.seed, None
            )
            facts.append(made | {"given": True} if name in self.given else made)
            own = self.rows.setdefault(PRERANKED if "ends" in made else OVERREPRESENTED, [])
            own += [(config.ranker, *row) for row in rows]
            if not made["tested"]:
                run.log.warn(f"sets of {name}: {_none_tested(made)}")
                continue
            run.log.note(f"sets of {name}: {test_made(made)}")
        if facts:
            found.facts["knowledge"]["enrichment"] = facts

    def tsv(self) -> dict[str, Tsv]:
        """Return the tables of all tests."""
        return {name: (header(name), rows) for name, rows in self.rows.items()}

    @classmethod
    def files(cls, found: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
        """Return the table of the tests."""
        names = {PRERANKED if "ends" in made else OVERREPRESENTED for made in found}
        return tuple((name, "the tests of all gene sets") for name in sorted(names))

    @staticmethod
    def sentences(facts: RunFacts) -> list[str]:
        """Say which gene set is enriched at the top, or at each end."""
        tests = [(t, e) for e in facts["knowledge"]["enrichment"] for t in e["best"]]
        known = [each for each in tests if each[0]["q_value"] <= LEVEL]
        if not known:
            return []
        best, tested = min(known, key=lambda each: each[0]["p_value"])
        if "ends" in tested:
            of_end = {t["direction"]: t for t, e in known[::-1] if e is tested}
            return [
                f"The set with the best p-value {_at(end)} is {of_end[end]['set']} "
                f"(NES {of_end[end]['nes']:.2f}, q-value {of_end[end]['q_value']:.2g})."
                for end in tested["ends"] or ["top"]
                if end in of_end
            ]
        first = tested["first"]
        return [
            f"Among the first {first:,} features are {best['among_first']:,} of the "
            f"{best['features']:,} features of {best['set']} ({best['expected']:.1f} by chance)."
        ]

    @staticmethod
    def tables(facts: Sequence[dict[str, Any]]) -> list[Table]:
        """Return a table of the best sets of each source that has some."""
        return [table for tested in facts if tested["best"] for table in _tables(tested)]


STEP = EnrichmentStep


def test_made(tested: dict[str, Any]) -> str:
    """Say in words which test was made, by its facts."""
    if "ends" not in tested:
        return (
            f"over-representation of {counted(tested['tested'], 'set')} among the first "
            f"{tested['first']:,} of {tested['ranked']:,} ranked features (hypergeometric test; "
            "q-values of Benjamini and Hochberg)"
        )
    ends = tested["ends"]
    metric = "ranks, without a sign"
    if ends:
        metric = f"{tested['metric']} with a sign, positive for {ends[0]}"
    return (
        f"preranked enrichment (GSEA) of {counted(tested['tested'], 'set')} with {LEAST} to {MOST} "
        f"of the {tested['ranked']:,} ranked features, by {metric}; p-values by random sets, which "
        "are too small where the features of a set are correlated; q-values of Benjamini and "
        "Hochberg over all sets"
    )


def _none_tested(tested: dict[str, Any]) -> str:
    """Say in words why no set was tested, by the facts."""
    if "ends" not in tested:
        return "no set has ranked features, so none is tested"
    return (
        f"none has {LEAST} to {MOST} of the {tested['ranked']:,} ranked features, so none is "
        "tested; --enrichment overrepresentation takes smaller sets"
    )


def _at(end: str) -> str:
    return "at the top" if end == "top" else f"among features higher in {end}"


def _tables(tested: dict[str, Any]) -> list[Table]:
    """Return the table of the best sets, or one for each end of the ranking."""
    best, ends, made = tested["best"], tested.get("ends"), test_made(tested)
    notes = [f"{made[0].upper()}{made[1:]}."]
    if tested["tested"] > len(best):
        notes.append(f"The best {len(best)} are shown.")
    if not tested.get("given"):
        notes.append(
            "The sets took part in the ranking as a source, so the test is no independent "
            "confirmation."
        )
    shown = {"set": "set", "features": "features"}
    if ends is None:
        shown |= {"among_first": "among the first", "expected": "by chance"}
        parts = [(f"among the first {tested['first']:,}", best)]
    else:
        shown |= {"es": "ES", "nes": "NES"}
        parts = [(_at(e), [t for t in best if t["direction"] == e]) for e in ends or ["top"]]
    shown |= {"p_value": "p-value", "q_value": "q-value"}
    return [
        Table(
            heading=f"Gene sets of {tested['source']} {where}",
            columns=(*shown.values(), "which"),
            rows=[(*(test[name] for name in shown), listed(test["members"], 8)) for test in tests],
            note=" ".join(notes),
            digits=3,
            of_best=True,
        )
        for where, tests in parts
        if tests
    ]
