"""A slow, obvious twin of the pruning by correlation."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np


def pearson(f: np.ndarray, g: np.ndarray) -> float:
    """The correlation of two features; 0 where one of them does not vary."""
    f, g = f - f.mean(), g - g.mean()
    below = sqrt((f @ f) * (g @ g))
    return float(f @ g) / below if below else 0.0


def prune(
    X: np.ndarray,
    ranking: list[int],
    max_correlation: float,
    keep: int,
    given: Sequence[int] = (),
) -> tuple[list[int], list[tuple[int, int]], list[int]]:
    """The kept features of a ranking, the moved ones with what they repeat, and the rest.

    Given features count as kept before the first.
    """
    kept: list[int] = []
    moved: list[tuple[int, int]] = []
    since: list[tuple[int, int]] = []  # moved since the last feature that was kept
    for place, i in enumerate(ranking):
        before = [*given, *kept]
        repeated = [k for k in before if abs(pearson(X[:, i], X[:, k])) > max_correlation]
        if repeated:
            since.append((i, repeated[0]))
            continue
        kept.append(i)
        moved += since
        since = []
        if len(kept) == keep:
            return kept, moved, ranking[place + 1 :]
    return kept, moved + since, []
