"""The variants of Q-alpha: what G is, and how Q follows from the affinity matrix.

L. Wolf and A. Shashua, "Feature selection for unsupervised and supervised inference", JMLR 6,
2005. Every variant keeps its own Q, gives G for it as a map of n x n matrices (`form`, `energies`;
see `space`), finds the weights for it (`weigh`), and takes the next Q from their affinity matrix
(`update`, which returns the objective).
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy import linalg

from sfs_cli.errors import NotConvergedError
from sfs_cli.graph.spectral import DIRECT_LIMIT, lanczos
from sfs_cli.methods.qalpha.space import Weights, WeightSpace

GAMMA = 0.5
"""Weight of the energy between classes; the typical choice of the paper."""
_TOLERANCE = 1e-11
_ROUNDING = 1e-14
_MAX_STEPS = 500
_MAX_HALVINGS = 40

Blocks = dict[tuple[int, int], np.ndarray]
"""A matrix for each ordered pair of classes g, h, of the size of class h."""


class Basic:
    """The basic method: Q holds the k leading eigenvectors of ``A_alpha`` (Def. 1).

    They lead by magnitude, which maximizes ``tr(Q' A^2 Q)`` also if weights are negative.

    Attributes
    ----------
    memoryless : bool
        Whether Q and the objective depend on the affinity matrix alone, and not on the last Q.
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
    Def. 4) does not change alpha, and is left out: the Ritz variant goes through the same weights,
    and its steps 4 and 5 are steps 1 and 2 of the next cycle. (Step 4 is printed without the first
    factor of G.)
    """

    memoryless = False

    def __init__(self, A: np.ndarray, k: int, steps: int) -> None:
        super().__init__(A, k)
        self.steps = steps

    def update(self, A: np.ndarray) -> float:
        """Multiply Q by A and orthonormalize it, `steps` times; return ``tr(Q' A^2 Q)``."""
        for _ in range(self.steps):
            self.Q = np.linalg.qr(A @ self.Q)[0]
        return float(np.linalg.norm(A @ self.Q) ** 2)


class Laplacian(Basic):
    """Orthogonal iteration on ``L_alpha = A_alpha - D_alpha + d sum(alpha) I`` (Def. 5).

    Features are centered, so ``m_i'1 = 0`` and the degrees ``D_alpha`` vanish. For features of unit
    norm the rest of ``F_ij = tr(Q' L_i L_j Q)`` is a map of n x n matrices too,
    ``T(A) = B + d tr(B) I`` with ``B = (L QQ' + QQ' L) / 2`` and ``L = A + d tr(A) I``. At
    first d is that of equal weights. Since d changes with alpha, which the eigenproblem does not
    see, the objective ``tr(Q' L^2 Q)`` may fall.
    """

    memoryless = False

    def __init__(self, A: np.ndarray, k: int) -> None:
        super().__init__(A, k)
        self.d = _largest_degree(A)

    def form(self, A: np.ndarray) -> np.ndarray:
        """Return ``T(A)`` as above."""
        # the shift is self-adjoint, and T has it on both sides, as it has Q
        B = symmetric((self._shifted(A) @ self.Q) @ self.Q.T)
        return self._shifted(B)

    def energies(self, A: np.ndarray) -> np.ndarray:
        """Return ``<L_i Q, L_j Q>``."""
        return super().energies(self._shifted(A))

    def update(self, A: np.ndarray) -> float:
        """Take d from A, multiply Q by L and orthonormalize it; return ``tr(Q' L^2 Q)``."""
        self.d = _largest_degree(A)
        L = self._shifted(A)
        self.Q = np.linalg.qr(L @ self.Q)[0]
        return float(np.linalg.norm(L @ self.Q) ** 2)

    def _shifted(self, A: np.ndarray) -> np.ndarray:
        total = np.trace(A, axis1=-2, axis2=-1)
        return A + self.d * total[..., None, None] * np.eye(A.shape[-1])


class Supervised:
    """High energy within classes, low energy between them (Def. 6).

    The affinity matrix of classes g and h is the block ``A^gh`` of ``A_alpha``. The weights
    maximize

        sum_g (sum of the k leading sigma_j^2 of A^gg) - gamma sum_{g != h} sigma_1^2 of A^gh

    with one singular value between classes and gamma 0.5, the paper's typical choices.

    The paper alternates between alpha and all ``Q^gh``, which need not converge: within a class
    both maximize, but between two, alpha lowers what ``Q^gh`` raises, and on the leukemia data of
    the tests they alternate forever. So alpha and the ``Q^gh`` between classes are solved together,
    as a saddle point: ``sigma_1^2(A^gh)`` is the largest ``tr(A^gh P A^gh')`` over matrices P
    without negative eigenvalues and of trace 1, which replace ``Q^gh Q^gh'``. By duality alpha is
    the leading eigenvector of G for the P that make its eigenvalue smallest: a smooth convex
    problem.
    If the leading singular value is simple, P is ``Q^gh Q^gh'`` and alpha a fixed point of the
    paper's iteration; if alpha has made the two leading ones equal, P is a mixture. The objective
    cannot fall from one cycle to the next.

    Parameters
    ----------
    A : ndarray, shape (n, n)
        Affinity matrix of the start.
    codes : ndarray of int, shape (n,)
        Class of each sample.
    k : int
        Number of eigenvectors within each class.

    Attributes
    ----------
    P : dict
        For each pair of classes: ``Q^gg Q^gg'`` within a class; between classes symmetric, without
        negative eigenvalues and of trace 1.
    """

    memoryless = False

    def __init__(self, A: np.ndarray, codes: np.ndarray, k: int) -> None:
        self.members = [np.flatnonzero(codes == c) for c in np.unique(codes)]
        self.k = k
        self.P: Blocks = {}
        classes = range(len(self.members))
        self.pairs = [(g, h) for g in classes for h in classes if g != h]
        for pair in self.pairs:
            q = leading_eigenvectors(self._moment(A, pair), 1)[1]
            self.P[pair] = q @ q.T
        self._step = 0.0
        self._value = 0.0
        self.update(A)

    def form(self, A: np.ndarray) -> np.ndarray:
        """Return the blocks ``A^gh P^gh``, weighted, made symmetric as a whole."""
        out = np.empty_like(A)
        for (g, h), P in self.P.items():
            place = (..., self.members[g][:, None], self.members[h])
            out[place] = (1.0 if g == h else -GAMMA) * (A[place] @ P)
        return symmetric(out)

    def energies(self, A: np.ndarray) -> np.ndarray:
        """Return ``<T(A_i), A_j>``."""
        q = len(A)
        return self.form(A).reshape(q, -1) @ A.reshape(q, -1).T

    def weigh(self, space: WeightSpace, tolerance: float) -> Weights:
        """Return alpha of the saddle point between alpha and the P between classes.

        It is solved to the end within the span of all weight vectors so far; then the residual
        joins the span, until it is small. The span has the last alpha, so the objective cannot
        fall.
        """
        found = self._saddle(space)
        while space.grow(self, found, tolerance):
            found = self._saddle(space)
        self._value = found.value
        return found

    def _saddle(self, space: WeightSpace) -> Weights:
        """Minimize the largest eigenvalue of G in the span, over the P between classes.

        Projected gradient, which is ``-gamma A^gh' A^gh``, with steps of Barzilai and Borwein.
        """
        found = space.leading(self)
        for _ in range(_MAX_STEPS):
            slopes = {pair: self._moment(found.A, pair) for pair in self.pairs}
            old = {pair: self.P[pair] for pair in self.pairs}
            after = self._descend(space, found, slopes)
            if after is None:
                break
            found = after
            if max(float(np.linalg.norm(self.P[q] - old[q])) for q in self.pairs) <= _TOLERANCE:
                break
        return found

    def update(self, A: np.ndarray) -> float:
        """Update the leading eigenvectors within classes; return the value of the saddle point."""
        for g, rows in enumerate(self.members):
            Q = leading_eigenvectors(A[np.ix_(rows, rows)], min(self.k, len(rows)))[1]
            self.P[g, g] = Q @ Q.T
        return self._value

    def eigenvalues(self, A: np.ndarray) -> np.ndarray:
        """Return the leading eigenvalues within each class, one class after the other."""
        own = [leading_eigenvectors(A[np.ix_(i, i)], min(self.k, len(i)))[0] for i in self.members]
        return np.concatenate(own)

    def _moment(self, A: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
        block = A[np.ix_(self.members[pair[0]], self.members[pair[1]])]
        return block.T @ block

    def _descend(self, space: WeightSpace, found: Weights, slopes: Blocks) -> Weights | None:
        """Move the P between classes so that the eigenvalue of G falls; None if it cannot fall."""
        old = {pair: self.P[pair] for pair in self.pairs}
        # the first step has spectral norm 1, the largest that P can have
        step = self._step or 1 / max(float(linalg.norm(M, 2)) for M in slopes.values())
        # the eigenvalue is not smooth where two lead together, so each step is checked
        for _ in range(_MAX_HALVINGS):
            for pair, M in slopes.items():
                self.P[pair] = spectral_simplex(old[pair] + step * M)
            after = space.leading(self)
            if after.value <= found.value + _ROUNDING * abs(found.value):
                self._step = self._next_step(old, slopes, after.A, step)
                return after
            step /= 4
        self.P.update(old)
        return None

    def _next_step(self, old: Blocks, slopes: Blocks, A: np.ndarray, step: float) -> float:
        # |s|^2 / <s, y> of the last step s and change of slopes y; doubled without curvature
        moved = bent = 0.0
        for pair, M in slopes.items():
            change = self.P[pair] - old[pair]
            moved += float(np.vdot(change, change))
            bent += float(np.vdot(change, M - self._moment(A, pair)))
        return moved / bent if bent > 0 else 2 * step


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
        # where eigenvalues are too close, the direct solver below needs no convergence
        with suppress(NotConvergedError):
            return _by_magnitude(lanczos(A, n, k, hint="", which="LM", tol=1e-13), k)
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


def spectral_simplex(P: np.ndarray) -> np.ndarray:
    """Return the nearest symmetric matrix without negative eigenvalues and with trace 1."""
    values, vectors = linalg.eigh(symmetric(P))
    # the eigenvalues are projected on the simplex: those above `level`, less it, add up to 1
    falling = values[::-1]
    sums = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    level = sums[np.flatnonzero(falling > sums)[-1]]
    return (vectors * np.maximum(values - level, 0)) @ vectors.T
