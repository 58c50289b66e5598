"""Supervised Q-alpha: high energy within classes, low energy between them.

L. Wolf and A. Shashua, JMLR 6, 2005, Def. 6. The affinity matrix of classes g and h is the block
``A^gh`` of ``A_alpha``, and the weights maximise

    sum_g (sum of the k leading sigma_j^2 of A^gg) - gamma sum_{g != h} sigma_1^2 of A^gh

with one singular value between classes and gamma 0.5, the paper's typical choices.

Turning between alpha and all ``Q^gh`` as in the paper need not settle: within a class both
maximise, but between two, alpha lowers what ``Q^gh`` raises, and on the leukaemia data of the
tests the two go back and forth for ever. Between classes they are therefore solved together, as
the saddle point they make: ``sigma_1^2(A^gh)`` is the largest ``tr(A^gh P A^gh')`` over matrices P
without negative eigenvalues and with trace 1, which stand for ``Q^gh Q^gh'``. By duality alpha is
the leading eigenvector of G for the P that make its eigenvalue smallest, a smooth convex problem.
Where the leading singular value is simple, P comes out as ``Q^gh Q^gh'`` and alpha as a point
where the paper's iteration stands still; where alpha has pressed the two leading ones down to the
same value, P is a mixture. The objective cannot fall from one cycle to the next.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sfs_cli.methods.qalpha_space import Weights, WeightSpace
from sfs_cli.methods.qalpha_variants import leading_eigenvectors, symmetric

GAMMA = 0.5
_TOLERANCE = 1e-11
_ROUNDING = 1e-14
_MAX_STEPS = 500
_MAX_HALVINGS = 40

Blocks = dict[tuple[int, int], np.ndarray]
"""A matrix for each ordered pair of classes g, h, of the size of class h."""


class Supervised:
    """Def. 6.

    Parameters
    ----------
    A : ndarray, shape (n, n)
        Affinity matrix to start from.
    codes : ndarray of int, shape (n,)
        Class of each sample.
    k : int
        Eigenvectors within each class.

    Attributes
    ----------
    P : dict
        ``Q^gg Q^gg'`` within classes; symmetric, without negative eigenvalues and of trace 1
        between them.
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

        It is found within the span of the weight vectors so far, to the end, and the span grows
        by a residual that matters. The span holds the last alpha, so the objective cannot fall.
        """
        found = self._saddle(space)
        while space.grow(self, found, tolerance):
            found = self._saddle(space)
        self._value = found.value
        return found

    def _saddle(self, space: WeightSpace) -> Weights:
        """Lower the largest eigenvalue of G in the span, over the P between classes.

        By its gradient ``-gamma A^gh' A^gh``, projected, with steps of Barzilai and Borwein.
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
        """Take the leading eigenvectors within classes; return the value of the saddle point."""
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
        """Move the P between classes so that the eigenvalue of G falls; None where it cannot."""
        old = {pair: self.P[pair] for pair in self.pairs}
        steepest = max(float(linalg.norm(M, 2)) for M in slopes.values())
        step = self._step or 1 / steepest
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
        moved = bent = 0.0
        for pair, M in slopes.items():
            change = self.P[pair] - old[pair]
            moved += float(np.vdot(change, change))
            bent += float(np.vdot(change, M - self._moment(A, pair)))
        return moved / bent if bent > 0 else 2 * step


def spectral_simplex(P: np.ndarray) -> np.ndarray:
    """Return the nearest symmetric matrix without negative eigenvalues and with trace 1."""
    values, vectors = linalg.eigh(symmetric(P))
    falling = values[::-1]
    sums = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    level = sums[np.flatnonzero(falling > sums)[-1]]
    return (vectors * np.maximum(values - level, 0)) @ vectors.T
