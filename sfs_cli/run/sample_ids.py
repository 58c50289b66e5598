"""What is told of the sample ids of a table: where they are, and what may help if none is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from os.path import commonprefix
from typing import Any

from sfs_cli.errors import InputError, Options, listed
from sfs_cli.io.knowledge.sample_columns import Column
from sfs_cli.knowledge.matching import Change, likely_change
from sfs_cli.logs import Messages

SHORTEST = 6
"""Characters that are enough to tell samples by the beginning of their ids."""


def without_common_ids(
    what: str,
    where: str,
    there: list[str],
    samples: Sequence[str],
    option: Options = (),
    more: str = "--rows",
) -> InputError:
    """Return the error for knowledge whose sample ids (`there`) are others than the matrix has."""
    hint = f"check that both use the same sample ids, and {more}"
    half = max(1, -(-min(len(there), len(samples)) // 2))
    if change := likely_change(samples, there, half, changes_of(there, samples)):
        hint = f"{change}: write both in the same way"
    return InputError(
        f"none of the {len(samples):,} samples has {what}",
        where=f"{where}: samples there are {listed(there, 3)}; those of the matrix are "
        f"{listed(list(samples), 3)}",
        hint=hint,
        option=option,
    )


def changes_of(there: Sequence[str], samples: Sequence[str]) -> Iterator[Change]:
    """Yield simple changes of sample ids, one of which often is the reason why none is found."""
    yield str.casefold, "upper and lower case were the same"
    yield _without_signs, "signs were the same (R writes 1-T as X1.T)"
    yield _without_zeros, "zeros before numbers were left out"
    length = min(map(len, (*there, *samples)), default=0)
    if length >= SHORTEST and 2 * len({name[:length] for name in there}) > len(there):
        yield itemgetter(slice(length)), f"ids were cut to their first {length} characters"
    ends = [end for end in map(_shared_end, (there, samples)) if end]
    if ends:
        yield partial(_without_ends, ends=ends), "what all ids end with were cut off"


def _without_signs(name: str) -> str:
    return re.sub(r"^X(?=\d)|[\W_]", "", name)


def _without_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name)


def _shared_end(names: Sequence[str]) -> str:
    """Return the end that all ids share, from a sign on, such as .bam or -1."""
    shared = commonprefix([name[::-1] for name in names])[::-1]  # noqa: RUF071 (no paths)
    sign = re.search(r"[\W_]", shared)
    return shared[sign.start() :] if sign else ""


def _without_ends(name: str, ends: Sequence[str]) -> str:
    for end in ends:
        name = name.removesuffix(end)
    return name


def tell_ids(column: Column[Any], log: Messages) -> None:
    """Say which column has the ids of the samples, where it is not the first, and what is above."""
    if column.table.titles:
        log.note_once(f"{column.path}: {column.table.titles}")
    if column.ids_name != column.table.ids_name:
        log.note_once(f"{column.path}: the ids of the samples are in column {column.ids_name!r}")
