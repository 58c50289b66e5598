"""Distances between samples through what is known of the features (Prop. 4).

With S^F the similarity between l features, D^F its degrees and L^F = D^F - S^F, the covariance of
the features is taken to be the kernel (L^F)^+, whose inverse is L^F itself. So
|x - y|_M^2 = (x - y)' L^F (x - y): two samples differ more, the more their difference varies
between similar features. Nothing of size l x l is formed but S^F as it is given, sparse.

The products X' L X are made by passes over blocks of X (l x n), whose rows are features, centered
by `sfs_cli.graph.distances.center`, which changes no distance. Sums run over a fixed number of
samples or terms at a time, so that they round the same way whatever memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, BlockLike, Span, cut
from sfs_cli.errors import InputError
from sfs_cli.graph.distances import center, squared_distances
from sfs_cli.knowledge.base import BY_FEATURES

if TYPE_CHECKING:
    from scipy.sparse import csr_array


T = TypeVar("T")
Task = Callable[[Span, BlockLike], T]
SAMPLES_AT_A_TIME = 16
TERMS_AT_A_TIME = 512
"""Sums are made of so many samples or terms at a time; no fewer are held."""


def similarity_distances(engine: Engine, similarity: csr_array, memory: int) -> np.ndarray:
    """Return the squared Mahalanobis distances that a similarity between features defines.

    Features without similar ones do not count, nor do those that are left out. The values
    are held where they fit in memory, else one panel of samples at a time, each by two passes.

    Parameters
    ----------
    engine : Engine
        Passes over the l features.
    similarity : csr_array, shape (l, l)
        S^F: symmetric, not negative. Its diagonal does not count.
    memory : int
        Bytes that the held values may take; at least 16 samples are held.

    Returns
    -------
    ndarray, shape (n, n), float64
        Symmetric, 0 on the diagonal; within the rounding of the products, 0 exactly.

    Raises
    ------
    InputError
        When no two features are similar, or all distances are 0.
    """
    n, count = engine.source.n_samples, engine.source.n_features
    S = _others_only(similarity)
    degrees = _checked_degrees(S.sum(axis=1), "are similar")
    product, squares = np.empty((n, n)), np.empty(n)
    fitting = memory // (8 * count) // SAMPLES_AT_A_TIME
    width = SAMPLES_AT_A_TIME * max(1, fitting)
    for lo in range(0, n, width):
        panel = slice(lo, min(lo + width, n))
        values, left_out = _read_panel(engine, panel)
        if lo == 0 and left_out.any():  # known only now
            kept = _zeros_for(left_out)
            S = _others_only(kept @ S @ kept)
            degrees = _checked_degrees(S.sum(axis=1), "are similar")
        squares[panel] = np.einsum("i,ij,ij->j", degrees, values, values)
        product[:, panel] = _similarity_product(engine, S, degrees, values)
    return _distances(product, squares)


def term_distances(engine: Engine, terms: csr_array, memory: int) -> np.ndarray:
    """Return the squared Mahalanobis distances that shared terms define: S^F = T T'.

    They are (x - y)' D^F (x - y) - |T'(x - y)|^2, so that S^F is not formed. Features that share no
    term do not count, nor do those that are left out.

    Parameters
    ----------
    engine : Engine
        Passes over the l features.
    terms : csr_array, shape (l, t)
        T: 1 where a feature has a term, else 0.
    memory : int
        Bytes that T'X may take; many terms are processed in groups, a pass for each. At least 512
        terms are held.

    Returns
    -------
    ndarray, shape (n, n), float64
        As `similarity_distances` returns.

    Raises
    ------
    InputError
        When no two features share a term, or all distances are 0.
    """
    product, squares, left_out = _term_product(engine, terms, memory)
    if left_out.any():  # known only now; their terms must not connect other features
        remaining = (_zeros_for(left_out) @ terms).tocsr()
        product, squares, _ = _term_product(engine, remaining, memory)
    return _distances(product, squares)


def _others_only(similarity: Any) -> csr_array:
    """Return a similarity without its diagonal: L does not depend on it, but its rounding does."""
    from scipy.sparse import csr_array

    S = similarity.tocoo()
    keep = (S.row != S.col) & (S.data != 0)
    data = S.data[keep].astype(np.float64)
    return csr_array((data, (S.row[keep], S.col[keep])), shape=S.shape)


def _zeros_for(left_out: np.ndarray) -> Any:
    """Return the diagonal matrix, shape (l, l), whose product clears the rows left out."""
    from scipy.sparse import diags_array

    return diags_array((~left_out).astype(np.float64))


def _checked_degrees(degrees: np.ndarray, what: str) -> np.ndarray:
    """Return the degrees, after checking that one is positive."""
    if not (degrees > 0).any():
        raise InputError(
            f"no two features of the matrix {what}: this source gives no distance between samples",
            hint="check that both ids of each pair are features (--id-map), or remove the source",
        )
    return degrees


def _distances(product: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the squared distances of samples from X' L X.

    Parameters
    ----------
    product : ndarray, shape (n, n)
        X' L X; overwritten.
    squares : ndarray, shape (n,)
        The diagonal of X' D X. L = D - S cancels digits: a distance is 0 when it is within the
        rounding of these, not of the smaller diagonal of `product`.
    """
    # distances do not change when c_i + c_j is added to entry ij; so the diagonal becomes 2 x'Dx,
    # a bound on x'(D + S)x, by which `squared_distances` judges the rounding
    shift = squares - 0.5 * product.diagonal()
    product += shift[:, None]
    product += shift
    d2 = squared_distances(product)
    if not d2.any():
        raise InputError(
            "all samples are at distance 0: similar features differ by the same number in every "
            "sample",
            hint="check the source and --transform, or remove the source",
        )
    return d2


