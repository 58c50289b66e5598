"""Blocks of features less their means, and their products: sparse ones stay sparse.

(B - b 1') Q = B Q - b (1'Q) and (B - b 1')'T = B'T - 1 (b'T), for a block B with means b.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.passes import center
from sfs_cli.compute.spans import Span, block_features, cut

LEAST_BLOCK = 16
"""Features of a dense block, at least: each costs a walk over an array of the result's size."""
DOUBLE = np.dtype(np.float64)

Block = tuple[Any, np.ndarray | None]
"""Features in rows, and their means: of sparse values, which are not centred; None of others."""


def centred_blocks(engine: Engine, span: Span) -> Iterator[Block]:
    """Yield the features of a span block by block."""
    most = engine.block_size or max(block_features(engine.source.n_samples, 8), LEAST_BLOCK)
    pieces = -(-span.size // most)
    for part in cut(span.size, -(-span.size // pieces)):
        yield read_centred(engine, Span(span.lo + part.lo, span.lo + part.hi))


def read_centred(engine: Engine, span: Span) -> Block:
    """Read features; dense values stay valid until the next read of this thread."""
    block = engine.source.read(span, DOUBLE)
    if hasattr(block, "indptr"):
        return _sparse(block)
    values = block.values
    center(values)  # saves the digits of a mean far from zero
    values -= values.mean(axis=1)[:, None]
    return values, None


def _sparse(block: Any) -> tuple[Any, np.ndarray]:
    from scipy.sparse import csr_array

    shape = (len(block.indptr) - 1, block.n_samples)
    values = csr_array((block.data, block.indices, block.indptr), shape=shape)
    return values, values.sum(axis=1) / block.n_samples


def dense(values: Any, mean: np.ndarray | None) -> np.ndarray:
    """Return centred values."""
    return values if mean is None else values.toarray() - mean[:, None]


def by_sample(values: Any, mean: np.ndarray | None) -> Block:
    """Return a copy of a block with samples in rows."""
    return (values.T.copy() if mean is None else values.T.tocsr()), mean


def product(
    values: Any, mean: np.ndarray | None, own: Any, own_mean: np.ndarray | None
) -> np.ndarray:
    """Return the inner products of the features of a block and of one that is `by_sample`."""
    found = values @ own
    if own_mean is None or mean is None:
        return found
    return found.toarray() - values.shape[1] * np.outer(mean, own_mean)


def transposed_times(
    engine: Engine, span: Span, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply the transposed features of a span by their rows of T.

    Parameters
    ----------
    engine : Engine
        Passes over the m features.
    span : Span
        The features.
    directions : ndarray, shape (m, width)
        T.

    Returns
    -------
    products : ndarray, shape (n, width)
    total : ndarray, shape (1,)
        The squares of the centred values, added up.
    """
    width, at = directions.shape[1], span.lo
    found, offset = np.zeros((engine.source.n_samples, width)), np.zeros(width)
    total = 0.0
    for values, mean in centred_blocks(engine, span):
        size = values.shape[0]
        add_transposed(found, offset, values, mean, directions[at : at + size])
        total += _squares(values, mean)
        at += size
    found -= offset
    return found, np.array([total])


def times(values: Any, mean: np.ndarray | None, space: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the block times Q, shape (b, width); `sums` is 1'Q."""
    found = values @ space
    return found if mean is None else found - np.outer(mean, sums)


def add_transposed(
    total: np.ndarray,
    offset: np.ndarray,
    values: Any,
    mean: np.ndarray | None,
    directions: np.ndarray,
) -> None:
    """Add the transposed block times T to `total`, shape (n, width), and b'T to `offset`."""
    total += values.T @ directions
    if mean is not None:
        offset += mean @ directions


def _squares(values: Any, mean: np.ndarray | None) -> float:
    """Return the squares of a centred block, added up."""
    if mean is None:
        return float(np.vdot(values, values))
    counts = np.diff(values.indptr)
    away = values.data - np.repeat(mean, counts)
    return float(away @ away + (values.shape[1] - counts) @ (mean * mean))
