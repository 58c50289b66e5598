"""The diffusion kernel of a neighbour graph."""

from __future__ import annotations

from math import ceil, exp, isfinite, log2
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import DenseSimilarity, SparseSimilarity, check_degrees

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TAYLOR_LIMIT = 1e-20


def diffusion_similarity(knn: SparseSimilarity, beta: float = 1.0) -> DenseSimilarity:
    """Diffusion kernel expm(-beta N) of a graph (Kondor & Lafferty 2002).

    With A = D^-1/2 S D^-1/2 it is exp(-beta) expm(beta A), and A has no negative entry: the Taylor
    series adds non-negative terms only, so that nothing cancels and no entry is negative, and each
    term is one sparse product. Above beta = 1 the series is summed for a fraction of beta and the
    result squared.

    Parameters
    ----------
    knn : SparseSimilarity
        Neighbour graph with non-negative weights.
    beta : float
        Diffusion time.

    Returns
    -------
    DenseSimilarity
        The kernel, symmetric to the last bit; D^1/2 1 is its eigenvector to the eigenvalue 1.

    Raises
    ------
    InputError
        When `beta` is not positive and finite, or a sample has no positive degree.
    """
    if not (isfinite(beta) and beta > 0.0):
        raise InputError(
            f"the diffusion time beta is {beta}", hint="give a positive number; 1 is the default"
        )
    check_degrees(knn, None, "knn")
    halvings = max(0, ceil(log2(beta)))
    kernel = _series(_normalized_adjacency(knn), beta / 2.0**halvings)
    for _ in range(halvings):
        kernel = _symmetrised(kernel @ kernel)
    return DenseSimilarity(kernel)


def _normalized_adjacency(knn: SparseSimilarity) -> csr_array:
    from scipy.sparse import diags_array

    scale = diags_array(1.0 / np.sqrt(knn.degrees))
    return (scale @ knn.matrix @ scale).tocsr()


def _series(A: csr_array, beta: float) -> np.ndarray:
    """Return exp(-beta) expm(beta A) for beta <= 1; the spectrum of A lies in [-1, 1]."""
    term = exp(-beta) * np.eye(A.shape[0])
    total = term.copy()
    size, order = 1.0, 0
    while size > TAYLOR_LIMIT:
        order += 1
        size *= beta / order
        term = A @ term
        term *= beta / order
        total += term
    return _symmetrised(total)


def _symmetrised(kernel: np.ndarray) -> np.ndarray:
    return 0.5 * (kernel + kernel.T)
