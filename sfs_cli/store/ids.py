"""Checks of feature and sample ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sfs_cli.errors import InputError, counted, listed


def check_samples(ids: Sequence[str], where: str) -> None:
    """Refuse duplicate sample ids and matrices of fewer than two samples.

    Raises
    ------
    InputError
        With the repeated ids.
    """
    if len(set(ids)) < len(ids):
        repeated = [i for i, count in Counter(ids).items() if count > 1]
        raise InputError(
            f"{counted(len(repeated), 'sample id')} {'occurs' if len(repeated) == 1 else 'occur'} "
            f"more than once: {listed(repeated)}",
            where=where,
            hint="give every sample an id of its own; if the samples are in rows and the features "
            "in columns, say --rows samples",
        )
    if len(ids) < 2:
        raise InputError(
            f"the matrix has {counted(len(ids), 'sample')}; a ranking needs at least 2",
            where=where,
            hint="check the delimiter and --rows: samples are the columns of an expression matrix",
        )


def unique_features(ids: Sequence[str]) -> tuple[list[str], int]:
    """Make feature ids unique by suffixes ``-1``, ``-2``, ...; the first keeps its name.

    Returns
    -------
    ids : list of str
        Unique ids, in order.
    renamed : int
        How many were given a suffix.
    """
    ids = list(ids)
    taken = set(ids)
    if len(taken) == len(ids):
        return ids, 0
    seen: set[str] = set()
    last: Counter[str] = Counter()
    renamed = 0
    for i, name in enumerate(ids):
        if name not in seen:
            seen.add(name)
            continue
        new = name
        while new in taken:
            last[name] += 1
            new = f"{name}-{last[name]}"
        ids[i] = new
        taken.add(new)
        renamed += 1
    return ids, renamed
