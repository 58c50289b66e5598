"""Sample similarities behind one interface, and the checks that every one must pass.

A similarity ``S`` is a symmetric n x n matrix. It is kept in the form it is cheapest in (dense,
sparse, or a product of two thin factors), and used through its degrees and its product with blocks
of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.panels import name_samples, panels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ASYMMETRY_LIMIT = 1e-8
THIN = 64
"""With no more columns a factor is thin: a sparse one is faster multiplied as a full one."""

_HINTS = {
    "linear": "`linear` of centred features always has zero degrees: it is a kernel for other "
    "methods; as a graph take `rbf`, `knn` or `correlation`",
    "correlation": "samples that correlate negatively with most others have no place in this "
    "graph; take `rbf` or `knn`",
    "relieff": "such samples are among the nearest misses of many others; use fewer neighbours",
    "knn": "the weights of all their edges underflow to zero; use a larger bandwidth, `median` or "
    "binary weights",
}
_ISOLATED_HINT = "drop these samples, or give them positive similarities to others"


class Similarity(Protocol):
    """A symmetric n x n sample similarity S. It can be pickled."""

    @property
    def n(self) -> int:
        """Number of samples."""

    @property
    def degrees(self) -> np.ndarray:
        """Row sums d = S 1, shape (n,), float64."""

    @property
    def magnitudes(self) -> np.ndarray:
        """Row sums of absolute values (or a bound on them), shape (n,): the scale of rounding."""

    def matmul(self, block: np.ndarray) -> np.ndarray:
        """Multiply rows by S.

        Parameters
        ----------
        block : ndarray, shape (b, n)
            Feature vectors, float32 or float64.

        Returns
        -------
        ndarray, shape (b, n)
            ``block @ S`` in the dtype of `block`.
        """

    def form(self, block: np.ndarray) -> np.ndarray:
        """Return ``f' S f`` for every row f of `block`, shape (b,), in its dtype."""

    def to_dense(self) -> np.ndarray:
        """Return S as an ndarray, shape (n, n), float64. Not to be written to."""


