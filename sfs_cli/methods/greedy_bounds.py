"""Which feature has the largest ``(x . b_i)^2``, mostly without a pass over the matrix.

A pass notes the products of every ``b_i`` with a few orthonormal reference vectors. Any later x is
a known combination of these and something orthogonal to them of known length, so that
``|x . b_i|`` lies below ``|sum_k c_k (x_k . b_i)| + |x_rest| sqrt(|b_i|^2 - sum_k (x_k . b_i)^2)``.
A few candidates are held and valued exactly; when no other feature can reach the best of them, it
is the one.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.spans import Span
from sfs_cli.methods.features import Features

REFERENCES = 8
SLACK = 1e-7
"""Added to the length of what is left of x, against the rounding of the coefficients."""
TIE = 1e-10
"""Values that agree to this part of the largest are equal; the first feature is taken."""


class Bounds:
    """Upper bounds of ``(x . b_i)^2`` for all features, and exact values of a few.

    Parameters
    ----------
    diagonal : ndarray, shape (m,)
        ``|b_i|^2``.
    weights : ndarray, shape (m,)
        ``w_i``.
    features : Features
        Rows ``f_i``; ``x . b_i = w_i f_i . u``.
    working : int
        At most so many features are held.
    memory : int
        Bytes for the products with the reference vectors.

    Attributes
    ----------
    references : int
        How many reference vectors there are at most.
    """

    def __init__(
        self,
        diagonal: np.ndarray,
        weights: np.ndarray,
        features: Features,
        working: int,
        memory: int,
    ) -> None:
        self.references = int(np.clip(memory // (8 * max(features.m, 1)), 1, REFERENCES))
        self._features, self._weights = features, weights
        self._open = features.usable.copy()
        self._rest = diagonal.copy()  # |b_i|^2 less its part in the span of the references
        self._diagonal = diagonal
        self._products = np.empty((0, features.m))
        self._coordinates = np.empty((0, 0))
        self._limit = working
        self._held = np.empty(0, np.int64)
        self._rows = np.empty((0, features.n))

    def leave(self, feature: int) -> None:
        """Take a feature out of the candidates."""
        self._open[feature] = False

    def settle(self, u: np.ndarray, coordinates: np.ndarray, C: np.ndarray) -> int | None:
        """Return the best candidate, or None where only a pass can tell.

        Parameters
        ----------
        u : ndarray, shape (n,)
            The direction now.
        coordinates : ndarray, shape (s,)
            x as a combination of the ``b_i`` that are selected.
        C : ndarray, shape (>= s, >= s)
            Their covariance.
        """
        if not len(self._products):
            return None
        upper = self._upper(coordinates, C)
        upper[self._held] = -np.inf
        value = self._value(u)
        best = value.max(initial=0.0)
        doubtful = np.flatnonzero(upper >= best * (1 - TIE))
        if len(doubtful) > self._limit - len(self._held) or best == 0:
            return None
        if len(doubtful):
            self._hold(np.concatenate([self._held, doubtful]))
            value = self._value(u)
        return first_of(self._held, value)

    def renew(self, directions: np.ndarray, coordinates: np.ndarray) -> int:
        """Make a pass with new reference vectors, the first of them x; return the best candidate.

        Parameters
        ----------
        directions : ndarray, shape (r, n)
            u of each.
        coordinates : ndarray, shape (s, r)
            The reference vectors as combinations of the ``b_i`` that are selected.
        """
        self._products = np.empty((len(directions), self._features.m))
        operand, weights = np.ascontiguousarray(directions.T), self._weights

        def part(block: np.ndarray, span: Span) -> np.ndarray:
            return (block @ operand).T * weights[span.lo : span.hi]

        for span, products in self._features.map(part):
            self._products[:, span.lo : span.hi] = products
        self._coordinates = coordinates
        explained = np.einsum("ki,ki->i", self._products, self._products)
        self._rest = np.maximum(self._diagonal - explained, 0) + 1e-12 * self._diagonal
        value = np.where(self._open, self._products[0] ** 2, -1.0)
        keep = min(self._limit // 2, len(value))
        self._held, self._rows = np.empty(0, np.int64), self._rows[:0]
        self._hold(np.sort(np.argpartition(-value, keep - 1)[:keep]))
        return first_of(np.arange(len(value)), value)

    def _hold(self, features: np.ndarray) -> None:
        """Hold these features, of which the first are those already held."""
        features = features[self._open[features] | (np.arange(len(features)) < len(self._held))]
        more = features[len(self._held) :]
        rows = self._features.take(more) * self._weights[more, None]
        self._held, self._rows = features, np.concatenate([self._rows, rows])

    def _value(self, u: np.ndarray) -> np.ndarray:
        return np.where(self._open[self._held], (self._rows @ u) ** 2, -1.0)

    def _upper(self, coordinates: np.ndarray, C: np.ndarray) -> np.ndarray:
        s, old = len(coordinates), len(self._coordinates)
        known = (coordinates @ C[:s, :old]) @ self._coordinates
        left = np.sqrt(max(0.0, 1 - float(known @ known))) + SLACK
        upper = (np.abs(known @ self._products) + left * np.sqrt(self._rest)) ** 2
        upper[~self._open] = -np.inf
        return upper


def first_of(indices: np.ndarray, value: np.ndarray) -> int:
    """Return the smallest index among those of the largest value, to `TIE`."""
    return int(indices[value >= value.max() * (1 - TIE)].min())
