"""Ties at the top of a ranking: features whose order is arbitrary."""

from __future__ import annotations

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
    pairs = zip(*(column[:TOP].tolist() for column in tie_blocks(ranking.curve)))
    blocks = [(size, start + 1) for start, size in pairs if start < TOP and size >= TIED]
    if not blocks:
        return None
    size, first = max(blocks, key=lambda block: block[0])
    more = f" (and those of {counted(len(blocks) - 1, 'other block')})" if len(blocks) > 1 else ""
    return (
        f"the {size:,} features of ranks {first:,} to {first + size - 1:,}{more} have the same "
        "score (column tied): their order is arbitrary; take all of them or none"
    )
