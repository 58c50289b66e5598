"""Quadratic forms of sparse features on a sparse graph, from their non-zero values alone.

With weights w (the degrees, or 1), mu the weighted mean of f and nz its non-zero values:

- ``sum_i w_i (f_i - mu)^2 = sum_nz w_i (f_i - mu)^2 + mu^2 (w of the zeros)``
- ``f' L f = sum over edges of s_ij (f_i - f_j)^2``, where only edges that leave nz count; where
  nz is less than half of all, ``sum_nz d_i f_i^2 - 2 sum_{i < j in nz} s_ij f_i f_j``

No digits are lost to an offset: features without a zero are shifted, and where few values are not
zero an offset is part of how the feature varies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.graph.similarity import FactoredSimilarity, Similarity, SparseSimilarity
from sfs_cli.methods.base import Status

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Where the rows of a similarity begin, their columns, and their entries."""
_EPS = float(np.finfo(np.float64).eps)


class NonZerosLike(Protocol):
    """A block of features without its zeros (``sfs_cli.store.nonzeros.NonZeros``)."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n_samples: int
    missing: np.ndarray | None
    zero: np.ndarray


class Spread(NamedTuple):
    """How the features of a block vary, in the units of its shifted and scaled values.

    Attributes
    ----------
    square : ndarray, shape (b,)
        Weighted sum of squares around the mean.
    mean : ndarray, shape (b,)
        Weighted mean of the shifted values.
    offset : ndarray, shape (b,)
        Weighted mean of the features.
    scale : ndarray, shape (b,)
        What values are to be multiplied by to be in the input's units (1 but for extremes).
    status : ndarray of int8, shape (b,)
        Values of `Status`.
    """

    square: np.ndarray
    mean: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    status: np.ndarray


@dataclass(frozen=True)
class Groups:
    """Groups of weighted samples.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Positive.
    members : ndarray of int32, shape (n,)
        The group of each sample, 0..c-1; none is empty.
    volumes : ndarray, shape (c,)
        Sums of the weights in groups.
    """

    weights: np.ndarray
    members: np.ndarray
    volumes: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, members: np.ndarray) -> Groups:
        """Return groups that are numbered from 0, with their volumes."""
        members = np.unique(members, return_inverse=True)[1].astype(np.int32)
        weights = np.ascontiguousarray(weights, np.float64)
        return cls(weights, members, np.bincount(members, weights))


class NonZeroSpread:
    """Measures how the features of blocks of non-zero values vary.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        Of the samples, positive.
    """

    def __init__(self, weights: np.ndarray) -> None:
        self.whole = Groups.of(weights, np.zeros(len(weights), np.int32))
        self.volume = float(weights.sum())
        self.work = Workspace()

    def spread(self, block: NonZerosLike) -> Spread:
        """Shift and scale a block in place, and measure how its features vary."""
        from sfs_cli.graph import spread_kernels

        b = len(block.indptr) - 1
        offset, exponent = np.empty(b), np.empty(b, np.int64)
        spread_kernels.shift(block.indptr, block.data, block.n_samples, offset, exponent)
        mean, square = self._around_means(block, self.whole)
        offset += mean
        status = _status(block, square <= self.volume * (8 * _EPS * offset) ** 2)
        scale = np.ldexp(1.0, exponent)
        return Spread(square, mean, offset, scale, status)

    def within(self, block: NonZerosLike, groups: Groups) -> np.ndarray:
        """Return the weighted sum of squares around the means of groups of samples, shape (b,).

        Parameters
        ----------
        block : NonZerosLike
            After `spread`.
        groups : Groups
            Groups of samples.
        """
        return self._around_means(block, groups)[1]

    def _around_means(self, block: NonZerosLike, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
        from sfs_cli.graph import spread_kernels

        mean, square = np.empty(len(block.indptr) - 1), np.empty(len(block.indptr) - 1)
        spread_kernels.spread(
            block.indptr,
            block.indices,
            block.data,
            groups.weights,
            groups.members,
            groups.volumes,
            self.work.zeros("feature", block.n_samples),
            mean,
            square,
        )
        return mean, square


class NonZeroForms(NonZeroSpread):
    """Measures blocks of non-zero values on a sparse graph, or on one of groups.

    Parameters
    ----------
    similarity : SparseSimilarity or FactoredSimilarity
        One that `can_measure`.
    weights : ndarray, shape (n,)
        Positive: the degrees, or 1.
    """

    def __init__(self, similarity: Similarity, weights: np.ndarray) -> None:
        super().__init__(weights)
        self.edges: Edges | None = None
        if isinstance(similarity, SparseSimilarity):
            self._take_edges(similarity.matrix)
        else:
            assert isinstance(similarity, FactoredSimilarity)
            assert not isinstance(similarity.factor, np.ndarray)
            self.classes = Groups.of(similarity.degrees, similarity.factor.indices)

    def _take_edges(self, S: csr_array) -> None:
        from scipy.sparse import csr_array, triu

        self.edges = _arrays(S)
        above = csr_array(triu(S, 1, format="csr"))
        self.upper = _arrays(above)
        self.degrees = np.asarray(S.sum(axis=1)) - S.diagonal()
        self.edge_volume = float(self.degrees.sum())

    def laplacian(self, block: NonZerosLike) -> np.ndarray:
        """Return ``f' L f`` for every feature of a block after `spread`, shape (b,)."""
        from sfs_cli.graph import edge_kernels

        if self.edges is None:
            return self._around_means(block, self.classes)[1]
        form = np.empty(len(block.indptr) - 1)
        scratch = self.work.zeros("feature", block.n_samples)
        marked = self.work.zeros("marked", block.n_samples, np.uint8)
        features = (block.indptr, block.indices, block.data)
        edge_kernels.scattered_form(
            *features, *self.upper, self.degrees, self.edge_volume, scratch, marked, form
        )
        edge_kernels.laplacian_form(*features, *self.edges, scratch, marked, form)
        return form

    def second(self, block: NonZerosLike) -> np.ndarray:
        """Return ``f' L D^-1 L f`` with the weights in D, on a graph of edges, shape (b,)."""
        from sfs_cli.graph import edge_kernels

        assert self.edges is not None
        form = np.empty(len(block.indptr) - 1)
        scratch, product = (self.work.zeros(k, block.n_samples) for k in ("feature", "product"))
        edge_kernels.second_form(
            block.indptr,
            block.indices,
            block.data,
            *self.edges,
            self.whole.weights,
            scratch,
            product,
            form,
        )
        return form


