"""Sample graphs of coordinates in the plane or in space: Gaussian kernels, and the projection."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfs_cli.compute.memory import check_memory
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)

FARTHEST, NEARER = 4.0, 3.0
"""Pairs that are farther apart, in widths of the kernel, have similarities of 0 in sparse kernels,
below 0.0004 else; of more than `DENSE_SAMPLES` samples, below 0.012: it takes a third of the time.
"""
FULL, DENSE_SAMPLES = 0.06, 10_000
"""A kernel with a larger part of its entries above 0, of up to so many samples, is a dense one."""
DENSE_BYTES, DENSE_MADE, SPARSE_BYTES = 28, 32, 140
"""Bytes of an entry: of a dense kernel with what is made of it; while it is made; of a sparse one.
"""
ROUNDING = 1e-10
"""Coordinates whose variation is this part of that of others, or less, are their sums."""


def spacing_of(places: np.ndarray) -> float:
    """Return the median distance of samples (n, d) to the nearest one at another place."""
    from scipy.spatial import KDTree

    apart = np.unique(places, axis=0)
    nearest = KDTree(apart).query(apart, [2])[0]
    return float(np.median(nearest))


def reach_of(n: int, width: float) -> float:
    """Return the distance beyond which similarities of a sparse kernel of n samples are 0."""
    return width * (FARTHEST if n <= DENSE_SAMPLES else NEARER)


def is_full(n: int, near: float) -> bool:
    """Tell whether a kernel of n samples with so many entries above 0 is a dense one."""
    return n <= DENSE_SAMPLES and near >= FULL * n * n


def bytes_of(n: int, near: float) -> int:
    """Return the bytes of a kernel of n samples with so many entries above 0."""
    return DENSE_BYTES * n * n if is_full(n, near) else int(SPARSE_BYTES * near)


def kernel(places: np.ndarray, width: float, memory: int) -> Similarity:
    """Return the Gaussian kernel ``exp(-d^2 / (2 width^2))`` of samples (n, d).

    Where few pairs are near, similarities of those beyond `reach_of` are 0.
    """
    from scipy.sparse import csr_array
    from scipy.spatial import KDTree
    from scipy.spatial.distance import cdist

    n, tree = len(places), KDTree(places)
    reach = reach_of(n, width)
    near = int(tree.count_neighbors(tree, reach))
    hint = "give more --memory, or smaller --scales"
    check_memory(f"a kernel of {n:,} samples needs", bytes_of(n, near), memory, hint)
    if not is_full(n, near):
        found = tree.sparse_distance_matrix(tree, reach, output_type="coo_matrix")
        similar = np.exp(-np.square(found.data / width) / 2)
        return SparseSimilarity(csr_array((similar, (found.row, found.col)), shape=(n, n)))
    return DenseSimilarity(np.exp(-cdist(places, places, "sqeuclidean") / (2 * width**2)))


def projection(places: np.ndarray) -> FactoredSimilarity:
    """Return the projection ``X (X'X)^-1 X'`` on the coordinates X (n, d) around their means.

    So the unit of a coordinate, and the direction of the axes, do not matter.
    """
    U, sizes, _ = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    return FactoredSimilarity(U[:, sizes > ROUNDING * sizes[0]])


def kernel_bytes(n: int, widths: Iterable[float]) -> int:
    """Return the bytes of kernels of n samples, of widths in units of their distance.

    Their entries are about those of a regular grid in the plane; `kernel` counts them.
    """
    near = [n * min(n, np.pi * reach_of(n, width) ** 2) for width in widths]
    made = DENSE_MADE * n * n if any(is_full(n, each) for each in near) else 0
    return made + sum(bytes_of(n, each) for each in near)
