"""Centred kernels: H K H with H = I - 11'/n, and inner products between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.graph.panels import panels


def centred(K: np.ndarray) -> np.ndarray:
    """Return H K H as a new array, shape (n, n), symmetric to the last bit where K is."""
    return _shifted(K, _half_means(K), slice(0, len(K)))


def centred_products(kernels: Sequence[np.ndarray]) -> np.ndarray:
    """Inner products of centred kernels, without a copy of any.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices.

    Returns
    -------
    ndarray, shape (K, K)
        M_kl = <H K_k H, H K_l H>, symmetric and positive semi-definite.
    """
    means = [_half_means(K) for K in kernels]
    M = np.zeros((len(kernels), len(kernels)))
    for rows in panels(len(kernels[0])):
        stack = np.stack([_shifted(K, m, rows).ravel() for K, m in zip(kernels, means)])
        M += stack @ stack.T
    return M


def centred_norms(kernels: Sequence[np.ndarray]) -> np.ndarray:
    """Return the squared Frobenius norms of centred kernels, shape (K,)."""
    return np.array([centred_products([K])[0, 0] for K in kernels])


def cosines(M: np.ndarray) -> np.ndarray:
    """Return M_kl / sqrt(M_kk M_ll) of inner products with a positive diagonal, shape (K, K)."""
    norms = np.sqrt(M.diagonal())
    C = M / np.outer(norms, norms)
    np.fill_diagonal(C, 1.0)
    return C


def _half_means(K: np.ndarray) -> np.ndarray:
    """Return c with (H K H)_ij = k_ij - c_i - c_j."""
    means = K.mean(axis=1)
    return means - 0.5 * means.mean()


def _shifted(K: np.ndarray, half: np.ndarray, rows: slice) -> np.ndarray:
    return K[rows] - np.add.outer(half[rows], half)
