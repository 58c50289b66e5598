"""Weight vectors of features as symmetric n x n matrices, so that no m x m matrix is needed.

With rows ``m_i`` of M centered and of unit norm, every weight vector in Q-alpha is
``alpha_i = m_i' B m_i`` for a symmetric n x n matrix B, and its affinity matrix is
``A = sum_i alpha_i m_i m_i'``. One pass over the matrix gives A for B. After that,
inner products of weight vectors are those of small matrices, ``alpha . beta = <B_alpha, A_beta>``.

The matrix G of the eigenproblem is ``m_i' T(A_alpha) m_i`` for a linear, self-adjoint map T of
n x n matrices (``A -> (A QQ' + QQ' A) / 2`` in the basic case), and only T depends on Q. So the
vectors of one Q are useful for the next: the leading eigenvector of every G is searched in the span
of all vectors so far (Rayleigh-Ritz), and a pass is made only for a residual that is not small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from sfs_cli.compute.matrix import Span
from sfs_cli.methods.centered_matrix import CenteredMatrix

LARGEST = 60
"""Largest dimension of the span; then it restarts with its best `_KEPT` vectors."""
_KEPT = 20
NOTHING = 1e-11
"""A residual of at most this share of the eigenvalue may be rounding, and is not added."""
DEPENDENT = 1e-8
"""A vector lies in the span if at most this share of its square is outside."""


class Form(Protocol):
    """The linear map T, with ``(G alpha)_i = m_i' T(A_alpha) m_i``."""

    def form(self, A: np.ndarray) -> np.ndarray:
        """Return T(A) for symmetric matrices, shape (..., n, n)."""
        ...

    def energies(self, A: np.ndarray) -> np.ndarray:
        """Return ``<T(A_i), A_j>`` of symmetric matrices, shape (q, n, n), as (q, q)."""
        ...


@dataclass(frozen=True)
class Weights:
    """A unit weight vector, with ``sum(alpha) > 0``."""

    B: np.ndarray  # (n, n): ``alpha_i = m_i' B m_i``
    A: np.ndarray  # (n, n): ``sum_i alpha_i m_i m_i'``
    value: float  # the Ritz value ``alpha' G alpha``

    def distance(self, other: Weights) -> float:
        """Return the Euclidean distance between the weight vectors."""
        square = np.vdot(self.B - other.B, self.A - other.A)
        return float(np.sqrt(max(square, 0.0)))


