"""The centered matrix X of the iterative methods, behind products that run block by block.

A method never sees all m x n values. It asks for products with the matrix, each one pass over
blocks of features, and for a few features by index. A small matrix is centered once and held in
memory; the numbers are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, Span
from sfs_cli.methods.base import Status
from sfs_cli.methods.kernel import center

T = TypeVar("T")

Scaling = Literal["unit", "zscore", "none"]

HOLD_BYTES = 512 << 20
"""Largest centered matrix that is held in memory."""
SAME_SPAN = 1e-7
"""What is left of a unit vector outside a span is rounding of single precision if it is shorter."""
_TEMPORARY = 32_768
"""Values whose residuals are found at a time, so that they stay in a cache."""


def is_held(n: int, m: int, memory: int) -> bool:
    """Tell whether the centered matrix is held in memory, so that the matrix is read once."""
    # the blocks that are read, and what a method holds, have to fit beside it
    return m * n * 8 <= min(HOLD_BYTES, memory // 4)


@dataclass
class CenteredMatrix:
    """Centered features ``f_i``: the columns of X (n x m), in float64.

    Features without a score (constant, all zero, missing values) are zero.
    """

    engine: Engine  # reads the matrix and runs the passes
    # (m,): each centered feature is multiplied by this; 0 where a feature cannot be scored
    factor: np.ndarray
    status: np.ndarray  # (m,): values of `Status`
    passes: int = 1  # number of passes over the matrix so far
    basis: np.ndarray | None = None  # (r, n): orthonormal rows that are taken out of the features
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
        """Mask of the features that can be scored, shape (m,)."""
        return self.status == Status.OK

    def map(self, task: Callable[[np.ndarray, Span], T]) -> Iterator[tuple[Span, T]]:
        """Run ``task(block, span)`` on every block (b, n) and yield in span order; one pass.

        The task must not write to the block, nor keep it.
        """
        self.passes += 1
        if self._held is None:
            return self.engine.run_over(lambda span: task(self._read(span), span))
        held, spans = self._held, self.engine.spans()
        # a held matrix is here and not with the workers of a cluster
        executor = self.engine.executor.nearby
        return zip(spans, executor.map(lambda span: task(held[span.lo : span.hi], span), spans))

    def measure(self, task: Callable[[np.ndarray, Span], ArrayLike], *shape: int) -> np.ndarray:
        """Return what ``task(block, span)`` finds of all features, shape (*shape, m); one pass.

        Of a block (b, n) it finds an array of shape (*shape, b).
        """
        out = np.empty((*shape, self.m))
        for span, found in self.map(task):
            out[..., span.lo : span.hi] = found
        return out

    def project(self, B: np.ndarray) -> np.ndarray:
        """Return ``X' B``, shape (m, k), for B of shape (n, k)."""
        out = np.empty((self.m, B.shape[1]))
        for span, product in self.map(lambda block, _: block @ B):
            out[span.lo : span.hi] = product
        return out

    def gram(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return ``X diag(weights) X'``, shape (n, n).

        Parameters
        ----------
        weights : ndarray, shape (m,), optional
            Not negative; 1 by default.
        """
        root = None if weights is None else np.sqrt(weights)

        def product(block: np.ndarray, span: Span) -> np.ndarray:
            scaled = block if root is None else block * root[span.lo : span.hi, None]
            return scaled.T @ scaled  # BLAS does this as one symmetric update, at half the cost

        total = np.zeros((self.n, self.n))
        for _, piece in self.map(product):
            total += piece
        return total

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return a few features by index, shape (len(indices), n)."""
        if self._held is not None:
            return self._held[indices]
        out = np.empty((len(indices), self.n))
        # one by one: they are few and far apart, and a span around them would read far more
        for row, i in enumerate(indices):
            out[row] = self._read(Span(int(i), int(i) + 1))[0]
        self.engine.count(len(indices))
        return out

    def leave_out(self, indices: np.ndarray) -> None:
        """Make a few features zero from now on, so that they are correlated with nothing."""
        self.factor[indices] = 0
        if self._held is not None:
            self._held[indices] = 0

    def take_out(self, indices: np.ndarray) -> np.ndarray:
        """Take what some features (g,) of unit norm explain out of all; return its basis Q (r, n).

        What is left of ``f_i`` is its residual ``f_i - Q' Q f_i`` in the least-squares regression
        on those features; it is not scaled again, and 0 where it is shorter than `SAME_SPAN`.
        """
        _, sigma, rows = np.linalg.svd(self.take(indices), full_matrices=False)
        self.basis = basis = rows[sigma > SAME_SPAN * sigma[0]]
        held = self._held
        if held is not None:
            spans = self.engine.spans()
            work = self.engine.executor.nearby.map(
                lambda span: _take_out(basis, held[span.lo : span.hi]), spans
            )
            for _ in work:
                pass
        return basis

    def _read(self, span: Span) -> np.ndarray:
        block = self.engine.source.read(span, DOUBLE)
        values = center(block).values
        values *= self.factor[span.lo : span.hi, None]
        if self.basis is not None:
            _take_out(self.basis, values)
        return values


def _take_out(basis: np.ndarray, values: np.ndarray) -> None:
    """Replace vectors (b, n) of unit norm, or 0, by what an orthonormal basis (r, n) leaves.

    Each is multiplied on its own, so that nothing depends on the block in which it is read.
    """
    step = max(1, _TEMPORARY // values.shape[1])
    for lo in range(0, len(values), step):
        x = values[lo : lo + step]
        explained = np.matmul(basis[None], x[:, :, None])
        x -= np.matmul(explained.transpose(0, 2, 1), basis[None])[:, 0]
        x[np.vecdot(x, x) <= SAME_SPAN**2] = 0


def centered_matrix(engine: Engine, scaling: Scaling, memory: int) -> CenteredMatrix:
    """Center the matrix; one pass finds the scale of every feature.

    Parameters
    ----------
    engine : Engine
        Reads the matrix.
    scaling : {"unit", "zscore", "none"}
        Scale features to unit norm, to a mean square of 1, or leave their scale.
    memory : int
        Bytes that may be used. The centered matrix is held if it takes at most a quarter of them
        and at most `HOLD_BYTES`.
    """
    n, m = engine.source.n_samples, engine.source.n_features
    held = np.empty((m, n)) if is_held(n, m, memory) else None
    matrix = CenteredMatrix(engine, np.empty(m), np.empty(m, np.int8), _held=held)

    def measure(span: Span) -> tuple[np.ndarray, np.ndarray]:
        centered = center(engine.source.read(span, DOUBLE))
        square = centered.square
        status = centered.status
        if scaling == "none":
            factor = centered.scale.copy()
        else:
            with np.errstate(divide="ignore"):  # features that do not vary become zero below
                factor = np.sqrt((n if scaling == "zscore" else 1) / square)
        factor[status != Status.OK] = 0
        if held is not None:
            np.multiply(centered.values, factor[:, None], out=held[span.lo : span.hi])
        return factor, status

    executor = engine.executor if held is None else engine.executor.nearby
    for span, (factor, status) in replace(engine, executor=executor).run_over(measure):
        matrix.factor[span.lo : span.hi], matrix.status[span.lo : span.hi] = factor, status
    return matrix
