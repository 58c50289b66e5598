"""Weights that keep neighbors near each other (sparse UMKL)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.graph.neighbors import nearest_in_panel
from sfs_cli.knowledge.weights.base import (
    FusionContext,
    Weighting,
    bounded_neighbors,
    centered,
    certificate,
    dense_kernels,
    informative,
    minimize,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def learn_sparse_umkl(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Minimize the distortion of the neighborhoods of all kernels by their weighted sum.

    min beta'S beta over beta >= 0, sum beta = 1, with S_kl = sum_ij W_ij <Kk_i - Kk_j, Kl_i - Kl_j>
    over rows i and j of the kernels (Mariette and Villa-Vialaneix 2018). W is the sum over all
    kernels of A + A', A_ij = 1 where j is one of the k nearest neighbors of i. With its Laplacian
    S_kl = 2 tr(Kk L_W Kl).

    As in the authors' package mixKernel, kernels are first scaled to a diagonal of 1 and then
    centered, and two samples that are each other's neighbors count twice. Neighbors are the
    nearest in the scaled kernel's distance 2 - 2 k_ij. (The package takes the largest entries of
    the centered kernel, sums products of absolute differences instead of the squares above, and
    scales S to a diagonal of 1.) A graph without loops has no diagonal to be scaled by: it is taken
    as it is, and only its edges make neighbors.

    Little is distorted by a kernel in which all samples are nearly alike, so that one of noise may
    get much weight: the method keeps neighborhoods, it does not look for what sources share.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices.
    context : FusionContext
        Option ``neighbors``: k.

    Returns
    -------
    Weighting
        beta. The objective is beta'S beta; facts are that of each kernel alone, and k.

    Raises
    ------
    InputError
        When more neighbors are asked for than there are other samples, or all kernels are
        constant.
    """
    scaled = [unit_diagonal(K) for K in dense_kernels(kernels)]
    n = len(scaled[0])
    neighbors = bounded_neighbors(context, "sparse-umkl", n)
    kept = informative(scaled, context)
    first, *others = (neighbor_graph(K, neighbors) for K in kept.kernels)
    S = distortions([centered(K) for K in kept.kernels], sum(others, first))
    beta, violation = minimize(S, np.zeros(len(S)), 1.0)
    facts = {"neighbors": neighbors, "distortions": kept.widen(S.diagonal()).tolist()}
    objective = float(beta @ S @ beta)
    return kept.weighting(beta, objective=objective, facts=facts, **certificate(violation))


def unit_diagonal(K: np.ndarray) -> np.ndarray:
    """Return k_ij / sqrt(k_ii k_jj); K itself where an entry of its diagonal is not positive."""
    diagonal = K.diagonal()
    if not (diagonal > 0.0).all():
        return K
    size = np.sqrt(diagonal)
    return K / np.outer(size, size)


def neighbor_graph(K: np.ndarray, neighbors: int) -> csr_array:
    """Return A + A', where A_ij = 1 if j is among the samples most similar to i.

    Ties go by position; a sample is no neighbor of itself. Where no similarity is negative, 0 is
    the lack of any, and makes no neighbors.
    """
    from scipy.sparse import csr_array

    n = len(K)
    columns, opposite = nearest_in_panel(-K, 0, neighbors)
    near = (opposite < 0.0) | (K.min() < 0.0)
    starts = np.arange(0, n * neighbors + 1, neighbors)
    A = csr_array((near.astype(np.float64).ravel(), columns.ravel(), starts), shape=(n, n))
    A.eliminate_zeros()
    return A + A.T


def distortions(kernels: Sequence[np.ndarray], W: csr_array) -> np.ndarray:
    """Return S, shape (K, K): S_kl = 2 tr(Kk L_W Kl)."""
    from scipy.sparse import diags_array

    L = (diags_array(np.asarray(W.sum(axis=1))) - W).tocsr()
    S = np.empty((len(kernels), len(kernels)))
    for j, K in enumerate(kernels):
        product = L @ K
        for i in range(j + 1):
            S[i, j] = S[j, i] = 2.0 * np.vdot(kernels[i], product)
    return S
