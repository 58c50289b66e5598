"""``sfs aggregate``: one ranking of several, written as `sfs rank` writes its own.

Read the tables, bring them to ranks of the same features, aggregate, compare the lists, write.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import combinations, starmap
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.errors import counted, listed
from sfs_cli.io.files.likeness import likely_change
from sfs_cli.io.results.writers import ranking_bytes
from sfs_cli.logs import Messages
from sfs_cli.options.aggregate import AggregateConfig
from sfs_cli.options.grammar import command
from sfs_cli.options.guards import GUARDS
from sfs_cli.parts.doubts import DEPENDENT
from sfs_cli.ranking.aggregate import aggregate, best_of
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.ranking.agreement import TOPS, Agreement, agreement, correlations
from sfs_cli.ranking.table import Ranking, rank_features
from sfs_cli.report.model import Page, Table, agreement_table
from sfs_cli.run.identity import any_same, same_matrix
from sfs_cli.run.ties import ties
from sfs_cli.workflow import outputs
from sfs_cli.workflow.lists import RankedList, Source, list_names, matrix_of, read_lists
from sfs_cli.workflow.report_data import ranking_page

STATUS = ("ok", "not ranked", "below the top of every list")
MOST_COMPARED = 20
"""Largest number of lists whose pairs are compared."""


@dataclass(frozen=True)
class Aggregated:
    """A ranking and the lists it was made from."""

    ranking: Ranking  # with a column rank_NAME for each list
    lists: list[RankedList]
    ranks: np.ndarray  # shape (m, L), features by their ids, before any cut; NaN: unranked
    of_one_matrix: bool | None  # whether two lists are, by the records beside them; None: not known


def run(config: AggregateConfig, messages: Messages) -> bytes:
    """Aggregate, write the outputs, and return what belongs on stdout."""
    sources = [Source.of(text) for text in config.rankings]

    def make() -> outputs.Made:
        result = aggregate_lists(config, messages)
        ranking, found, compared = result.ranking, None, None
        if config.out is not None and len(result.lists) > MOST_COMPARED:
            messages.note(
                f"pairs of lists are not compared: there are more than {MOST_COMPARED} lists"
            )
        elif config.out is not None:
            found = agreement(result.ranks)
            compared = vars(found) | {
                "overlap": {f"top_{k}": matrix for k, matrix in found.overlap.items()},
                "mean_kendall": found.mean(found.kendall),
            }
        facts = {
            "lists": [
                {
                    "name": each.name,
                    "path": str(each.path),
                    "weight": weight,
                    "n_features": len(each.features),
                    "n_ranked": each.n_ranked,
                    "feature_column": each.choice.feature,
                    "value_column": each.choice.value,
                    "order": each.order or None,
                }
                for each, weight in zip(result.lists, config.weights)
            ],
            "of_one_matrix": result.of_one_matrix,
            "agreement": compared,
            "result": outputs.ranking_facts(ranking),
        }

        def complete(record: dict[str, Any]) -> outputs.Writers:
            page = _page(config, result, found, record["warnings"])
            return outputs.ranking_writers(config, ranking, page)

        def summarize() -> None:
            messages.note(
                f"ranked {ranking.n_scored:,} of {len(ranking):,} features of "
                f"{len(sources)} lists by {AGGREGATIONS[config.how].title}"
            )
            outputs.log_ranking(ranking, messages)

        table = partial(ranking_bytes, ranking, config.format)
        return outputs.Made(facts, table, complete, summarize)

    return outputs.make_result(
        config,
        messages,
        outputs.ranking_files(config),
        lambda: outputs.describe_files(source.as_read("rankings") for source in sources),
        make,
        options=config.result_options() | {"names": list_names(sources)},
    )


def aggregate_lists(config: AggregateConfig, messages: Messages) -> Aggregated:
    """Read the lists and aggregate them."""
    sources = [Source.of(text) for text in config.rankings]
    lists = read_lists(sources, list_names(sources), config, messages)
    # sorted, so that ties are in the order of the ids, whatever that of the rows is
    features = sorted({feature for each in lists for feature in each.features})
    position = {feature: at for at, feature in enumerate(features)}
    ranks = np.full((len(features), len(lists)), np.nan)
    for column, each in enumerate(lists):
        ranks[[position[feature] for feature in each.features], column] = each.ranks
    _warn_of_one_alone(lists, messages)
    is_ranked = ~np.isnan(ranks).all(axis=1)
    cut = ranks if config.top is None else best_of(ranks, config.top)
    total = max([int(np.count_nonzero(is_ranked)), *(each.whole or 0 for each in lists)])
    result = aggregate(config.how, cut, np.array(config.weights), total)
    ranking = rank_features(
        features,
        result.score,
        np.where(np.isnan(result.score), np.where(is_ranked, 2, 1), 0),
        STATUS,
        larger_is_better=result.larger_is_better,
        extra=result.extra | {f"rank_{each.name}": ranks[:, k] for k, each in enumerate(lists)},
    )
    if found := ties(ranking):
        messages.warn(found, GUARDS["ties"].weight)
    known = [matrix_of(each.path) for each in lists]
    same = any_same(starmap(same_matrix, combinations(known, 2)))
    if same and config.how == "rra":
        messages.warn(DEPENDENT, GUARDS["dependent-lists"].weight)
    elif same is None and config.how == "rra":
        messages.note(
            "the p-values of rra assume independent lists; where two of these rank the features of "
            "one matrix, p_value and q_value are too small"
        )
    return Aggregated(ranking, lists, ranks, same)


def _warn_of_one_alone(lists: list[RankedList], messages: Messages) -> None:
    """Warn of a list that has no feature in common with any other, and say the likely reason."""
    times = Counter(feature for each in lists for feature in each.features)
    for each in lists:
        if all(times[feature] == 1 for feature in each.features):
            others = [name for other in lists if other is not each for name in other.features]
            change = likely_change(each.features, others)
            messages.warn(
                f"list {each.name} has no feature in common with any other (it has "
                f"{listed(each.features, 3)}; others have {listed(others, 3)}): "
                f"{f'{change}; ' if change else ''}give lists with the same kind of ids"
            )
            return


def _page(
    config: AggregateConfig,
    result: Aggregated,
    found: Agreement | None,
    warnings: list[str],
) -> Page:
    """Return the page, which depends on the lists and the options only."""
    how, ranking = AGGREGATIONS[config.how], result.ranking
    names = [each.name for each in result.lists]
    score = -ranking.score if ranking.larger_is_better else ranking.score
    rows: list[list[object]] = []
    for each, ranks, weight in zip(result.lists, result.ranks[ranking.order].T, config.weights):
        both = ~np.isnan(ranks + score)
        tau, _ = correlations(ranks[both], score[both])
        ranked = f"{each.n_ranked:,} of {len(each.features):,}"
        rows.append([each.name, ranked, each.ranked_by, f"{weight:g}", tau, str(each.path)])
    tables = [
        Table(
            heading="Lists",
            columns=["list", "ranked", "by column", "weight", "tau", "file"],
            rows=rows,
            note="Ranked: how many of the features in the table have a rank. Tau: Kendall's tau-b "
            "of the list and the aggregate, over the features that the list ranks; 1 for the same "
            "order, 0 for no relation, -1 for the reverse order.",
            digits=3,
        )
    ]
    if found is not None:
        values = (found.spearman, *found.overlap.values())
        pairs = Table(
            heading="Overlap of the lists",
            columns=["list", "with", "features", "Spearman", *(f"top {k}" for k in TOPS)],
            rows=[
                [names[i], names[j], int(found.common[i, j]), *(float(of[i, j]) for of in values)]
                for i, j in combinations(range(len(names)), 2)
            ],
            note="Spearman's rank correlation over the features that both lists rank, and the "
            "share of the best 10, 50 and 100 that they have in common; by chance almost none for "
            "short lists of many features.",
            digits=3,
        )
        tables += [agreement_table(names, found.kendall.tolist()), pairs]
    return ranking_page(
        ranking,
        f" in {counted(len(names), 'list')}",
        how.meaning,
        title=listed(names, 4),
        method=how.title[:1].upper() + how.title[1:],
        tables=tables,
        warnings=warnings,
        command=shlex.join([*command(config), "--out", "results"]),
        reference=how.reference,
        files=[
            (f"ranking.{config.format}", "the ranking of all features, with the rank in each list"),
            (provenance.NAME, "options, inputs, versions and digests of this run"),
        ],
    )
