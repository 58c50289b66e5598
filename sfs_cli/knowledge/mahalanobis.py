"""Distances between samples through what is known of the features (Prop. 4).

With S^F the similarity between l features, D^F its degrees and L^F = D^F - S^F, the covariance of
the features is taken to be the kernel (L^F)^+, whose inverse is L^F itself. So
|x - y|_M^2 = (x - y)' L^F (x - y): two samples differ more, the more their difference varies
between similar features. Nothing of size l x l is formed but S^F as it is given, sparse.

The values X of the l features that are known, l x n, are held. They are centered by
`sfs_cli.graph.distances.center`, which changes no distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, Span
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.distances import center, squared_distances
from sfs_cli.knowledge.base import BY_FEATURES

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def similarity_distances(engine: Engine, similarity: csr_array, memory: int) -> np.ndarray:
    """Return the squared Mahalanobis distances that a similarity between features defines.

    Features without similar ones do not count, nor do those that are left out.

    Parameters
    ----------
    engine : Engine
        Passes over the l features.
    similarity : csr_array, shape (l, l)
        S^F: symmetric, not negative. Its diagonal does not count.
    memory : int
        Bytes that may be used.

    Returns
    -------
    ndarray, shape (n, n), float64
        Symmetric, 0 on the diagonal; within the rounding of the products, 0 exactly.

    Raises
    ------
    InputError
        When no two features are similar, or all distances are 0.
    OutOfMemoryError
        When the values of the features do not fit in memory.
    """
    _checked_degrees(_others_only(similarity).sum(axis=1), "are similar")
    X, used = _values(engine, memory)
    S = _others_only(used @ similarity @ used)
    degrees = _checked_degrees(S.sum(axis=1), "are similar")
    weighted = degrees[:, None] * X
    squares = np.einsum("ij,ij->j", X, weighted)
    weighted -= S @ X
    return _distances(X.T @ weighted, squares)


def term_distances(engine: Engine, terms: csr_array, memory: int) -> np.ndarray:
    """Return the squared Mahalanobis distances that shared terms define: S^F = T T'.

    They are (x - y)' D^F (x - y) - |T'(x - y)|^2, so that S^F is not formed. Features that share no
    term do not count, nor do those that are left out.

    Parameters
    ----------
    engine : Engine
        Passes over the l features.
    terms : csr_array, shape (l, t)
        T: 1 where a feature has a term, else 0.
    memory : int
        Bytes that may be used.

    Returns
    -------
    ndarray, shape (n, n), float64
        As `similarity_distances` returns.

    Raises
    ------
    InputError
        When no two features share a term, or all distances are 0.
    OutOfMemoryError
        When the values of the features do not fit in memory.
    """
    _shared_terms(terms)
    X, used = _values(engine, memory)
    T, degrees = _shared_terms(used @ terms)
    product = X.T @ (degrees[:, None] * X)
    squares = product.diagonal().copy()
    of_terms = T.T @ X
    product -= of_terms.T @ of_terms
    return _distances(product, squares)


def _others_only(similarity: Any) -> csr_array:
    """Return a similarity without its diagonal: L does not depend on it, but its rounding does."""
    from scipy.sparse import csr_array

    S = similarity.tocoo()
    keep = (S.row != S.col) & (S.data != 0)
    data = S.data[keep].astype(np.float64)
    return csr_array((data, (S.row[keep], S.col[keep])), shape=S.shape)


def _shared_terms(terms: Any) -> tuple[csr_array, np.ndarray]:
    """Return the terms that two features or more have, (l, s), and the degrees of ``T T'``, (l,).

    The others connect no features.
    """
    T = terms.tocsr().astype(np.float64)  # a copy
    T.eliminate_zeros()
    T = T[:, np.flatnonzero(np.bincount(T.indices, minlength=T.shape[1]) > 1)]
    return T, _checked_degrees(T @ T.sum(axis=0), "share a term")


def _checked_degrees(degrees: np.ndarray, what: str) -> np.ndarray:
    """Return the degrees, after checking that one is positive."""
    if not (degrees > 0).any():
        raise InputError(
            f"no two features of the matrix {what}: this source gives no distance between samples",
            hint="check that both ids of each pair are features (--id-map), or remove the source",
        )
    return degrees


def _values(engine: Engine, memory: int) -> tuple[np.ndarray, Any]:
    """Read the centered values (l, n), and the diagonal matrix (l, l) of the features that count.

    Features that are left out, which is known only now, must not connect others.
    """
    from scipy.sparse import diags_array

    count, n = engine.source.n_features, engine.source.n_samples
    what = f"the values of {count:,} features of {n:,} samples need"
    check_memory(what, 3 * 8 * count * n, memory, "give more --memory, or a source of fewer genes")
    X, used = np.empty((count, n)), np.ones(count)

    def read(span: Span) -> tuple[np.ndarray, np.ndarray | None]:
        block = engine.source.read(span, DOUBLE)
        center(block.values)
        return block.values.copy(), block.left_out

    for span, (values, left_out) in engine.at(BY_FEATURES).run_over(read):
        X[span.lo : span.hi] = values
        if left_out is not None:
            used[span.lo : span.hi] = left_out == 0
    return X, diags_array(used)


def _distances(product: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the squared distances of samples from X' L X.

    Parameters
    ----------
    product : ndarray, shape (n, n)
        X' L X; overwritten.
    squares : ndarray, shape (n,)
        The diagonal of X' D X. L = D - S cancels digits: a distance is 0 when it is within the
        rounding of these, not of the smaller diagonal of `product`.
    """
    # distances do not change when c_i + c_j is added to entry ij; so the diagonal becomes 2 x'Dx,
    # a bound on x'(D + S)x, by which `squared_distances` judges the rounding
    shift = squares - 0.5 * product.diagonal()
    product += shift[:, None]
    product += shift
    d2 = squared_distances(product)
    if not d2.any():
        raise InputError(
            "all samples are at distance 0: similar features differ by the same number in every "
            "sample",
            hint="check the source and --transform, or remove the source",
        )
    return d2
