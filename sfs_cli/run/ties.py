"""Ties at the top of a ranking: features whose order is arbitrary."""

from __future__ import annotations

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.ranking.table import Ranking, tie_blocks

TOP = 50
"""Features at the top that are checked."""
TIED = 3
"""Features of one score that trigger the warning: a pair is common, and changes little."""


def ties(ranking: Ranking) -> str | None:
    """Warn of features at the top that have the same score, whose order is arbitrary."""
    if "tied" not in ranking.extra:
        return None
    # of a pruned list, where other features may lie between them, those that were kept
    starts, sizes = tie_blocks(ranking.curve)
    cut = ranking.n_written
    parted = (starts < cut) & (cut < starts + sizes)  # by --top: some of its features are written
    told = np.flatnonzero(parted | (starts < min(TOP, cut)) & (sizes >= TIED))
    if not len(told):
        return None
    largest = max(told, key=lambda block: (parted[block], sizes[block]))
    size, first = sizes[largest], starts[largest] + 1
    more = f" (and those of {counted(len(told) - 1, 'other block')})" if len(told) > 1 else ""
    return (
        f"the {size:,} features of ranks {first:,} to {first + size - 1:,}{more} have the same "
        "score (column tied): their order is arbitrary; take all of them or none"
    )
