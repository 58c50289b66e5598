"""The matrix as iterative methods see it: centred, scaled features behind blocked products.

A method never holds the m x n matrix; it asks for products with it, which are passes over blocks
of features, and for a few features by index. While the centred matrix is small it is kept in
memory and passes read it there; the numbers are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.spans import Span
from sfs_cli.methods.base import Status
from sfs_cli.methods.centering import center

T = TypeVar("T")

Scaling = Literal["unit", "zscore", "none"]

HOLD_BYTES = 512 << 20
"""The centred matrix is kept in memory up to this size."""


@dataclass
class Features:
    """Centred features ``f_i``, the rows of the m x n matrix ``X'``, in float64.

    Features that cannot be scored (constant, zero, missing) are zero rows.

    Attributes
    ----------
    engine : Engine
        The matrix and how passes run over it.
    factor : ndarray, shape (m,)
        What the centred values are multiplied by; 0 where a feature cannot be scored.
    status : ndarray of int8, shape (m,)
        Values of `Status`.
    passes : int
        Passes made over the matrix so far.
    """

    engine: Engine
    factor: np.ndarray
    status: np.ndarray
    passes: int = 1
    _held: np.ndarray | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.engine.source.n_samples

    @property
    def m(self) -> int:
        """Number of features."""
        return self.engine.source.n_features

    @property
    def usable(self) -> np.ndarray:
        """Which features can be scored, shape (m,)."""
        return self.status == Status.OK

    def map(self, task: Callable[[np.ndarray, Span], T]) -> Iterator[tuple[Span, T]]:
        """Run ``task(block, span)`` on every block (b, n) in span order; one pass.

        The block must not be written to, and is valid only while the task runs.
        """
        self.passes += 1
        spans = self.engine.spans()
        executor = self.engine.executor if self._held is None else self.engine.executor.nearby
        return zip(spans, executor.map(lambda span: task(self._block(span), span), spans))

    def project(self, B: np.ndarray) -> np.ndarray:
        """Return ``X' B``: the inner products of every feature with the columns of B.

        Parameters
        ----------
        B : ndarray, shape (n, k)

        Returns
        -------
        ndarray, shape (m, k)
        """
        out = np.empty((self.m, B.shape[1]))
        for span, part in self.map(lambda block, _: block @ B):
            out[span.lo : span.hi] = part
        return out

    def combine(self, W: np.ndarray) -> np.ndarray:
        """Return ``X W``: the features added up with the rows of W as coefficients.

        Parameters
        ----------
        W : ndarray, shape (m, k)

        Returns
        -------
        ndarray, shape (n, k)
        """
        total = np.zeros((self.n, W.shape[1]))
        for _, part in self.map(lambda block, span: block.T @ W[span.lo : span.hi]):
            total += part
        return total

    def gram(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return ``X diag(weights) X'``; weights are not negative, one by default.

        Parameters
        ----------
        weights : ndarray, shape (m,), optional

        Returns
        -------
        ndarray, shape (n, n)
        """
        root = None if weights is None else np.sqrt(weights)

        def part(block: np.ndarray, span: Span) -> np.ndarray:
            scaled = block if root is None else block * root[span.lo : span.hi, None]
            return scaled.T @ scaled  # one symmetric rank-k update

        total = np.zeros((self.n, self.n))
        for _, piece in self.map(part):
            total += piece
        return total

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return a few features by index, shape (len(indices), n)."""
        if self._held is not None:
            return self._held[indices]
        out = np.empty((len(indices), self.n))
        for row, i in enumerate(indices):
            out[row] = self._read(Span(int(i), int(i) + 1))[0]
        return out

    def _block(self, span: Span) -> np.ndarray:
        return self._read(span) if self._held is None else self._held[span.lo : span.hi]

    def _read(self, span: Span) -> np.ndarray:
        block = self.engine.source.read(span, np.dtype(np.float64))
        values = center(block, np.ones(self.n)).values
        values *= self.factor[span.lo : span.hi, None]
        return values


def centred_features(engine: Engine, scaling: Scaling, memory: int) -> Features:
    """Make the one pass that finds how every feature is scaled.

    Parameters
    ----------
    engine : Engine
        The matrix.
    scaling : {"unit", "zscore", "none"}
        To unit norm, to a mean square of one, or not at all.
    memory : int
        Bytes that may be used; the centred matrix is held where it is a small part of that.
    """
    n, m = engine.source.n_samples, engine.source.n_features
    held = np.empty((m, n)) if m * n * 8 <= min(HOLD_BYTES, memory // 4) else None
    found = Features(engine, np.empty(m), np.empty(m, np.int8), _held=held)

    ones = np.ones(n)

    def measure(span: Span) -> tuple[np.ndarray, np.ndarray]:
        centred = center(engine.source.read(span, np.dtype(np.float64)), ones)
        square = np.vecdot(centred.values, centred.values)
        status = centred.status(square, float(n))
        factor = _factor(scaling, square, centred.scale, n)
        factor[status != Status.OK] = 0
        if held is not None:
            np.multiply(centred.values, factor[:, None], out=held[span.lo : span.hi])
        return factor, status

    executor = engine.executor if held is None else engine.executor.nearby
    spans = engine.spans()
    for span, (factor, status) in zip(spans, executor.map(measure, spans)):
        part = slice(span.lo, span.hi)
        found.factor[part], found.status[part] = factor, status
    return found


def _factor(scaling: Scaling, square: np.ndarray, scale: np.ndarray, n: int) -> np.ndarray:
    if scaling == "none":
        return scale.copy()
    with np.errstate(divide="ignore"):
        return np.sqrt((n if scaling == "zscore" else 1) / square)
