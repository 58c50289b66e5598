"""Sample similarities behind one interface, the checks that each must pass, connected components.

A similarity ``S`` is a symmetric n x n matrix. It is kept in its cheapest form (dense, sparse, or a
product of two thin factors), and used through its degrees and its product with blocks of features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.limits import EPS, TOO_LARGE
from sfs_cli.compute.matrix import InDtypes
from sfs_cli.errors import InputError, listed

if TYPE_CHECKING:
    from scipy.sparse import csr_array


ASYMMETRY_LIMIT = 1e-8
"""Largest difference between S and its transpose, relative to the largest entry."""
NO_DISTANCE = 1e-6
"""A distance of a sample to itself is at most so much of the mean entry; 0 but for rounding."""
PANEL_VALUES = 1 << 20
"""Values of a panel of rows, so that no second n x n array is needed."""
THIN = 64
"""Columns up to which a factor of groups is dense: it is multiplied faster than a sparse one."""

_HINTS = {
    "linear": "`linear` of centered features always has zero degrees: it is a kernel for other "
    "methods; as a graph use `rbf`, `knn` or `correlation`",
    "relieff": "such samples are nearest misses of many others; use fewer neighbors",
    "knn": "the weights of all their edges underflow to zero; use a larger bandwidth, `median` or "
    "binary weights",
}
_ISOLATED_HINT = "drop these samples, or give them positive similarities to others"


def row_panels(n: int) -> Iterator[slice]:
    """Yield slices of rows of an (n, n) matrix, of about `PANEL_VALUES` values each."""
    step = max(1, PANEL_VALUES // max(n, 1))
    for low in range(0, n, step):
        yield slice(low, min(low + step, n))


def as_dense(M: Any) -> np.ndarray:
    """Return a matrix, dense or sparse, as an array."""
    return M if isinstance(M, np.ndarray) else M.toarray()


def stored_values(M: Any) -> np.ndarray:
    """Return the entries of a matrix that are stored: all of a dense one."""
    return M if isinstance(M, np.ndarray) else M.data


def symmetrized(M: Any) -> Any:
    """Return the mean of a matrix, dense or sparse, and its transpose."""
    return 0.5 * (M + M.T)


def rows_times(block: np.ndarray, S: Any) -> np.ndarray:
    """Return ``block @ S``, shape (b, n), for a symmetric matrix, dense or sparse."""
    if isinstance(S, np.ndarray):
        return block @ S
    # rows of a C-ordered right-hand side are what scipy is fast on
    return np.ascontiguousarray((S @ np.ascontiguousarray(block.T)).T)


def name_samples(chosen: np.ndarray, sample_ids: Sequence[str] | None = None) -> str:
    """Name the first few chosen samples in a message; without ids they are numbered from 1."""
    if sample_ids is None:
        return "sample number " + listed([str(i + 1) for i in chosen])
    return listed([sample_ids[i] for i in chosen])


class Similarity(ABC):
    """A symmetric n x n sample similarity S. It can be pickled.

    Parameters
    ----------
    held : ndarray or csr_array, n rows
        What S is made of, float64: S itself, or a factor of it.
    """

    def __init__(self, held: Any) -> None:
        self._held = InDtypes(held)

    def __reduce__(self) -> tuple[type[Similarity], tuple[Any, ...]]:
        return type(self), (self._held.matrix,)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self._held.matrix.shape[0]

    @cached_property
    @abstractmethod
    def degrees(self) -> np.ndarray:
        """Row sums d = S 1, shape (n,), float64."""

    @cached_property
    @abstractmethod
    def magnitudes(self) -> np.ndarray:
        """Row sums of absolute values, or a bound on them, shape (n,): the scale of rounding."""

    @abstractmethod
    def matmul(self, block: np.ndarray) -> np.ndarray:
        """Return ``block @ S``, shape (b, n), in the dtype of `block`, float32 or float64."""

    @abstractmethod
    def to_dense(self) -> np.ndarray:
        """Return S as an ndarray, shape (n, n), float64. Not to be written to."""

    @property
    def groups(self) -> np.ndarray | None:
        """The group of each sample, (n,), where S is that of groups: products of their weights."""
        return None

    def form(self, block: np.ndarray) -> np.ndarray:
        """Return ``f' S f`` for every row f of `block`, shape (b,), in its dtype."""
        return np.vecdot(block, self.matmul(block))


class _WholeSimilarity(Similarity):
    """A similarity held as a matrix.

    Parameters
    ----------
    matrix : ndarray or csr_array, shape (n, n)
        S, float64, symmetric.
    """

    def __init__(self, matrix: Any) -> None:
        super().__init__(matrix)
        self.matrix = matrix

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
        return rows_times(block, self._held[block.dtype])

    def to_dense(self) -> np.ndarray:
        """Return S, shape (n, n); of a full matrix that itself, not a copy."""
        return as_dense(self.matrix)


