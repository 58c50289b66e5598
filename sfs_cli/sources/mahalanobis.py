"""Distances between samples through what is known of the features (Prop. 4).

With S^F the similarity between l features, D^F its degrees and L^F = D^F - S^F, features are taken
to covary as the kernel (L^F)^+. The inverse of that covariance is L^F itself, so that
|x - y|_M^2 = (x - y)' L^F (x - y): samples differ the more, the more their difference changes
between features that are alike. Nothing of size l x l is formed but S^F as it is given, sparse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.errors import InputError
from sfs_cli.graph.kernels import squared_distances
from sfs_cli.sources.laplacian_products import (
    held,
    sample_panels,
    similarity_product,
    term_product,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def similarity_degrees(similarity: csr_array) -> np.ndarray:
    """Return how alike each feature is to all others; features with 0 take no part.

    Parameters
    ----------
    similarity : csr_array, shape (l, l)
        S^F; its diagonal does not count.

    Returns
    -------
    ndarray, shape (l,)
    """
    return _others_only(similarity).sum(axis=1)


def term_degrees(terms: csr_array) -> np.ndarray:
    """Return how many terms each feature shares with all others; features with 0 take no part.

    Parameters
    ----------
    terms : csr_array, shape (l, t)
        T, of 0 and 1.

    Returns
    -------
    ndarray, shape (l,)
        The degrees of T T' without its diagonal.
    """
    shared = _shared_only(terms)
    return shared @ shared.sum(axis=0) - shared.sum(axis=1)


def similarity_distances(engine: Engine, similarity: csr_array, memory: int) -> np.ndarray:
    """Return the squared Mahalanobis distances that a similarity between features defines.

    Features without similar ones take no part, nor do those left out for missing values. The
    values are held where they fit, else panels of samples, each for two passes.

    Parameters
    ----------
    engine : Engine
        Passes over the l features.
    similarity : csr_array, shape (l, l)
        S^F: symmetric, not negative. Its diagonal plays no part.
    memory : int
        Bytes that the values held may take; 16 samples are held at least.

    Returns
    -------
    ndarray, shape (n, n), float64
        Symmetric, 0 on the diagonal; within the rounding of the products, 0 exactly.

    Raises
    ------
    InputError
        When no two features are alike, or all distances are 0.
    """
    n, count = engine.source.n_samples, engine.source.n_features
    assert similarity.shape == (count, count)
    S = _others_only(similarity)
    degrees = _taking_part(S.sum(axis=1), "similar to another")
    product, squares = np.empty((n, n)), np.empty(n)
    for panel in sample_panels(engine, memory):
        values, left_out = held(engine, panel)
        if panel.start == 0 and left_out.any():
            S = _without(S, left_out)
            degrees = _taking_part(S.sum(axis=1), "similar to another")
        squares[panel] = np.einsum("i,ij,ij->j", degrees, values, values)
        product[:, panel] = similarity_product(engine, S, degrees, values)
    return _distances(product, squares)


def term_distances(engine: Engine, terms: csr_array, memory: int) -> np.ndarray:
    """Return the squared Mahalanobis distances that shared terms define: S^F = T T'.

    (x - y)' D^F (x - y) - |T'(x - y)|^2, where S^F is not formed. Features that share no term take
    no part, nor do those left out for missing values.

    Parameters
    ----------
    engine : Engine
        Passes over the l features.
    terms : csr_array, shape (l, t)
        T: 1 where a feature has a term, else 0.
    memory : int
        Bytes that T'X may take; with many terms it is made by groups, a pass for each. 512 terms
        are held at least.

    Returns
    -------
    ndarray, shape (n, n), float64
        As `similarity_distances` returns.

    Raises
    ------
    InputError
        When no two features share a term, or all distances are 0.
    """
    assert terms.shape[0] == engine.source.n_features
    product, squares, left_out = _term_product(engine, terms, memory)
    if left_out.any():  # known only now; their terms make no other features alike
        product, squares, _ = _term_product(engine, _without_rows(terms, left_out), memory)
    return _distances(product, squares)


def _term_product(
    engine: Engine, terms: csr_array, memory: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shared = _shared_only(terms)
    degrees = _taking_part(shared @ shared.sum(axis=0), "sharing a term with another")
    return term_product(engine, shared, degrees, memory)


def _others_only(similarity: csr_array) -> csr_array:
    """Return a similarity without its diagonal: L does not depend on it, but digits do."""
    from scipy.sparse import csr_array

    S = similarity.tocoo()
    keep = (S.row != S.col) & (S.data != 0)
    data = S.data[keep].astype(np.float64)
    return csr_array((data, (S.row[keep], S.col[keep])), shape=S.shape)


def _shared_only(terms: csr_array) -> csr_array:
    """Return the terms of two features or more: others make no two features alike."""
    made = terms.astype(np.float64)  # a copy
    made.eliminate_zeros()
    shared = np.bincount(made.indices, minlength=made.shape[1]) > 1
    return made[:, np.flatnonzero(shared)]


def _without(similarity: csr_array, left_out: np.ndarray) -> csr_array:
    return _others_only(_without_rows(_without_rows(similarity, left_out).T.tocsr(), left_out))


def _without_rows(matrix: csr_array, left_out: np.ndarray) -> csr_array:
    """Return a matrix with some rows zero."""
    from scipy.sparse import diags_array

    return (diags_array((~left_out).astype(np.float64)) @ matrix).tocsr()


def _taking_part(degrees: np.ndarray, what: str) -> np.ndarray:
    """Return the degrees after checking that a feature has one."""
    if not (degrees > 0).any():
        raise InputError(
            f"no feature of the matrix is {what}: samples have no distance by it",
            hint="check that both of each pair are features of the matrix (--id-map), or leave out "
            "the source",
        )
    return degrees


def _distances(product: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the squared distances of samples from X' L X.

    Parameters
    ----------
    product : ndarray, shape (n, n)
        X' L X; overwritten.
    squares : ndarray, shape (n,)
        The diagonal of X' D X. L = D - S takes digits away, so that what is left of a distance is
        to be told from the rounding of these, not from that of the diagonal of `product`.
    """
    # no distance changes by c_i + c_j in every entry; the diagonal becomes 2 x'Dx, which bounds
    # x'(D + S)x, and the noise that distances are told from is judged by the diagonal
    shift = squares - 0.5 * product.diagonal()
    product += shift[:, None]
    product += shift
    d2 = squared_distances(product)
    if not d2.any():
        raise InputError(
            "all samples are at distance 0: features that are alike differ by the same number in "
            "every sample",
            hint="check the source and --transform, or leave out the source",
        )
    return d2
