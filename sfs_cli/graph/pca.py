"""Principal components of the samples, in which neighbors may be searched.

With X the n x m matrix less the mean of each feature, and X = U S V', the components are the
columns of U S: distances in their space are those of the samples, projected. They are eigenvectors
of X X': of few samples those of the matrix itself, of many those of its product with a few vectors,
by passes over blocks of features that hold nothing larger than a few n x (components + 10) arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import LIMITS, Limits
from sfs_cli.compute.matrix import (
    DOUBLE,
    ArrayMatrix,
    Arrays,
    BlockLike,
    Ids,
    MatrixView,
    NonZeros,
    Span,
)
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError, UsageError
from sfs_cli.graph.distances import Samples, center, gram, linear
from sfs_cli.graph.neighbors import GIVE_A_GRAPH, GraphMemory, first_identical, search_memory
from sfs_cli.graph.similarity import as_dense, stored_values
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
"""Passes that turn the random space towards the leading components, before the last one."""
ARRAYS = 4
"""n x (components + 10) arrays that a pass holds, and each of its workers."""
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


def room(n: int, count: int) -> int:
    """Return the bytes that the search of components holds; each worker holds as many."""
    return ARRAYS * 8 * n * (count + OVERSAMPLING)


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

    def find() -> Arrays:
        found = principal_components(engine, count, run.seed, run.limits)
        # BLAS rounds by the position of a sample: without this, identical samples would be
        # neighbors at a distance, and not ties
        found.scores[...] = found.scores[:, first_identical(engine)]
        kept, how = np.array([found.kept]), np.array([found.how])
        return {"scores": found.scores, "kept": kept, "how": how}

    found = run.engine.whole(find)
    if not found["scores"].any():
        raise samples.identical()
    facts = {"variance_kept": float(found["kept"][0]), "components_by": str(found["how"][0])}
    return found["scores"], facts


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
        Passes over the features.
    count : int
        Number of components k, at most the smaller of samples - 1 and features.
    seed : int
        Of the random space in which the search begins.
    limits : Limits
        Numbers of samples and features up to which components are exact.

    Notes
    -----
    Of at most 2,048 samples, or of as many features, they are found exactly, by the eigenvectors of
    the inner products of those. Of more of both, by the randomized method of Halko, Martinsson and
    Tropp (2011, Algorithms 4.4 and 5.3) with 7 power iterations, each followed by a QR
    decomposition: leading components that stand out are exact too, those among others of nearly
    their size are not.
    """
    from scipy.linalg import eigh

    n = engine.source.n_samples
    width = min(n, count + OVERSAMPLING)
    engine = replace(engine, dtype=DOUBLE, parts=None, nonzeros=False)
    if n <= max(limits.exact_samples, width):
        G = linear(gram(replace(engine, whose=""), engine.purpose))
        total = float(np.trace(G))
        sizes, vectors = eigh(G, subset_by_index=[n - count, n - 1], overwrite_a=True)
        how = "exact"
    elif engine.source.n_features <= limits.exact_features:
        return _of_features(engine, count)
    else:
        space = np.random.default_rng(seed).standard_normal((n, width))
        for _ in range(POWER_ITERATIONS):
            # orthonormal in every turn: left alone, all columns turn to the first component, and
            # the others are lost in its rounding
            space, _ = times_gram(engine, orthonormal(space))
        space = orthonormal(space)
        product, total = times_gram(engine, space)
        inside = space.T @ product
        sizes, turn = eigh((inside + inside.T) / 2, subset_by_index=[width - count, width - 1])
        vectors = space @ turn
        how = "randomized"
    sizes = np.maximum(sizes[::-1], 0)  # rounding
    scores = vectors[:, ::-1].T * np.sqrt(sizes)[:, None]
    return Components(np.ascontiguousarray(scores), _fraction(sizes, total), how)


def _fraction(sizes: np.ndarray, total: float) -> float:
    """Return the part of a total that some sizes make up; 0 of 0."""
    return float(min(1.0, sizes.sum() / total)) if total > 0 else 0.0


