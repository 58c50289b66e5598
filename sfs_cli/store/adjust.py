"""Taking covariates of the samples out of the features: residuals of a linear regression.

A design matrix of covariates is turned into an orthonormal basis Q (r x n) of what its columns say
beside the mean. The residual of a feature f is ``f - Q' Q f``: that of the least-squares regression
of f on an intercept and the covariates, with the mean of f added again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfs_cli.compute.matrix import LeftOut, NonZeros, Shared

CONSTANT = 1e-12
"""A column is constant if it varies by less than this part of its size."""
COLLINEAR = 1e-8
"""A column adds nothing to those before it if its part that they do not explain is below this."""
EXPLAINED = 1e-6
"""Below this part of its variation a residual may be rounding alone."""
_TEMPORARY = 32_768
"""Values whose residuals are found at a time, so that they stay in a cache."""


def orthonormal(
    columns: np.ndarray, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return an orthonormal basis of columns, beside the mean, and which columns added to it.

    Gram-Schmidt in the order of the columns, with each projection made twice, which keeps the basis
    orthogonal to rounding ("twice is enough": Giraud, Langou and Rozloznik 2005).

    Parameters
    ----------
    columns : ndarray, shape (p, n)
        A row for each column of the design matrix, without the intercept.
    known : ndarray of int, optional
        The samples that decide: means, products and norms are theirs alone, and the rows are
        orthonormal among them. By default all.

    Returns
    -------
    basis : ndarray, shape (r, n)
        Orthonormal rows, each with the sum 0 over the samples that decide.
    added : ndarray of bool, shape (p,)
        False for a column that is constant, or a combination of those before it.
    """
    mine = slice(None) if known is None else known
    n = columns.shape[1] if known is None else len(known)
    basis = np.empty((min(len(columns), n - 1), columns.shape[1]))
    added = np.zeros(len(columns), bool)
    r = 0
    for at, column in enumerate(np.asarray(columns, np.float64)):
        v = column - column[mine][0]
        spread = float(np.abs(v[mine]).max())
        if spread <= CONSTANT * float(np.abs(column[mine]).max()) or r == n - 1:
            continue
        v /= spread  # squares of large numbers would overflow
        v -= v[mine].mean()
        v /= np.linalg.norm(v[mine])
        for _ in range(2):
            v -= (basis[:r, mine] @ v[mine]) @ basis[:r]
            v -= v[mine].mean()
        left = float(np.linalg.norm(v[mine]))
        if left > COLLINEAR:
            basis[r] = v / left
            r += 1
            added[at] = True
    return basis[:r].copy(), added


def r_squared(values: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the part of the variance of features (b, n) that a basis (r, n) explains, shape (b,).

    It is NaN for a feature that does not vary.
    """
    centered = values - values[:, :1]
    centered -= centered.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        centered /= np.abs(centered).max(axis=1, keepdims=True)  # squares would over- or underflow
        explained = ((centered @ basis.T) ** 2).sum(axis=1)
        return np.asarray(explained / (centered**2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Adjustment(Shared):
    """What is taken out of every feature.

    Attributes
    ----------
    basis : ndarray, shape (r, n)
        Orthonormal rows of float64, each with the sum 0 (`orthonormal`).
    known : ndarray of int, optional
        The samples whose values the coefficients and means are found from, and among which the rows
        are orthonormal: those of a training set, whose coefficients the others are adjusted by.
        By default all.
    """

    basis: np.ndarray
    known: np.ndarray | None = None

    @cached_property
    def columns(self) -> np.ndarray:
        """The basis as columns in rows of memory (n, r): else every sparse product copies it."""
        return np.ascontiguousarray(self.basis.T)

    def residuals(self, block: np.ndarray, resolution: float) -> np.ndarray:
        """Replace features by their residuals, with their means; return which are explained.

        Each feature is multiplied on its own, so that its residual does not depend on the block in
        which it is read.

        Parameters
        ----------
        block : ndarray, shape (b, n), float64
            Overwritten.
        resolution : float
            Relative rounding of the values as they were stored.

        Returns
        -------
        ndarray of bool, shape (b,)
            Features whose residual is no more than rounding.
        """
        mine = slice(None) if self.known is None else self.known
        decides = self.basis[:, mine]
        (b, n), known = block.shape, decides.shape[1]
        explained = np.zeros(b, bool)
        step = max(1, _TEMPORARY // n)
        for lo in range(0, b, step):
            x = block[lo : lo + step]
            largest = np.abs(x[:, mine]).max(axis=1)
            first = x[:, mine][:, :1].copy()
            x -= first  # so that rounding is relative to the spread, and a constant stays exact
            own = x[:, mine]
            mean = own.mean(axis=1, keepdims=True)
            with np.errstate(over="ignore"):
                total = np.vecdot(own - mean, own - mean)
            coefficients = np.matmul(decides[None], own[:, :, None])
            x -= np.matmul(coefficients.transpose(0, 2, 1), self.basis[None])[:, 0]
            own = x[:, mine]
            with np.errstate(over="ignore"):
                left = np.vecdot(own - mean, own - mean)
                rounding = known * (resolution * largest) ** 2
            explained[lo : lo + step] = (left <= rounding) & (left < EXPLAINED * total)
            x += first
        return explained

    def of_stored(self, block: NonZeros, resolution: float) -> NonZeros:
        """Return a block of float64 with the coefficients that make residuals of its features.

        A residual is then a difference, which has lost digits where hardly anything is left of a
        feature (less than `EXPLAINED` of its squares), or where it has no zero and may be far from
        it. Such a feature gets residuals as values, 0 where all is explained, and coefficients that
        are 0. `resolution` is that of `residuals`.
        """
        n, rows = block.n_samples, block.as_rows()
        coefficients = rows @ self.columns
        with np.errstate(over="ignore", invalid="ignore"):
            total = rows.power(2).sum(axis=1) - rows.sum(axis=1) ** 2 / n
            sound = total - np.vecdot(coefficients, coefficients) >= EXPLAINED * total
        dense = np.flatnonzero(~sound | (np.bincount(block.rows, block.data != 0, len(total)) == n))
        block = replace(block, coefficients=coefficients)
        if not len(dense):
            return block
        values = rows[dense].toarray()
        explained = self.residuals(values, resolution)
        values[explained] = 0
        coefficients[dense] = 0
        left_out = np.zeros(len(total), np.int8) if block.left_out is None else block.left_out
        left_out[dense[explained]] = LeftOut.EXPLAINED
        return replace(block.with_rows(dense, values), left_out=left_out)
