"""Columns of numbers that are no samples: annotations of genes, and results of tests.

They are suspected by name and by scale: a name that no sample has, one that a sample may have if
its values are of another kind than those of the samples, and any name if its values are of another
kind. All are warned of; a table in which hardly a sample is left is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.likeness import OF_VALUES
from sfs_cli.io.files.table import (
    NULL_TOKENS,
    annotations_among,
    are_lists,
    is_like_number,
    may_be_numbers,
)
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.guards import GUARDS
from sfs_cli.ranking.prune import standardized
from sfs_cli.store.matrix import Matrix, look

LOOKED_AT = 1 << 20
"""Texts of a column that are looked at."""
FEATURES, LEAST_FEATURES, LEAST_SAMPLES = 512, 30, 4
"""Features that are read; values of fewer features, or of fewer columns, are not enough."""
MOST_COLUMNS = 10_000
"""Columns of tables that people make; single cells are more."""
FEW, PART = 5, 4
"""Limits of the columns of another kind than the others: their number, and fraction (1/N)."""
SHARE = 0.05
"""Values are negative, or zero, often if they are so in this part of the features."""
OTHER_SIZE = 1.5
"""Factor by which values of another kind are larger at least."""
COPY = "has the values of another column: a sample that counts twice makes p-values too small"
DISTINCT = 8
"""Values of a column that no other has by chance."""
ADDED = 5
"""Last rows that may be sums, means and the like."""
SAMPLES_OF_SUMS = 8
"""First samples in which these are looked for: they are so in all."""
RELATIVE = 1e-4
"""Relative rounding error within which sums and means are recognized."""
TIMES = 1000
"""Factor by which a column of another size is larger than the others: library sizes differ less."""
AGREE, NEAR, FAR = 0.3, 0.8, 0.5
"""Samples agree if their rank correlation with the others is typically the first; a column is near
them above the second part of that, and far below the third."""
HOW = "remove from the table what is no sample"
TURNED = "if the samples are in rows, give --rows samples; else "


MOST_CLASSES = 20
_WORD_BEGINS = r"(?:^|[\W_]|(?<=[a-z])(?=[A-Z]))"
_WORD_ENDS = r"s?(?:[\W_\d]|(?<=[a-z])(?=[A-Z])|$)"
_LAST = r"(?:[\W_]*(?i:ids?|no|nr|number|name|code|date|label))?[\W_\d]*$"
"""What may follow the name of batches: patient_sex and library_size are none."""
_DONORS = "donor patient subject individual participant "
_OF_CELLS = "mouse animal sample "
_BATCHES = "batch plate lane run (?<!primary.)(?<!body.)(?<!tumor.)(?<!tumour.)site center centre "
_BATCHES += (
    _DONORS
    + _OF_CELLS
    + "chip library lot slide prep kit pool experiment study dataset sequencer platform "
)
_BATCHES += "charge lauf zentrum klinik lote lieu centro serie"
_CLASSES = "type tissue class label labels condition group disease diagnosis status treatment "
_CLASSES += "celltype genotype stage subtype cluster leiden louvain phenotype sex gender outcome "
_CLASSES += "event death dead died deceased censored relapse vital"


def _named(words: str, ends: str = _WORD_ENDS) -> re.Pattern[str]:
    return re.compile(f"{_WORD_BEGINS}(?i:{'|'.join(words.split())}){ends}")


LIKE_BATCHES, LIKE_CLASSES = _named(_BATCHES, _LAST), _named(_CLASSES)
LIKE_DONORS, DONORS_OF_CELLS = _named(_DONORS, _LAST), _named(_DONORS + _OF_CELLS, _LAST)
"""In bulk studies a sample, or an animal, may be a condition that has replicates."""
_OF_GENES = _named("gene transcript feature probe protein peptide")


Reasons = dict[int, str]
"""Why columns seem to be no samples, by their positions."""


_MAY_BE_SAMPLES = {"", "norm", "log", "est", "estimated", "expected", "raw"}
"""P1 and P1_norm may be a tumour and the normal tissue beside it."""


class Suspects(NamedTuple):
    """Columns that seem to be no samples, each with the reason."""

    none: list[tuple[str, str]]  # that surely are not
    doubtful: list[tuple[str, str]]


def check_columns(
    config: RankConfig,
    matrix: Matrix,
    chosen: np.ndarray | None,
    known: Collection[str],
    log: Messages,
) -> int:
    """Warn of columns that seem to be no samples; return how many features were looked at.

    `chosen` are the indices of the samples that are used, None for all; `known` are samples by what
    other files say. Raises InputError where fewer than two columns are left that may be samples.
    """
    values, names = look(matrix, FEATURES), matrix.ids.samples
    if chosen is not None:
        chosen = np.sort(chosen)  # as in the file, where sums are the last ones
        values, names = values[:, chosen], [names[i] for i in chosen.tolist()]
    found = look_at(values, names, known)
    if twice := two_of_each(names, values):
        log.warn(f"{twice} [columns]", GUARDS["columns"].weight)
    copied = not found.none and {why for _, why in found.doubtful} == {f"it {COPY}"}
    of_rows = config.rows == "auto" and matrix.ids.obs is None and not (known or copied)
    turned = TURNED if of_rows else ""
    if found.none and len(names) - len(found.none) < 2:
        raise InputError(
            seeming(found.none),
            where=config.matrix,
            hint=f"{turned}give the matrix of the samples: a table of results is a list, which sfs "
            "aggregate, select and evaluate --list read",
        )
    if suspects := [*found.none, *found.doubtful]:
        leave = "or leave it out by --labels of the samples and --samples intersect"
        text = f"{seeming(suspects)}; all are taken as samples: {turned}{HOW}, {leave} [columns]"
        log.warn(text, GUARDS["columns"].weight)
    return len(values)


def seeming(found: Sequence[tuple[str, str]], none: str = "sample") -> str:
    """Return what is said of columns that seem to be `none`, those of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in found:
        by_reason.setdefault(why, []).append(name)
    names = "; ".join(f"{listed(each, 8)} ({why})" for why, each in by_reason.items())
    seem = f"seems to be no {none}" if len(found) == 1 else f"seem to be no {none}s"
    return f"{names} {seem}"


