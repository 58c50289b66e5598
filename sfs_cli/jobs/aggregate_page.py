"""What the report says of an aggregated ranking, and of how far its lists agree."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.config.aggregate import AggregateConfig
from sfs_cli.errors import listed
from sfs_cli.logs import Messages
from sfs_cli.provenance import versions
from sfs_cli.ranking.agreement import TOPS, Agreement, agreement, correlations
from sfs_cli.ranking.elbow import elbow
from sfs_cli.ranking.hows import HOWS
from sfs_cli.report.model import ReportData, Table

if TYPE_CHECKING:
    from sfs_cli.jobs.aggregate import Aggregated

TOP = 50
DIGITS = 3
"""Significant digits of correlations: more nobody reads."""
PAIRED = 20
"""With more lists than this, pairs of them are not compared."""

_LISTS_NOTE = (
    "Ranked: how many of the features that the table names. Kendall's tau compares the list with "
    "the aggregate, over the features that it ranks: 1 is the same order, 0 is no relation, -1 is "
    "the reverse."
)
_MATRIX_NOTE = (
    "Kendall's tau-b of each pair of lists, over the features that both rank. Lists that agree "
    "support each other; a list that agrees with none brings in something else, or nothing."
)
_PAIRS_NOTE = (
    "Spearman's rank correlation over the features that both lists rank, and the share of the best "
    "10, 50 and 100 that they have in common. Short lists chosen at random from many features "
    "have next to nothing in common."
)


def agreements(ranks: np.ndarray, messages: Messages) -> Agreement | None:
    """Compare all pairs of lists, where they are not too many."""
    if ranks.shape[1] > PAIRED:
        messages.note(f"pairs of lists are compared where there are {PAIRED} of them at most")
        return None
    return agreement(ranks)


def agreement_facts(found: Agreement | None) -> dict[str, Any] | None:
    """Return what ``run.json`` says of it."""
    if found is None:
        return None
    return {
        "kendall": found.kendall,
        "spearman": found.spearman,
        "common": found.common,
        "overlap": {f"top_{k}": matrix for k, matrix in found.overlap.items()},
        "mean_kendall": found.mean(found.kendall),
    }


def report_data(
    config: AggregateConfig, result: Aggregated, found: Agreement | None, warnings: list[str]
) -> ReportData:
    """Return the content of the report, which depends on the lists and the options alone."""
    ranking, how = result.ranking, HOWS[config.how]
    scores = ranking.score[: ranking.n_scored]
    return ReportData(
        title=listed([each.name for each in result.lists], 4),
        method=how.title[:1].upper() + how.title[1:],
        how=how.meaning,
        larger_is_better=ranking.larger_is_better,
        scores=scores,
        n_features=len(ranking),
        n_unscored=len(ranking) - ranking.n_scored,
        reasons=ranking.unscored(),
        elbow=elbow(scores),
        top=_top(result),
        tables=_tables(config, result, found),
        warnings=warnings,
        command=shlex.join([*config.command(), "--out", "results"]),
        version=versions()["sfs"],
        reference=how.reference,
        downloads=[
            (f"ranking.{config.format}", "the ranking of all features, with the rank in each list"),
            ("run.json", "options, inputs, versions and digests of this run"),
        ],
    )


def _top(result: Aggregated) -> list[dict[str, object]]:
    ranking = result.ranking
    columns = {name: list(column) for name, column in ranking.columns(0, TOP).items()}
    for name, column in columns.items():
        if name.startswith("rank_"):
            columns[name] = [int(v) if float(v).is_integer() else v for v in column]
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return rows[: ranking.n_scored]


def _tables(config: AggregateConfig, result: Aggregated, found: Agreement | None) -> list[Table]:
    tables = [_lists(config, result)]
    if found is None:
        return tables
    names = [each.name for each in result.lists]
    matrix = Table(
        heading="How far the lists agree",
        columns=["", *names],
        rows=[[name, *row.tolist()] for name, row in zip(names, found.kendall)],
        note=_MATRIX_NOTE,
        digits=DIGITS,
        shade=1.0,
    )
    return [*tables, matrix, _pairs(names, found)]


def _lists(config: AggregateConfig, result: Aggregated) -> Table:
    score = np.empty(len(result.ranking))
    score[result.ranking.order] = result.ranking.score
    score = -score if result.ranking.larger_is_better else score
    rows = []
    for each, ranks, weight in zip(result.lists, result.aligned.ranks.T, config.weights):
        both = ~(np.isnan(ranks) | np.isnan(score))
        tau, _ = correlations(ranks[both], score[both])
        rows.append(
            [
                each.name,
                f"{each.n_ranked:,} of {len(each.features):,}",
                each.taken,
                f"{weight:g}",
                tau,
                str(each.path),
            ]
        )
    return Table(
        heading="The lists",
        columns=["list", "ranked", "by column", "weight", "tau", "file"],
        rows=rows,
        note=_LISTS_NOTE,
        digits=DIGITS,
    )


def _pairs(names: list[str], found: Agreement) -> Table:
    rows = [
        [
            names[i],
            names[j],
            int(found.common[i, j]),
            *(float(matrix[i, j]) for matrix in (found.spearman, *found.overlap.values())),
        ]
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]
    return Table(
        heading="What the lists have in common",
        columns=["list", "with", "features", "Spearman", *(f"top {k}" for k in TOPS)],
        rows=rows,
        note=_PAIRS_NOTE,
        digits=DIGITS,
    )
