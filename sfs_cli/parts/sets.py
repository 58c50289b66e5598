"""The tests of gene sets: over-representation among the first features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.knowledge.gene_sets import Study, read_sets
from sfs_cli.knowledge.base import SourceContext
from sfs_cli.knowledge.matching import SAME_IDS, FeatureIndex, check_found
from sfs_cli.logs import FIRST, Messages
from sfs_cli.report.model import Section, Table
from sfs_cli.run.config import split_sets
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult

OVERREPRESENTED = "enrichment.tsv"
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


def sets_of_sources(run: Run) -> dict[str, dict[str, list[str]]]:
    """Return the sets of each source that has some, by its name.

    Genes are found among the features as the source has found them.
    """
    ids = run.matrix.ids.features
    context = SourceContext(run.context, run.config.id_map)
    found = {}
    for source in run.sources:
        sets = source.sets
        if not sets:
            continue
        genes = list(dict.fromkeys(chain.from_iterable(sets.values())))
        matched = context.matched(source.spec, genes)
        features_of = defaultdict[str, list[str]](list)
        for gene, feature in zip(matched.source.tolist(), matched.feature.tolist()):
            features_of[genes[gene]].append(ids[feature])
        found[source.spec.name] = {
            name: [feature for gene in members for feature in features_of[gene]]
            for name, members in sets.items()
        }
    return found


def given_sets(
    specs: Sequence[str], features: Sequence[str], log: Messages
) -> tuple[str, dict[str, list[str]]]:
    """Return the name of ``--sets``, and the sets.

    Warns where few of their members are features. Raises InputError when none is.
    """
    sets = read_sets(specs, Study(features, log.note_once))
    members = list(dict.fromkeys(chain.from_iterable(sets.values())))
    matched, name = FeatureIndex(features).find(members), name_of_sets(specs)
    if told := check_found(matched, f"--sets {name}", " and ".join(specs), SAME_IDS, "sets"):
        log.warn(told, FIRST)
    return name, sets


def name_of_sets(specs: Sequence[str]) -> str:
    """Return the names of the files of ``--sets``."""
    return " and ".join(split_sets(each)[0].name for each in specs)


def tested_length(n_ranked: int) -> int:
    """Return how many of the first features are tested; fewer than `FEWEST` are too few."""
    return min(LENGTH, n_ranked // SHARE)


def tested_sets(
    ranked: Sequence[str], name: str, sets: dict[str, list[str]]
) -> tuple[dict[str, Any], Rows]:
    """Test the sets of a name; return the numbers with the best tests, and the rows of the table.

    `ranked` are the features with a score, the best first. Raises InputError when there are hardly
    any.
    """
    from sfs_cli.evaluation.measures import enrichment  # imports SciPy

    length = tested_length(len(ranked))
    if length < FEWEST:
        raise InputError(
            f"sets of {name}: too few ranked features ({len(ranked):,}) to test sets among "
            "the first",
            hint="leave the test out",
            option="sets",
        )
    tests = list(enrichment(ranked, length, sets))
    names = "set", "features", "among_first", "expected", "p_value", "q_value", "members"
    facts = {
        "source": name,
        "ranked": len(ranked),
        "first": length,
        "tested": len(tests),
        "best": [dict(zip(names, (*row[:-1], row[-1][:MEMBERS]))) for row in tests[:SHOWN]],
    }
    return facts, [("all samples", length, *row[:-1], ";".join(row[-1])) for row in tests]


def test_sets(run: Run, found: RankResult, given: dict[str, dict[str, list[str]]]) -> None:
    """Test the sets of the sources, and those that are `given` by name; add the table of all tests.

    ``enrichment`` has for each source with sets its name, the numbers of ranked and of
    ``first`` features and of tested sets, and the best of the tests.
    """
    facts, table = [], Rows()
    ranked = found.ranking.feature[: found.ranking.n_scored]
    for name, sets in (sets_of_sources(run) | given).items():
        if name not in given and tested_length(len(ranked)) < FEWEST:
            continue
        made, rows = tested_sets(ranked, name, sets)
        facts.append(made | {"given": True} if name in given else made)
        table += [(run.config.ranker, *row) for row in rows]
        if not made["tested"]:
            run.log.warn(f"sets of {name}: no set has ranked features, so none is tested")
            continue
        run.log.note(f"sets of {name}: {test_made(made)}")
    if facts:
        found.facts["knowledge"]["enrichment"] = facts
        found.add_table(OVERREPRESENTED, table)


def section(facts: Sequence[dict[str, Any]]) -> Section:
    """Return what the page says of gene sets: the best of each source, and which is enriched."""
    return Section(
        tables=[_table(tested) for tested in facts if tested["best"]],
        sentences=_sentences(facts),
        files=[(OVERREPRESENTED, "the tests of all gene sets")],
    )


def _sentences(facts: Sequence[dict[str, Any]]) -> list[str]:
    tests = [(t, e) for e in facts for t in e["best"]]
    known = [each for each in tests if each[0]["q_value"] <= LEVEL]
    if not known:
        return []
    best, tested = min(known, key=lambda each: each[0]["p_value"])
    first = tested["first"]
    return [
        f"Among the first {first:,} features are {best['among_first']:,} of the "
        f"{best['features']:,} features of {best['set']} ({best['expected']:.1f} by chance)."
    ]


def test_made(tested: dict[str, Any]) -> str:
    """Say in words which test was made, by its facts."""
    return (
        f"over-representation of {counted(tested['tested'], 'set')} among the first "
        f"{tested['first']:,} of {tested['ranked']:,} ranked features (hypergeometric test; "
        "q-values of Benjamini and Hochberg)"
    )


def _table(tested: dict[str, Any]) -> Table:
    """Return the table of the best sets."""
    best, made = tested["best"], test_made(tested)
    notes = [f"{made[0].upper()}{made[1:]}."]
    if tested["tested"] > len(best):
        notes.append(f"The best {len(best)} are shown.")
    if not tested.get("given"):
        notes.append(
            "The sets took part in the ranking as a source, so the test is no independent "
            "confirmation."
        )
    shown = {"set": "set", "features": "features", "among_first": "among the first"}
    shown |= {"expected": "by chance", "p_value": "p-value", "q_value": "q-value"}
    return Table(
        heading=f"Gene sets of {tested['source']} among the first {tested['first']:,}",
        columns=(*shown.values(), "which"),
        rows=[(*(test[name] for name in shown), listed(test["members"], 8)) for test in best],
        note=" ".join(notes),
        digits=3,
        of_best=True,
    )