class DenseSimilarity(_WholeSimilarity):
    """A similarity held as a full matrix."""

    matrix: np.ndarray


class SparseSimilarity(_WholeSimilarity):
    """A similarity held as a sparse matrix."""

    matrix: csr_array


class FactoredSimilarity(Similarity):
    """A similarity of low rank, S = Z Z'.

    Parameters
    ----------
    factor : ndarray or csr_array, shape (n, r)
        Z, float64.
    degrees : ndarray, shape (n,), optional
        The row sums of S where they are known: those of Z would round them, and weights that are
        equal but for rounding take longer to work with than equal ones.
    """

    def __init__(self, factor: np.ndarray | csr_array, degrees: np.ndarray | None = None) -> None:
        super().__init__(factor)
        self.factor = factor
        if degrees is not None:
            self.degrees = degrees

    def __reduce__(self) -> tuple[type[Similarity], tuple[Any, ...]]:
        return type(self), (self.factor, self.degrees)  # the same in every process

    @cached_property
    def degrees(self) -> np.ndarray:
        """Row sums d = Z (Z' 1), shape (n,)."""
        return self.factor @ np.asarray(self.factor.sum(axis=0))

    @cached_property
    def magnitudes(self) -> np.ndarray:
        """Upper bound on the row sums of absolute values, from those of Z, shape (n,)."""
        sizes: Any = abs(self.factor)
        return sizes @ np.asarray(sizes.sum(axis=0))

    @property
    def groups(self) -> np.ndarray | None:
        """The column that each row has an entry in, (n,), where it has one, which is positive."""
        factor: Any = self.factor
        if isinstance(factor, np.ndarray):
            single = (np.count_nonzero(factor, axis=1) == 1) & (factor.max(axis=1) > 0)
            return factor.argmax(axis=1) if single.all() else None
        single = (np.diff(factor.indptr) == 1).all() and (factor.data > 0).all()
        return factor.indices if single else None

    def matmul(self, block: np.ndarray) -> np.ndarray:
        """Return ``(block @ Z) @ Z.T``, shape (b, n), in the dtype of `block`."""
        factor = self._held[block.dtype]
        if isinstance(factor, np.ndarray):
            return (block @ factor) @ factor.T
        return np.ascontiguousarray((factor @ (factor.T @ np.ascontiguousarray(block.T))).T)

    def form(self, block: np.ndarray) -> np.ndarray:
        """Return ``|Z' f|^2`` for every row f of `block`, shape (b,), in its dtype."""
        factor = self._held[block.dtype]
        projections = factor.T @ np.ascontiguousarray(block.T)
        return np.einsum("ij,ij->j", projections, projections)

    def to_dense(self) -> np.ndarray:
        """Return S, shape (n, n)."""
        return as_dense(self.factor @ self.factor.T)


def weighted_similarity(S: Similarity, weights: np.ndarray) -> Similarity:
    """Return ``diag(w) S diag(w)``: the graph in which sample i is there w_i times.

    Of a graph with w_i copies of each sample, and features that are the same in copies, the sum of
    the degrees of the copies of i is ``w_i sum_j w_j s_ij``, and ``sum s (f - f)^2`` over all pairs
    of copies is ``sum_ij w_i w_j s_ij (f_i - f_j)^2``; eigenvectors that are the same in copies
    have the same eigenvalues. So SPEC and the Laplacian Score of this graph are those of the graph
    of copies.

    Parameters
    ----------
    S : Similarity
        n x n.
    weights : ndarray, shape (n,)
        w, positive.
    """
    if isinstance(S, DenseSimilarity):
        # the product of both weights first: symmetric to the last bit
        weighted = np.outer(weights, weights)
        return DenseSimilarity(np.multiply(weighted, S.matrix, out=weighted))
    if isinstance(S, SparseSimilarity):
        scaled = S.matrix.copy()
        rows = np.repeat(np.arange(S.n), np.diff(scaled.indptr))
        scaled.data *= weights[rows] * weights[scaled.indices]
        return SparseSimilarity(scaled)
    assert isinstance(S, FactoredSimilarity)
    factor: Any = S.factor * weights[:, None]
    return FactoredSimilarity(factor if isinstance(factor, np.ndarray) else factor.tocsr())


def similarity_of(S: np.ndarray | csr_array) -> DenseSimilarity | SparseSimilarity:
    """Return the similarity of a matrix: dense for an array, else sparse; in float64."""
    if isinstance(S, np.ndarray):
        return DenseSimilarity(S.astype(np.float64, copy=False))
    return SparseSimilarity(S.astype(np.float64))