class WeightSpace:
    """The span of all weight vectors so far; the first has equal weights for all features.

    Parameters
    ----------
    features : CenteredMatrix
        Rows ``m_i``, centered, of unit norm.
    memory : int
        Bytes that may be used; the span takes at most a quarter of them.
    """

    def __init__(self, features: CenteredMatrix, memory: int) -> None:
        self.features = features
        n = features.n
        most = memory // 4 // (3 * 8 * n * n)
        self.limit = int(min(LARGEST, max(most, 4)))
        self._size = 0
        self.last_norm = 0.0
        self._B = np.empty((self.limit, n, n))
        self._A = np.empty((self.limit, n, n))
        self._gram = np.empty((self.limit, self.limit))
        self.expand(np.eye(n) - 1 / n)  # m_i' B m_i = |m_i|^2 = 1, since m_i is centered

    def start(self) -> Weights:
        """Return the weight vector of equal weights."""
        return Weights(self._B[0].copy(), self._A[0].copy(), float("nan"))

    def expand(self, B: np.ndarray, above: float = 0.0) -> bool:
        """Add the weight vector of B, in one pass.

        Parameters
        ----------
        B : ndarray, shape (n, n)
            Symmetric.
        above : float
            A vector of at most this norm is rounding, and is not added.

        Returns
        -------
        bool
            Whether it was added.
        """
        A, self.last_norm = moments(self.features, B)
        if self.last_norm <= above or self._size == self.limit:
            return False
        self._B[self._size] = B / self.last_norm
        self._A[self._size] = A / self.last_norm
        self._size += 1
        self._compare(self._size - 1)
        # Residuals are orthogonal to the span. Only with very few features does a new vector lie in
        # it; it would make the Gram matrix of the Ritz problem singular.
        q = self._size - 1
        if q:
            products = self._gram[:q, q]
            rest = 1 - products @ np.linalg.lstsq(self._gram[:q, :q], products, rcond=None)[0]
            if rest <= DEPENDENT:
                self._size -= 1
                return False
        return True

    def leading(self, form: Form) -> Weights:
        """Return the Ritz vector of the largest eigenvalue of G in the span."""
        values, vectors = self._ritz(form)
        if self._size == self.limit:  # keep the best vectors, as thick-restart Lanczos does
            best = vectors[:, ::-1][:, : max(1, min(_KEPT, self.limit // 2))]
            pairs = [self._combined(c) for c in best.T]
            self._size = len(pairs)
            for i, (B, A) in enumerate(pairs):
                self._B[i], self._A[i] = B, A
            for i in range(self._size):
                self._compare(i)
            values, vectors = self._ritz(form)
        B, A = self._combined(vectors[:, -1])
        sign = 1.0 if np.trace(A) >= 0 else -1.0  # tr(A) = sum(alpha), as |m_i| = 1
        return Weights(sign * B, sign * A, float(values[-1]))

    def residual(self, form: Form, weights: Weights) -> tuple[np.ndarray, float]:
        """Return the residual of an eigenvector, as a matrix, and an estimate of its norm.

        Returns
        -------
        R : ndarray, shape (n, n)
            ``G alpha - (alpha' G alpha) alpha`` is ``m_i' R m_i``.
        size : float
            An estimate of its norm, relative to the eigenvalue; the norm itself takes a pass.
        """
        image = form.form(weights.A)
        value = float(np.vdot(image, weights.A))
        R = image - value * weights.B
        size = np.linalg.norm(R) * np.linalg.norm(weights.A) / abs(value)
        return R, float(size)

    def grow(self, form: Form, weights: Weights, tolerance: float) -> bool:
        """Add the residual of an eigenvector; return whether it was above the tolerance."""
        R, size = self.residual(form, weights)
        if size <= tolerance or not self.expand(R, NOTHING * abs(weights.value)):
            return False
        return self.last_norm > tolerance * abs(weights.value)

    def improve(self, form: Form, tolerance: float) -> Weights:
        """Return the leading eigenvector of G, to a relative residual of about the tolerance."""
        found = self.leading(form)
        while self.grow(form, found, tolerance):
            found = self.leading(form)
        return found

    def _ritz(self, form: Form) -> tuple[np.ndarray, np.ndarray]:
        # a generalized eigenproblem: residuals under different Q are not orthogonal to each other
        q = self._size
        projected = form.energies(self._A[:q])
        # with few features the span soon is the whole space, and a new vector nearly lies in it
        sizes, directions = linalg.eigh(self._gram[:q, :q])
        basis = directions[:, kept := sizes > DEPENDENT * sizes[-1]] / np.sqrt(sizes[kept])
        within = basis.T @ ((projected + projected.T) / 2) @ basis
        values, vectors = linalg.eigh(within)
        return values, basis @ vectors

    def _combined(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = self._size
        return np.tensordot(c, self._B[:q], 1), np.tensordot(c, self._A[:q], 1)

    def _compare(self, i: int) -> None:
        """Compute the inner products of weight vector i with all others."""
        q = self._size
        own = self._B[:q].reshape(q, -1) @ self._A[i].ravel()
        # <B_i, A_j> = <A_i, B_j> but for rounding: their mean keeps the Gram matrix symmetric
        own += self._A[:q].reshape(q, -1) @ self._B[i].ravel()
        self._gram[i, :q] = self._gram[:q, i] = own / 2


def moments(features: CenteredMatrix, B: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ``sum_i alpha_i m_i m_i'`` for ``alpha_i = m_i' B m_i``, in one pass.

    Parameters
    ----------
    features : CenteredMatrix
        Rows ``m_i``.
    B : ndarray, shape (n, n)
        Symmetric.

    Returns
    -------
    A : ndarray, shape (n, n)
        Symmetric.
    norm : float
        Of alpha.
    """

    def part(block: np.ndarray, _: Span) -> tuple[np.ndarray, float]:
        alpha = np.vecdot(block @ B, block)
        return (block * alpha[:, None]).T @ block, float(alpha @ alpha)

    total, square = np.zeros_like(B), 0.0
    for _, (piece, own) in features.map(part):
        total += piece
        square += own
    return (total + total.T) / 2, float(np.sqrt(square))
