"""The lists that ``sfs aggregate`` reads, brought to ranks of the same features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfs_cli.config.aggregate import AggregateConfig
from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.rank_columns import (
    Choice,
    choose_columns,
    feature_ids,
    is_ours,
    parse_numbers,
    smaller_is_better,
)
from sfs_cli.io.rank_table import RankTable, read_rank_table
from sfs_cli.logs import Messages
from sfs_cli.ranking.aggregate import midranks


@dataclass(frozen=True)
class RankedList:
    """One list.

    Attributes
    ----------
    name : str
        Unlike that of any other list.
    path : Path
        Its file.
    features : list of str
        In the order of the file.
    ranks : ndarray, shape (len(features),)
        1 is best, ties as midranks, NaN for what is not ranked.
    choice : Choice
        The columns that were taken.
    order : str
        ``largest-first`` or ``smallest-first``; "" for ranks.
    """

    name: str
    path: Path
    features: list[str]
    ranks: np.ndarray
    choice: Choice
    order: str

    @property
    def n_ranked(self) -> int:
        """How many features are ranked."""
        return int(np.count_nonzero(~np.isnan(self.ranks)))

    @property
    def taken(self) -> str:
        """Which column ranks, and which end of it is the best."""
        return f"{self.choice.value!r}" + (f", {self.order}" if self.order else "")


@dataclass(frozen=True)
class Aligned:
    """Ranks of the same features in all lists.

    Attributes
    ----------
    features : list of str, length m
        Of all lists, in the order of their first appearance.
    ranks : ndarray, shape (m, L)
        NaN where a list does not rank the feature.
    """

    features: list[str]
    ranks: np.ndarray


def read_lists(config: AggregateConfig, messages: Messages) -> list[RankedList]:
    """Read all tables, and say which columns were taken.

    Raises
    ------
    InputError
        For a table that ranks nothing, or a feature twice.
    UsageError
        For an order that no table has use for.
    """
    paths = [Path(path) for path in config.rankings]
    lists = []
    for name, path in zip(list_names(paths), paths):
        found = _read_list(name, path, config)
        messages.note(
            f"{path}: {found.n_ranked:,} of {len(found.features):,} features "
            f"({found.choice.feature or 'first column'!r}) ranked by {found.taken}"
        )
        lists.append(found)
    if config.order is not None and not any(found.order for found in lists):
        raise UsageError(
            "--order has no effect: every table has a column of ranks, and rank 1 is the best",
            hint="leave it out, or name a column of scores with --score-column",
        )
    return lists


def align(lists: Sequence[RankedList]) -> Aligned:
    """Bring the ranks of all lists to the same features."""
    place: dict[str, int] = {}
    for found in lists:
        for name in found.features:
            place.setdefault(name, len(place))
    ranks = np.full((len(place), len(lists)), np.nan)
    for column, found in enumerate(lists):
        ranks[[place[name] for name in found.features], column] = found.ranks
    return Aligned(list(place), ranks)


def list_names(paths: Sequence[Path]) -> list[str]:
    """Name lists by their files, or the folders of files called ``ranking``.

    A name that is taken gets a number.
    """
    names: list[str] = []
    for path in paths:
        stem = path.name.removesuffix(".gz").removesuffix(".zst")
        stem = Path(stem).stem
        base = path.resolve().parent.name if stem == "ranking" else stem
        name, number = base, 1
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names.append(name)
    return names


def _read_list(name: str, path: Path, config: AggregateConfig) -> RankedList:
    table = read_rank_table(path)
    choice = choose_columns(table, config.feature_column, config.rank_column, config.score_column)
    features = feature_ids(table, choice.feature)
    values = np.array(parse_numbers(table, choice.value))
    order = "" if choice.is_rank else config.order or _usual_order(choice.value)
    if is_ours(table):
        return RankedList(
            name, path, features, _own_ranks(table, choice, values, order), choice, order
        )
    ranks = midranks(values, larger_is_better=order == "largest-first")
    return RankedList(name, path, features, ranks, choice, order)


def _usual_order(column: str) -> str:
    return "smallest-first" if smaller_is_better(column) else "largest-first"


def _own_ranks(table: RankTable, choice: Choice, values: np.ndarray, order: str) -> np.ndarray:
    """Rank the features of a table of ours: those with a score, equal scores sharing their rank.

    There the rank of equal scores is that of their position, which is no preference.
    """
    scores = np.array(parse_numbers(table, "score"))
    failed = np.isnan(scores) | (np.array(table.columns["status"]) != "ok")
    if failed.all():
        raise InputError(
            "no feature of this ranking has a score",
            where=f"{table.path}, column 'status'",
            hint="leave the table out, or see in its report why",
        )
    values = np.where(failed, np.nan, values)
    ranks = midranks(values, larger_is_better=order == "largest-first")
    if not choice.is_rank:
        return ranks
    best_first = np.argsort(ranks, kind="stable")[: np.count_nonzero(~failed)]
    new_score = np.diff(scores[best_first], prepend=np.nan) != 0
    group = np.cumsum(new_score) - 1
    mean = np.bincount(group, ranks[best_first]) / np.bincount(group)
    ranks[best_first] = mean[group]
    return ranks
