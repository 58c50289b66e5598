"""Principal components of the samples, in which neighbors may be searched.

With X the n x m matrix less the mean of each feature, and X = U S V', the components are the
columns of U S: distances in their space are those of the samples, projected. They are found by
passes over blocks of features; nothing larger than a few blocks and n x (components + 10) arrays is
held. Sparse blocks stay sparse, by products that subtract afterwards what is taken out of them:
(B - C P) Q = B Q - C (P Q) and (B - C P)'T = B'T - P'(C'T), for a block B. The rows of P are 1
and, of an adjusted matrix, an orthonormal basis of sum 0; C has the means and the coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import LIMITS, Limits
from sfs_cli.compute.matrix import (
    DOUBLE,
    ArrayMatrix,
    BlockLike,
    Ids,
    NonZeros,
    Span,
    block_features,
    cut,
    row_by_row,
)
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError, UsageError
from sfs_cli.graph.distances import Samples, center
from sfs_cli.graph.neighbors import GIVE_A_GRAPH, GraphMemory, first_identical, search_memory
from sfs_cli.options.graph import (
    DEFAULT_COMPONENTS,
    DEFAULT_VARIABLE_GENES,
    NEIGHBOR_GRAPHS,
    GraphOptions,
    parse_count,
)

OVERSAMPLING = 10
"""Columns beyond the components in the randomized search."""
POWER_ITERATIONS = 7
"""Passes that turn the random space towards the leading components."""
SPARSE_ROWS = 4
"""Factor on the features whose products with all others are made together, if they are sparse."""
GROUPS = 16
"""Sums over the features are made of at most so many parts, each as large as the result."""
ARRAYS = 4
"""n x (components + 10) arrays that a pass holds, and each of its workers."""
LEAST_BLOCK = 16
"""Features of a dense block, at least: each block costs a walk over an array of the result."""
BINS = 20
"""Bins of the mean, within which dispersions are compared."""
ALIKE = 1e-9
"""Numbers that differ by no more than this, relative, are equal."""
DIGITS = 9
"""Decimals of a normalized dispersion that count; the rest is rounding."""


VARIABLE = "features that vary most"


@dataclass(frozen=True)
class Reduction:
    """Principal components in which neighbors are searched."""

    components: int  # their number
    genes: int | None  # how many features, of those that vary most, they are made of; None for all
    by_default: bool  # whether they are used because there are many samples, and not on request

    def features(self, m: int) -> int:
        """Return how many of m features the components are made of."""
        return self.genes or m


def reduction_of(
    options: GraphOptions,
    n: int,
    m: int,
    *,
    samples: Samples | None = None,
    limits: Limits = LIMITS,
) -> Reduction | None:
    """Return the principal components that neighbors are searched in; None for all features.

    Without ``components`` that is 50 of them for more than 50,000 samples of more than 50
    features, made of the 2,000 features that vary most; of the default graph for more than 300
    samples, made of all features up to 50,000 samples. `samples` name the options and the input in
    messages. Raises InputError when more components are asked for than n samples and m features
    have, UsageError for ``variable_genes`` without components.
    """
    if options.name not in NEIGHBOR_GRAPHS:
        return None
    genes = parse_count(options.variable_genes or DEFAULT_VARIABLE_GENES)
    if genes is not None and genes >= m:
        genes = None
    if options.components is None:
        above = limits.approximate_above
        if options.reduced_above is not None:
            above = min(options.reduced_above, above)
            if options.variable_genes is None and n <= limits.approximate_above:
                genes = None
        if n > above and m > DEFAULT_COMPONENTS:
            return Reduction(min(DEFAULT_COMPONENTS, genes or m), genes, True)
        if options.variable_genes is not None:
            raise UsageError(
                "variable-genes= has no effect without components=",
                where=samples.run.where if samples else None,
                hint=f"give components={DEFAULT_COMPONENTS} too; that is the default only "
                f"above {limits.approximate_above:,} samples",
                option="variable_genes",
            )
        return None
    count = parse_count(options.components)
    if count is None:
        return None
    if count > min(n - 1, genes or m):
        raise _too_many(count, n, genes or m, samples)
    return Reduction(count, genes, False)


def reduced_memory(options: GraphOptions, reduction: Reduction, n: int) -> GraphMemory:
    """Return what `reduced`, and the search of neighbors that follows it, take in memory."""
    width = reduction.components
    search, made = search_memory(options, n, width), room(n, width)
    return GraphMemory(
        search.products,
        max(made, search.held + 8 * n * width),
        max(made, search.of_worker),
    )


def over_few(engine: Engine, source: ArrayMatrix) -> Engine:
    """Return passes over a small matrix made from that of the run, whose passes they are not."""
    return replace(engine, source=source, dtype=DOUBLE, block_size=None, passes=None)


def _too_many(count: int, n: int, features: int, samples: Samples | None) -> InputError:
    most = min(n - 1, features)
    limit = f"the {n:,} samples less one" if most == n - 1 else f"the {features:,} features used"
    return InputError(
        f"components={count} are more than {limit}",
        where=samples.run.where if samples else None,
        hint=f"give at most {most}, or none to search among all features",
        option="components",
    )


def reduced(options: GraphOptions, samples: Samples) -> tuple[Samples, dict[str, Any]]:
    """Return the samples as points in the space that neighbors are searched in, and its facts.

    The components are those of the transformed values, centered but not scaled.

    Raises
    ------
    InputError
        When fewer components exist than are asked for, or all samples are identical.
    OutOfMemoryError
        When the components do not fit the memory allowed.
    """
    if samples.squared is not None:
        return samples, {}
    run = samples.run
    asked = reduction_of(options, run.n, run.m, samples=samples, limits=run.limits)
    if asked is None:
        return samples, {}
    if asked.by_default:
        of = "all" if asked.genes is None else f"the {asked.features(run.m):,} most variable"
        who, off = "", "components=none"
        if samples.source:
            who, off = f"{samples.source}: ", f",similarity={options.name},components=none"
        run.log.note(
            f"{who}neighbors of {run.n:,} samples are searched among {asked.components} principal "
            f"components of {of} features; {off} searches among all features"
        )
    genes, by = _variable_genes(options, samples, asked)
    used = run.m if genes is None else len(genes)
    most = min(run.n - 1, used)  # n centered samples span n - 1 dimensions
    if asked.components > most and not asked.by_default:
        raise _too_many(asked.components, run.n, used, samples)
    count = min(asked.components, most)
    purpose = f"{asked.components} principal components of the samples"
    made = replace(run, engine=run.engine.at(purpose))
    scores, facts = _scores(replace(samples, run=made), genes, count)
    ids = Ids([f"component {i + 1}" for i in range(count)], run.matrix.ids.samples)
    engine = over_few(run.engine, ArrayMatrix(scores, ids))
    space = {"components": count, "variable_genes": used if by else "all", "variable_by": by}
    return replace(samples, run=replace(run, engine=engine)), space | facts


def _variable_genes(
    options: GraphOptions, samples: Samples, asked: Reduction
) -> tuple[np.ndarray | None, str | None]:
    """Return the features that vary most and the measure of that; None for all features."""
    if asked.genes is None:
        return None, None
    run = samples.run
    mean, variance, lowest = feature_moments(run.engine.at(VARIABLE))
    # the dispersion divides by the mean, which says nothing about values of both signs
    by = "dispersion" if lowest.min() >= 0 else "variance"
    if not (variance > 0).any():
        raise samples.identical()
    if all_alike(mean, variance, by):
        if options.variable_genes is None:
            run.log.note(f"all features have the same {by}: all are used for the components")
            return None, None
        raise InputError(
            f"all features have the same {by}: none varies most",
            where=run.where,
            hint=f"give {samples.name_option('variable-genes', 'all')}, or leave out the step of "
            "the transformation that makes them alike (zscore, rank)",
            option="variable_genes",
        )
    if by == "variance":
        run.log.note(
            "some values are negative: the most variable features are those of the largest "
            "variance, not dispersion"
        )
    return most_variable(mean, variance, asked.genes, by), by


def _scores(
    samples: Samples, genes: np.ndarray | None, count: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the components, shape (count, n), equal for samples that are identical."""
    run = samples.run
    n = run.n
    unit = room(n, count)
    what = f"{count} principal components of {n:,} samples need"
    hint = f"raise --memory, use fewer components, or {GIVE_A_GRAPH}"
    check_memory(what, 2 * unit, run.memory, hint)
    workers = min(run.engine.executor.workers, run.memory // unit - 1)
    source = run.matrix if genes is None else run.matrix.selecting(genes)
    # one shard makes it as a whole, and not pass by pass
    engine = replace(run.engine, source=source, parts=None)
    engine = replace(engine, executor=engine.executor.at_most(workers))
    products = engine
    if source.keeps_zeros or source.basis is not None:  # the stored values are enough
        # small blocks do not pay: each costs a walk over an array of n x (count + 10)
        products = replace(engine, nonzeros=True, block_size=engine.block_size or _rows(n, count))

    def find() -> list[np.ndarray]:
        found = principal_components(products, count, run.seed, run.limits)
        # BLAS rounds by the position of a sample: without this, identical samples would be
        # neighbors at a distance, and not ties
        found.scores[...] = found.scores[:, first_identical(engine)]
        return [found.scores, np.array([found.kept]), np.array([found.how])]

    scores, kept, how = run.engine.whole(find)
    if not scores.any():
        raise samples.identical()
    return scores, {"variance_kept": float(kept[0]), "components_by": str(how[0])}


@dataclass(frozen=True)
class Components:
    """Leading principal components."""

    # (k, n): (U S)', a component in each row, the largest first. Signs are arbitrary
    scores: np.ndarray
    kept: float  # the fraction of the variance that they explain
    how: str  # ``exact`` or ``randomized``


def principal_components(
    engine: Engine, count: int, seed: int, limits: Limits = LIMITS
) -> Components:
    """Find the leading principal components of the samples.

    Parameters
    ----------
    engine : Engine
        Passes over the features, as dense blocks or stored values alone.
    count : int
        Number of components k, at most the smaller of samples - 1 and features.
    seed : int
        Of the random space in which the search begins.
    limits : Limits
        Sizes up to which components are exact.

    Notes
    -----
    With at most 2,048 samples or 2,048 features (or k + 10, if that is more), by the eigenvectors
    of the Gram matrix, exactly. Otherwise by the randomized method of Halko, Martinsson and Tropp
    (2011, Algorithms 4.4 and 5.1) with 7 power iterations, each followed by a QR decomposition:
    leading components that stand out are exact too, those among others of nearly their size are
    not.
    """
    engine = replace(engine, dtype=DOUBLE, parts=None)
    algorithm = _algorithm(engine.source.n_samples, engine.source.n_features, count, limits)
    if algorithm == "samples":
        return _of_samples(engine, count)
    if algorithm == "features":
        return _of_features(engine, count)
    return _randomized(engine, count, seed)


def _algorithm(n: int, m: int, count: int, limits: Limits) -> str:
    """Return what is decomposed: products of the samples, of the features, or a random space."""
    width = count + OVERSAMPLING
    few_features = m <= max(limits.exact_features, width)
    if n <= max(limits.exact_samples, width) and (n <= m or not few_features):
        return "samples"
    return "features" if few_features else "randomized"


def room(n: int, count: int) -> int:
    """Return the bytes that the search of components holds beside ordinary blocks.

    Each worker holds as many.
    """
    return ARRAYS * 8 * n * (count + OVERSAMPLING)


def _rows(n: int, count: int) -> int:
    """Return the features whose products with all others are found by one walk over those."""
    return max(block_features(n, 8), count + OVERSAMPLING)


def _of_samples(engine: Engine, count: int) -> Components:
    """Decompose X X', shape (n, n)."""
    from scipy.linalg import eigh

    n, out = engine.source.n_samples, _taken_out(engine)

    def products(span: Span) -> tuple[np.ndarray]:
        gram = np.zeros((n, n))
        for values, taken in centered_blocks(engine, span):
            if taken is not None:
                values = values.toarray() - taken @ out
            gram += values.T @ values
        return (gram,)

    (gram,) = _grouped(engine).total_over(products)
    total = float(np.trace(gram))
    values, vectors = eigh(gram, subset_by_index=[n - count, n - 1], overwrite_a=True)
    sizes = np.maximum(values[::-1], 0)  # rounding
    scores = vectors[:, ::-1].T * np.sqrt(sizes)[:, None]
    return Components(scores, _fraction(sizes, total), "exact")


def _of_features(engine: Engine, count: int) -> Components:
    """Decompose X' X, shape (m, m), made of a few of its rows at a time."""
    from scipy.linalg import eigh

    n, m = engine.source.n_samples, engine.source.n_features
    size = _rows(n, count)
    held = size * SPARSE_ROWS if engine.nonzeros else size
    norms = np.square(_taken_out(engine)).sum(axis=1)

    def products(span: Span) -> tuple[np.ndarray]:
        own, taken = read_centered(engine, span)
        # copied: the values are valid until the next read, and a product wants samples in rows
        own = own.T.copy() if taken is None else own.T.tocsr()
        found = np.zeros((span.size, m))
        for at in cut(m - span.lo, size):
            other = Span(span.lo + at.lo, span.lo + at.hi)
            values, others = read_centered(engine, other)
            product = values @ own
            if taken is not None and others is not None:
                product = product.toarray() - (others * norms) @ taken.T
            found[:, other.lo : other.hi] = product.T
        return (found,)

    # a span is multiplied with itself and with all that follow it: the upper triangle is enough
    walking = replace(engine, features_per_task=lambda span: span.size + m - span.lo)
    (gram,) = walking.joined(products, cut(m, held))
    total = float(np.trace(gram))
    sizes, vectors = eigh(gram, lower=False, subset_by_index=[m - count, m - 1], overwrite_a=True)
    directions = vectors[:, ::-1]

    def project(span: Span) -> tuple[np.ndarray, np.ndarray]:
        return transposed_times(engine, span, directions)

    scores, _ = _grouped(engine).total_over(project)
    fraction = _fraction(np.maximum(sizes, 0), total)
    return Components(np.ascontiguousarray(scores.T), fraction, "exact")


def _randomized(engine: Engine, count: int, seed: int) -> Components:
    """Decompose the projection of X on a random space that power iterations have turned."""
    m = engine.source.n_features
    start = np.random.default_rng(seed).standard_normal((m, count + OVERSAMPLING))
    grouped, out = _grouped(engine), _taken_out(engine)

    def begin(span: Span) -> tuple[np.ndarray, np.ndarray]:
        return transposed_times(engine, span, start)

    def turn(span: Span) -> tuple[np.ndarray]:
        found, offset = np.zeros(space.shape), np.zeros(sums.shape)
        for block in centered_blocks(engine, span):
            add_transposed(found, offset, *block, times(*block, space, sums))
        return (np.subtract(found, out.T @ offset, out=found),)

    def finish(span: Span) -> tuple[np.ndarray]:
        blocks = [times(*block, space, sums) for block in centered_blocks(engine, span)]
        return (np.concatenate(blocks),)

    space, squares = grouped.total_over(begin)
    for _ in range(POWER_ITERATIONS):
        # orthonormal in every turn: left alone, all columns turn to the first component, and the
        # others are lost in its rounding
        space = _orthonormal(space)
        sums = out @ space
        (space,) = grouped.total_over(turn)
    space = _orthonormal(space)
    sums = out @ space
    (directions,) = grouped.joined(finish, grouped.spans())
    # space is orthonormal: X' space has the singular values of the projection of X on it
    left, sizes, _ = np.linalg.svd(directions.T, full_matrices=False)
    scores = (left[:, :count] * sizes[:count]).T @ space.T
    return Components(scores, _fraction(sizes[:count] ** 2, float(squares[0])), "randomized")


def _grouped(engine: Engine) -> Engine:
    """Return the same passes in few spans: the result of a span is as large as the sum of all."""
    source = engine.source
    size = max(-(-source.n_features // GROUPS), block_features(source.n_samples, 8))
    return replace(engine, block_size=size)


def _orthonormal(space: np.ndarray) -> np.ndarray:
    from scipy.linalg import qr

    found = qr(space, mode="economic", overwrite_a=True, check_finite=False)[0]
    return np.ascontiguousarray(found)  # else every sparse product copies it


def _fraction(sizes: np.ndarray, total: float) -> float:
    """Return the fraction of a total that some sizes make up; 0 of 0."""
    return float(min(1.0, np.sum(sizes) / total)) if total > 0 else 0.0


Block = tuple[Any, np.ndarray | None]
"""Features in rows, and the coefficients (b, 1 + r) of what is taken out of them: their means, and
those of the basis of the matrix. Dense values are centered and adjusted (None)."""


def _taken_out(engine: Engine) -> np.ndarray:
    """Return the rows that coefficients are of: ones, and the basis of the matrix."""
    ones, basis = np.ones((1, engine.source.n_samples)), engine.source.basis
    return ones if basis is None else np.concatenate([ones, basis])


def centered_blocks(engine: Engine, span: Span) -> Iterator[Block]:
    """Yield the features of a span block by block."""
    most = engine.block_size or max(block_features(engine.source.n_samples, 8), LEAST_BLOCK)
    count = -(-span.size // most)
    for piece in cut(span.size, -(-span.size // count)):
        yield read_centered(engine, Span(span.lo + piece.lo, span.lo + piece.hi))


def read_centered(engine: Engine, span: Span) -> Block:
    """Read features; dense values stay valid until the next read of this thread."""
    block = engine.read(span, DOUBLE)
    if isinstance(block, NonZeros):
        stored = block.as_rows()
        mean = (stored.sum(axis=1) / block.n_samples)[:, None]
        return stored, mean if (own := block.coefficients) is None else np.hstack([mean, own])
    values = block.values
    center(values)  # saves the digits that a mean far from zero would cost
    values -= values.mean(axis=1)[:, None]
    return values, None


def transposed_times(
    engine: Engine, span: Span, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply the transposed features of a span by their rows of T, shape (m, width).

    Returns the products, shape (n, width), and the sum of squares of the centered values, (1,).
    """
    at, total, out = span.lo, 0.0, _taken_out(engine)
    width = directions.shape[1]
    found, offset = np.zeros((engine.source.n_samples, width)), np.zeros((len(out), width))
    for values, taken in centered_blocks(engine, span):
        size = values.shape[0]
        add_transposed(found, offset, values, taken, directions[at : at + size])
        if taken is None:
            total += float(np.vdot(values, values))
        else:
            counts, mean = np.diff(values.indptr), taken[:, 0]
            away = values.data - np.repeat(mean, counts)
            total += float(away @ away + (values.shape[1] - counts) @ (mean * mean))
            total -= float(np.vdot(taken[:, 1:], taken[:, 1:]))
        at += size
    return np.subtract(found, out.T @ offset, out=found), np.array([total])


def times(values: Any, taken: np.ndarray | None, space: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the block times Q, shape (b, width); `sums` is P Q, shape (1 + r, width)."""
    found = values @ space
    return found if taken is None else found - taken @ sums


def add_transposed(
    total: np.ndarray,
    offset: np.ndarray,
    values: Any,
    taken: np.ndarray | None,
    directions: np.ndarray,
) -> None:
    """Add the transposed block times T to `total`, shape (n, width), and C'T to `offset`."""
    total += values.T @ directions
    if taken is not None:
        offset += taken.T @ directions


def feature_moments(engine: Engine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, variance and smallest value of every feature, each (m,), by one pass.

    The variance divides by n - 1; it is exactly 0 for constant features, and for those that are
    left out. Of a sparse matrix only the stored values are read.
    """
    sparse = engine.source.keeps_zeros
    task = _moments_of_stored if sparse else _moments
    mean, variance, lowest = replace(engine, nonzeros=sparse).columns(task, DOUBLE)
    return mean, variance, lowest


def _moments(block: BlockLike) -> tuple[np.ndarray, ...]:
    values, n = block.values, block.values.shape[1]
    lowest, first = values.min(axis=1), values[:, 0].copy()
    with row_by_row():
        values -= first[:, None]  # no digits are lost to an offset, and a constant becomes 0
        mean = values.mean(axis=1)
        values -= mean[:, None]
    return first + mean, np.einsum("ij,ij->i", values, values) / (n - 1), lowest


def _moments_of_stored(block: NonZeros) -> tuple[np.ndarray, ...]:
    n, counts = block.n_samples, np.diff(block.indptr)
    mean = np.bincount(block.rows, block.data, len(counts)) / n
    stored = block.as_rows()
    lowest, highest = stored.min(axis=1).toarray(), stored.max(axis=1).toarray()
    away = block.data - np.repeat(mean, counts)
    # each of the n - counts zeros that are not stored is `mean` away from it
    squares = np.bincount(block.rows, away * away, len(counts)) + (n - counts) * mean * mean
    constant = (counts == n) & (lowest == highest)  # else rounding of the mean is left of it
    return mean, np.where(constant, 0, squares / (n - 1)), lowest


def most_variable(
    mean: np.ndarray, variance: np.ndarray, count: int, by: str = "dispersion"
) -> np.ndarray:
    """Choose the features that vary most.

    Parameters
    ----------
    mean, variance : ndarray, shape (m,)
        Of the values of each feature; the variance divides by n - 1.
    count : int
        How many are wanted.
    by : {"dispersion", "variance"}
        What features are ordered by: `normalized_dispersion`, for values that are not negative,
        or the variance, for others. Equal ones are ordered by index.

    Returns
    -------
    ndarray of int, shape (at most count,)
        Indices, ascending. Constant features are never among them.
    """
    if by == "dispersion":
        # rounded, or equal features would be ordered by their last digits, which differ between
        # sparse and dense sums
        key = np.round(normalized_dispersion(mean, variance), DIGITS)
    else:
        key = np.where(variance > 0, variance, np.nan)
    order = np.argsort(-key, kind="stable")  # NaN comes last
    return np.sort(order[: min(count, int(np.count_nonzero(~np.isnan(key))))])


def normalized_dispersion(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return how much each feature varies, compared with features of a similar mean.

    The dispersion is the logarithm of variance over mean (Satija et al. 2015). Features are put
    into 20 bins of equal width of log(1 + mean), closed on the right, the first on both sides. From
    the dispersion the mean of its bin is subtracted, and the difference is divided by the standard
    deviation of the bin (with n - 1). A feature alone in its bin gets 1. Features of a bin where
    all dispersions are equal get 0.

    Parameters
    ----------
    mean, variance : ndarray, shape (m,)
        Of each feature; the means of those that vary are above zero.

    Returns
    -------
    ndarray, shape (m,)
        NaN for constant features, which are in no bin.
    """
    varies = variance > 0
    found = np.full(len(mean), np.nan)
    if not varies.any():
        return found
    dispersion = np.log(variance[varies] / mean[varies])
    means = np.log1p(mean[varies])
    edges = np.linspace(means.min(), means.max(), BINS + 1)
    bin_of = np.maximum(np.searchsorted(edges, means, side="left") - 1, 0)
    sizes = np.bincount(bin_of, minlength=BINS)
    middle = np.bincount(bin_of, dispersion, BINS) / np.maximum(sizes, 1)
    away = dispersion - middle[bin_of]
    scatter = np.sqrt(np.bincount(bin_of, away * away, BINS) / np.maximum(sizes - 1, 1))
    equal = scatter <= ALIKE * np.maximum(np.abs(middle), 1)
    z = away / np.where(equal, 1, scatter)[bin_of]
    z[equal[bin_of]] = 0
    z[sizes[bin_of] == 1] = 1
    found[varies] = z
    return found


def all_alike(mean: np.ndarray, variance: np.ndarray, by: str) -> bool:
    """Return whether all features that vary do so equally, so that none varies most."""
    varies = variance > 0
    measure = variance[varies]
    if by == "dispersion":
        measure = measure / mean[varies]
    return len(measure) > 0 and bool(np.ptp(measure) <= ALIKE * measure.max())
