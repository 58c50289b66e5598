"""What MRSF and the l2,1 regression solve: the response Y, the features, and the certificate.

The response is what the selected features reproduce together: the columns of a similarity of the
samples, of their classes, or of their principal components (Z. Zhao, dissertation, Arizona State
University 2010, Eq. 4.2 and 4.13-4.16), or an outcome: then the regression is the lasso. Features
have unit norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from sfs_cli.compute.memory import format_size
from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import FactoredSimilarity, Similarity, as_dense
from sfs_cli.graph.spectral import DIRECT_LIMIT, fix_signs, lanczos
from sfs_cli.methods.base import Problem
from sfs_cli.methods.centered_matrix import CenteredMatrix, centered_matrix
from sfs_cli.methods.l21.active_set import Point
from sfs_cli.methods.l21.screen import Screen
from sfs_cli.methods.shared import require_variation, set_aside_given, unit_outcome

FLOOR = 1e-6
"""The smallest penalty, as a share of lambda_max: there the response is reproduced."""
GAP = 1e-6
"""A solution is optimal if its relative duality gap is at most this."""
EXPLAINED = 1e-12
"""A response is explained if what is left of it is below this part of its norm."""
DROPPED_BELOW = 1e-10
"""Eigenvalues below this share of the largest give no column of Y."""
_FEWEST, _MOST = 500, 4096


@dataclass
class Regression:
    """The regression of the response on all features."""

    features: CenteredMatrix  # features of unit norm, less what given ones explain
    screen: Screen  # all features, with no active one at first
    lam_max: float  # the smallest penalty for which W is zero, ``max_i |f_i' Y|``
    first: np.ndarray  # (m,): ``|f_i' Y|``
    facts: dict[str, Any]  # facts about the response, for ``run.json``

    @property
    def floor(self) -> float:
        """The smallest penalty that is solved."""
        return FLOOR * self.lam_max

    @property
    def half_square(self) -> float:
        """``1/2 |Y|_F^2``, the objective of W = 0."""
        Y = self.screen.start.active.Y
        return float(np.vdot(Y, Y)) / 2

    def row_norms(self, point: Point) -> np.ndarray:
        """Return ``|w^i|`` of every feature, shape (m,); NaN where a feature cannot be scored."""
        norms = np.zeros(self.features.m)
        norms[point.active.index] = point.d * point.norms
        norms[~self.features.usable] = np.nan
        return norms


def coefficients(point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return the features with coefficients (s,), and their rows of W (s, r)."""
    kept = point.d > 0
    return point.active.index[kept], point.W[kept]


def first_these(entered: list[int], score: np.ndarray) -> np.ndarray:
    """Return features as they entered, then the others by a score (m,); those without one last."""
    key = np.where(np.isnan(score), np.inf, -score)
    key[entered] = -np.inf
    others = np.argsort(key, kind="stable")[len(entered) :]
    return np.concatenate([np.array(entered, int), others])


