"""Scores of sparse matrices from their stored values alone: formulas, scorers, and when they apply.

With weights w (the degrees, or 1), mu the weighted mean of a feature f, and nz its stored values:

- ``sum_i w_i (f_i - mu)^2 = sum_nz w_i (f_i - mu)^2 + mu^2 (weight of the zeros)``
- ``f' L f = sum over edges of s_ij (f_i - f_j)^2``, where only edges that leave nz count; where
  nz is less than half of the samples, ``sum_nz d_i f_i^2 - 2 sum_{i < j in nz} s_ij f_i f_j``
- ``D^1/2 f . xi_j = sum_nz d_i^1/2 f_i xi_ij`` (phi3)

No digits are lost to an offset: features without a zero are shifted, and where few values are not
zero an offset is part of how the feature varies.

The loops are compiled by numba (`sfs_cli.graph.sparse_kernels`), which is imported when a block is
scored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, NonZeros, Workspace
from sfs_cli.graph.similarity import Similarity, SparseSimilarity
from sfs_cli.methods.base import OnNonZeros, Scorer, Status
from sfs_cli.methods.kernel import Sums, status_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSE_BLOCKS = "dense blocks"
NON_ZEROS = "non-zeros"

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
"""``indptr``, ``indices`` and ``data`` of the rows of a similarity."""


def best_read(
    engine: Engine, scorer: Scorer, note: Callable[[str], None]
) -> tuple[Engine, Scorer | OnNonZeros]:
    """Choose how features are read to be scored: as dense blocks, or as their stored values.

    Stored values are enough where the matrix is sparse after its transformation, the scorer has a
    formula for them on this graph, and numba is installed. The scorer's facts record the choice.

    Parameters
    ----------
    engine : Engine
        Passes over the matrix.
    scorer : Scorer
        Scores dense blocks.
    note : callable
        Receives what to install for a faster pass.
    """
    if not engine.source.sparse:
        return engine, scorer
    found = scorer.on_nonzeros() if engine.source.keeps_zeros else None
    if found is not None and find_spec("numba") is None:
        note(
            "numba is not installed: the sparse matrix is scored as a dense one, which is slower "
            "(pip install 'sfs-cli[singlecell]')"
        )
        found = None
    scorer.facts["scored_from"] = DENSE_BLOCKS if found is None else NON_ZEROS
    return (engine, scorer) if found is None else (replace(engine, nonzeros=True), found)


def has_edges_or_groups(similarity: Similarity) -> bool:
    """Return whether ``f' L f`` can be computed from stored values.

    It can on a graph of edges, and on one of groups as `label` makes it: a product of factors with
    one positive entry in each row has ``s_ij = z_i z_j`` within groups, and ``f' L f`` is the sum
    of squares around the means of the groups, weighted by the degrees.
    """
    return isinstance(similarity, SparseSimilarity) or similarity.groups is not None


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


class CenteredStored(NamedTuple):
    """The stored values of a block, shifted and scaled, and how its features vary.

    Attributes
    ----------
    block : NonZeros
    square : ndarray, shape (b,)
        Weighted sum of squares around the mean.
    mean : ndarray, shape (b,)
        Weighted mean of the shifted values.
    offset : ndarray, shape (b,)
        Weighted mean of the features.
    scale : ndarray, shape (b,)
        Factor that returns values to the units of the input (1 but for extremes).
    """

    block: NonZeros
    square: np.ndarray
    mean: np.ndarray
    offset: np.ndarray
    scale: np.ndarray


class SparseBlocks:
    """Sums of squares of blocks of stored values around weighted means.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        Of the samples, positive.
    """

    def __init__(self, weights: np.ndarray) -> None:
        self.everyone = Groups.of(weights, np.zeros(len(weights), np.int32))
        self.volume = float(weights.sum())
        self.work = Workspace()

    def variation(self, block: NonZeros) -> CenteredStored:
        """Shift and scale a block in place, and measure how its features vary."""
        from sfs_cli.graph import sparse_kernels

        b = block.n_features
        offset, exponent = np.empty(b), np.empty(b, np.int64)
        sparse_kernels.shift(block.indptr, block.data, block.n_samples, offset, exponent)
        mean, square = self.around_means(block, self.everyone)
        return CenteredStored(block, square, mean, offset + mean, np.ldexp(1.0, exponent))

    def around_means(self, block: NonZeros, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
        """Return the means, and the sums of squares around the means of the groups, both (b,)."""
        from sfs_cli.graph import sparse_kernels

        mean, square = np.empty((2, block.n_features))
        sparse_kernels.spread(
            block.stored,
            (groups.weights, groups.members, groups.volumes),
            self.work.zeros("feature", block.n_samples),
            mean,
            square,
        )
        return mean, square


class SparseForms(SparseBlocks):
    """Quadratic forms of blocks of stored values on a graph of edges, or of groups.

    Parameters
    ----------
    similarity : SparseSimilarity or FactoredSimilarity
        One that `has_edges_or_groups`.
    weights : ndarray, shape (n,)
        Positive: the degrees, or 1.
    """

    def __init__(self, similarity: Similarity, weights: np.ndarray) -> None:
        super().__init__(weights)
        self.edges: Edges | None = None
        if isinstance(similarity, SparseSimilarity):
            from scipy.sparse import csr_array, triu

            S = similarity.matrix
            self.edges = _edges(S)
            self.upper = _edges(csr_array(triu(S, 1, format="csr")))
            self.degrees = np.asarray(S.sum(axis=1)) - S.diagonal()
            self.edge_volume = float(self.degrees.sum())
        else:
            assert similarity.groups is not None
            self.groups = Groups.of(similarity.degrees, similarity.groups)

    def laplacian(self, found: CenteredStored) -> np.ndarray:
        """Return ``f' L f`` for every feature of a block, shape (b,)."""
        from sfs_cli.graph import sparse_kernels

        block = found.block
        if self.edges is None:
            return self.around_means(block, self.groups)[1]
        form = np.empty(block.n_features)
        scratch = self.work.zeros("feature", block.n_samples)
        marked = self.work.zeros("marked", block.n_samples, np.uint8)
        # leaves NaN for features of many values, which the other kernel computes
        sparse_kernels.scattered_form(
            block.stored, self.upper, self.degrees, self.edge_volume, scratch, marked, form
        )
        sparse_kernels.laplacian_form(block.stored, self.edges, scratch, marked, form)
        return form

    def second(self, found: CenteredStored) -> np.ndarray:
        """Return ``f' L D^-1 L f`` with the weights in D, on a graph of edges, shape (b,)."""
        from sfs_cli.graph import sparse_kernels

        block = found.block
        assert self.edges is not None
        form = np.empty(block.n_features)
        scratch, product = (self.work.zeros(k, block.n_samples) for k in ("feature", "product"))
        weights = self.everyone.weights
        sparse_kernels.second_form(block.stored, self.edges, weights, scratch, product, form)
        return form


