"""What the selected features are to reproduce: the response matrix Y of a multi-output regression.

Z. Zhao, dissertation, Arizona State University 2010, Eq. 4.2 and 4.13-4.16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from sfs_cli.compute.memory import format_size
from sfs_cli.errors import InputError
from sfs_cli.graph.labels import check_labelled
from sfs_cli.graph.similarity import FactoredSimilarity, Similarity
from sfs_cli.graph.spectrum import fix_signs
from sfs_cli.methods.base import Context
from sfs_cli.methods.features import Features

DROPPED_BELOW = 1e-10
"""Eigenvalues below this share of the largest give no column."""
_DIRECT_LIMIT = 1000


@dataclass(frozen=True)
class Response:
    """The responses.

    Attributes
    ----------
    Y : ndarray, shape (n, r)
        With centred columns, since the features are centred.
    facts : dict
        What was decided on the way.
    """

    Y: np.ndarray
    facts: dict[str, object]


def make_response(context: Context, features: Features) -> Response:
    """Return the response that the options ``response`` and ``rank`` ask for.

    Parameters
    ----------
    context : Context
        With a similarity for ``similarity``, class codes for ``lda`` and ``svm``.
    features : Features
        The matrix, for ``pca``.

    Raises
    ------
    InputError
        When the response is the same for all samples.
    """
    name, rank = context.options["response"], context.options["rank"]
    if rank is not None and rank < 1:
        raise InputError(f"--rank {rank} leaves no response", hint="give 1 or more")
    Y = _raw(context, features, name, rank)
    size = float(np.linalg.norm(Y))
    Y = Y - Y.mean(axis=0)
    if not np.linalg.norm(Y) > 1e-12 * size:
        raise InputError(
            f"the response ({name}) is the same for all samples: there is nothing to reproduce",
            hint="two or more classes are needed, or a similarity that tells samples apart",
        )
    return Response(Y, {"response": name, "response_columns": Y.shape[1]})


def _raw(context: Context, features: Features, name: str, rank: int | None) -> np.ndarray:
    if name == "similarity":
        assert context.similarity is not None
        return similarity_response(context.similarity, rank, context.memory)
    if name == "pca":
        return pca_response(features, rank)
    assert context.codes is not None
    check_labelled(context.codes)
    Y = lda_response(context.codes) if name == "lda" else svm_response(context.codes)
    return Y if rank is None else _leading_columns(Y - Y.mean(axis=0), rank)


def similarity_response(S: Similarity, rank: int | None, memory: int) -> np.ndarray:
    """Return ``Y = U Sigma^1/2`` with ``Y Y'`` nearest to S (Eq. 4.2).

    Negative eigenvalues are taken as 0, and columns below `DROPPED_BELOW` are left out.

    Parameters
    ----------
    S : Similarity
        n x n.
    rank : int, optional
        How many of the leading columns to keep.
    memory : int
        Bytes that a full decomposition may take.

    Returns
    -------
    ndarray, shape (n, r)

    Raises
    ------
    InputError
        When all eigenvalues would be needed and do not fit the memory.
    """
    if isinstance(S, FactoredSimilarity):
        Z = S.factor if isinstance(S.factor, np.ndarray) else S.factor.toarray()
        return _leading_columns(Z, rank)
    if rank is not None and S.n > _DIRECT_LIMIT and rank < S.n // 4:
        return _root(*_lanczos(S, rank))
    needed = 4 * 8 * S.n**2
    if S.n > _DIRECT_LIMIT and needed > memory:
        raise InputError(
            f"all eigenvectors of the similarity of {S.n:,} samples take {format_size(needed)}",
            hint=f"keep the leading ones alone (--rank 50), or allow --memory {needed >> 20}M",
        )
    values, vectors = linalg.eigh(S.to_dense())
    return _root(values[::-1][:rank], vectors[:, ::-1][:, :rank])


def _root(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    kept = values > DROPPED_BELOW * max(float(values[0]), 0.0)
    return fix_signs(vectors[:, kept]) * np.sqrt(values[kept])


def _lanczos(S: Similarity, rank: int) -> tuple[np.ndarray, np.ndarray]:
    def multiply(v: np.ndarray) -> np.ndarray:
        return S.matmul(np.ascontiguousarray(v).reshape(1, -1))[0]

    start = np.random.default_rng(0).standard_normal(S.n)
    operator = LinearOperator((S.n, S.n), matvec=multiply, dtype=np.float64)
    values, vectors = eigsh(operator, k=rank, which="LA", v0=start)
    return values[::-1], vectors[:, ::-1]


def _leading_columns(Z: np.ndarray, rank: int | None) -> np.ndarray:
    """Return the leading columns of ``Z V``, with V its right singular vectors."""
    U, sigma, _ = linalg.svd(Z, full_matrices=False)
    return _root(sigma[:rank] ** 2, U[:, :rank])


def pca_response(features: Features, rank: int | None) -> np.ndarray:
    """Return the principal components of the samples, ``Y Y'`` nearest to ``X X'`` (Eq. 4.13).

    Parameters
    ----------
    features : Features
        The matrix; one pass.
    rank : int, optional
        How many components to keep.

    Returns
    -------
    ndarray, shape (n, r)
    """
    values, vectors = linalg.eigh(features.gram())
    return _root(values[::-1][:rank], vectors[:, ::-1][:, :rank])


def lda_response(codes: np.ndarray) -> np.ndarray:
    """Return the responses of least-squares linear discriminant analysis (Eq. 4.15).

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample.

    Returns
    -------
    ndarray, shape (n, c)
        ``sqrt(n / n_j) - sqrt(n_j / n)`` in class j, ``-sqrt(n_j / n)`` outside it.
    """
    inside, counts = _indicators(codes)
    n = len(codes)
    return inside * np.sqrt(n / counts) - np.sqrt(counts / n)


def svm_response(codes: np.ndarray) -> np.ndarray:
    """Return the responses of least-squares support vector machines (Eq. 4.16).

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample.

    Returns
    -------
    ndarray, shape (n, c)
        1 in class j, -1 outside it.
    """
    return 2 * _indicators(codes)[0] - 1


def _indicators(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _, column, counts = np.unique(codes, return_inverse=True, return_counts=True)
    inside = np.zeros((len(codes), len(counts)))
    inside[np.arange(len(codes)), column] = 1
    return inside, counts.astype(np.float64)
