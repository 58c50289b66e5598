"""A sparse matrix as it is scored, without its zeros: the counterpart of dense blocks.

Samples, missing values and steps are dealt with as `PreparedMatrix.read` does, on the stored
values alone; so the steps must be such that keep zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfs_cli.compute.spans import Span
from sfs_cli.store.matrix import SparseReading
from sfs_cli.store.transforms import FEATURE_STEPS, SAMPLE_STEPS, RefusedError

if TYPE_CHECKING:
    from sfs_cli.store.prepared import PreparedMatrix

_GONE = -1


@dataclass(frozen=True)
class NonZeros:
    """The stored values of a block of features, ready to be scored.

    Attributes
    ----------
    indptr : ndarray of int64, shape (b + 1,)
        Where each feature begins.
    indices : ndarray of int32, shape (nnz,)
        Samples; each once for a feature.
    data : ndarray, shape (nnz,)
        Values, which may be zero; the receiver may overwrite them.
    n_samples : int
        Number of samples n.
    missing : ndarray of bool, shape (b,), or None
        Features left out for their missing values; nothing of them is stored.
    zero : ndarray of bool, shape (b,)
        Features that are zero in every sample before the steps.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n_samples: int
    missing: np.ndarray | None
    zero: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The feature of each value, shape (nnz,)."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


class NonZeroSource:
    """A prepared sparse matrix that is read without its zeros; passes run over it.

    Parameters
    ----------
    source : PreparedMatrix
        Keeps zeros (`PreparedMatrix.keeps_zeros`).
    """

    def __init__(self, source: PreparedMatrix) -> None:
        self.source = source

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return self.source.n_features

    @property
    def n_samples(self) -> int:
        """Number of samples n that are used."""
        return self.source.n_samples

    def prefetch(self, span: Span) -> None:
        """Tell that `span` will be read soon."""
        self.source.prefetch(span)

    def read(self, span: Span, dtype: np.dtype[Any]) -> NonZeros:
        """Read and prepare a block, with values of type `dtype`."""
        block = read_nonzeros(self.source, span, len(self.source.steps))
        return replace(block, data=block.data.astype(dtype, copy=False))


def read_nonzeros(source: PreparedMatrix, span: Span, n_steps: int) -> NonZeros:
    """Read a block and take it through the first steps.

    Parameters
    ----------
    source : PreparedMatrix
        Sparse; the steps keep zeros.
    span : Span
        The features.
    n_steps : int
        How many steps.

    Returns
    -------
    NonZeros
        Of the stored type where there are no steps, else float64.

    Raises
    ------
    InputError
        When a step refuses a value.
    """
    block = _chosen(source, span)
    if source.matrix.missing.values:
        block = _filled(block, source.policy)
    zero = np.bincount(block.rows[block.data != 0], minlength=span.size) == 0
    if not n_steps:
        return replace(block, zero=zero)
    data = block.data.astype(np.float64)
    for at, name in enumerate(source.steps[:n_steps]):
        if name in SAMPLE_STEPS:
            data = SAMPLE_STEPS[name].apply(data, source.numbers(at)[block.indices])
        elif name == "unit":
            data = _unit(block, data)
        else:
            data = located(source, span, block, FEATURE_STEPS[name], data)
    return replace(block, data=data, zero=zero)


def sample_sums(source: PreparedMatrix, span: Span, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each sample's part of the sum that a step needs, and how many features took part."""
    block = read_nonzeros(source, span, at)
    step = SAMPLE_STEPS[source.steps[at]]
    terms = located(source, span, block, step.terms, block.data.astype(np.float64))
    left_out = 0 if block.missing is None else int(block.missing.sum())
    sums = np.bincount(block.indices, terms, minlength=block.n_samples)
    return sums, np.array(span.size - left_out)


def located(
    source: PreparedMatrix,
    span: Span,
    block: NonZeros,
    step: Callable[[np.ndarray], np.ndarray],
    data: np.ndarray,
) -> np.ndarray:
    """Run a step on all values; a refusal is told with the names of the feature and the sample."""
    try:
        return step(data[None, :])[0]
    except RefusedError as error:
        row, column = block.rows[error.column], block.indices[error.column]
        raise source.refusal(error, span.lo + int(row), int(column)) from None


def _chosen(source: PreparedMatrix, span: Span) -> NonZeros:
    """Read the samples that are used; the values are copied."""
    counts, indices, data = cast(SparseReading, source.matrix).read_stored(span)
    n, missing, zero = source.n_samples, None, np.zeros(span.size, bool)
    if source.samples is not None:
        place = np.full(source.matrix.n_samples, _GONE, np.int32)
        place[source.samples] = np.arange(n, dtype=np.int32)
        found = place[indices]
        kept = found != _GONE
        rows = np.repeat(np.arange(span.size), counts)[kept]
        counts, indices, data = np.bincount(rows, minlength=span.size), found[kept], data[kept]
    indptr = np.zeros(span.size + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return NonZeros(indptr, indices.astype(np.int32, copy=False), data.copy(), n, missing, zero)


def _filled(block: NonZeros, policy: str) -> NonZeros:
    """Fill missing values, or leave their features out."""
    gaps = np.isnan(block.data)
    out = np.zeros(len(block.indptr) - 1, bool)
    for row in np.unique(block.rows[gaps]):
        part = slice(int(block.indptr[row]), int(block.indptr[row + 1]))
        out[row] = policy != "mean" or not _fill(block, part, gaps[part])
    kept = ~out[block.rows]
    counts = np.bincount(block.rows[kept], minlength=len(out))
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return replace(
        block, indptr=indptr, indices=block.indices[kept], data=block.data[kept], missing=out
    )


def _fill(block: NonZeros, part: slice, gaps: np.ndarray) -> bool:
    """Fill a feature by the mean of its known values, zeros included; tell whether it has some."""
    values = np.zeros(block.n_samples, block.data.dtype)
    values[block.indices[part]] = block.data[part]
    known = values[~np.isnan(values)].astype(np.float64)
    if not len(known):
        return False
    block.data[part][gaps] = known.mean()
    return True


def _unit(block: NonZeros, data: np.ndarray) -> np.ndarray:
    norms = np.sqrt(np.bincount(block.rows, data * data, minlength=len(block.indptr) - 1))
    norms[norms == 0] = 1
    return data / norms[block.rows]
