"""The order in which the sums of a pass are added: a fixed tree over the chunks of its spans.

It depends on the shape of the matrix alone. So the result is the same to the last bit whoever makes
which chunk, and when: one thread or many, workers of a cluster, a run that continues an interrupted
one, or shards on many machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Span

PartialSum = list[np.ndarray]
"""What a pass has made of some spans: arrays that are added up, or joined."""
Combine = Callable[[list[Any]], PartialSum]
"""Makes one partial sum of several that follow each other: `add` or `join`."""
MakeNodes = Callable[[Sequence["Node"]], Iterator[tuple["Node", PartialSum]]]
"""Runs the task of a pass on the spans of some nodes; yields each node with its sum."""
Chunk = tuple[Span, ...]

# The order of addition. The spans of a pass are grouped into at most 64 chunks; four chunks in a
# row make a node of level 1, four of those one of level 2, and the whole pass is the node of level
# 3. Everything below a node is added from left to right before it is added to anything else. So
# the sum of a node is the same to the last bit whoever makes it, and one array can stand for all of
# its chunks: a worker elsewhere sends one, and a shard keeps one. A flat sum from left to right
# could not be shared like this: (a + b) + (c + d) is not ((a + b) + c) + d in floating point.

FAN = 4
"""Nodes that make a node of the next level."""
LEVELS = 3
"""Level of the whole pass; a single chunk is of level 0."""
MAX_CHUNKS = FAN**LEVELS
"""Chunks of a pass; no more shards than that have work."""


@dataclass(frozen=True)
class Node:
    """Consecutive chunks that are added up before they are added to others."""

    level: int  # 0 for a single chunk, LEVELS for the whole pass
    first: int  # index of the first chunk
    chunks: tuple[Chunk, ...]  # in order; the last node of a level may have fewer than the others

    @property
    def end(self) -> int:
        """Index of the chunk after the node."""
        return self.first + len(self.chunks)

    @property
    def spans(self) -> list[Span]:
        """The spans of all chunks, in order."""
        return list(chain.from_iterable(self.chunks))


def chunks_of(spans: Sequence[Span]) -> list[Chunk]:
    """Group spans into at most `MAX_CHUNKS` chunks of nearly equal size."""
    count = min(MAX_CHUNKS, len(spans))
    bounds = [len(spans) * i // count for i in range(count + 1)] if count else []
    return [tuple(spans[lo:hi]) for lo, hi in pairwise(bounds)]


def nodes_of(chunks: Sequence[Chunk], level: int) -> list[Node]:
    """Return the nodes of a level, among all chunks of a pass."""
    size = FAN**level
    return [Node(level, i, tuple(chunks[i : i + size])) for i in range(0, len(chunks), size)]


def largest_nodes(chunks: Sequence[Chunk], lo: int, hi: int) -> Iterator[Node]:
    """Yield the fewest nodes that make up the chunks ``lo <= i < hi``, among all of a pass."""
    while lo < hi:
        for level in range(LEVELS, -1, -1):
            end = min(lo + FAN**level, len(chunks))
            if lo % FAN**level == 0 and end <= hi:
                yield Node(level, lo, tuple(chunks[lo:end]))
                lo = end
                break


class Accumulator:
    """A node that is being put together; smaller nodes come in order, of any levels.

    Parameters
    ----------
    end : int
        Index of the chunk after the node.
    combine : callable
        Makes one partial sum of several.

    Attributes
    ----------
    waiting : list of PartialSum
        For each level the sum of its nodes so far, until they make a node of the next level;
        empty where there are none.
    """

    def __init__(self, end: int, combine: Combine) -> None:
        self.end = end
        self.combine = combine
        self.waiting: list[PartialSum] = [[] for _ in range(LEVELS + 1)]

    def add(self, level: int, end: int, part: PartialSum) -> None:
        """Add the node of a level that ends before chunk `end`; its arrays may be reused."""
        while True:
            before = self.waiting[level]
            self.waiting[level] = part = self.combine([before, part]) if before else part
            # the last nodes may have fewer chunks than others: they are complete at the end
            complete = end == self.end or end % FAN ** (level + 1) == 0
            if level == LEVELS or not complete:
                return
            self.waiting[level] = []
            level += 1

    def result(self) -> PartialSum:
        """Return the sum of all that was added, once it makes one node; empty for nothing."""
        return next((part for part in self.waiting if part), [])


def add(parts: list[Any]) -> PartialSum:
    """Add up arrays in float64; the arrays of the first become the sums where they are float64."""
    first, *rest = parts
    total = [np.asarray(a, np.float64) for a in first]
    for part in rest:
        for sums, piece in zip(total, part):
            sums += piece
    return total


def join(parts: list[Any]) -> PartialSum:
    """Join arrays along their first axes."""
    return [np.concatenate(arrays) for arrays in zip(*parts)]


def sum_of(node: Node, results: Iterator[Sequence[np.ndarray]], combine: Combine) -> PartialSum:
    """Return the sum of a node; `results` are what a task makes of its spans, in their order."""
    total = Accumulator(node.end, combine)
    for index, chunk in enumerate(node.chunks, node.first):
        part: PartialSum = []
        for _ in chunk:
            result = next(results)
            part = combine([part, result]) if part else combine([result])
        total.add(0, index + 1, part)
    return total.result()
