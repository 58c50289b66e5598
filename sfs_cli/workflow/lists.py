"""Rankings that are read from tables, brought to ranks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfs_cli import provenance
from sfs_cli.display import shown
from sfs_cli.errors import InputError, counted
from sfs_cli.io.files.names import is_ranking
from sfs_cli.io.files.table import TextTable
from sfs_cli.io.given import given
from sfs_cli.io.knowledge.sample_columns import find_columns
from sfs_cli.io.results.rankings import (
    ABSOLUTE,
    LARGEST,
    SMALLEST,
    Choice,
    check_ranks,
    choose_columns,
    feature_ids,
    parse_numbers,
    read_rank_table,
    usual_order,
)
from sfs_cli.logs import FIRST, Messages
from sfs_cli.options.aggregate import TableFields
from sfs_cli.ranking.aggregate import midranks
from sfs_cli.run.config import ReadFile
from sfs_cli.run.identity import Identity, identity_of


@dataclass(frozen=True)
class RankedList:
    """One input list."""

    name: str  # different for every list
    table: TextTable
    features: list[str]  # in the order of the file
    ranks: np.ndarray  # shape (len(features),): 1 is best, ties are midranks, NaN is not ranked
    choice: Choice  # the columns that are used
    order: str  # largest-first, smallest-first or absolute; "" for ranks
    whole: int | None  # number of features that were ranked, if the list is their beginning

    @property
    def path(self) -> Path:
        """The file."""
        return self.table.path

    @property
    def n_ranked(self) -> int:
        """Number of features that are ranked."""
        return int(np.count_nonzero(~np.isnan(self.ranks)))

    @property
    def ranked_by(self) -> str:
        """The column that ranks, and which of its values are the best."""
        order = "largest-first by absolute value" if self.order == ABSOLUTE else self.order
        return f"{self.choice.value!r}" + (f", {order}" if order else "")


def ranking_at(path: Path) -> Path:
    """Return the file of a ranking: the path itself, or the only ranking in the folder there.

    A folder without one, or with several, is an `InputError`.
    """
    if not path.is_dir():
        return path
    there = sorted(each for each in path.glob("ranking.*") if each.is_file())
    if len(there) != 1:
        raise InputError(
            f"{path} holds {f'{len(there)} rankings' if there else 'no ranking'}",
            where=", ".join(each.name for each in there) or path,
            hint="give the output folder of sfs rank, or the file of the ranking",
        )
    return there[0]


class Source(NamedTuple):
    """Where a list is."""

    path: Path
    column: str | None  # that ranks, where the user names it

    @classmethod
    def of(cls, text: str) -> Source:
        """Return the file, and the column of ``FILE[:COLUMN]`` or ``FOLDER[:COLUMN]``."""
        path, column = find_columns(text)
        return cls(ranking_at(path), column)

    def as_read(self, role: str) -> ReadFile:
        """Return the file as one that a run reads, in a role."""
        return role, self.path, {} if self.column is None else {"part": self.column}


def read_lists(
    sources: Sequence[Source], names: Sequence[str], config: TableFields, messages: Messages
) -> list[RankedList]:
    """Read tables by the columns that are asked for, and log those that are used."""
    found = []
    for (path, column), name in zip(sources, names):
        table = read_rank_table(path)
        choice = choose_columns(table, config.feature_column, column)
        features = feature_ids(table, choice.feature)
        values, order = np.array(parse_numbers(table, choice.value)), ""
        if choice.is_rank:
            check_ranks(table, choice.value, values.tolist())
        else:
            order = _order(table, choice.value, values, config.order, messages, len(sources) == 1)
        ranks = _ranks(table, choice, values, order)
        made = record_of(path).get("result", {})
        whole = made["n_scored"] if "n_written" in made else None  # of a table that --top has cut
        each = RankedList(name, table, features, ranks, choice, order, whole)
        found.append(each)
        messages.note(
            f"{path}: {each.n_ranked:,} of {len(features):,} features "
            f"({choice.feature or 'first column'!r}) ranked by {each.ranked_by}"
        )
        if each.whole is not None:
            of = counted(each.whole, "feature")
            messages.note(f"{path} is the beginning of a ranking of {of} (sfs rank --top)")
    if config.order is not None and not any(each.order for each in found):
        messages.warn("--order has no effect with columns of ranks, whose rank 1 is the best")
    return found


def _order(
    table: TextTable,
    column: str,
    values: np.ndarray,
    asked: str | None,
    messages: Messages,
    alone: bool,
) -> str:
    """Return which values of a column are the best: as `asked`, or else as usual.

    Warns where that is open, or not what the column is; p-values with a sign are refused. Where
    ``absolute`` is asked of several lists, those whose values have no sign keep their usual order.
    """
    usual, doubt = usual_order(column, values)
    what = f"{table.path}: the values of {column!r}"
    if not usual and asked is None:
        raise InputError(
            f"the values {doubt}",
            where=f"{table.path}, column {column!r}",
            hint="give the p-values without signs, or -log10 of them with the signs",
        )
    if asked == ABSOLUTE and usual:
        return usual if np.nanmin(values) >= 0 and not alone else ABSOLUTE
    turned = usual == SMALLEST if asked == LARGEST else asked == SMALLEST != usual and not alone
    if doubt and (asked is None or not usual):
        messages.warn(f"{what} {doubt}", FIRST)
    elif turned and not doubt:
        told = f"{what} are usually {usual}, and --order {asked} begins with the worst"
        messages.warn(told, FIRST)
    return asked or usual


def _ranks(table: TextTable, choice: Choice, values: np.ndarray, order: str) -> np.ndarray:
    """Rank the features of a table; in one of `sfs`, equal scores share their rank.

    Such a table orders equal scores by their position in the input, which is no preference.
    """
    if order == ABSOLUTE:
        values = np.abs(values)
    larger = order in (LARGEST, ABSOLUTE)
    if not is_ranking(table.columns):
        return midranks(values, larger_is_better=larger)
    scores = np.array(parse_numbers(table, "score"))
    failed = np.isnan(scores) | (np.array(table.columns["status"]) != "ok")
    if failed.all():
        raise InputError(
            "no feature of this ranking has a score",
            where=f"{table.path}, column 'status'",
            hint="omit this table, or see its report for the reason",
        )
    values = np.where(failed, np.nan, values)
    ranks = midranks(values, larger_is_better=larger)
    if choice.is_rank:
        best_first = np.argsort(ranks, kind="stable")[: np.count_nonzero(~failed)]
        in_order = scores[best_first]  # they may be infinite
        group = np.cumsum(np.append(False, in_order[1:] != in_order[:-1]))
        ranks[best_first] = (np.bincount(group, ranks[best_first]) / np.bincount(group))[group]
    return ranks


def matrix_of(path: Path) -> Identity:
    """Return what is known of the matrix that a table ranks, by the record beside it.

    That is nothing where no record says so, or the table is not the one of the record.
    """
    return identity_of(record_of(path).get("inputs"))


def record_of(path: Path) -> dict[str, Any]:
    """Return the record beside a table that is one of its outputs; empty where there is none."""
    record = provenance.read_record(provenance.record_beside(path)) or {}
    return record if path.name in provenance.outputs_of(record) else {}


def list_names(sources: Sequence[Source]) -> list[str]:
    """Name lists by their files, or by the folders of files named ``ranking``.

    A file that is given twice adds the names of the columns; a name that exists already gets a
    number.
    """
    names: list[str] = []
    times = Counter(source.path for source in sources)
    for path, column in sources:
        stem = Path(path.name.removesuffix(".gz").removesuffix(".zst")).stem
        if given(path) is not None:
            stem = str(path)[1:-1]  # the name of an object is no file's
        elif stem == "ranking":
            stem = Path(os.path.realpath(path)).parent.name
        base = shown(f"{stem}_{column}" if column is not None and times[path] > 1 else stem)
        numbered = (f"{base}_{number}" for number in count(2))
        names.append(next(name for name in chain([base], numbered) if name not in names))
    return names
