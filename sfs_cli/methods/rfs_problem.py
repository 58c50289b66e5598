"""RFS over all features: the problem, its duality gap, and the paper's own iteration.

F. Nie, H. Huang, X. Cai and C. Ding, NIPS 2010. With ``E = Y - X W`` and rows scaled by gamma,
Eq. 10 is ``min sum |U_i|`` over ``U = [gamma W; gamma bias; E]`` under linear equations (Eq. 14).
Its dual is ``max <Z, Y>`` over Z (n x c) with ``|x_i'Z| <= gamma``, ``|1'Z| <= gamma`` and
``|z_s| <= 1``, so any Z, scaled down to obey them, bounds the optimum from below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from sfs_cli.compute.spans import Span
from sfs_cli.methods.features import Features

REWEIGHTINGS = 12


@dataclass
class Problem:
    """The data, and how good the best point so far is.

    Attributes
    ----------
    features : Features
        Rows ``x_i``, z-scored.
    Y : ndarray, shape (n, c)
        One-hot.
    gamma : float
        Weight of the penalty.
    lower : float
        The largest dual value so far.
    objective : list of float
        The smallest value of Eq. 10 so far, after each iteration.
    """

    features: Features
    Y: np.ndarray
    gamma: float
    lower: float = -np.inf
    objective: list[float] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Relative duality gap over all features."""
        return max(self.objective[-1] - self.lower, 0.0) / self.objective[-1]

    def tail(self) -> np.ndarray:
        """Return the rows of C of the bias and of the residuals, shape (1 + n, n)."""
        n = self.features.n
        return np.vstack([np.full((1, n), 1 / self.gamma), np.eye(n)])

    def record(self, values: list[float]) -> None:
        """Add values of the objective, none above the last."""
        for value in values:
            self.objective.append(min([value, *self.objective[-1:]]))

    def bound(self, Z: np.ndarray, sizes: np.ndarray) -> None:
        """Take note of a dual point, given ``|x_i'Z| / gamma`` of all features."""
        rest = np.linalg.norm(self.tail() @ Z, axis=1)
        largest = max(1.0, float(sizes.max()), float(rest.max()))
        self.lower = max(self.lower, float(np.vdot(Z, self.Y)) / largest)


def reweighted(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Run the paper's Algorithm 1 for a while, from D = I.

    Returns
    -------
    t : ndarray, shape (m + 1 + n,)
        Norms of the rows of U.
    sizes : ndarray, shape (m,)
        ``|x_i'Z| / gamma`` of the last Z.
    """
    features, gamma, tail = problem.features, problem.gamma, problem.tail()
    m = features.m
    t = np.ones(m + len(tail))
    moment = features.gram() / gamma**2
    sizes = np.zeros(m)
    for _ in range(REWEIGHTINGS):
        K = moment + (tail.T * t[m:]) @ tail
        Z = linalg.solve(K, problem.Y, assume_a="pos")
        moment = _next_moment(features, Z, gamma, t, sizes)
        problem.bound(Z, sizes)
        t[m:] *= np.linalg.norm(tail @ Z, axis=1)
        problem.record([float(t.sum())])
        # samples that are fitted exactly would leave K singular
        np.maximum(t[m:], 1e-9 * problem.objective[-1], out=t[m:])
    return t, sizes


def _next_moment(
    features: Features, Z: np.ndarray, gamma: float, t: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Replace t by the new norms and return ``X diag(t) X' / gamma^2``, in one pass."""

    def part(block: np.ndarray, span: Span) -> tuple[np.ndarray, np.ndarray]:
        size = np.linalg.norm(block @ Z, axis=1) / gamma
        scaled = block * (np.sqrt(t[span.lo : span.hi] * size) / gamma)[:, None]
        return size, scaled.T @ scaled

    total = np.zeros((features.n, features.n))
    for span, (size, piece) in features.map(part):
        inside = slice(span.lo, span.hi)
        sizes[inside] = size
        t[inside] *= size
        total += piece
    return total