def _over_spans(engine: Engine, task: Task[T]) -> Iterator[tuple[Span, T]]:
    """Run a task that knows its span over centered blocks; yield the results in span order."""

    def one(span: Span) -> T:
        block = engine.source.read(span, DOUBLE)
        center(block.values)
        return task(span, block)

    return engine.at(BY_FEATURES).run_over(one)


def _read_panel(engine: Engine, panel: slice) -> tuple[np.ndarray, np.ndarray]:
    """Read the centered values of w samples, (l, w), and which features are dropped, (l,)."""
    count = engine.source.n_features

    def part(_span: Span, block: BlockLike) -> tuple[np.ndarray, np.ndarray | None]:
        return block.values[:, panel].copy(), block.left_out

    values = np.empty((count, panel.stop - panel.start))
    left_out = np.zeros(count, bool)
    for span, (piece, why) in _over_spans(engine, part):
        values[span.lo : span.hi] = piece
        if why is not None:
            left_out[span.lo : span.hi] = why != 0
    return values, left_out


def _similarity_product(
    engine: Engine, S: csr_array, degrees: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return X' L V for the values V (l, w) of a panel of samples, shape (n, w)."""
    n, width = engine.source.n_samples, values.shape[1]

    def times(span: Span, rows: np.ndarray) -> np.ndarray:
        own = slice(span.lo, span.hi)
        product = degrees[own, None] * values[own]
        product -= S[own] @ values
        piece = np.empty((n, width))
        for lo in range(0, width, SAMPLES_AT_A_TIME):
            few = slice(lo, lo + SAMPLES_AT_A_TIME)
            piece[:, few] = rows.T @ product[:, few]
        return piece

    pieces: Iterable[np.ndarray]
    if width == n:  # the panel is all of X, which is held here: nothing is read again
        nearby = engine.executor.nearby
        pieces = nearby.map(lambda s: times(s, values[s.lo : s.hi]), engine.spans())
    else:
        found = _over_spans(engine, lambda span, block: times(span, block.values))
        pieces = (piece for _, piece in found)
    total = np.zeros((n, width))
    for piece in pieces:
        total += piece
    return total


def _term_product(
    engine: Engine, terms: csr_array, memory: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X' L X for S = T T', by one pass, or one for each group of terms that fits memory.

    Returns
    -------
    product : ndarray, shape (n, n)
        X' L X.
    squares : ndarray, shape (n,)
        The diagonal of X' D X.
    left_out : ndarray of bool, shape (l,)
        Features that are left out.
    """
    n = engine.source.n_samples
    T = terms.astype(np.float64)  # a copy
    T.eliminate_zeros()
    shared = np.bincount(T.indices, minlength=T.shape[1]) > 1  # the others connect no features
    T = T[:, np.flatnonzero(shared)]
    degrees = _checked_degrees(T @ T.sum(axis=0), "share a term")
    # T'X itself, and what each thread has made of it that waits to be added
    groups = memory // (8 * n * (engine.executor.workers + 3)) // TERMS_AT_A_TIME
    product, squares = np.zeros((n, n)), np.zeros(n)
    left_out = np.zeros(T.shape[0], bool)
    for at in cut(T.shape[1], TERMS_AT_A_TIME * max(1, groups)):
        first = at.lo == 0  # this pass makes X' D X too
        task = _summing(T[:, at.lo : at.hi], degrees if first else None)
        sums = np.zeros((at.size, n))
        for span, (own, touched, piece, why) in _over_spans(engine, task):
            if own is not None:
                product += own
            sums[touched] += piece
            if why is not None:
                left_out[span.lo : span.hi] = why != 0
        if first:
            squares = product.diagonal().copy()
        for lo in range(0, len(sums), TERMS_AT_A_TIME):
            product -= sums[lo : lo + TERMS_AT_A_TIME].T @ sums[lo : lo + TERMS_AT_A_TIME]
    return product, squares, left_out


def _summing(group: csr_array, degrees: np.ndarray | None) -> Task[tuple[Any, ...]]:
    """Return the task that sums the features of each term that a block touches.

    With degrees the task makes X' D X of the block too.
    """
    from scipy.sparse import csr_array

    def part(span: Span, block: BlockLike) -> tuple[Any, ...]:
        values, own = block.values, None
        if degrees is not None:
            own = (values * degrees[span.lo : span.hi, None]).T @ values
        rows = group[span.lo : span.hi]
        touched, column = np.unique(rows.indices, return_inverse=True)
        few = csr_array((rows.data, column, rows.indptr), shape=(span.size, len(touched)))
        return own, touched, few.T @ values, block.left_out

    return part
