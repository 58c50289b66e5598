"""``sfs aggregate``: several rankings made one, written as `sfs rank` writes its own."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.compute import memory as memory_of
from sfs_cli.config.aggregate import AggregateConfig
from sfs_cli.io.writers import ranking_bytes
from sfs_cli.jobs import aggregate_page, result_folder
from sfs_cli.jobs.aggregate_inputs import Aligned, RankedList, align, list_names, read_lists
from sfs_cli.jobs.claim import claimed
from sfs_cli.logs import Messages
from sfs_cli.ranking.aggregate import aggregate, best_of
from sfs_cli.ranking.hows import HOWS
from sfs_cli.ranking.table import Ranking, rank_features

STATUS = ("ok", "not ranked", "below the top of every list")


@dataclass(frozen=True)
class Aggregated:
    """A ranking and the lists it was made from.

    Attributes
    ----------
    ranking : Ranking
        The table, with a ``rank_NAME`` column for each list.
    lists : list of RankedList
        As they were read.
    aligned : Aligned
        Their ranks, before any cut.
    """

    ranking: Ranking
    lists: list[RankedList]
    aligned: Aligned


def run(config: AggregateConfig, messages: Messages, *, as_json: bool = False) -> bytes:
    """Aggregate, write what was asked for, and return what belongs on stdout.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    started = time.perf_counter()
    result_folder.check_json(config.out, as_json)
    if config.out is None:
        result = aggregate_lists(config, messages)
        _summarise(config, result, messages)
        return ranking_bytes(result.ranking, config.format, config.digits)
    paths = [Path(path) for path in config.rankings]
    described = result_folder.describe_files([("rankings", path) for path in paths])
    options = config.result_options() | {"names": list_names(paths)}
    with claimed(Path(config.out), messages):
        wanted = provenance.fingerprint(options, described)
        if result_folder.check_folder(Path(config.out), config, wanted):
            messages.note(f"{config.out}: up to date")
            return result_folder.json_of(provenance.read_run(Path(config.out)), as_json)
        result = aggregate_lists(config, messages)
        agreement = aggregate_page.agreements(result.aligned.ranks, messages)
        record = {
            **result_folder.asked_for(options, described, ["sfs", *sys.argv[1:]]),
            "lists": _list_facts(config, result.lists),
            "agreement": aggregate_page.agreement_facts(agreement),
            "result": result_folder.ranking_facts(result.ranking),
            **result_folder.how_it_went(
                messages.warnings, time.perf_counter() - started, memory_of.peak_resident()
            ),
        }
        data = aggregate_page.report_data(config, result, agreement, messages.warnings)
        record = result_folder.write_folder(config, result.ranking, data, data.title, record)
    _summarise(config, result, messages)
    return result_folder.json_of(record, as_json)


def aggregate_lists(config: AggregateConfig, messages: Messages) -> Aggregated:
    """Read the lists and aggregate them.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    lists = read_lists(config, messages)
    aligned = align(lists)
    known = ~np.isnan(aligned.ranks).all(axis=1)
    ranks = aligned.ranks if config.top is None else best_of(aligned.ranks, config.top)
    result = aggregate(config.how, ranks, np.array(config.weights), int(np.count_nonzero(known)))
    status = np.where(np.isnan(result.score), np.where(known, 2, 1), 0)
    columns = {f"rank_{found.name}": aligned.ranks[:, k] for k, found in enumerate(lists)}
    ranking = rank_features(
        aligned.features,
        result.score,
        status,
        STATUS,
        larger_is_better=result.larger_is_better,
        extra=result.extra | columns,
    )
    return Aggregated(ranking, lists, aligned)


def _list_facts(config: AggregateConfig, lists: list[RankedList]) -> list[dict[str, Any]]:
    return [
        {
            "name": found.name,
            "path": str(found.path),
            "weight": weight,
            "n_features": len(found.features),
            "n_ranked": found.n_ranked,
            "feature_column": found.choice.feature,
            "value_column": found.choice.value,
            "order": found.order or None,
        }
        for found, weight in zip(lists, config.weights)
    ]


def _summarise(config: AggregateConfig, result: Aggregated, messages: Messages) -> None:
    ranking = result.ranking
    messages.note(
        f"ranked {ranking.n_scored:,} of {len(ranking):,} features of {len(result.lists)} lists "
        f"by {HOWS[config.how].title}"
    )
    result_folder.tell(config, ranking, messages)
