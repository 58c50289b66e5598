"""SEPER: the entropy of the similarities between samples on one feature.

M. Dash, K. Choi, P. Scheuermann and H. Liu, "Feature selection for clustering - a filter solution",
ICDM 2002.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.shared import unit_range

CHUNK_BYTES = 128 << 10
"""Size of a chunk of features; a few such arrays fit in the cache of a core."""


class SeperScorer(Scorer):
    """``-sum_{i != j} S_ij ln S_ij + (1 - S_ij) ln(1 - S_ij)`` of every feature; smaller is better.

    ``S_ij = exp(-alpha |f_i - f_j|)`` with alpha such that two samples at the mean distance have
    similarity 1/2. The entropy is low if all samples are either close together or far apart.
    """

    larger_is_better = False

    def __init__(self, _problem: Problem) -> None:
        super().__init__()

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score`` and ``status`` of a block, each (b,); overwrites it."""
        values, status = unit_range(block)
        rows = max(1, CHUNK_BYTES // (8 * values.shape[1]))
        chunks = [values[lo : lo + rows] for lo in range(0, len(values), rows)]
        score = np.concatenate([entropy(chunk) for chunk in chunks])
        score[status != Status.OK] = np.nan
        return {"score": score, "status": status}


def entropy(values: np.ndarray) -> np.ndarray:
    """Return the entropy (b,) in nats of the similarities, over ordered pairs; values (b, n)."""
    n = values.shape[1]
    scaled = values * decay(values)[:, None]
    total = np.zeros(len(values))
    # each shift compares sample i with i + shift, for all features: no n x n matrix for any of them
    for shift in range(1, n):
        gap = np.subtract(scaled[:, shift:], scaled[:, :-shift])
        np.abs(gap, out=gap)
        similarity = np.exp(-gap)
        total += np.vecdot(gap, similarity)
        rest = np.subtract(1, similarity, out=similarity)
        # of equal samples rest is 0, and 0 ln 0 is 0: `tiny` keeps -inf out of the product
        logarithm = np.log(np.maximum(rest, np.finfo(np.float64).tiny, out=gap), out=gap)
        total -= np.vecdot(rest, logarithm)
    return 2 * total


def decay(values: np.ndarray) -> np.ndarray:
    """Return alpha (b,), ln 2 over the mean distance of two samples, 0 where it is 0."""
    n = values.shape[1]
    # the k-th smallest value is the larger one in k pairs and the smaller one in n - 1 - k
    mean = np.sort(values, axis=1) @ (2.0 * np.arange(n) - (n - 1)) / max(n * (n - 1) / 2, 1)
    return np.divide(np.log(2), mean, out=np.zeros(len(values)), where=mean > 0)
