"""Donors that have several classes, dealt so that every part of them has every class."""

from __future__ import annotations

import numpy as np

STEPS = 500
"""Exchanges that are tried before it is said that there is no such way to deal donors."""


def classes_of(codes: np.ndarray, donors: np.ndarray) -> np.ndarray:
    """Return which classes (c) each donor (d) has, shape (d, c), as 0 and 1.

    `codes` and `donors` are those of the samples, from 0; a code below 0 is no class.
    """
    has = np.zeros((donors.max() + 1, codes.max() + 1), np.int64)
    known = codes >= 0
    has[donors[known], codes[known]] = 1
    return has


def with_every_class(
    place: np.ndarray,
    has: np.ndarray,
    parts: int,
    rng: np.random.Generator,
    movable: np.ndarray | None = None,
) -> np.ndarray:
    """Exchange donors at random until each part has a donor of every class, or return the best.

    Nothing is drawn where each part has every class already. An exchange is kept where no more
    classes are lacking after it; so plateaus are crossed. Donors only move alone to a smaller part.

    Parameters
    ----------
    place : ndarray of int, shape (d,)
        The part of each donor, from 0; -1 for those in none.
    has : ndarray of int, shape (d, c)
        Which classes each donor has (`classes_of`).
    parts : int
        Number of parts.
    rng : Generator
        Draws the exchanges.
    movable : ndarray of int, optional
        The donors that may be exchanged; by default all.
    """
    place, free = place.copy(), np.arange(len(place)) if movable is None else movable
    held = np.zeros((parts + 1, has.shape[1]), np.int64)  # the last row is that of no part
    np.add.at(held, place, has)
    for _ in range(STEPS):
        lacking = np.argwhere(held[:parts] == 0)
        if not len(lacking):
            break
        part, wanted = rng.choice(lacking)
        givers = free[has[free, wanted] > 0]
        if not len(givers):
            continue
        unit = rng.choice(givers)
        source = place[unit]
        others = free[place[free] == part]
        smaller = np.count_nonzero(place == part) < np.count_nonzero(place == source)
        at = rng.integers(len(others) + smaller) if len(others) + smaller else -1
        if at < 0:
            continue
        back = has[others[at]] if at < len(others) else 0
        changed = held.copy()
        changed[part] += has[unit] - back
        changed[source] -= has[unit] - back
        if np.count_nonzero(changed[:parts] == 0) <= len(lacking):
            held = changed
            place[unit] = part
            if at < len(others):
                place[others[at]] = source
    return place
