"""Ties at the top of a ranking: features whose order there says nothing."""

from __future__ import annotations

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.ranking.table import Ranking, tied

TOP = 50
"""Features at the top that are looked at."""
TIED = 3
"""Features of one score that are told of: a pair at the top is common, and changes little."""


def ties(ranking: Ranking) -> str | None:
    """Tell which features at the top have one and the same score, so that their order is none."""
    sizes = ranking.extra.get("tied")
    if not isinstance(sizes, np.ndarray) or not (sizes[:TOP] >= TIED).any():
        return None
    sizes = tied(ranking.curve)  # of a pruned list, among those that were kept
    blocks, at = [], 0  # size and first rank
    while sizes is not None and at < min(TOP, len(sizes)):
        if sizes[at] >= TIED:
            blocks.append((int(sizes[at]), at + 1))
        at += int(sizes[at])
    if not blocks:
        return None
    size, first = max(blocks, key=lambda block: block[0])
    more = f" (and those of {counted(len(blocks) - 1, 'other block')})" if len(blocks) > 1 else ""
    return (
        f"the {size:,} features of ranks {first:,} to {first + size - 1:,}{more} have one and the "
        "same score (column tied): their order says nothing; take all of them or none"
    )