def make_regression(problem: Problem, select: int) -> Regression:
    """Read the features, make the response and find lambda_max.

    The expected number of active features, `select`, decides on the number of candidates. Features
    that are given have coefficients B without a penalty, ``1/2 |Y - Z B - X W|_F^2 + lambda sum_i
    |w^i|``. With M the projection on what is orthogonal to Z, ``B = Z^+ (Y - X W)`` leaves
    ``1/2 |M Y - M X W|_F^2 + lambda sum_i |w^i|``: the same problem, with the residuals of the
    response and of the features in the regression on the given ones. (For one response without a
    penalty this is the theorem of Frisch and Waugh, Econometrica 1, 1933.) The residuals keep their
    length: scaled to unit norm, those of features that repeat given ones would be noise that counts
    as much as anything else.

    Raises InputError if no feature can be scored, or none is correlated with the response.
    """
    features = centered_matrix(problem.engine, "unit", problem.memory)
    require_variation(features.status)
    Y = make_response(problem, features)
    facts = {"response": problem.options["response"], "response_columns": Y.shape[1]}
    given = set_aside_given(problem, features)
    if len(given):
        whole, basis = float(np.linalg.norm(Y)), features.take_out(given)
        Y = Y - basis.T @ (basis @ Y)
        left = float(np.linalg.norm(Y)) / whole
        if left <= EXPLAINED or len(basis) >= features.n - 1:
            raise InputError(
                f"the {len(given):,} given features explain the whole response of "
                f"{features.n:,} samples, so no other feature can add to it",
                where=problem.context.where,
                hint="give a shorter list",
                option="given_",
            )
        facts["response_explained_by_given"] = 1 - left**2
    # so many candidates that passes are rare, so few that they fit in memory
    each = 8 * (features.n + Y.shape[1] + 4 * select)
    wanted = min(max(_FEWEST, features.m // 16), _MOST)
    screen = Screen(features, Y, max(64, min(wanted, problem.memory // 8 // each)), problem.tell)
    lam_max = float(screen.correlation.max())
    if lam_max <= EXPLAINED * np.linalg.norm(Y):
        raise InputError(
            "no feature is correlated with the response",
            hint="check that the labels or the similarity belong to these samples",
        )
    return Regression(features, screen, lam_max, screen.correlation.copy(), facts)


def make_response(problem: Problem, features: CenteredMatrix) -> np.ndarray:
    """Return the response Y, shape (n, r), with centered columns.

    Parameters
    ----------
    problem : Problem
        With the options ``response`` (similarity, lda, svm, outcome or pca) and ``response_rank``,
        the number of leading columns to keep; and the similarity, the classes or the outcome that
        the response needs.
    features : CenteredMatrix
        The matrix, for ``pca``.

    Raises
    ------
    InputError
        If the response is the same for all samples.
    """
    name, rank = problem.options["response"], problem.options["response_rank"]
    if name == "similarity":
        Y = similarity_response(problem.similarity, rank, problem.memory)
    elif name == "pca":
        Y = pca_response(features, rank)
    elif name == "outcome":
        assert problem.outcome is not None
        # one column of unit norm: penalties are on the scale of correlations with the outcome
        Y = unit_outcome(problem.outcome, "the response")[:, None]
    else:
        Y = lda_response(problem.codes) if name == "lda" else svm_response(problem.codes)
        # centered first, or the mean of the classes would be one of the leading columns
        Y = Y if rank is None else _leading_columns(Y - Y.mean(axis=0), rank)
    size = float(np.linalg.norm(Y))
    Y = Y - Y.mean(axis=0)
    if not np.linalg.norm(Y) > 1e-12 * size:
        raise InputError(
            f"the response ({name}) is the same for all samples",
            hint="give two or more classes, or a similarity that differs between samples",
        )
    return Y


def similarity_response(S: Similarity, rank: int | None, memory: int) -> np.ndarray:
    """Return ``Y = U Sigma^1/2``, so that ``Y Y'`` is the nearest to S (Eq. 4.2).

    Negative eigenvalues are taken as 0; columns below `DROPPED_BELOW` are dropped.

    Parameters
    ----------
    S : Similarity
        n x n.
    rank : int, optional
        Number of leading columns to keep.
    memory : int
        Bytes that a full decomposition may take.

    Returns
    -------
    ndarray, shape (n, r)

    Raises
    ------
    InputError
        If all eigenvectors are needed and do not fit in memory.
    """
    if isinstance(S, FactoredSimilarity):
        # from Z itself: the squares of its small singular values would be lost in Z Z'
        return _leading_columns(as_dense(S.factor), rank)
    # Lanczos pays only for few columns of a large S
    if rank is not None and S.n > DIRECT_LIMIT and rank < S.n // 4:
        start = np.random.default_rng(0).standard_normal(S.n)
        hint = "give another response-rank="
        values, vectors = lanczos(S.matmul, S.n, rank, hint=hint, v0=start)
        return _root(values[::-1], vectors[:, ::-1])
    needed = 4 * 8 * S.n**2
    if S.n > DIRECT_LIMIT and needed > memory:
        raise InputError(
            f"all eigenvectors of the similarity of {S.n:,} samples need {format_size(needed)}",
            hint=f"keep the leading ones (response-rank=50), or allow --memory {needed >> 20}M",
            option=("response_rank", "memory"),
        )
    values, vectors = linalg.eigh(S.to_dense())
    return _root(values[::-1][:rank], vectors[:, ::-1][:, :rank])


def pca_response(features: CenteredMatrix, rank: int | None) -> np.ndarray:
    """Return the leading principal components of the samples, shape (n, r), in one pass.

    ``Y Y'`` is the nearest to ``X X'`` (Eq. 4.13).
    """
    values, vectors = linalg.eigh(features.gram())
    return _root(values[::-1][:rank], vectors[:, ::-1][:, :rank])


def lda_response(codes: np.ndarray) -> np.ndarray:
    """Return the response of least-squares linear discriminant analysis (Eq. 4.15).

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
    """Return the response of least-squares support vector machines (Eq. 4.16), shape (n, c).

    It is 1 in class j and -1 outside it.
    """
    return 2 * _indicators(codes)[0] - 1


def _indicators(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one-hot classes (n, c), without empty classes, and their sizes (c,)."""
    _, column, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.eye(len(counts))[column], counts.astype(np.float64)


def _leading_columns(Z: np.ndarray, rank: int | None) -> np.ndarray:
    """Return the leading columns of ``Z V``, with V the right singular vectors of Z."""
    U, sigma, _ = linalg.svd(Z, full_matrices=False)
    return _root(sigma[:rank] ** 2, U[:, :rank])


def _root(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return ``U Sigma^1/2`` of eigenpairs, largest first, without the negligible ones."""
    # signs change no score, but those of the coefficients, which are written out
    kept = values > DROPPED_BELOW * max(float(values[0]), 0.0)
    return fix_signs(vectors[:, kept]) * np.sqrt(values[kept])
