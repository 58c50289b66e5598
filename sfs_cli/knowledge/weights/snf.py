"""Similarity network fusion (Wang et al. 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError, counted
from sfs_cli.graph.similarity import name_samples, symmetrized
from sfs_cli.knowledge.weights.base import (
    FusionContext,
    Weighting,
    bounded_neighbors,
    dense_kernels,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def learn_snf(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Let each graph take over what the others say through its own neighborhoods.

    Every kernel, with its diagonal, is divided by its row sums and made symmetric: P_v. Its local
    part S_v keeps in each row of P_v the `neighbors` largest entries (and those that equal the
    last of them), rows divided by their sums; the sample itself is one of them where it is the
    most similar to itself. Then, `iterations` times and for all v at once,
    P_v <- S_v (mean of the other P) S_v' + I, made symmetric. The fused graph is the mean of all
    P_v, rows divided by their sums, made symmetric, plus I/2.

    These are the steps of the Python package snfpy. The paper's P has 1/2 on the diagonal from the
    start, and does not say what is added to it in an iteration.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices without negative entries.
    context : FusionContext
        Options ``neighbors``, at most n - 1, and ``iterations``.

    Returns
    -------
    Weighting
        With `fused`; the weights are 1/K and play no part in it. Of a single kernel there is
        nothing to fuse, and it is its own weighted sum.

    Raises
    ------
    InputError
        When an entry is negative, a sample is similar to none, or more neighbors are asked for
        than there are other samples.
    """
    kernels = dense_kernels(kernels)
    n, count = len(kernels[0]), len(kernels)
    for k, K in enumerate(kernels):
        _check(K, context.name(k))
    neighbors = bounded_neighbors(context, "snf", n)
    iterations = int(context.settings("snf")["iterations"])
    facts: dict[str, Any] = {"neighbors": neighbors, "iterations": iterations}
    facts["fusion_not_weights"] = count > 1
    weights = np.full(count, 1.0 / count)
    if count == 1:
        return Weighting(weights, facts=facts, stop="there is one source: nothing to fuse")
    fused = fuse(kernels, neighbors, iterations)
    return Weighting(weights, facts=facts, stop=f"after {iterations} iterations", fused=fused)


def fuse(kernels: Sequence[np.ndarray], neighbors: int, iterations: int) -> np.ndarray:
    """Return the fused graph of two kernels or more, shape (n, n), symmetric to the last bit."""
    graphs = [symmetrized(K / K.sum(axis=1, keepdims=True)) for K in kernels]
    # sparse: both products of an iteration then cost n^2 k, not n^3
    local = [local_part(P, neighbors) for P in graphs]
    for _ in range(iterations):
        total = _sum(graphs)
        for v, (P, S) in enumerate(zip(graphs, local)):
            others = np.subtract(total, P)
            others /= len(graphs) - 1
            # S (S X)' is S X' S', and the others are symmetric; copied, because a sparse product
            # walks a transposed view across its rows
            P = S @ np.ascontiguousarray((S @ others).T)
            P[np.diag_indices(len(P))] += 1.0
            graphs[v] = symmetrized(P)
    fused = _sum(graphs)
    fused /= len(graphs)
    fused /= fused.sum(axis=1, keepdims=True)
    fused = symmetrized(fused)
    fused[np.diag_indices(len(fused))] += 0.5
    return fused


def local_part(P: np.ndarray, neighbors: int) -> csr_array:
    """Return the largest entries of each row, and those that equal the last, divided by their sum.

    Parameters
    ----------
    P : ndarray, shape (n, n)
        Non-negative.
    neighbors : int
        How many are kept, less than n.
    """
    from scipy.sparse import csr_array

    n = len(P)
    limits = np.partition(P, n - neighbors, axis=1)[:, n - neighbors, None]
    S = np.where(limits <= P, P, 0.0)
    S /= S.sum(axis=1, keepdims=True)
    return csr_array(S)


def _sum(graphs: Sequence[np.ndarray]) -> np.ndarray:
    total = graphs[0].copy()
    for P in graphs[1:]:
        total += P
    return total


def _check(K: np.ndarray, name: str) -> None:
    negative = int(np.count_nonzero(K < 0.0))
    if negative:
        raise InputError(
            f"{negative:,} of {K.size:,} similarities are negative: networks have none",
            where=name,
            hint="give a similarity such as rbf or knn for this source, or other --weights",
        )
    alone = np.flatnonzero(~(K.sum(axis=1) > 0.0))
    if alone.size:
        raise InputError(
            f"{counted(alone.size, 'sample')} with no similarity to any",
            where=f"{name}: {name_samples(alone)}",
            hint="leave these samples out, or give another similarity for this source",
        )