def check_similarity(
    S: np.ndarray | csr_array, name: str, sample_ids: Sequence[str] | None = None
) -> None:
    """Refuse what is not a finite, symmetric square matrix, shape (n, n).

    Messages name it, or its file, and the samples; without ids these are numbered from 1. Raises
    InputError when S is not square, is empty, holds NaN or infinity, or ``|S - S'|`` exceeds
    `ASYMMETRY_LIMIT` times the largest entry.
    """
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise InputError(
            f"the sample similarity has shape {S.shape}, it must be square",
            where=name,
            hint="give one row and one column per sample, in the same order",
        )
    values = stored_values(S)
    least, most = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if not (least > -TOO_LARGE and most < TOO_LARGE):  # NaN is neither
        bad = values.size - int(np.count_nonzero(np.isfinite(values)))
        what = f"{bad:,} entries of the sample similarity are NaN or infinite"
        if not bad:
            what = f"the sample similarity has entries of {TOO_LARGE:g} or more, which sums exceed"
        raise InputError(
            what,
            where=name,
            hint="give a finite similarity for every pair of samples",
        )
    difference: Any = abs(S - S.T)
    row, column = divmod(int(difference.argmax()), S.shape[1])
    asymmetry = float(difference[row, column])
    if asymmetry > ASYMMETRY_LIMIT * max(most, -least):
        place = f"row {row + 1} and column {column + 1}"
        if sample_ids is not None:
            place = f"samples {sample_ids[row]} and {sample_ids[column]}"
        raise InputError(
            f"the sample similarity is not symmetric: entries differ by up to {asymmetry:.3g}",
            where=f"{name}, {place}",
            hint="give a symmetric matrix, for example the mean of it and its transpose",
        )


def look_like_distances(S: np.ndarray | csr_array) -> bool:
    """Tell whether S (n, n) has a diagonal of 0, and all other entries are above 0.

    Up to `NO_DISTANCE` of the mean entry counts as 0, as 1 - r of a sample and itself may be.
    """
    n, diagonal = S.shape[0], S.diagonal()
    values = stored_values(S)
    if n <= 2 or np.abs(diagonal).max() > NO_DISTANCE * (values.sum() / n**2):
        return False
    return np.count_nonzero(values > 0) - np.count_nonzero(diagonal > 0) == n * (n - 1)


def check_degrees(similarity: Similarity, sample_ids: Sequence[str] | None, name: str) -> None:
    """Refuse a similarity in which a sample has a degree of zero (to rounding) or less.

    The InputError counts and names the samples whose degree is at most n eps sum_j |s_ij|; without
    ids they are numbered from 1. `name` is that of the similarity, or of its file.
    """
    noise = _noise_of_degrees(similarity)
    # `not greater` finds NaN too
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


def has_zero_degrees(similarity: Similarity) -> bool:
    """Tell whether the degrees of most samples are zero to rounding."""
    return bool(np.median(np.abs(similarity.degrees) - _noise_of_degrees(similarity)) <= 0)


def _noise_of_degrees(similarity: Similarity) -> np.ndarray:
    """Return the rounding of degrees, shape (n,): n eps sum_j |s_ij|."""
    # a degree is a sum of n terms, which may be of both signs: no more digits are known of it
    return np.asarray(similarity.n * EPS * similarity.magnitudes)


def connected_components(similarity: Similarity) -> np.ndarray:
    """Find the connected components of the graph whose edges are the entries of S that are not 0.

    Only an entry that is exactly 0 separates two samples. Components are numbered by their first
    sample. A factored similarity has an edge where two samples share a column of the factor.

    Returns
    -------
    ndarray of int, shape (n,)
        The component of each sample.
    """
    from scipy.sparse import block_array, csgraph, csr_array

    if isinstance(similarity, FactoredSimilarity):
        factor: Any = csr_array(similarity.factor)
        factor = factor != 0
        # samples and columns are the nodes of one graph: two samples of a column are connected
        pattern: Any = block_array([[None, factor], [factor.T, None]], format="csr")
    elif isinstance(similarity, DenseSimilarity) and similarity.matrix.all():
        return np.zeros(similarity.n, int)  # without the copy that a search needs
    else:
        assert isinstance(similarity, DenseSimilarity | SparseSimilarity)
        entries: Any = similarity.matrix
        pattern = csr_array(entries != 0)
    _, found = csgraph.connected_components(pattern, directed=False)
    return np.unique(found[: similarity.n], return_inverse=True)[1]


def null_vectors(components: np.ndarray, root: np.ndarray) -> csr_array:
    """Return an orthonormal basis of the null space of N (or of L, where `root` is 1).

    Parameters
    ----------
    components : ndarray of int, shape (n,)
        From `connected_components`, of c components.
    root : ndarray, shape (n,)
        ``D^1/2 1``.

    Returns
    -------
    csr_array, shape (n, c)
        Column j is ``D^1/2`` times the indicator of component j, of unit norm.
    """
    from scipy.sparse import csr_array

    norm = np.sqrt(np.bincount(components, weights=root**2))
    n = len(components)
    return csr_array((root / norm[components], components, np.arange(n + 1)), shape=(n, len(norm)))
