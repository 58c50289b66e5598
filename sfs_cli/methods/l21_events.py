"""When features enter or leave the path, as far as it can be foreseen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TIED = 1e-9
"""Relative difference of lambda within which events are one."""


@dataclass(frozen=True)
class Guess:
    """An event that is expected.

    Attributes
    ----------
    lam : float
        Where.
    feature : int
        What enters or, if it is active, leaves.
    """

    lam: float
    feature: int


def first_of(lam: np.ndarray, index: np.ndarray) -> Guess | None:
    """Return the event at the largest lambda; of those that are one, that of the first feature.

    Parameters
    ----------
    lam : ndarray, shape (q,)
        Where each is expected; not positive where it is not.
    index : ndarray of int, shape (q,)
        The features.
    """
    if not len(lam):
        return None
    best = float(lam.max())
    if not best > 0:
        return None
    tied = np.flatnonzero(lam >= best * (1 - TIED))
    place = tied[np.argmin(index[tied])]
    return Guess(float(lam[place]), int(index[place]))


def first_crossing(c: np.ndarray, b: np.ndarray, a: np.ndarray, lam: float) -> np.ndarray:
    """Return the first ``s`` in [0, lam] at which ``c + b s + a s^2`` rises to zero.

    Parameters
    ----------
    c, b, a : ndarray, shape (q,)
        Coefficients; c is at most zero but for rounding.
    lam : float
        The scale of s; c within `TIED` of zero is zero.

    Returns
    -------
    ndarray, shape (q,)
        Infinity where there is none. Where c is zero, the start counts as a crossing if the
        function rises there.
    """
    tied = c >= -TIED * lam**2
    c = np.minimum(c, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        # the smaller root in a form that does not cancel; c <= 0 and a rising crossing
        s = np.where(b >= 0, -2 * c / (b + root), (-b + root) / (2 * a))
        again = -b / a
    rising = b > 1e-7 * lam
    s = np.where(tied, np.where(rising, 0.0, np.where((a > 0) & (b < 0), again, np.inf)), s)
    s[~(np.isfinite(s) & (s >= 0) & (s <= lam))] = np.inf
    return s
