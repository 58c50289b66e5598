"""A million points drawn with a few hundred."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# More points than this are not told apart on a screen.
POINTS = 600


def downsample(
    scores: np.ndarray, *, log: bool = False, keep: Iterable[int] = (), limit: int = POINTS
) -> np.ndarray:
    """Choose the points of a sorted curve that show its shape.

    One half is evenly spaced along the rank axis, the other along the score axis, so neither a
    long flat stretch nor a steep step loses its corners by more than one part in limit / 2.

    Parameters
    ----------
    scores : ndarray, shape (m,)
        Sorted scores, rising or falling.
    log : bool
        Whether ranks are drawn on a logarithmic axis.
    keep : iterable of int
        Positions that must be among the chosen ones, besides the first and the last.
    limit : int
        About how many to choose.

    Returns
    -------
    ndarray of int
        Ascending positions in `scores`; all of them where m is at most `limit`.
    """
    m = len(scores)
    if m <= limit:
        return np.arange(m)
    half = limit // 2
    along = np.geomspace(1, m, half) - 1 if log else np.linspace(0, m - 1, half)
    rising = scores if scores[-1] >= scores[0] else -scores
    levels = np.linspace(rising[0], rising[-1], half // 2)
    corners = np.searchsorted(rising, levels)
    chosen = np.concatenate([along.round(), corners, corners - 1, [0, m - 1], list(keep)])
    return np.unique(np.clip(chosen, 0, m - 1).astype(np.intp))
