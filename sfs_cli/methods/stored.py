"""Scores of sparse matrices from their stored values: formulas, scorers, and when they apply.

With weights w (the degrees, or 1), mu the weighted mean of a feature f, and nz its stored values:

- ``sum_i w_i (f_i - mu)^2 = sum_nz w_i (f_i - mu)^2 + mu^2 (weight of the zeros)``
- ``f' L f = sum_i d_i f_i^2 - 2 sum_{i < j} s_ij f_i f_j``, of a few features at a time with all
  their zeros, less their means: each edge is met once
- ``D^1/2 f . xi_j = sum_nz d_i^1/2 f_i xi_ij`` (phi3)

Covariates are taken out of the sums, and not of the values. Of the residuals ``f - Q'c``, with the
rows of Q around their weighted means, the first is ``sum_i w_i (f_i - mu)^2 - 2 c'Q W f + c'Q W
Q'c``; where little is left of a feature, it is the sum of squares of these residuals themselves.

No digits are lost to an offset: features without a zero are shifted, and where few values are not
zero an offset is part of how the feature varies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, Arrays, NonZeros, cut
from sfs_cli.graph.similarity import Similarity, SparseSimilarity
from sfs_cli.methods.base import OnNonZeros, Scorer, Status
from sfs_cli.methods.kernel import KEPT, Sums, status_of

DENSE_BLOCKS = "dense blocks"
NON_ZEROS = "non-zeros"
ROWS = 32
"""Features of a product with the edges: with more of them what is gathered leaves the caches."""
LARGE_EXPONENT = 400
"""Squares of values beyond 2^400, or below 2^-400, may not be representable."""


def best_read(engine: Engine, scorer: Scorer) -> tuple[Engine, Scorer | OnNonZeros]:
    """Choose how features are read to be scored: as dense blocks, or as their stored values.

    Stored values are enough where the matrix is sparse after its transformation, and the scorer has
    a formula for them on this graph. The scorer's facts record the choice.
    """
    if not engine.source.sparse:
        return engine, scorer
    stored = engine.source.keeps_zeros or engine.source.basis is not None
    found = scorer.on_nonzeros() if stored else None
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
    """Groups of weighted samples, and a basis that is taken out of the features.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Positive.
    members : ndarray of int32, shape (n,)
        The group of each sample, 0..c-1; none is empty.
    volumes : ndarray, shape (c,)
        Sums of the weights in groups.
    means : ndarray, shape (r, c)
        Weighted means of the rows of the basis in groups.
    products : ndarray, shape (r, r)
        Weighted products of the rows around these means.
    """

    weights: np.ndarray
    members: np.ndarray
    volumes: np.ndarray
    means: np.ndarray
    products: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, members: np.ndarray, columns: np.ndarray) -> Groups:
        """Return groups that are numbered from 0, with what they hold; the basis is (n, r)."""
        members = np.unique(members, return_inverse=True)[1].astype(np.int32)
        weights = np.ascontiguousarray(weights, np.float64)
        volumes = np.bincount(members, weights)
        sums = [np.bincount(members, weights * column) for column in columns.T]
        means = np.reshape(sums, (-1, len(volumes))) / volumes
        around = columns - means.T[members]
        return cls(weights, members, volumes, means, (weights * around.T) @ around)


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
    basis : ndarray, shape (r, n), optional
        That of the matrix, whose rows are taken out of the features.
    """

    def __init__(self, weights: np.ndarray, basis: np.ndarray | None) -> None:
        n = len(weights)
        self.columns = np.empty((n, 0)) if basis is None else basis.T
        self.everyone = self.grouped(weights, np.zeros(n, np.int32))
        self.volume = float(weights.sum())

    def grouped(self, weights: np.ndarray, members: np.ndarray) -> Groups:
        """Return groups of weighted samples, which are numbered."""
        return Groups.of(weights, members, self.columns)

    def variation(self, block: NonZeros) -> CenteredStored:
        """Shift and scale a block in place, and measure how its features vary."""
        offset, exponent = shifted(block)
        mean, square = self.around_means(block, self.everyone)
        return CenteredStored(block, square, mean, offset + mean, np.ldexp(1.0, exponent))

    def around_means(self, block: NonZeros, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
        """Return the means, and the sums of squares around the means of the groups, both (b,)."""
        shape = block.n_features, len(groups.volumes)
        weights = groups.weights[block.indices] * (block.data != 0)
        cell = block.rows * shape[1] + groups.members[block.indices]

        def summed(values: np.ndarray) -> np.ndarray:
            return np.bincount(cell, values, shape[0] * shape[1])

        sums = summed(weights * block.data)
        means = sums / np.tile(groups.volumes, shape[0])
        away = block.data - means[cell]
        zeros = self._of_zeros(block, groups, summed(weights).reshape(shape)).ravel()
        square = (summed(weights * away * away) + means * means * zeros).reshape(shape).sum(axis=1)
        sums = sums.reshape(shape)
        mean = sums.sum(axis=1) / self.volume
        if block.coefficients is None:
            return mean, square
        C, stored = block.coefficients, replace(block, data=weights * block.data)
        cross = stored.as_rows() @ self.columns - sums @ groups.means.T
        left = square + np.vecdot(C, C @ groups.products - 2 * cross)
        mean -= C @ (groups.means @ groups.volumes) / self.volume
        total = np.bincount(block.rows, stored.data * block.data, len(left))
        weak = np.flatnonzero(left < KEPT * total)
        if len(weak):
            mean[weak], left[weak] = self.around_means(self._residuals(block, weak), groups)
        return mean, left

    def projected(self, vectors: np.ndarray, weights: np.ndarray) -> Projected:
        """Return the forms of phi3 of residuals around their means."""
        along = np.vstack([vectors.sum(axis=0), self.columns.T @ vectors])
        return Projected(vectors, weights, along)

    def _residuals(self, block: NonZeros, which: np.ndarray) -> NonZeros:
        """Return some features with what the basis leaves of them as their values."""
        assert block.coefficients is not None
        stored: Any = block.as_rows()
        values = stored[which].toarray()
        values -= block.coefficients[which] @ self.columns.T
        n, m = block.n_samples, len(which)
        samples = np.tile(np.arange(n, dtype=np.int32), m)
        return NonZeros(n * np.arange(m + 1), samples, values.ravel(), n)

    def _of_zeros(self, block: NonZeros, groups: Groups, others: np.ndarray) -> np.ndarray:
        """Return the weight of the zeros of each feature in each group, like that of `others`."""
        zeros = groups.volumes - others
        # that of a few is added up: a difference would be rounding where it is small
        few = np.flatnonzero((2 * zeros < groups.volumes).any(axis=1))
        if len(few):
            stored: Any = block.as_rows()
            row, sample = np.nonzero(stored[few].toarray() == 0)
            count = zeros.shape[1]
            cell = row * count + groups.members[sample]
            found = np.bincount(cell, groups.weights[sample], len(few) * count)
            zeros[few] = found.reshape(-1, count)
        return zeros


def shifted(block: NonZeros) -> tuple[np.ndarray, np.ndarray]:
    """Subtract a value from features that have no zero, and scale those that are extreme, in place.

    The rounding of what follows is then relative to the spread of a feature, and a constant feature
    becomes exactly zero.

    Returns
    -------
    offset : ndarray, shape (b,)
        What was subtracted, scaled as the values are.
    exponent : ndarray of int, shape (b,)
        e where the values were divided by 2^e.
    """
    counts, rows = np.diff(block.indptr), block.rows
    full = np.bincount(rows, block.data != 0, len(counts)) == block.n_samples
    offset = np.zeros(len(counts))
    offset[full] = block.data[block.indptr[:-1][full]]
    block.data[:] -= offset[rows]
    peak = np.zeros(len(counts))
    np.maximum.at(peak, rows, np.abs(block.data))
    exponent = np.frexp(peak)[1]
    exponent[np.abs(exponent) <= LARGE_EXPONENT] = 0
    if exponent.any():
        block.data[:] = np.ldexp(block.data, -exponent[rows])
        if block.coefficients is not None:
            block.coefficients[:] = np.ldexp(block.coefficients, -exponent[:, None])
    return np.ldexp(offset, -exponent), exponent


class SparseForms(SparseBlocks):
    """Quadratic forms of blocks of stored values on a graph of edges, or of groups.

    Parameters
    ----------
    similarity : SparseSimilarity or FactoredSimilarity
        One that `has_edges_or_groups`.
    weights, basis : ndarray
        As of `SparseBlocks`: the degrees, or 1.
    """

    def __init__(
        self, similarity: Similarity, weights: np.ndarray, basis: np.ndarray | None
    ) -> None:
        super().__init__(weights, basis)
        # H, (n, n), of which H + H' is 2 L: each edge is met once
        self.half: Any = None
        if isinstance(similarity, SparseSimilarity):
            from scipy.sparse import csr_array, diags_array, triu

            S = similarity.matrix
            degrees = np.asarray(S.sum(axis=1)) - S.diagonal()
            self.half = csr_array(diags_array(degrees) - 2 * triu(S, 1))
        else:
            assert similarity.groups is not None
            self.groups = self.grouped(similarity.degrees, similarity.groups)

    def laplacian(self, found: CenteredStored) -> np.ndarray:
        """Return ``f' L f`` for every feature of a block, shape (b,)."""
        if self.half is None:
            return self.around_means(found.block, self.groups)[1]
        columns = self._residual_columns(found)
        return np.concatenate([np.einsum("ij,ij->j", F, self.half @ F) for F in columns])

    def second(self, found: CenteredStored) -> np.ndarray:
        """Return ``f' L D^-1 L f`` with the weights in D, on a graph of edges, shape (b,)."""
        forms = []
        for F in self._residual_columns(found):
            L = (self.half @ F + self.half.T @ F) / 2
            forms.append(np.square(L).T @ (1 / self.everyone.weights))
        return np.concatenate(forms)

    def _residual_columns(self, found: CenteredStored) -> Iterator[np.ndarray]:
        """Yield a few features at a time, (n, at most `ROWS`), with all their zeros, as residuals.

        A form of features as they are would lose the digits that the differences between samples
        share.
        """
        stored, taken = found.block.as_rows(), found.block.coefficients
        for span in cut(found.block.n_features, ROWS):
            # samples in rows of memory, which products with the edges go along
            columns = stored[span.lo : span.hi].T.toarray(order="C")
            columns -= found.mean[span.lo : span.hi]
            if taken is not None:
                columns -= self.columns @ taken[span.lo : span.hi].T
            yield columns


@dataclass(frozen=True)
class Projected:
    """Finds ``sum_j w_j (f . v_j)^2`` of features around their means, as of phi3.

    Attributes
    ----------
    vectors : ndarray, shape (n, k)
        v.
    weights : ndarray, shape (k,)
        w.
    along : ndarray, shape (1 + r, k)
        Products of the vectors with ones and the basis, which are taken out of the features.
    """

    vectors: np.ndarray
    weights: np.ndarray
    along: np.ndarray

    def __call__(self, found: CenteredStored) -> np.ndarray:
        """Return the forms of a block, shape (b,)."""
        features: Any = found.block.as_rows()
        taken = found.mean[:, None]
        if found.block.coefficients is not None:
            taken = np.hstack([taken, found.block.coefficients])
        alpha = features @ self.vectors - taken @ self.along
        return (alpha * alpha) @ self.weights


class Within:
    """Finds the variation within connected components (n,), less ``f' L f``.

    That is the form of GDCOV with gamma one-minus.
    """

    def __init__(self, forms: SparseForms, components: np.ndarray) -> None:
        self.forms = forms
        several = components.any()
        self.components = forms.grouped(forms.everyone.weights, components) if several else None

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

    def score_block(self, block: NonZeros) -> Arrays:
        """Return ``score`` and ``status`` of a block, each (b,); overwrites it."""
        found, volume = self.blocks.variation(block), self.blocks.volume
        status = status_of(block, found.square, found.offset, volume)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            form = found.square if self.form is None else self.form(found)
            total = found.square + volume * found.offset**2
            score = self.formula(Sums(found.square, total, form, form, found.scale, found.offset))
        score[status != Status.OK] = np.nan
        return {"score": score, "status": status}
