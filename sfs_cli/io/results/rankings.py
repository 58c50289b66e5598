"""Reading tables that rank features: ours, or anyone's with columns of ids and ranks or scores."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from sfs_cli.errors import COPY_AGAIN, InputError, listed, nearest
from sfs_cli.io.files.names import check_names, is_ranking, nfc
from sfs_cli.io.files.sniff import examine
from sfs_cli.io.files.table import (
    NULL_TOKENS,
    ONE_COLUMN,
    TextTable,
    first_rows,
    is_id_name,
    is_number,
    name_words,
    names_p_values,
    read_table,
    read_unnamed,
    texts_of,
    words_of_column,
)
from sfs_cli.io.files.text import first_lines, read_whole, repeated, text_suffix

_RNK_COLUMNS = ("feature", "score")
_FEATURES = (
    *("feature", "features", "gene", "genes", "gene_name", "gene_symbol", "symbol", "hgnc_symbol"),
    *("gene_id", "ensembl", "entrez", "protein", "probe", "name", "names", "id"),
)
_IN_ORDER = "order_of_lines"
"""The column of ranks that a list of ids without one gets."""
_RANKS = ("rank", "ranking", _IN_ORDER)
_SCORES = ("score", "scores")
LARGEST, SMALLEST, ABSOLUTE = "largest-first", "smallest-first", "absolute"
"""Which values of a column are the best; absolute: the largest without their signs."""
_OF_RANKS = re.compile(r"(?:^|_)(?:rank|ranks|ranking)(?:_|$)")
_NO_RANKS = re.compile(
    r"(?:^|_)(?:page|pct|perc[a-z]*|reciprocal|inv[a-z]*|weights?|importances?|scores?"
    r"|stat[a-z]*|sum|points?|biserial)(?:_|$)"
)
"""Words beside rank in names of what is largest for the best: PageRank, rank_weight."""
_CHANGE = r"(?:fc|fold_?changes?|(?:odds|hazard|risk)_ratios?)"
_SIGNED = re.compile(
    rf"(?:^|_)(?:signed|metric|(?:log|ln|l)?_?{_CHANGE}|lfc|changes?|diff[a-z]*|delta[a-z]*|d_?psi"
    r"|effects?|betas?|coef[a-z]*|estimates?|contrasts?|cohens?|hedges|[tz]|[tz]_?(?:scores?|ratio)"
    r"|[tz]?_?stat(?:istic)?s?|[tz]_?val(?:ue)?s?|wald|n?es|cor|corr(?!ect)[a-z]*|rho|tau|pearson"
    r"|spearman|kendall|loadings?|weights?|shap)(?:_|$)"
)
_WITH_SIGN = re.compile(r"(?i)(?<!un)(?<!de)signed(?![\W_]*rank)")  # but no signed-rank test
_RATIO = re.compile(rf"(?:^|_)(?<!log_)(?<!ln_){_CHANGE}(?:_|$)")
_PORTION = re.compile(
    r"(?:^|_)(?:au[a-z]*c|importances?|freq[a-z]*|prob[a-z]*|pip|accuracy|gains?)"
)
"""Names of values between 0 and 1 of which the largest are the best."""
_LIST_HINT = (
    "a ranking needs a column of features and one of ranks or scores; or write the ids alone, one "
    "in each line, the best first"
)
_JSON_HINT = 'write it as [{"feature": "TP53", "rank": 1}, ...], as `sfs rank --format json` does'


def read_rank_table(path: Path) -> TextTable:
    """Read delimited text, Parquet, JSON records, rnk, or a list of ids, the best first."""
    is_text, suffix = examine(path).is_text, text_suffix(path)
    first = "".join(text for _, text in first_lines(path, 1)).lstrip() if is_text else ""
    if is_text and suffix == ".rnk":
        table = _read_rnk(path)
    elif is_text and (suffix == ".json" or first.startswith(("[", "{"))):
        return _read_json(path)
    elif first and first_rows(path)[1] is None:
        table = _read_ids(path)
    else:
        table = read_table(path)
    if not table.rows:
        raise InputError("the table has no rows", where=path, hint=COPY_AGAIN)
    return table


def _read_rnk(path: Path) -> TextTable:
    """Read GSEA's two columns without names; a first line without a number is taken as names."""
    hint = "write a feature, a tab and its score in each line"
    return read_unnamed(path, _RNK_COLUMNS, hint, lambda row: not is_number(row[1]))


