"""The tree of a pass: the same bits however it is cut into nodes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sfs_cli.compute.matrix import Span, cut
from sfs_cli.compute.tree import (
    FAN,
    LEVELS,
    Accumulator,
    Node,
    PartialSum,
    add,
    chunks_of,
    join,
    largest_nodes,
    nodes_of,
    sum_of,
)

COUNTS = [1, 4, 5, 64, 65, 300]


def numbers(span: Span) -> PartialSum:
    """Numbers whose sum depends on the order in the last bits."""
    rng = np.random.default_rng(span.lo)
    return [(rng.normal(size=5) * 10.0 ** rng.integers(-8, 8, 5)).astype(np.float32)]


def twin(parts: list[np.ndarray]) -> np.ndarray:
    """Add up four by four, until one is left."""
    while len(parts) > 1:
        fours = [parts[i : i + FAN] for i in range(0, len(parts), FAN)]
        parts = []
        for four in fours:
            total = four[0].copy()
            for each in four[1:]:
                total = total + each
            parts.append(total)
    return parts[0]


def by_chunk(count: int) -> list[np.ndarray]:
    sums = []
    for chunk in chunks_of(cut(count, 1)):
        total = np.zeros(5)
        for span in chunk:
            total = total + numbers(span)[0]
        sums.append(total)
    return sums


def grown(nodes: list[Node], count: int) -> np.ndarray:
    tree = Accumulator(min(count, 64), add)
    for node in nodes:
        tree.add(node.level, node.end, sum_of(node, map(numbers, node.spans), add))
    return tree.result()[0]


@pytest.mark.parametrize("count", COUNTS)
def test_nodes_of_every_level_give_the_bits_of_the_twin(count: int) -> None:
    chunks, expected = chunks_of(cut(count, 1)), twin(by_chunk(count))
    for level in range(LEVELS + 1):
        np.testing.assert_array_equal(grown(nodes_of(chunks, level), count), expected)


@pytest.mark.parametrize("count", COUNTS)
def test_nodes_of_mixed_levels_give_them_too(count: int) -> None:
    rng = np.random.default_rng(count)
    chunks, nodes, at = chunks_of(cut(count, 1)), [], 0
    while at < len(chunks):
        level = int(rng.choice([level for level in range(LEVELS + 1) if at % FAN**level == 0]))
        nodes.append(Node(level, at, tuple(chunks[at : at + FAN**level])))
        at = nodes[-1].end
    np.testing.assert_array_equal(grown(nodes, count), twin(by_chunk(count)))


@pytest.mark.parametrize("count", COUNTS)
def test_what_is_joined_keeps_its_order(count: int) -> None:
    chunks = chunks_of(cut(count, 1))
    for level in range(LEVELS + 1):
        tree = Accumulator(len(chunks), join)
        for node in nodes_of(chunks, level):
            tree.add(
                node.level,
                node.end,
                sum_of(node, (([np.arange(*span)[:, None]]) for span in node.spans), join),
            )
        np.testing.assert_array_equal(tree.result()[0][:, 0], np.arange(count))


@pytest.mark.parametrize("count", [1, 13, 64])
@pytest.mark.parametrize("seed", range(2))
def test_the_largest_nodes_of_any_cut_give_the_bits_of_the_twin(count: int, seed: int) -> None:
    chunks = chunks_of(cut(count, 1))
    cuts = [0, *sorted(np.random.default_rng(seed).integers(0, count + 1, 5).tolist()), count]
    nodes = [node for lo, hi in pairwise(cuts) for node in largest_nodes(chunks, lo, hi)]
    assert [chunk for node in nodes for chunk in node.chunks] == chunks
    np.testing.assert_array_equal(grown(nodes, count), twin(by_chunk(count)))
    assert len(list(largest_nodes(chunks, 0, count))) == 1


def test_few_sums_wait() -> None:
    """No more than one of each level, beside the one that is added."""
    tree = Accumulator(64, add)
    for i in range(64):
        tree.add(0, i + 1, [np.ones(1)])
        assert sum(bool(part) for part in tree.waiting) <= LEVELS
    assert tree.result()[0] == 64
    assert sum(bool(part) for part in tree.waiting) == 1