@dataclass(frozen=True, eq=False)
class DenseSimilarity:
    """A similarity held as a full matrix.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        S, float64, symmetric.
    """

    matrix: np.ndarray
    _casts: dict[np.dtype, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.matrix.shape[0]

    @cached_property
    def degrees(self) -> np.ndarray:
        """Row sums d = S 1, shape (n,)."""
        return self.matrix.sum(axis=1)

    @cached_property
    def magnitudes(self) -> np.ndarray:
        """Row sums of absolute values, shape (n,)."""
        sums = np.empty(self.n)
        for rows in panels(self.n):
            sums[rows] = np.abs(self.matrix[rows]).sum(axis=1)
        return sums

    def matmul(self, block: np.ndarray) -> np.ndarray:
        """Return ``block @ S``, shape (b, n), in the dtype of `block`."""
        return block @ _cast(self._casts, self.matrix, block.dtype)

    def form(self, block: np.ndarray) -> np.ndarray:
        """Return ``f' S f`` for every row f of `block`, shape (b,), in its dtype."""
        return np.vecdot(block, self.matmul(block))

    def to_dense(self) -> np.ndarray:
        """Return S, shape (n, n); it is the matrix itself, not a copy."""
        return self.matrix

    def __reduce__(self) -> tuple[type[DenseSimilarity], tuple[np.ndarray]]:
        return DenseSimilarity, (self.matrix,)


@dataclass(frozen=True, eq=False)
class SparseSimilarity:
    """A similarity held as a sparse matrix.

    Parameters
    ----------
    matrix : csr_array, shape (n, n)
        S, float64, symmetric.
    """

    matrix: csr_array
    _casts: dict[np.dtype, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.matrix.shape[0]

    @cached_property
    def degrees(self) -> np.ndarray:
        """Row sums d = S 1, shape (n,)."""
        return np.asarray(self.matrix.sum(axis=1))

    @cached_property
    def magnitudes(self) -> np.ndarray:
        """Row sums of absolute values, shape (n,)."""
        return np.asarray(abs(self.matrix).sum(axis=1))

    def matmul(self, block: np.ndarray) -> np.ndarray:
        """Return ``block @ S``, shape (b, n), in the dtype of `block`."""
        operand = _cast(self._casts, self.matrix, block.dtype)
        # S is symmetric, and rows of a C-ordered right-hand side are what scipy is fast on
        return np.ascontiguousarray((operand @ np.ascontiguousarray(block.T)).T)

    def form(self, block: np.ndarray) -> np.ndarray:
        """Return ``f' S f`` for every row f of `block`, shape (b,), in its dtype."""
        return np.vecdot(block, self.matmul(block))

    def to_dense(self) -> np.ndarray:
        """Return S, shape (n, n)."""
        return self.matrix.toarray()

    def __reduce__(self) -> tuple[type[SparseSimilarity], tuple[csr_array]]:
        return SparseSimilarity, (self.matrix,)


@dataclass(frozen=True, eq=False)
class FactoredSimilarity:
    """A similarity of low rank, S = Z Z'.

    Parameters
    ----------
    factor : ndarray or csr_array, shape (n, r)
        Z, float64.
    """

    factor: np.ndarray | csr_array
    _casts: dict[np.dtype, Any] = field(default_factory=dict, init=False, repr=False)
    _thins: dict[np.dtype, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.factor.shape[0]

    @cached_property
    def degrees(self) -> np.ndarray:
        """Row sums d = Z (Z' 1), shape (n,)."""
        return self.factor @ np.asarray(self.factor.sum(axis=0))

    @cached_property
    def magnitudes(self) -> np.ndarray:
        """Upper bound on the row sums of absolute values, from those of Z, shape (n,)."""
        sizes: Any = abs(self.factor)
        return sizes @ np.asarray(sizes.sum(axis=0))

    @cached_property
    def thin(self) -> np.ndarray | None:
        """The factor as a full matrix, shape (n, r), where it has few columns."""
        if self.factor.shape[1] > THIN:
            return None
        return self.factor if isinstance(self.factor, np.ndarray) else self.factor.toarray()

    def matmul(self, block: np.ndarray) -> np.ndarray:
        """Return ``(block @ Z) @ Z.T``, shape (b, n), in the dtype of `block`."""
        factor = _cast(self._casts, self.factor, block.dtype)
        if isinstance(factor, np.ndarray):
            return (block @ factor) @ factor.T
        return np.ascontiguousarray((factor @ (factor.T @ np.ascontiguousarray(block.T))).T)

    def form(self, block: np.ndarray) -> np.ndarray:
        """Return ``|Z' f|^2`` for every row f of `block`, shape (b,), in its dtype."""
        factor = self.factor if self.thin is None else self.thin
        factor = _cast(self._thins, factor, block.dtype)
        if isinstance(factor, np.ndarray):
            along = block @ factor
            return np.vecdot(along, along)
        along = factor.T @ np.ascontiguousarray(block.T)
        return (along * along).sum(axis=0)

    def to_dense(self) -> np.ndarray:
        """Return S, shape (n, n)."""
        product = self.factor @ self.factor.T
        return product if isinstance(product, np.ndarray) else product.toarray()

    def __reduce__(self) -> tuple[type[FactoredSimilarity], tuple[np.ndarray | csr_array]]:
        return FactoredSimilarity, (self.factor,)


def check_similarity(
    S: np.ndarray | csr_array, name: str, sample_ids: Sequence[str] | None = None
) -> None:
    """Refuse what is not a finite, symmetric square matrix.

    Parameters
    ----------
    S : ndarray or csr_array, shape (n, n)
        The candidate.
    name : str
        What to call it in a message: the name of the similarity, or a file.
    sample_ids : sequence of str, shape (n,), optional
        Names for the message; without them samples are numbered from 1.

    Raises
    ------
    InputError
        When S is not square, is empty, holds NaN or infinity, or ``|S - S'|`` exceeds
        `ASYMMETRY_LIMIT` times the largest entry.
    """
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise InputError(
            f"the sample similarity has shape {S.shape}, it must be square",
            where=name,
            hint="give one row and one column per sample, in the same order",
        )
    _check_finite(S if isinstance(S, np.ndarray) else S.data, name)
    asymmetry, row, column = _largest_asymmetry(S)
    if asymmetry > ASYMMETRY_LIMIT * _largest(S):
        place = f"row {row + 1} and column {column + 1}"
        if sample_ids is not None:
            place = f"samples {sample_ids[row]} and {sample_ids[column]}"
        raise InputError(
            f"the sample similarity is not symmetric: entries differ by up to {asymmetry:.3g}",
            where=f"{name}, {place}",
            hint="give a symmetric matrix, for example the mean of it and its transpose",
        )


def check_degrees(similarity: Similarity, sample_ids: Sequence[str] | None, name: str) -> None:
    """Refuse a similarity in which a sample has a degree of zero (to rounding) or less.

    Parameters
    ----------
    similarity : Similarity
        The sample graph.
    sample_ids : sequence of str, shape (n,), optional
        Names for the message; without them samples are numbered from 1.
    name : str
        Name of the similarity, or the file it came from.

    Raises
    ------
    InputError
        Counts and names the samples whose degree is at most n eps sum_j |s_ij|.
    """
    noise = similarity.n * np.finfo(np.float64).eps * similarity.magnitudes
    # written so that a NaN is found too
    bad = np.flatnonzero(~(similarity.degrees > noise))
    if bad.size == 0:
        return
    negative = int(np.count_nonzero(similarity.degrees[bad] < -noise[bad]))
    raise InputError(
        f"{bad.size:,} of {similarity.n:,} samples have no positive degree (sum of similarities) "
        f"in the sample graph ({bad.size - negative:,} zero, {negative:,} negative)",
        where=f"{name}: {name_samples(bad, sample_ids)}",
        hint=_HINTS.get(name, _ISOLATED_HINT),
    )


def _cast(casts: dict[np.dtype, Any], operand: Any, dtype: np.dtype) -> Any:
    if dtype.kind != "f":
        raise TypeError(f"a block must hold floating-point numbers, not {dtype}")
    if dtype not in casts:
        casts[dtype] = operand.astype(dtype, copy=False)
    return casts[dtype]


def _check_finite(values: np.ndarray, name: str) -> None:
    bad = values.size - int(np.count_nonzero(np.isfinite(values)))
    if bad:
        raise InputError(
            f"{bad:,} entries of the sample similarity are NaN or infinite",
            where=name,
            hint="give a finite similarity for every pair of samples",
        )


def _largest(S: np.ndarray | csr_array) -> float:
    values = S if isinstance(S, np.ndarray) else S.data
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _largest_asymmetry(S: np.ndarray | csr_array) -> tuple[float, int, int]:
    if not isinstance(S, np.ndarray):
        difference = abs(S - S.T).tocoo()
        if difference.nnz == 0:
            return 0.0, 0, 0
        worst = int(difference.data.argmax())
        return float(difference.data[worst]), int(difference.row[worst]), int(difference.col[worst])
    found = (0.0, 0, 0)
    for rows in panels(S.shape[0]):
        difference = np.abs(S[rows] - S[:, rows].T)
        row, column = np.unravel_index(int(difference.argmax()), difference.shape)
        found = max(found, (float(difference[row, column]), rows.start + int(row), int(column)))
    return found