def _read_ids(path: Path) -> TextTable:
    """Read an id in each line, the best first; a usual name of such a column may be above them."""
    table = read_unnamed(path, ["feature"], _LIST_HINT, lambda row: is_id_name(row[0]))
    ids = table.columns["feature"]
    # a name may be above scores; 7157, 2310009E13 (RIKEN), nan and inf are names of genes
    numbers = ids[1:] or ids
    whole = all(text.strip("+-").isalnum() for text in numbers)
    if not ids or (not whole and all(map(is_number, numbers))):
        raise InputError(ONE_COLUMN, where=path, hint=_LIST_HINT)
    ranks = [str(rank) for rank in range(1, len(ids) + 1)]
    return replace(table, columns={"feature": ids, _IN_ORDER: ranks})


def _read_json(path: Path) -> TextTable:
    """Read a list of records; a value that one lacks is missing."""
    try:
        records = json.loads(read_whole(path))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the JSON cannot be read ({error})", where=path, hint=COPY_AGAIN
        ) from None
    known = isinstance(records, list) and all(isinstance(record, dict) for record in records)
    names = dict.fromkeys(chain.from_iterable(records)) if known else {}
    if not names:
        raise InputError("the JSON is not a list of records", where=path, hint=_JSON_HINT)
    columns = {nfc(name): texts_of(record.get(name) for record in records) for name in names}
    return TextTable(path, columns, range(1, len(records) + 1), "record")


@dataclass(frozen=True)
class Choice:
    """The columns that name the features and rank them; `is_rank`: ranks, else scores."""

    feature: str
    value: str
    is_rank: bool


def usual_order(name: str, values: np.ndarray) -> tuple[str, str]:
    """Return which values of a column of scores are the best ("": none), and what is open.

    The name says what a column is, as far as the values are such. Ranks and p-values are best where
    they are smallest, and so are logarithms of p-values, unless their sign was turned. What has a
    sign by its name, as fold changes, t, z and coefficients do, is ordered without it. All others
    are best where they are largest; `values`, some of which are numbers, may raise a doubt.
    """
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    words = words_of_column(name)
    unsigned = _WITH_SIGN.sub("_", name)
    are_p, are_logs = (names_p_values(unsigned, logarithms=logs) for logs in (False, True))
    if are_logs and not low < 0 < high:
        return (LARGEST if low >= 0 else SMALLEST), ""
    if are_p and low >= 0:
        doubt = (
            f"are p-values by the name, but reach {high:.4g}; the smallest are taken as the best"
        )
        return SMALLEST, "" if high <= 1 else f"{doubt}: of -log10(p) give --order {LARGEST}"
    by_name = _OF_RANKS.search(words) and not _NO_RANKS.search(words)
    if by_name and low >= 0 and not re.match(r"\W*X?1\W|-|neg[a-z]*_", name, re.I):  # 1/rank, -rank
        if low >= 1 and np.all(np.isnan(values) | (2 * values % 1 == 0)):
            return SMALLEST, ""
        doubt = "are no ranks (1, 2, 3, ...), and the largest are taken as the best"
        return LARGEST, f"{doubt}: of ranks give --order {SMALLEST}"
    if are_p and not are_logs and -1 <= low < 0 and high <= 1:
        return "", "are p-values with a sign by the name, and no order has the best of them first"
    if _SIGNED.search(words) or are_p:
        doubt = "are ratios, and those below 1 are taken as the smallest: give their logarithms"
        one_sided = low < 1 < high and _RATIO.search(words) is not None
        if low < 0 or one_sided or not re.search("(?:^|_)[pq](?:_|$)", words):  # p_effect
            return (ABSOLUTE, "") if low < 0 else (LARGEST, doubt if one_sided else "")
    if low < 0 < high:
        doubt = f"have both signs ({low:.4g} to {high:.4g}), and the largest are taken as the best"
        return LARGEST, f"{doubt}: of a two-sided statistic give --order {ABSOLUTE}"
    if 0 <= low < 0.05 and 0.5 < high <= 1 and not _PORTION.search(words):
        doubt = f"are between 0 and 1 ({low:.4g} to {high:.4g}), and the largest are taken as the"
        return LARGEST, f"{doubt} best: of p-values give --order {SMALLEST}"
    return LARGEST, ""


