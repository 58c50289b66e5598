"""The Markov chain MC4 of rank aggregation (Dwork, Kumar, Naor and Sivakumar 2001, WWW10)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfs_cli.errors import InputError

LIMIT = 30_000
"""The most features: who beats whom takes m^2 / 8 bytes (112 MB), and time grows with m^2."""
TELEPORT = 0.05
"""Probability of a jump to any feature, without which the chain may stay in a part of them."""
TOLERANCE = 1e-12
"""Largest relative change of a probability in the last sweep."""
MAJORITY = 1e-9
"""How much more than half the weight a majority must have, as a share of all weights."""
_BLOCK = 256
_FEW = 32


def mc4(ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the stationary distribution of MC4.

    From feature P the chain chooses one of the m features at random, Q, and moves to it where the
    lists that rank Q before P have more than half of the weight of the lists that rank both; else
    it stays. With probability `TELEPORT` it jumps to any feature.

    The distribution solves a linear system, which block Gauss-Seidel does in a few sweeps where
    power iteration is slow: the best features of lists that agree are hardly ever left. It goes
    from worst to best, so lists that agree wholly take one sweep.

    Parameters
    ----------
    ranks : ndarray, shape (m, L)
        1 is best, NaN where a list does not rank the feature; rows best from worst to best.
    weights : ndarray, shape (L,)
        Positive.

    Returns
    -------
    ndarray, shape (m,)
        Probabilities, which sum to 1.

    Raises
    ------
    InputError
        For more than `LIMIT` features.
    """
    m = len(ranks)
    if m > LIMIT:
        raise InputError(
            f"mc4 compares all pairs of features, and {m:,} are more than the {LIMIT:,} it takes",
            hint="keep the best of each list with --top, or aggregate by borda, geometric or rra",
        )
    if m == 0:
        return np.empty(0)
    beats, better = _who_beats_whom(ranks.astype(np.float32), weights)
    step = (1 - TELEPORT) / m
    left = TELEPORT + step * better  # the probability of not staying
    p = np.full(m, 1 / m)
    change = 1.0
    while change > TOLERANCE:
        change = 0.0
        for lo, hi in _blocks(m, _BLOCK):
            new = _solved(beats[lo:hi], p, left[lo:hi], step, lo)
            change = max(change, float(np.max(np.abs(new - p[lo:hi]) / new)))
            p[lo:hi] = new
    return p / p.sum()


def _solved(
    packed: np.ndarray, p: np.ndarray, left: np.ndarray, step: float, lo: int
) -> np.ndarray:
    """Solve a block of the balance equations for its own probabilities, the others as they are."""
    m, hi = len(p), lo + len(left)
    beats = np.unpackbits(packed, axis=1, count=m).astype(np.float64)
    own = beats[:, lo:hi]
    inflow = beats @ p - own @ p[lo:hi]
    return np.linalg.solve(np.diag(left) - step * own, step * inflow + TELEPORT / m)


def _who_beats_whom(ranks: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compare all pairs.

    Returns
    -------
    beats : ndarray of uint8, shape (m, ceil(m / 8))
        Bit P of row Q: whether a majority prefers Q to P.
    better : ndarray of int, shape (m,)
        How many features beat each.
    """
    m = len(ranks)
    present = (~np.isnan(ranks)).astype(np.float32)
    groups = [(w, ranks.T[weights == w]) for w in np.unique(weights)]
    beats = np.empty((m, (m + 7) // 8), np.uint8)
    better = np.zeros(m, np.int64)
    least = MAJORITY * weights.sum()
    for lo, hi in _blocks(m, _FEW):
        margin = (present[lo:hi] * -weights) @ present.T
        for weight, lists in groups:
            votes = np.zeros((hi - lo, m), np.uint16)
            for column in lists:
                votes += column[lo:hi, None] < column
            margin += 2 * weight * votes
        won = margin > least
        better += np.count_nonzero(won, axis=0)
        beats[lo:hi] = np.packbits(won, axis=1)
    return beats, better


def _blocks(m: int, size: int) -> Iterator[tuple[int, int]]:
    return ((lo, min(lo + size, m)) for lo in range(0, m, size))
