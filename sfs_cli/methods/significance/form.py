"""Quadratic forms of the samples: a matrix, dense or sparse, and a few columns beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import THIN, as_dense, stored_values

DENSE_SAMPLES = 5000
"""Samples up to which an n x n matrix is made of a graph that is not dense."""


@dataclass(frozen=True)
class Form:
    """A symmetric matrix ``core + U W U'``, shape (n, n), as a quadratic form.

    Attributes
    ----------
    core : ndarray or csr_array, shape (n, n)
        float64.
    columns : ndarray, shape (n, k)
        U; of a dense core there are none.
    weights : ndarray, shape (k, k)
        W, symmetric.
    """

    core: Any
    columns: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, core: Any, columns: np.ndarray | None = None, weights: Any = None) -> Form:
        """Return a form; many columns, and those of a dense core, are added to a dense core.

        `weights` are W, or its diagonal (k,).
        """
        n = core.shape[0]
        U = np.empty((n, 0)) if columns is None else columns
        W = np.empty((0, 0)) if columns is None else np.asarray(weights, np.float64)
        W = np.diag(W) if W.ndim == 1 else W
        form = cls(core, U, W)
        if not U.shape[1] or not (isinstance(core, np.ndarray) or U.shape[1] > THIN + 2):
            return form
        check_dense(n)
        return cls.of(form.dense())

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.core.shape[0]

    def dense(self) -> np.ndarray:
        """Return the matrix, shape (n, n)."""
        core = as_dense(self.core)
        return core + self.columns @ self.weights @ self.columns.T if self.weights.size else core

    def beside(self, Q: np.ndarray) -> Form:
        """Return ``(I - Q Q') M (I - Q Q')`` for orthonormal columns Q (n, r)."""
        image = self.core @ Q + self.columns @ (self.weights @ (self.columns.T @ Q))
        k, r = self.columns.shape[1], Q.shape[1]
        W = np.zeros((k + 2 * r, k + 2 * r))
        W[:k, :k], W[k : k + r, k : k + r] = self.weights, Q.T @ image
        W[k : k + r, k + r :] = W[k + r :, k : k + r] = -np.eye(r)
        return Form.of(self.core, np.column_stack([self.columns, Q, image]), W)

    def of_columns(self, x: np.ndarray) -> np.ndarray:
        """Return ``g' M g`` for every column g of x (n, c), shape (c,)."""
        form, half = np.zeros(x.shape[1]), self.half
        if self.columns.size:
            projections = self.columns.T @ x
            form += (projections * (self.weights @ projections)).sum(axis=0)
        if half.ndim == 1:
            form += half @ (x * x)
        else:
            form += np.einsum("ij,ij->j", half @ x, x)
        return form

    @cached_property
    def half(self) -> Any:
        """A matrix, as simple as can be, with the forms of the core.

        That is the core where it is dense, else its diagonal (n,), if there is nothing else, or
        what is above it twice, and the diagonal.
        """
        if isinstance(self.core, np.ndarray):
            return self.core
        from scipy.sparse import csr_array, diags_array, triu

        diagonal = self.core.diagonal()
        if np.count_nonzero(diagonal) == self.core.count_nonzero():
            return diagonal
        return csr_array(2 * triu(self.core) - diags_array(diagonal))

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the entries at some rows and columns, of one shape."""
        if isinstance(self.core, np.ndarray):
            found = self.core[rows, columns]
        else:
            found = np.asarray(self.core[rows.ravel(), columns.ravel()]).reshape(rows.shape)
        for left, right in zip((self.columns @ self.weights).T, self.columns.T):
            found = found + left[rows] * right[columns]
        return found

    @property
    def entries_held(self) -> int:
        """Number of entries of the core that are stored, and of U."""
        return stored_values(self.core).size + self.columns.size

    @property
    def trace(self) -> float:
        """The trace."""
        return float(self.core.trace() + (self.columns @ self.weights * self.columns).sum())

    @cached_property
    def size(self) -> float:
        """The root of the mean square of the eigenvalues, but for cross terms of both parts.

        Rounding of a form of a vector of norm 1 is small against it.
        """
        core = stored_values(self.core)
        both = self.columns.T @ self.columns @ self.weights
        squares = float(np.vdot(core, core)) + float(np.vdot(both.T, both))
        return float(np.sqrt(squares / self.n))

    def __neg__(self) -> Form:
        return Form(-self.core, self.columns, -self.weights)


def check_dense(n: int) -> None:
    """Refuse to make an n x n matrix of a large graph that is not dense."""
    if n > DENSE_SAMPLES:
        raise InputError(
            f"--pvalues needs a matrix of {n:,} x {n:,} samples with these options",
            hint=f"it is made of up to {DENSE_SAMPLES:,} samples; use spec with phi2 and "
            "gamma-power=1 on a sparse graph, for which the edges are enough",
            option="pvalues",
        )
