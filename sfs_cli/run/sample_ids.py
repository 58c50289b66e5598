"""What is told of the sample ids of a table: where they are, and what may help if none is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from os.path import commonprefix
from typing import Any

from sfs_cli.errors import InputError, Options, listed
from sfs_cli.io.knowledge.sample_columns import Column
from sfs_cli.logs import Messages

Change = Callable[[str], str]
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
    if change := likely_change(there, samples):
        hint = f"{change}: write both in the same way"
    return InputError(
        f"none of the {len(samples):,} samples has {what}",
        where=f"{where}: samples there are {listed(there, 3)}; those of the matrix are "
        f"{listed(list(samples), 3)}",
        hint=hint,
        option=option,
    )


def likely_change(there: Sequence[str], samples: Sequence[str]) -> str | None:
    """Tell how many samples would be found if ids were changed in a simple way, if most would."""
    length = min(map(len, (*there, *samples)), default=0)
    # each change, of the ids there and of those of the matrix, and what it is
    changes: list[tuple[Change, Change, str]] = [
        (str.casefold, str.casefold, "upper and lower case were the same"),
        (_without_signs, _without_signs, "signs were the same (R writes 1-T as X1.T)"),
        (_without_zeros, _without_zeros, "zeros before numbers were left out"),
        (_without_end(there), _without_end(samples), "what all ids end with were cut off"),
    ]
    if length >= SHORTEST:
        cut = f"ids were cut to their first {length} characters"
        changes.append((itemgetter(slice(length)), itemgetter(slice(length)), cut))
    best, found = "", 0
    for of_there, of_samples, condition in changes:
        known = set(map(of_there, there))
        count = sum(of_samples(name) in known for name in samples)
        if count > found:
            best, found = condition, count
    if 2 * found < min(len(there), len(samples)) or not found:
        return None
    return f"{found:,} of {len(samples):,} samples would be found if {best}"


def _without_signs(name: str) -> str:
    return re.sub(r"^X(?=\d)|[\W_]", "", name)


def _without_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name)


def _without_end(names: Sequence[str]) -> Change:
    """Return what takes away the end that all ids share, from a sign on, such as .bam or -1."""
    shared = commonprefix([name[::-1] for name in names])[::-1]  # noqa: RUF071 (no paths)
    sign = re.search(r"[\W_]", shared)
    return lambda name: name.removesuffix(shared[sign.start() :]) if sign else name


def tell_ids(column: Column[Any], log: Messages) -> None:
    """Say which column has the ids of the samples, where it is not the first, and what is above."""
    if column.table.titles:
        log.note_once(f"{column.path}: {column.table.titles}")
    if column.ids_name != column.table.ids_name:
        log.note_once(f"{column.path}: the ids of the samples are in column {column.ids_name!r}")
