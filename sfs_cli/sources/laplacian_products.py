"""Products X' L X with a Laplacian L = D - S of the features, by passes over blocks of X.

X (l x n) holds the features in its rows, each centred about, which changes no distance between
samples. Sums are made by so many samples or terms at a time, so that they round the same way
whatever memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sfs_cli.compute.engine import BlockLike, Engine
from sfs_cli.compute.passes import center
from sfs_cli.compute.spans import Span

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T")
Task = Callable[[Span, BlockLike], T]
DOUBLE = np.dtype(np.float64)
SAMPLES = 16
TERMS = 512
"""Samples and terms at a time; no fewer are held."""


def sample_panels(engine: Engine, memory: int) -> Iterator[slice]:
    """Yield panels of samples whose values fit memory; 16 samples at least."""
    n, count = engine.source.n_samples, engine.source.n_features
    width = max(SAMPLES, memory // (8 * count) // SAMPLES * SAMPLES)
    for lo in range(0, n, width):
        yield slice(lo, min(lo + width, n))


def held(engine: Engine, panel: slice) -> tuple[np.ndarray, np.ndarray]:
    """Read the values of a panel of samples, by one pass.

    Returns
    -------
    values : ndarray, shape (l, w)
        Centred.
    left_out : ndarray of bool, shape (l,)
        Features left out for missing values.
    """
    count = engine.source.n_features

    def part(block: BlockLike) -> tuple[np.ndarray, np.ndarray | None]:
        center(block.values)
        return block.values[:, panel].copy(), block.missing

    values = np.empty((count, panel.stop - panel.start))
    left_out = np.zeros(count, bool)
    for span, (piece, missing) in engine.run(part, DOUBLE):
        values[span.lo : span.hi] = piece
        if missing is not None:
            left_out[span.lo : span.hi] = missing
    return values, left_out


def similarity_product(
    engine: Engine, S: csr_array, degrees: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return X' L V for the values V (l, w) of a panel of samples, shape (n, w).

    Blocks are read again where the panel is not of all samples.
    """
    n, width = engine.source.n_samples, values.shape[1]

    def times(span: Span, rows: np.ndarray) -> np.ndarray:
        own = slice(span.lo, span.hi)
        product = degrees[own, None] * values[own]
        product -= S[own] @ values
        piece = np.empty((n, width))
        for lo in range(0, width, SAMPLES):
            few = slice(lo, lo + SAMPLES)
            piece[:, few] = rows.T @ product[:, few]
        return piece

    total = np.zeros((n, width))
    if width == n:
        spans = engine.spans()
        executor = engine.executor.nearby  # the values are held here
        for piece in executor.map(lambda s: times(s, values[s.lo : s.hi]), spans):
            total += piece
    else:
        for _, piece in _over_spans(engine, lambda span, block: times(span, block.values)):
            total += piece
    return total


def term_product(
    engine: Engine, terms: csr_array, degrees: np.ndarray, memory: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X' L X for S = T T', by one pass, or one for each group of terms that fits memory.

    Parameters
    ----------
    engine : Engine
        Passes over X.
    terms : csr_array, shape (l, t)
        T.
    degrees : ndarray, shape (l,)
        D.
    memory : int
        Bytes that T'X may take; 512 terms are held at least.

    Returns
    -------
    product : ndarray, shape (n, n)
        X' L X.
    squares : ndarray, shape (n,)
        The diagonal of X' D X.
    left_out : ndarray of bool, shape (l,)
        Features left out for missing values.
    """
    n = engine.source.n_samples
    # T'X itself, and the parts of it that threads have made and that wait to be added
    size = max(TERMS, memory // (8 * n * (engine.executor.workers + 3)) // TERMS * TERMS)
    product, sums, left_out = _first_group(engine, terms[:, :size], degrees)
    squares = product.diagonal().copy()
    _subtract_squares(product, sums)
    for lo in range(size, terms.shape[1], size):
        group = terms[:, lo : lo + size]
        sums = np.zeros((group.shape[1], n))
        for _, (touched, piece) in _over_spans(engine, _summing(group)):
            sums[touched] += piece
        _subtract_squares(product, sums)
    return product, squares, left_out


def _over_spans(engine: Engine, task: Task[T]) -> Iterator[tuple[Span, T]]:
    """Run a task that knows its span over centred blocks; yield the results in span order."""
    source, spans = engine.source, engine.spans()

    def one(span: Span) -> T:
        block = source.read(span, DOUBLE)
        center(block.values)
        return task(span, block)

    for span, result in zip(spans, engine.executor.map(one, spans)):
        if engine.tick is not None:
            engine.tick(span.size)
        yield span, result


def _first_group(
    engine: Engine, group: csr_array, degrees: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X' D X, T' X of the first terms, and which features are left out."""
    n, summing = engine.source.n_samples, _summing(group)

    def part(span: Span, block: BlockLike) -> tuple[Any, ...]:
        weighted = block.values * degrees[span.lo : span.hi, None]
        return weighted.T @ block.values, *summing(span, block), block.missing

    product, sums = np.zeros((n, n)), np.zeros((group.shape[1], n))
    left_out = np.zeros(group.shape[0], bool)
    for span, (own, touched, piece, missing) in _over_spans(engine, part):
        product += own
        sums[touched] += piece
        if missing is not None:
            left_out[span.lo : span.hi] = missing
    return product, sums, left_out


def _summing(group: csr_array) -> Task[tuple[np.ndarray, np.ndarray]]:
    """Return the task that sums the features of each term, for the terms that a block touches."""
    from scipy.sparse import csr_array

    def part(span: Span, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        rows = group[span.lo : span.hi]
        touched, column = np.unique(rows.indices, return_inverse=True)
        few = csr_array((rows.data, column, rows.indptr), shape=(span.size, len(touched)))
        return touched, few.T @ block.values

    return part


def _subtract_squares(product: np.ndarray, sums: np.ndarray) -> None:
    for lo in range(0, len(sums), TERMS):
        product -= sums[lo : lo + TERMS].T @ sums[lo : lo + TERMS]
