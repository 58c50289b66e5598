"""Telling which columns of a table name the features and rank them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfs_cli.errors import InputError, listed, nearest
from sfs_cli.io.header import NULL_TOKENS, is_number
from sfs_cli.io.rank_table import RankTable

_FEATURES = (
    *("feature", "features", "gene", "genes", "gene_name", "gene_symbol", "symbol", "hgnc_symbol"),
    *("gene_id", "ensembl", "entrez", "protein", "probe", "name", "names", "id"),
)
_RANKS = ("rank", "ranking")
_SCORES = ("score", "scores")
_P_VALUES = ("p", "pval", "pvals", "padj", "fdr", "qval", "q", "pvals_adj", "adj_p_val")
_OURS = ("rank", "feature", "score", "status")


@dataclass(frozen=True)
class Choice:
    """Which columns are taken.

    Attributes
    ----------
    feature, value : str
        Names of columns.
    is_rank : bool
        Whether the values are ranks, else scores.
    """

    feature: str
    value: str
    is_rank: bool


def is_ours(table: RankTable) -> bool:
    """Say whether a table is one that this program writes."""
    return tuple(table.columns)[: len(_OURS)] == _OURS


def smaller_is_better(column: str) -> bool:
    """Say whether a column of scores holds p-values, by its name."""
    name = _plain(column)
    return (
        name in _P_VALUES or "pvalue" in name.replace("_", "") or "qvalue" in name.replace("_", "")
    )


def choose_columns(
    table: RankTable, feature: str | None, rank: str | None, score: str | None
) -> Choice:
    """Choose the columns of a table.

    Parameters
    ----------
    table : RankTable
        The table.
    feature, rank, score : str, optional
        Names that the user gave; at most one of `rank` and `score`.

    Returns
    -------
    Choice
        Features: the column asked for, else the first of the usual names (``feature``, ``gene``,
        ``symbol``, ``name``, ``id``...), else a first column without a name, else the first whose
        values are not numbers. Values: the column asked for, else ``rank``, else ``score``, else
        the only other column of numbers.

    Raises
    ------
    InputError
        If there is no such column, or it cannot be told.
    """
    feature = _asked(table, feature, "--feature-column") or _feature_column(table)
    if rank is not None or score is not None:
        flag = "--rank-column" if rank is not None else "--score-column"
        value = str(_asked(table, rank if rank is not None else score, flag))
        if value == feature:
            raise InputError(
                f"column {value!r} names the features and cannot rank them too",
                where=str(table.path),
                hint=f"give another {flag}, or say which names them: --feature-column",
            )
        return Choice(feature, value, rank is not None)
    others = [name for name in table.columns if name != feature]
    for names, is_rank in ((_RANKS, True), (_SCORES, False)):
        if found := _named(others, names):
            return Choice(feature, found, is_rank)
    numeric = [name for name in others if _is_numeric(table.columns[name])]
    if len(numeric) != 1:
        what = f"columns of numbers: {listed(numeric, 10)}" if numeric else "no other has numbers"
        raise InputError(
            "which column ranks the features cannot be told",
            where=f"{table.path} ({what})",
            hint="name it with --rank-column or --score-column",
        )
    return Choice(feature, numeric[0], False)


def _asked(table: RankTable, name: str | None, flag: str) -> str | None:
    if name is not None and name not in table.columns:
        raise InputError(
            f"there is no column {name!r}, which {flag} names",
            where=str(table.path),
            hint=nearest(name, table.columns),
        )
    return name


def _feature_column(table: RankTable) -> str:
    names = list(table.columns)
    if found := _named(names, _FEATURES):
        return found
    if "" in names:
        return ""
    texts = (name for name in names if not _is_numeric(table.columns[name]))
    text = next(texts, None)
    if text is None:
        raise InputError(
            "which column names the features cannot be told: all hold numbers",
            where=f"{table.path} (columns: {listed(names, 10)})",
            hint="name it with --feature-column",
        )
    return text


def _plain(name: str) -> str:
    return name.lower().replace(" ", "_").replace(".", "_").replace("-", "_")


def _named(columns: Sequence[str], wanted: Sequence[str]) -> str | None:
    by_name = {_plain(name): name for name in reversed(columns)}
    return next((by_name[name] for name in wanted if name in by_name), None)


def _is_numeric(values: Sequence[str]) -> bool:
    known = [value for value in values if value not in NULL_TOKENS]
    return bool(known) and all(map(is_number, known))


def parse_numbers(table: RankTable, column: str) -> list[float]:
    """Return a column as numbers; what is missing is NaN.

    Raises
    ------
    InputError
        If a value is not a number, or none is there.
    """
    numbers = []
    for row, value in enumerate(table.columns[column]):
        if value in NULL_TOKENS:
            numbers.append(math.nan)
        elif is_number(value):
            numbers.append(float(value))
        else:
            raise InputError(
                f"{value!r} is not a number",
                where=table.where(row, column),
                hint="name another column (--rank-column, --score-column), or write missing "
                "values as NA",
            )
    if all(map(math.isnan, numbers)):
        raise InputError(
            "no feature has a value",
            where=f"{table.path}, column {column!r}",
            hint="name another column with --rank-column or --score-column",
        )
    return numbers


def feature_ids(table: RankTable, column: str) -> list[str]:
    """Return the ids of the features.

    Raises
    ------
    InputError
        If one is empty or stands in two rows.
    """
    seen: dict[str, int] = {}
    for row, name in enumerate(table.columns[column]):
        if not name:
            raise InputError(
                "a row has no feature", where=table.where(row, column), hint="name it, or remove it"
            )
        if name in seen:
            raise InputError(
                f"feature {name!r} is ranked twice, in {table.unit} {table.rows[seen[name]]} too",
                where=table.where(row, column),
                hint="leave one row for each feature, or name another column: --feature-column",
            )
        seen[name] = row
    return list(seen)