def kinds_of(names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the columns that have values of the same samples, by kind of value: where each is.

    Kinds are told by how names begin, or end; "" are names without. Empty where the samples have
    one kind of values each, as nearly all tables do.
    """
    for pattern in OF_VALUES if LEAST_SAMPLES < len(names) <= MOST_COLUMNS else ():
        parts = [pattern.fullmatch(name) for name in names]
        samples = [found["sample"] if found else name for found, name in zip(parts, names)]
        times, kinds = Counter(samples), dict[str, dict[str, int]]()
        for at, (found, sample) in enumerate(zip(parts, samples)):
            if times[sample] > 1:
                kinds.setdefault(found["kind"].lower() if found else "", {})[sample] = at
        if len(kinds) > 1 and 2 * sum(map(len, kinds.values())) > len(names):
            return kinds
    return {}


def two_of_each(names: Sequence[str], values: np.ndarray) -> str | None:
    """Warn of columns of several kinds of values (b, n) of the same samples."""
    kinds = kinds_of(names)
    if not kinds or (kinds.keys() <= _MAY_BE_SAMPLES and _are_alike(values, kinds)):
        return None
    first = next(iter(next(iter(kinds.values()))))
    columns = [names[samples[first]] for samples in kinds.values() if first in samples]
    return (
        f"{sum(map(len, kinds.values())):,} columns are {len({*chain(*kinds.values())}):,} samples "
        f"with several kinds of values, such as {' and '.join(columns)}: each sample counts as "
        "several, and kinds of values are compared as if they were samples; keep one kind in the "
        f"table, or name its columns ({columns[0]}, ...) in a table of samples: --labels "
        "FILE:COLUMN and --samples intersect"
    )


def _are_alike(values: np.ndarray, kinds: Mapping[str, Mapping[str, int]]) -> bool:
    """Tell whether the columns of all kinds have values (b, n) of the same kind and size."""
    each = [values[:, [*samples.values()]] for samples in kinds.values()]
    each = [part[np.isfinite(part)] for part in each]
    if not all(map(len, each)):
        return False
    sizes = [np.abs(part).mean() for part in each]
    whole = {bool((part == np.rint(part)).all()) for part in each}
    return len(whole) == 1 and max(sizes) <= OTHER_SIZE * min(sizes)


def sample_classes(var: Mapping[str, Iterable[str]]) -> str | None:
    """Return an annotation of the features that looks like classes of samples, or None."""
    for name, texts in var.items():
        named = LIKE_CLASSES.search(name) and not _OF_GENES.search(name)
        if named and 2 <= len({*texts}) <= MOST_CLASSES:
            return name
    return None


def refuse_numbers(columns: Mapping[str, Sequence[str]], where: object) -> None:
    """Refuse texts that are numbers for the most part: these are values of a sample.

    Not those whose name is that of an annotation: chromosomes and ids may be numbers; nor lists.
    """
    for name, texts in columns.items():
        known = {text for text in texts[:LOOKED_AT] if text not in NULL_TOKENS}
        numbers = sorted(filter(is_like_number, known))
        fits = may_be_numbers(name) or are_lists(texts[:LOOKED_AT])
        if numbers and 2 * len(numbers) >= len(known) and not fits:
            raise InputError(
                f"column {name!r} holds {counted(len(numbers), 'number')} as text "
                f"({listed(numbers, 3)})",
                where=where,
                hint="write values as numbers, and missing ones as NA, or remove the column",
            )


def look_at(values: np.ndarray, names: Sequence[str], known: Collection[str] = ()) -> Suspects:
    """Tell which columns are no samples, by values of some features, shape (b, n), and names.

    Those that are `known` are samples, whatever their names.
    """
    by_name = ["" if n in known else each for n, each in zip(names, annotations_among(names))]
    of_samples = np.array([each != "sure" for each in by_name])
    # t and b are statistics, unless samples are called by letters
    letters = any(len(name) == 1 and not each for name, each in zip(names, by_name))
    maybe = [
        i
        for i, each in enumerate(by_name)
        if each == "maybe" and not (letters and len(names[i]) == 1)
    ]
    plain = of_samples.copy()  # whose names are not suspect
    plain[maybe] = False
    sums, odd, near = Reasons(), Reasons(), set[int]()
    middle = set[int]()
    values = values[np.isfinite(values).all(axis=1)].astype(np.float64)
    if len(values) >= LEAST_FEATURES and of_samples.sum() >= LEAST_SAMPLES:
        sums = _added(values, of_samples)
        for kind in kinds_of(names).values():  # normalized values have a mean of their own
            sums |= _sums(values, np.isin(np.arange(len(names)), [*kind.values()]))
        odd = _odd(values, of_samples, plain)
        near, middle = _agreeing(values, of_samples, [*odd, *maybe])
    first = dict[bytes, int]()
    for i, column in enumerate(np.ascontiguousarray(values.T)):
        if first.setdefault(column.tobytes(), i) != i and len(np.unique(column)) > DISTINCT:
            odd[i] = COPY
    none = dict.fromkeys(np.flatnonzero(~of_samples).tolist(), "by the name") | sums
    none |= {i: f"by the name, and it {odd[i]}" for i in maybe if i in odd and i not in near}
    doubtful = {i: f"it {why}" for i, why in odd.items() if i not in near | middle}
    unclear = dict.fromkeys((i for i in maybe if i not in near), "by the name")
    if none and not plain.any():  # a table of results: a name is enough
        none = unclear | none
    else:
        doubtful |= unclear
    return Suspects(
        [(names[i], none[i]) for i in sorted(none)],
        [(names[i], doubtful[i]) for i in sorted(doubtful) if i not in none],
    )


def _sums(values: np.ndarray, own: np.ndarray, others: str = "columns") -> Reasons:
    """Return a column that is the sum or the mean of others among its `own`, with the reason.

    `own` tells which columns are added up, shape (n,): without the one itself, where it is among
    them. `others` is what they are called.
    """
    total = values @ own.astype(np.float64)
    largest, scale = np.abs(total).argmax(), np.abs(total).max() or 1.0
    total /= scale  # squares of large values would overflow
    near = RELATIVE * np.linalg.norm(total)
    found: Reasons = {}
    for times, what in ((np.where(own, 2, 1), "sum"), (np.full(len(own), own.sum()), "mean")):
        # a column that is far in one feature is so in all, and few are not
        at = np.flatnonzero(np.abs(times * values[largest] / scale - total[largest]) <= near)
        off = np.linalg.norm(times[at] * values[:, at] / scale - total[:, None], axis=0)
        at = at[(off <= near) & (near > 0)]
        if len(at) == 1:  # of samples that are all the same, each is the mean of the others
            found[int(at[0])] = f"it is the {what} of the other {others}"
    return found


def sums_of_features(values: np.ndarray, named: Sequence[int] = ()) -> Reasons:
    """Return features (m, n) that are sums or means of those that are not `named` so."""
    own = np.ones(len(values), bool)
    own[[*named]] = False
    if own.sum() < LEAST_FEATURES or values.shape[1] < LEAST_SAMPLES:
        return {}
    return _added(values[:, :SAMPLES_OF_SUMS].T.astype(np.float64), own, "features")


def _added(values: np.ndarray, own: np.ndarray, others: str = "columns") -> Reasons:
    """Return sums and means as `_sums` does, also where they stand together as the last columns.

    What stands there with them is such, too: deviations, largest values and the like.
    """
    for first in range(m := len(own), max(m - ADDED, LEAST_SAMPLES - 1), -1):
        if found := _sums(values, own & (np.arange(m) < first), others):
            beside = f"it stands beside a sum or mean of the other {others}"
            return {i: beside for i in range(first, m) if own[i]} | found
    return {}


def _odd(values: np.ndarray, of_samples: np.ndarray, plain: np.ndarray) -> Reasons:
    """Return the columns whose values are of another kind than those of the others, and how.

    The others are `plain`, those whose names are not suspect, (n,), of which few may be odd.
    Constant columns, as of a library that has failed, are not among them. Of fewer others nothing
    follows: two shallow libraries have zeros where others have none.
    """
    varies = values.min(axis=0) < values.max(axis=0)
    if (varies & plain).sum() < LEAST_SAMPLES - 1:
        return {}
    whole = (values == np.rint(values)).all(axis=0)
    negative, zero = (values < 0).mean(axis=0), (values == 0).mean(axis=0)
    size = np.abs(values).mean(axis=0)
    parts = ((values > 0) & (values < 1)).mean(axis=0)
    large = size > TIMES * np.median(size[plain & varies])
    kinds = (
        (whole, ~whole, "has only whole numbers, unlike the others"),
        (~whole, whole, "has numbers that are not whole, unlike the others"),
        (negative > SHARE, negative == 0, "has negative numbers, unlike the others"),
        (zero == 0, zero > SHARE, "is nowhere zero, unlike the others"),
        (parts == 1, parts < 0.5, "has only numbers between 0 and 1, unlike the others"),
        (large, ~large, f"has numbers {TIMES:,} times as large as the others"),
    )
    found: Reasons = {}
    count = int((plain & varies).sum())
    for here, others, why in kinds:
        few = here & varies & of_samples
        rest = others[~few & varies & plain]
        if (few & plain).sum() <= min(FEW, max(1, count // PART)) and len(rest) and rest.all():
            found = dict.fromkeys(np.flatnonzero(few).tolist(), why) | found
    return found


def _agreeing(
    values: np.ndarray, of_samples: np.ndarray, asked: Sequence[int]
) -> tuple[set[int], set[int]]:
    """Return which of some columns have ranks like the samples, and which are not far from that.

    Where the samples themselves do not agree nothing is known, and both are empty.
    """
    others = np.setdiff1d(np.flatnonzero(of_samples), asked)
    others = others[np.ptp(values[:, others], axis=0) > 0]
    if not asked or len(others) < LEAST_SAMPLES - 1:
        return set(), set()
    from scipy.stats import rankdata

    ranks = standardized(rankdata(values[:, [*others, *asked]].T, axis=1))
    own, theirs = np.split(ranks, [len(others)])
    total = own.sum(axis=0)
    without = total - own
    typical = np.median((own * without).sum(axis=1) / np.linalg.norm(without, axis=1))
    found = theirs @ total / np.linalg.norm(total)
    if not typical >= AGREE:
        return set(), set()
    near = {i for i, r in zip(asked, found) if r >= NEAR * typical}
    return near, {i for i, r in zip(asked, found) if r >= FAR * typical} - near
