"""The similarity that a hierarchy of the samples defines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.graph.panels import panels


def hierarchy_similarity(paths: Sequence[tuple[str, ...]], depth: int) -> np.ndarray:
    """Depth of the lowest common ancestor over the depth of the tree.

    Parameters
    ----------
    paths : sequence of tuple of str, length n
        The nodes from below the root down to each sample.
    depth : int
        Depth of the tree; no path is longer.

    Returns
    -------
    ndarray, shape (n, n)
        The number of leading nodes that two paths share over `depth`: symmetric to the last bit,
        in [0, 1], and 1 on the diagonal where a path is as long as the tree is deep.
    """
    n = len(paths)
    assert depth >= max(map(len, paths), default=0)
    S = np.zeros((n, n))
    for level in range(max(map(len, paths), default=0)):
        codes = _codes(paths, level)
        deep = codes >= 0
        for rows in panels(n):
            S[rows] += (codes[rows, None] == codes) & deep
    S /= max(depth, 1)
    return S


def _codes(paths: Sequence[tuple[str, ...]], level: int) -> np.ndarray:
    """Return the node of each path at a level, as a number; -1 where the path ends above."""
    nodes: dict[tuple[str, ...], int] = {}
    codes = [
        nodes.setdefault(path[: level + 1], len(nodes)) if len(path) > level else -1
        for path in paths
    ]
    return np.array(codes)
