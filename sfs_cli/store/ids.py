"""Checks of feature and sample ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.store.feature_ids import FeatureIds


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


def unique_features(ids: Sequence[str]) -> tuple[FeatureIds, int]:
    """Make feature ids unique by suffixes ``-1``, ``-2``, ...; the first keeps its name.

    Returns
    -------
    ids : FeatureIds
        Unique ids, in order.
    renamed : int
        How many were given a suffix.
    """
    known = FeatureIds.of(ids)
    hashes = _hashes(known)
    suspects = _recurring(hashes)
    if not len(suspects):
        return known, 0
    taken = _Taken(known, hashes)
    seen: set[str] = set()
    last: Counter[str] = Counter()
    changed: dict[int, str] = {}
    for i, name in zip(suspects.tolist(), known.take(suspects)):
        if name not in seen:
            seen.add(name)
            continue
        new = name
        while new in taken:
            last[name] += 1
            new = f"{name}-{last[name]}"
        changed[i] = new
        taken.add(new)
    if not changed:
        return known, 0
    return FeatureIds.of(changed.get(i, name) for i, name in enumerate(known)), len(changed)


class _Taken:
    """The ids that are there, and those that were made, without a set of them all."""

    def __init__(self, ids: FeatureIds, hashes: np.ndarray) -> None:
        self._ids = ids
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]
        self._made: set[str] = set()

    def __contains__(self, name: str) -> bool:
        if name in self._made:
            return True
        wanted = hash(name)
        lo, hi = (int(np.searchsorted(self._hashes, wanted, side)) for side in ("left", "right"))
        # equal hashes are nearly always the same id: the first tells
        return any(self._ids[int(at)] == name for at in self._order[lo:hi])

    def add(self, name: str) -> None:
        """Take a name."""
        self._made.add(name)


def _hashes(ids: FeatureIds) -> np.ndarray:
    """Return Python's own hash of each id: the same for equal ones, in this process."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))


def _recurring(hashes: np.ndarray) -> np.ndarray:
    """Return the places of the hashes that occur more than once, ascending."""
    ordered = np.sort(hashes)
    again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return np.flatnonzero(np.isin(hashes, again)) if len(again) else again
