"""The order in which the parts of a pass are added up: that of a tree over its chunks.

Four chunks in a row make a node, four such nodes the next larger one, and three steps of that the
whole pass. What is below a node is added from left to right before it is added to anything else;
so the sum of a node is the same to the last bit whoever makes it, and one array may stand for all
of its chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfs_cli.compute.spans import Span

Part = list[np.ndarray]
Fold = Callable[[list], Part]
"""Makes one part of several that follow each other."""
FAN = 4
"""Nodes that make the next larger one."""
LEVELS = 3
"""Steps from a chunk to the whole pass."""
MAX_CHUNKS = FAN**LEVELS
"""Chunks of a pass; no more shards than that have work."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive spans of a pass."""

    index: int
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Node:
    """Consecutive chunks that are added up before they are added to others.

    Attributes
    ----------
    level : int
        0 of a single chunk, `LEVELS` of the whole pass.
    chunks : tuple of Chunk
        In their order; the last node of a level may have fewer than the others.
    """

    level: int
    chunks: tuple[Chunk, ...]

    @property
    def end(self) -> int:
        """Index of the chunk that comes after the node."""
        return self.chunks[-1].index + 1

    @property
    def span(self) -> Span:
        """All that the chunks are about."""
        return Span(self.chunks[0].spans[0].lo, self.chunks[-1].spans[-1].hi)


def chunks_of(spans: Sequence[Span]) -> list[Chunk]:
    """Group spans into at most `MAX_CHUNKS` chunks of nearly equal size."""
    count = min(MAX_CHUNKS, len(spans))
    bounds = [len(spans) * i // count for i in range(count + 1)] if count else []
    groups = [tuple(spans[lo:hi]) for lo, hi in pairwise(bounds)]
    return [Chunk(i, group) for i, group in enumerate(groups)]


def node_at(chunks: Sequence[Chunk], first: int, level: int) -> Node:
    """Return the node of a level that begins with a chunk, among all chunks of a pass."""
    return Node(level, tuple(chunks[first : first + FAN**level]))


def nodes_of(chunks: Sequence[Chunk], level: int) -> list[Node]:
    """Return the nodes of a level, among all chunks of a pass."""
    return [node_at(chunks, first, level) for first in range(0, len(chunks), FAN**level)]


class Tree:
    """A pass that is being added up: nodes come in their order, of whatever level each.

    Parameters
    ----------
    total : int
        Number of chunks of the pass.
    fold : callable
        Makes one part of several.

    Attributes
    ----------
    waiting : list of Part
        For each level what has been made of its nodes, until they are as many as make a node of
        the next level; empty where that is nothing.
    """

    def __init__(self, total: int, fold: Fold) -> None:
        self.total = total
        self.fold = fold
        self.waiting: list[Part] = [[] for _ in range(LEVELS + 1)]

    def add(self, level: int, end: int, part: Part) -> None:
        """Add a node.

        Parameters
        ----------
        level, end : int
            Of the node; `end` as `Node.end`.
        part : Part
            What has been made of it; sums may be gone on with in its arrays.
        """
        while True:
            before = self.waiting[level]
            self.waiting[level] = part = self.fold([before, part]) if before else part
            whole = end == self.total or end % FAN ** (level + 1) == 0
            if level == LEVELS or not whole:
                return
            self.waiting[level] = []
            level += 1

    def made(self) -> Part:
        """Return what the nodes so far make, where they make one node; nothing for none."""
        return next((part for part in self.waiting if part), [])


def make(node: Node, task: Callable[[Span], Sequence[np.ndarray]], fold: Fold) -> Part:
    """Return the part of a node, with what `task` makes of its spans."""
    tree = Tree(node.end, fold)
    for chunk in node.chunks:
        tree.add(0, chunk.index + 1, _of_chunk(chunk, task, fold))
    return tree.made()


def _of_chunk(chunk: Chunk, task: Callable[[Span], Sequence[np.ndarray]], fold: Fold) -> Part:
    """Return the part of a chunk, with what `task` makes of its spans."""
    part: Part = []
    for span in chunk.spans:
        part = fold([part, task(span)]) if part else fold([task(span)])
    return part


def levels_at(index: int) -> Iterable[int]:
    """Return the levels of the nodes that begin with a chunk, the largest first."""
    return (level for level in range(LEVELS, -1, -1) if index % FAN**level == 0)


def added(parts: list) -> Part:
    """Add up arrays in float64; the sums of the first are gone on with where they are float64."""
    first, *rest = parts
    total = [np.asarray(a, np.float64) for a in first]
    for part in rest:
        for sums, piece in zip(total, part):
            sums += piece
    return total


def joined(parts: list) -> Part:
    """Join arrays along their first axes."""
    return [np.concatenate(arrays) for arrays in zip(*parts)]