def _of_features(engine: Engine, count: int) -> Components:
    """Find components by the eigenvectors of ``X' X``, (m, m), made of a few rows at a time."""
    from scipy.linalg import eigh

    m, rows = engine.source.n_features, _taken_out(engine.source)
    engine = _in_blocks(engine, count + OVERSAMPLING)
    norms, spans = np.vecdot(rows, rows), engine.spans()

    def products(span: Span) -> Arrays:
        own, taken = centered(engine.read(span, DOUBLE), rows)
        # once: values are valid until the next read, and a sparse product wants samples in rows
        own = own.T.tocsr() if engine.nonzeros else own.T.copy()
        found = np.zeros((span.size, m))
        for other in spans[spans.index(span) :]:
            values, others = centered(engine.read(other, DOUBLE), rows)
            product = as_dense(values @ own) - (others * norms) @ taken.T
            found[:, other.lo : other.hi] = product.T
        return {"G": found}

    # a block is multiplied by itself and by those that follow it: one triangle is enough
    walking = replace(engine, features_per_task=lambda span: span.size + m - span.lo)
    G = walking.joined(products, spans)["G"].T
    total = float(np.trace(G))
    sizes, vectors = eigh(G, subset_by_index=[m - count, m - 1], overwrite_a=True)
    directions = vectors[:, ::-1]

    def project(span: Span) -> Arrays:
        values, taken = centered(engine.read(span, DOUBLE), rows)
        along = directions[span.lo : span.hi]
        return {"scores": values.T @ along - rows.T @ (taken.T @ along)}

    scores = engine.total_over(project)["scores"]
    fraction = _fraction(np.maximum(sizes, 0), total)
    return Components(np.ascontiguousarray(scores.T), fraction, "exact")


def times_gram(engine: Engine, space: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ``X X' Q`` for Q (n, width), and the trace of ``X X'``, by one pass."""
    rows = _taken_out(engine.source)
    sums, norms = rows @ space, np.vecdot(rows, rows)

    def times(block: BlockLike | NonZeros) -> Arrays:
        values, taken = centered(block, rows)
        product, stored = values @ space - taken @ sums, stored_values(values)
        square = np.vdot(stored, stored) - (taken * taken).sum(axis=0) @ norms
        return {"product": values.T @ product - rows.T @ (taken.T @ product), "trace": square}

    found = _in_blocks(engine, space.shape[1]).total(times, DOUBLE)
    return found["product"], float(found["trace"])


def centered(block: BlockLike | NonZeros, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the features B of a block, (b, n), and coefficients C of what is taken out of them.

    Sparse blocks stay sparse: rows P, (r, n) of `_taken_out`, are subtracted from products only,
    (B - C P) Q = B Q - C (P Q) and (B - C P)'T = B'T - P'(C'T). C, (b, r), has the means and the
    coefficients of the basis; of dense blocks, which are centered in place, it is 0.
    """
    if isinstance(block, NonZeros):
        values: Any = block.as_rows()
        mean = (values.sum(axis=1) / block.n_samples)[:, None]
        return values, mean if block.coefficients is None else np.hstack([mean, block.coefficients])
    values = block.values
    center(values)  # saves the digits that a mean far from zero would cost
    values -= values.mean(axis=1)[:, None]
    return values, np.zeros((len(values), len(rows)))


def _taken_out(source: MatrixView) -> np.ndarray:
    """Return the rows that coefficients are of: ones, and the basis of the matrix, of sum 0."""
    ones = np.ones((1, source.n_samples))
    return ones if source.basis is None else np.concatenate([ones, source.basis])


def _in_blocks(engine: Engine, width: int) -> Engine:
    """Return an engine of blocks that are as large as n x width arrays: smaller ones do not pay."""
    source = engine.source
    # the stored values are enough where zeros stay zero, but for the basis
    sparse = source.keeps_zeros or source.basis is not None
    size = max(engine.features_of_a_block, (2 if sparse else 1) * width)
    return replace(engine, nonzeros=sparse, block_size=size)


def orthonormal(space: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns of a matrix, which is overwritten."""
    from scipy.linalg import qr

    found = qr(space, mode="economic", overwrite_a=True, check_finite=False)[0]
    return np.ascontiguousarray(found)  # else every sparse product copies it


def feature_moments(engine: Engine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, variance and smallest value of every feature, each (m,), by one pass.

    The variance divides by n - 1; it is exactly 0 for constant features, and for those that are
    left out. Of a sparse matrix only the stored values are read.
    """
    from sklearn.utils.sparsefuncs import mean_variance_axis

    sparse, n = engine.source.keeps_zeros, engine.source.n_samples

    def moments(block: Any) -> Arrays:
        if sparse:
            values = block.as_rows()
            mean, variance = mean_variance_axis(values, axis=1)
            lowest, highest = values.min(axis=1).toarray(), values.max(axis=1).toarray()
        else:
            values = block.values
            mean, variance = values.mean(axis=1), values.var(axis=1)
            lowest, highest = values.min(axis=1), values.max(axis=1)
        # of a constant feature rounding of the mean is left
        variance = np.where(lowest == highest, 0, variance * (n / (n - 1)))
        return {"mean": mean, "variance": variance, "lowest": lowest}

    found = replace(engine, nonzeros=sparse).columns(moments, DOUBLE)
    return found["mean"], found["variance"], found["lowest"]


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
