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
    free = np.arange(len(place)) if movable is None else movable

    def lacking_in(place: np.ndarray) -> np.ndarray:
        held = np.zeros((parts, has.shape[1]), np.int64)
        np.add.at(held, place[place >= 0], has[place >= 0])
        return np.argwhere(held == 0)

    lacking = lacking_in(place)
    for _ in range(STEPS):
        if not len(lacking):
            break
        part, wanted = rng.choice(lacking)
        givers = free[has[free, wanted] > 0]
        if not len(givers):
            continue
        unit = rng.choice(givers)
        others = free[place[free] == part].tolist()
        if np.count_nonzero(place == part) < np.count_nonzero(place == place[unit]):
            others.append(unit)  # it moves alone
        if not others:
            continue
        tried = place.copy()
        tried[others[rng.integers(len(others))]] = place[unit]
        tried[unit] = part
        after = lacking_in(tried)
        if len(after) <= len(lacking):
            place, lacking = tried, after
    return place
