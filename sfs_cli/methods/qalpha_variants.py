"""The variants of Q-alpha: what G is, and how Q follows from the affinity matrix.

L. Wolf and A. Shashua, "Feature selection for unsupervised and supervised inference", JMLR 6,
2005. Every variant keeps its own Q and gives G as a map of n x n matrices (`qalpha_space`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import linalg

from sfs_cli.methods.qalpha_space import Weights, WeightSpace

DIRECT_LIMIT = 1000
"""Up to this many samples a direct solver is used, above it Lanczos iterations."""


class Variant(Protocol):
    """A choice of G and of the update of Q.

    Attributes
    ----------
    memoryless : bool
        Whether Q and the objective follow from the affinity matrix alone.
    """

    memoryless: bool

    def form(self, A: np.ndarray) -> np.ndarray:
        """Return T(A) for symmetric matrices, shape (..., n, n), under the present Q."""
        ...

    def energies(self, A: np.ndarray) -> np.ndarray:
        """Return ``<T(A_i), A_j>`` of symmetric matrices, shape (q, n, n), as (q, q)."""
        ...

    def weigh(self, space: WeightSpace, tolerance: float) -> Weights:
        """Return the weights under the present Q, to a relative residual."""
        ...

    def update(self, A: np.ndarray) -> float:
        """Make Q follow from the affinity matrix, and return the objective.

        Parameters
        ----------
        A : ndarray, shape (n, n)
            Of a unit weight vector.
        """
        ...

    def eigenvalues(self, A: np.ndarray) -> np.ndarray:
        """Return what to report of the spectrum of the affinity matrix."""
        ...


class Basic:
    """The basic method: Q holds the k leading eigenvectors of ``A_alpha`` (Def. 1).

    They lead by magnitude, which maximises ``tr(Q' A^2 Q)`` also where weights are negative.
    """

    memoryless = True

    def __init__(self, A: np.ndarray, k: int) -> None:
        self.k = k
        self.Q = leading_eigenvectors(A, k)[1]

    def form(self, A: np.ndarray) -> np.ndarray:
        """Return ``(A QQ' + QQ' A) / 2``."""
        return symmetric((A @ self.Q) @ self.Q.T)

    def energies(self, A: np.ndarray) -> np.ndarray:
        """Return ``<A_i Q, A_j Q>``."""
        images = (A @ self.Q).reshape(len(A), -1)
        return images @ images.T

    def weigh(self, space: WeightSpace, tolerance: float) -> Weights:
        """Return the leading eigenvector of G."""
        return space.improve(self, tolerance)

    def update(self, A: np.ndarray) -> float:
        """Take the leading eigenvectors; return the sum of squares of their eigenvalues."""
        values, self.Q = leading_eigenvectors(A, self.k)
        return float(np.sum(values**2))

    def eigenvalues(self, A: np.ndarray) -> np.ndarray:
        """Return the k leading eigenvalues."""
        return leading_eigenvectors(A, self.k)[0]


class PowerEmbedded(Basic):
    """Orthogonal iteration in place of eigenvectors (Def. 2), and with Ritz vectors (Def. 4).

    The objective is ``tr(Q' A^2 Q)``; ``tr(Q+' A^2 Q+) >= tr(Q' A^2 Q)`` for ``Q+`` from the QR
    factors of ``A Q`` and any symmetric A, because ``Q' A^4 Q - (Q' A^2 Q)^2`` has no negative
    eigenvalue.

    G depends on Q through ``QQ'`` alone, so the rotation of Q onto the Ritz vectors (steps 6-8 of
    Def. 4) leaves alpha as it is: the Ritz variant goes through the same weights, and its steps 4
    and 5 are steps 1 and 2 of the next cycle. (Step 4 prints G without its first factor, by
    mistake.)
    """

    memoryless = False

    def __init__(self, A: np.ndarray, k: int, steps: int = 1, ritz: bool = False) -> None:
        super().__init__(A, k)
        self.steps = steps
        self.ritz = ritz

    def update(self, A: np.ndarray) -> float:
        """Multiply Q by A and make it orthonormal, `steps` times; return ``tr(Q' A^2 Q)``."""
        for _ in range(self.steps):
            if self.ritz:
                self.Q = self.Q @ _by_magnitude(linalg.eigh(self.Q.T @ A @ self.Q), self.k)[1]
            self.Q = np.linalg.qr(A @ self.Q)[0]
        return float(np.linalg.norm(A @ self.Q) ** 2)


class Laplacian(Basic):
    """Orthogonal iteration on ``L_alpha = A_alpha - D_alpha + d sum(alpha) I`` (Def. 5).

    Features are centred, so ``m_i'1 = 0`` and the degrees ``D_alpha`` vanish. For features of unit
    norm the rest of ``F_ij = tr(Q' L_i L_j Q)`` is a map of n x n matrices too,
    ``T(A) = B + d tr(B) I`` with ``B = (L QQ' + QQ' L) / 2`` and ``L = A + d tr(A) I``. The d of
    the start is that of equal weights. Since d follows alpha, outside of what the eigenproblem
    maximises, the objective ``tr(Q' L^2 Q)`` may fall.
    """

    memoryless = False

    def __init__(self, A: np.ndarray, k: int) -> None:
        super().__init__(A, k)
        self.d = _largest_degree(A)

    def form(self, A: np.ndarray) -> np.ndarray:
        """Return ``T(A)`` as above."""
        B = symmetric((self._shifted(A) @ self.Q) @ self.Q.T)
        return self._shifted(B)

    def energies(self, A: np.ndarray) -> np.ndarray:
        """Return ``<L_i Q, L_j Q>``."""
        return super().energies(self._shifted(A))

    def update(self, A: np.ndarray) -> float:
        """Take d from A, multiply Q by L and make it orthonormal; return ``tr(Q' L^2 Q)``."""
        self.d = _largest_degree(A)
        L = self._shifted(A)
        self.Q = np.linalg.qr(L @ self.Q)[0]
        return float(np.linalg.norm(L @ self.Q) ** 2)

    def _shifted(self, A: np.ndarray) -> np.ndarray:
        total = np.trace(A, axis1=-2, axis2=-1)
        return A + self.d * total[..., None, None] * np.eye(A.shape[-1])


def leading_eigenvectors(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k eigenpairs of a symmetric matrix that are largest in magnitude.

    Returns
    -------
    values : ndarray, shape (k,)
        From the largest magnitude down.
    vectors : ndarray, shape (n, k)
        Orthonormal.
    """
    n = len(A)
    if n > DIRECT_LIMIT and k < n // 10:
        from scipy.sparse.linalg import ArpackNoConvergence, eigsh

        try:
            start = np.cos(np.arange(1, n + 1, dtype=np.float64))
            return _by_magnitude(eigsh(A, k, which="LM", v0=start, tol=1e-13), k)
        except ArpackNoConvergence:
            pass  # close eigenvalues: the direct solver below always finds them
    return _by_magnitude(linalg.eigh(A), k)


def _by_magnitude(pairs: tuple[np.ndarray, np.ndarray], k: int) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = pairs
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    return values[order], vectors[:, order]


def _largest_degree(A: np.ndarray) -> float:
    """Return d, the largest diagonal entry over the sum of alpha, which is the trace."""
    return float(A.diagonal().max() / np.trace(A))


def symmetric(A: np.ndarray) -> np.ndarray:
    """Return ``(A + A') / 2`` of matrices, shape (..., n, n)."""
    return (A + np.swapaxes(A, -1, -2)) / 2