def _edges(S: csr_array) -> Edges:
    """Return the rows of S in the shortest types that hold them exactly."""
    kind = np.int32 if S.shape[0] < 2**31 else np.int64
    with np.errstate(over="ignore"):
        short = S.data.astype(np.float32)
    data = short if np.array_equal(short, S.data) else S.data
    return S.indptr.astype(np.int64, copy=False), S.indices.astype(kind, copy=False), data


@dataclass(frozen=True)
class Projected:
    """Finds ``sum_j w_j (f . v_j)^2`` of features around their means, as of phi3.

    Attributes
    ----------
    vectors : ndarray, shape (n, k)
        v.
    weights : ndarray, shape (k,)
        w.
    """

    vectors: np.ndarray
    weights: np.ndarray

    def __call__(self, found: CenteredStored) -> np.ndarray:
        """Return the forms of a block, shape (b,)."""
        features: Any = found.block.as_rows()
        # eigenvectors are orthogonal to constants but for rounding, times the mean
        alpha = features @ self.vectors - np.outer(found.mean, self.vectors.sum(axis=0))
        return (alpha * alpha) @ self.weights


class Within:
    """Finds the variation within connected components (n,), less ``f' L f``.

    That is the form of GDCOV with gamma one-minus.
    """

    def __init__(self, forms: SparseForms, components: np.ndarray) -> None:
        self.forms = forms
        several = components.any()
        self.components = Groups.of(forms.everyone.weights, components) if several else None

    def __call__(self, found: CenteredStored) -> np.ndarray:
        """Return the forms of a block, shape (b,)."""
        square = found.square
        if self.components is not None:
            square = self.forms.around_means(found.block, self.components)[1]
        return square - self.forms.laplacian(found)


class StoredScorer:
    """Scores blocks of a sparse matrix from their stored values.

    Attributes
    ----------
    dtype : dtype
        Type in which values are wanted.

    Parameters
    ----------
    formula : callable
        Scores by the `Sums` of features, as of a `KernelScorer`.
    blocks : SparseBlocks
        Finds the sums of squares.
    form : callable, optional
        Finds the forms of a block (b,), which `variation` has shifted.
    """

    dtype = DOUBLE

    def __init__(
        self,
        formula: Callable[[Sums], np.ndarray],
        blocks: SparseBlocks,
        form: Callable[[CenteredStored], np.ndarray] | None = None,
    ) -> None:
        self.formula, self.blocks, self.form = formula, blocks, form

    def score_block(self, block: NonZeros) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores (b,) and statuses (b,) of a block; overwrites it."""
        found, volume = self.blocks.variation(block), self.blocks.volume
        status = status_of(block, found.square, found.offset, volume)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            form = found.square if self.form is None else self.form(found)
            total = found.square + volume * found.offset**2
            score = self.formula(Sums(found.square, total, form, form, found.scale))
        score[status != Status.OK] = np.nan
        return score, status
