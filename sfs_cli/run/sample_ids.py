"""What is told of the sample ids of a table: where they are, and what may help if none is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.errors import InputError, Options, counted, listed
from sfs_cli.io.files.likeness import likely_change
from sfs_cli.io.knowledge.sample_columns import Column
from sfs_cli.logs import Messages
from sfs_cli.options.guards import GUARDS


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
    if change := likely_change(samples, there):
        hint = f"{change}: write both in the same way"
    return InputError(
        f"none of the {len(samples):,} samples has {what}",
        where=f"{where}: samples there are {listed(there, 3)}; those of the matrix are "
        f"{listed(list(samples), 3)}",
        hint=hint,
        option=option,
    )


def tell_ids(column: Column[Any], log: Messages) -> None:
    """Say which column has the ids of the samples, where it is not the first, and what is above.

    So is a column whose name is not quite the one that was asked for.
    """
    if column.asked != column.name:
        log.note_once(f"{column.path}: column {column.name!r} is taken for {column.asked!r}")
    if column.table.titles:
        log.note_once(f"{column.path}: {column.table.titles}")
    if column.ids_name != column.table.ids_name:
        log.note_once(f"{column.path}: the ids of the samples are in column {column.ids_name!r}")


def tell_left_out(
    samples: Sequence[str],
    chosen: np.ndarray,
    labels: Labels | None,
    by: str,
    mend: str,
    log: Messages,
) -> None:
    """Say which samples are left out `by` an option, and how many of each class.

    `chosen` are the indices of the others. A class of which none is left is warned of, with what
    would `mend` that.
    """
    without = np.delete(np.arange(len(samples)), chosen)
    names = [samples[i] for i in without.tolist()]
    classes = ""
    if labels is not None and labels.classes:
        lost = {name: count for name, count in labels.take(without).counts().items() if count}
        had = labels.counts()
        classes = ", ".join(f"{count:,} of {had[name]:,} {name}" for name, count in lost.items())
        if gone := [name for name, count in lost.items() if count == had[name]]:
            log.warn(
                f"all samples of {listed(gone)} ({sum(lost[name] for name in gone):,}) are left "
                f"out by {by}, and no class is compared with them; {mend}, or take the class out "
                "of the labels [labels]",
                GUARDS["labels"].weight,
            )
    log.note(
        f"left out by {by}: {counted(len(names), 'sample')} ({listed(names)})"
        + (f"; by class: {classes}" if classes else "")
    )