def choose_columns(table: TextTable, feature: str | None, value: str | None) -> Choice:
    """Choose the columns of a table, by the names that the user gave or by usual names.

    Features: the column asked for, else the first of the usual names (``feature``, ``gene``,
    ``symbol``, ``name``, ``id``...), else a first column without a name, else the first whose
    values are not numbers. Values: the column asked for, of ranks if it is called so, else
    ``rank``, else ``score``, else the only other column of numbers. No such column, or several
    that could be meant, is an `InputError`.
    """
    names = list(table.columns)

    def asked(name: str, flag: str) -> str:
        name = nfc(name)
        if name not in names:
            what = f"there is no column {name!r}, given as {flag}"
            raise InputError(what, where=table.path, hint=nearest(name, names))
        return name

    def numeric(name: str) -> bool:
        known = [value for value in table.columns[name] if value not in NULL_TOKENS]
        return bool(known) and all(map(is_number, known))

    if feature is None:
        usual = chain(_named(names, _FEATURES), (name for name in names if not name))
        feature = next(chain(usual, (name for name in names if not numeric(name))), None)
    else:
        feature = asked(feature, "--feature-column")
    if feature is None:
        raise InputError(
            "it is not clear which column names the features: all hold numbers",
            where=f"{table.path} (columns: {listed(names, 10)})",
            hint="name it with --feature-column",
        )
    if value is not None:
        value = asked(value, "the one that ranks")
        if value == feature:
            raise InputError(
                f"column {value!r} names the features and cannot rank them too",
                where=table.path,
                hint="give another FILE:COLUMN, or the column of the features: --feature-column",
            )
        if is_ranking(table.columns) and value == "score":
            value = "rank"  # the ranking is by its score, of which small ones may be the best
        return Choice(feature, value, _plain(value) in _RANKS)
    others = [name for name in names if name != feature]
    ranks, scores = _named(others, _RANKS), _named(others, _SCORES)
    values = (ranks or scores)[:1] or list(filter(numeric, others))
    if len(values) != 1:
        what = f"columns of numbers: {listed(values, 10)}" if values else "no other has numbers"
        raise InputError(
            "it is not clear which column ranks the features",
            where=f"{table.path} ({what})",
            hint="name it after the file, FILE:COLUMN, or call it rank or score",
        )
    return Choice(feature, values[0], bool(ranks))


def _plain(name: str) -> str:
    return "_".join(name_words(name))


def _named(columns: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the columns with a wanted name, in the order of those."""
    return [name for word in wanted for name in columns if _plain(name) == word]


def parse_numbers(table: TextTable, column: str) -> list[float]:
    """Return a column as numbers, missing values as NaN; other text is an `InputError`."""
    texts = ["nan" if text in NULL_TOKENS else text for text in table.columns[column]]
    for row, text in enumerate(texts):
        if not is_number(text):
            raise InputError(
                f"{text!r} is not a number",
                where=table.where(row, column),
                hint="name another column, FILE:COLUMN, or write missing values as NA",
            )
    numbers = list(map(float, texts))
    if all(map(math.isnan, numbers)):
        raise InputError(
            "no feature has a value",
            where=f"{table.path}, column {column!r}",
            hint="name another one after the file, FILE:COLUMN",
        )
    return numbers


def check_ranks(table: TextTable, column: str, ranks: Sequence[float]) -> None:
    """Refuse what is no rank: less than 1, infinite, or a fraction.

    Features may share a rank; the mean of theirs may be a half.
    """
    for row, rank in enumerate(ranks):
        if not (math.isnan(rank) or (1 <= rank < math.inf and 2 * rank % 1 == 0)):
            raise InputError(
                f"{table.columns[column][row]!r} is no rank",
                where=table.where(row, column),
                hint="ranks are 1, 2, 3, ...; tied features may share one, or the mean of theirs; "
                "scores are in a column of another name",
            )


def feature_ids(table: TextTable, column: str) -> list[str]:
    """Return the ids of the features; an empty or repeated id is an `InputError`."""
    names = list(table.columns[column])
    if "" in names:
        where = table.where(names.index(""), column)
        raise InputError("a row has no feature", where=where, hint="name it, or remove it")
    for name in repeated(names):
        first = names.index(name)
        raise InputError(
            f"feature {name!r} is ranked twice, in {table.unit} {table.rows[first]} too",
            where=table.where(names.index(name, first + 1), column),
            hint="leave one row for each feature, or name another column: --feature-column",
        )
    check_names(names, "a feature", table.path)
    return names
