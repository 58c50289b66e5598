"""From ids of sources to features of the matrix, through a table of both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat

import numpy as np

from sfs_cli.errors import InputError, counted, listed


class IdMap:
    """A map from ids of sources to features: an id may be several features, and several ids one.

    Parameters
    ----------
    pairs : sequence of (str, str)
        An id of the matrix and one of the sources, or the other way round: ids of the matrix are in
        the column that names more of its features, the first where both name as many.
    index : mapping of str to int
        The place of each feature.

    Raises
    ------
    InputError
        When no column names a feature.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], index: Mapping[str, int]) -> None:
        columns = [[pair[side] for pair in pairs] for side in (0, 1)]
        places = [look_up(index, column) for column in columns]
        known = [len(np.unique(place[place >= 0])) for place in places]
        if not any(known):
            shown = listed([" = ".join(pair) for pair in pairs], 3)
            raise InputError(
                f"none of the {counted(len(pairs), 'pair')} of the map names a feature of the "
                f"matrix: pairs are {shown}; features are {listed(list(index), 3)}",
                hint="one of the two columns of --id-map must hold ids of the matrix",
            )
        side = int(known[1] > known[0])
        kept = np.flatnonzero(places[side] >= 0)
        others = [columns[1 - side][i] for i in kept]
        self._codes = {name: code for code, name in enumerate(dict.fromkeys(others))}
        # a pair may be there twice
        entries = np.stack([look_up(self._codes, others), places[side][kept]])
        codes, self._features = np.unique(entries, axis=1)
        self._counts = np.bincount(codes, minlength=len(self._codes))
        self._starts = np.cumsum(self._counts) - self._counts

    def find(self, ids: Collection[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of a place in `ids` and a feature."""
        code = look_up(self._codes, ids)
        at = np.flatnonzero(code >= 0)
        which, entry = expanded(self._starts[code[at]], self._counts[code[at]])
        return at[which], self._features[entry]


def look_up(index: Mapping[str, int], ids: Collection[str]) -> np.ndarray:
    """Return the place of each id, -1 where it has none."""
    return np.fromiter(map(index.get, ids, repeat(-1)), np.int64, len(ids))


def expanded(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write ranges out one after the other.

    Returns
    -------
    which : ndarray of int
        The range that each entry is of.
    entries : ndarray of int
        ``starts[k], starts[k] + 1, ...``, `counts[k]` of them for each range k.
    """
    which = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return which, np.arange(len(which)) - before[which] + starts[which]