def can_measure(similarity: Similarity) -> bool:
    """Tell whether a similarity is of edges, or one of groups as `label` makes it.

    A product of factors with one positive entry in each row has ``s_ij = z_i z_j`` within groups,
    and ``f' L f`` is the sum of squares around the means of the groups, weighted by the degrees.
    """
    if isinstance(similarity, SparseSimilarity):
        return True
    if not isinstance(similarity, FactoredSimilarity):
        return False
    factor = similarity.factor
    if isinstance(factor, np.ndarray):
        return False
    return bool((np.diff(factor.indptr) == 1).all() and (factor.data > 0).all())


def _arrays(S: csr_array) -> Edges:
    """Return where rows begin, neighbours and weights, in types as short as hold them exactly."""
    kind = np.int32 if S.shape[0] < 2**31 else np.int64
    with np.errstate(over="ignore"):
        short = S.data.astype(np.float32)
    weights = short if np.array_equal(short, S.data) else S.data
    return S.indptr.astype(np.int64, copy=False), S.indices.astype(kind, copy=False), weights


def _status(block: NonZerosLike, constant: np.ndarray) -> np.ndarray:
    """Return the statuses that `sfs_cli.methods.centering.Centred.status` gives."""
    status = np.where(constant, Status.CONSTANT, Status.OK).astype(np.int8)
    status[block.zero] = Status.ALL_ZERO
    if block.missing is not None:
        status[block.missing] = Status.MISSING
    return status
