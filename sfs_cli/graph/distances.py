"""Distances between samples, bandwidths, and the dense similarities that are made of them.

The passes over the matrix are sums of what each block of features adds, in float64 and in a fixed
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfs_cli.compute.context import RunContext
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.limits import EPS, LIMITS
from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike, row_by_row
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import PANEL_VALUES, name_samples, row_panels
from sfs_cli.options.graph import GraphOptions, parse_bandwidth

NOISE_UNITS = 16
"""Units of rounding in an entry of a Gram matrix, which is a long sum: a few, seldom ten."""
GRID = 2.0**29
"""Correlations of samples are multiples of one over this, far above rounding, far below noise."""
GRAM = "inner products of the samples"
GRAM_AGAIN = "inner products in float64, as samples nearly coincide"
SAMPLED_PAIRS = 65_536
"""Random pairs that the median distance of many samples is found from."""
SELF_TUNING_NEIGHBOR = 7
"""The neighbor whose distance is the self-tuning bandwidth of a sample."""


@dataclass(frozen=True)
class Samples:
    """The samples that a graph is made of, as points between which there are distances."""

    run: RunContext  # the matrix that measures them, and memory, seed and messages
    # the source whose graph it is, as messages name it; empty for ``--similarity``
    source: str = ""
    # (n, n): squared distances, where they are not those of the matrix
    squared: np.ndarray | None = None

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.run.n

    def name_option(self, option: str, value: object) -> str:
        """Return a parameter with its value as messages name it."""
        given = f"{option}={value}"
        return f"{self.source}: {given}" if self.source else f"{given} of --similarity"

    def squared_distances(self, *, float64: bool = False, purpose: str = GRAM) -> np.ndarray:
        """Return all squared distances, shape (n, n), a new array.

        Parameters
        ----------
        float64 : bool
            Whether to compute in float64 whatever the size. Neighbors need it: which of two nearly
            equal distances is shorter changes a score far more than rounding does.
        purpose : str
            What the pass over the matrix is counted as.

        Raises
        ------
        OutOfMemoryError
            When they do not fit the memory allowed.
        InputError
            When they overflow.
        """
        if self.squared is not None:
            return self.squared.copy()
        n = self.n
        self.check_memory()
        engine = replace(self.run.engine, dtype=DOUBLE) if float64 else self.run.engine
        products = gram(engine, purpose)
        if not np.isfinite(products).all():
            raise InputError(
                f"the distances between samples overflow {engine.dtype.name}",
                where=self.run.where,
                hint="use --dtype float64, or bring the values to a common scale (--transform)",
                option="dtype",
            )
        d2 = squared_distances(products, float(np.finfo(engine.dtype).eps))
        if engine.dtype != DOUBLE and np.count_nonzero(d2) < n * (n - 1):
            # single precision does not distinguish near duplicates from duplicates
            return self.squared_distances(float64=True, purpose=GRAM_AGAIN)
        return d2

    def check_memory(self) -> None:
        """Raise OutOfMemoryError when all distances do not fit the memory allowed."""
        n = self.n
        what = f"the distances between {n:,} samples need"
        hint = "raise --memory, or use --similarity knn, which stays sparse"
        check_memory(what, 3 * 8 * n * n, self.run.memory, hint)

    def bandwidth(self, options: GraphOptions, d2: np.ndarray) -> float | np.ndarray:
        """Return the bandwidth that the options name: a number, or one for each sample, (n,).

        Raises InputError when all samples are identical, or the rule gives a bandwidth of 0.
        """
        rule = parse_bandwidth(options.bandwidth or "median")
        if not d2.any():
            raise self.identical()
        if rule == "median":
            return median_bandwidth(d2, self.run.seed)
        return self_tuning_bandwidths(d2) if rule == "self-tuning" else float(rule)

    def identical(self) -> InputError:
        """Return the error for samples that do not differ at all."""
        return InputError(
            f"all samples are identical: each of the {self.run.m:,} features is constant, zero or "
            "left out",
            where=self.run.where,
            hint="check that values differ between samples (and --rows, --transform, --missing, "
            "--exclude, --include, --min-samples)",
        )


def center(values: np.ndarray) -> None:
    """Subtract about the mean of each feature, in place.

    What is subtracted is the value of the first sample and the leading bits of how far the mean is
    from it. So no digits are lost to a large offset, a constant feature becomes exactly zero, and
    integers keep few bits: their distances, and the ties between them, are exact.

    Parameters
    ----------
    values : ndarray, shape (b, n)
        Features in rows; overwritten.
    """
    n = values.shape[1]
    first = values[:, 0].copy()
    offset = np.vecdot(values, np.full(n, 1 / n, values.dtype)) - first
    offset[np.abs(offset) <= n * np.finfo(values.dtype).eps * np.abs(first)] = 0  # rounding
    # four bits of it: with all of them every value would be rounded anew, and distances that are
    # equal would then differ in their last digits
    fraction, exponent = np.frexp(offset)
    with row_by_row():
        values -= (first + np.ldexp(np.rint(fraction * 16), exponent - 4))[:, None]


def gram(engine: Engine, purpose: str = GRAM) -> np.ndarray:
    """Return ``X X'``, shape (n, n), float64, by one pass over X (n x m) centered by `center`."""

    def products(block: BlockLike) -> Arrays:
        center(block.values)
        with np.errstate(over="ignore", invalid="ignore"):
            # one symmetric rank-k update in BLAS
            return {"products": block.values.T @ block.values}

    return engine.at(purpose).total(products)["products"]


def _products_and_sums(
    engine: Engine, prepared: Callable[[BlockLike], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``X X'`` (n, n), ``X 1`` (n,) and the sum of what `prepared` returns, by one pass.

    It may change the values of each block, in place, which are float64.
    """

    def products(block: BlockLike) -> Arrays:
        used = prepared(block)
        with np.errstate(over="ignore", invalid="ignore"):
            total, sums = block.values.T @ block.values, block.values.sum(axis=0)
        return {"products": total, "sums": sums, "used": used}

    found = engine.at(GRAM).total(products, DOUBLE)
    return found["products"], found["sums"], found["used"]


def raw_gram(engine: Engine) -> tuple[np.ndarray, np.ndarray, int]:
    """Return ``X X'`` (n, n), ``X 1`` (n,) and the number of features used, not centered.

    Correlations between samples depend on the offsets of the features; the arithmetic is float64
    for the digits that these offsets cost.
    """

    def used(block: BlockLike) -> np.ndarray:
        left_out = np.zeros(0) if block.left_out is None else block.left_out
        return np.array(len(block.values) - np.count_nonzero(left_out))

    total, sums, count = _products_and_sums(engine, used)
    return total, sums, int(count)


def profile_distances(engine: Engine) -> np.ndarray:
    """Return ``2 (1 - r)``, r the Pearson correlation of samples whose features are centered.

    It is the squared Euclidean distance between the samples, less the mean of each feature over the
    samples and then that of each sample over its features, at unit length. So neither the level nor
    the spread of a sample, which differ for technical reasons, decides which samples are near. A
    sample that does not differ from the mean of all has distance 1 to the others. One pass.

    Returns
    -------
    ndarray, shape (n, n)
        In [0, 4], float64, as `squared_distances` returns it.

    Raises
    ------
    InputError
        When the products overflow.
    """
    total, sums, count = profile_products(engine)
    return profile_distances_of(total, sums, int(count))


def profile_products(
    engine: Engine, vary: Callable[[np.ndarray], np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``X X'`` (n, n), ``X 1`` (n,) and how many features of X vary, by one pass.

    X (n x m) is centered by `center`, and in float64. `vary` counts the features of a block (b, n),
    as they are before, for other samples than all, of any shape.
    """

    def centered(block: BlockLike) -> np.ndarray:
        values = block.values
        used = None if vary is None else vary(values)
        rounding = values.shape[1] * EPS * np.abs(values[:, 0])
        center(values)
        # features that do not vary, but for rounding, are no part of a profile
        same = spread_of(values) <= rounding
        values[same] = 0
        return np.array(np.count_nonzero(~same)) if used is None else used

    return _products_and_sums(engine, centered)


def spread_of(values: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of each feature, shape (b,)."""
    return np.maximum(values.max(axis=1), -values.min(axis=1))


def profile_distances_of(total: np.ndarray, sums: np.ndarray, count: int) -> np.ndarray:
    """Return the distances of `profile_distances` from what `profile_products` returns.

    The products of some of the samples, with the number of features that vary among those, give
    the distances that a matrix of these samples alone would have.
    """
    if not np.isfinite(total).all():
        raise InputError(
            "the correlations between samples overflow float64",
            hint="bring the values to a common scale (--transform)",
        )
    products_ = linear(total)  # `center` leaves a part of the mean of each feature
    means = (sums - sums.mean()) / max(count, 1)
    squares = products_.diagonal().copy()
    products_ -= count * np.outer(means, means)
    variances = products_.diagonal().copy()
    known = variances > NOISE_UNITS * EPS * np.maximum(squares, total.diagonal())
    length = np.sqrt(np.where(known, variances, np.inf))
    products_ /= np.outer(length, length)
    # the last bits go by the order of the features: of samples equally near they would choose some
    np.copyto(products_, np.rint(products_ * GRID) / GRID)
    return squared_distances(products_)


def pair_distances(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the squared distances of p pairs of samples, (p,), from their values, (n, m)."""
    # differences, not inner products: of identical samples nothing at all is left
    d2 = np.empty(len(first))
    step = max(1, PANEL_VALUES // values.shape[1])
    for low in range(0, len(first), step):
        gaps = values[first[low : low + step]] - values[second[low : low + step]]
        d2[low : low + step] = np.vecdot(gaps, gaps)
    return d2


def random_pairs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of `SAMPLED_PAIRS` random pairs of n samples, drawn by the seed."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, SAMPLED_PAIRS)
    return first, (first + rng.integers(1, n, SAMPLED_PAIRS)) % n


def squared_distances(gram: np.ndarray, eps: float = EPS) -> np.ndarray:
    """Return squared Euclidean distances between samples.

    Parameters
    ----------
    gram : ndarray, shape (n, n)
        Inner products between samples, of centered features (for accuracy; distances do not
        depend on it).
    eps : float
        Machine epsilon of the arithmetic that made `gram`.

    Returns
    -------
    ndarray, shape (n, n)
        g_ii + g_jj - 2 g_ij in float64: symmetric to the last bit, never negative, 0 on the
        diagonal. A distance within the rounding of `gram` is exactly 0, and samples at distance 0
        have the same distances to all others, so that ties between them are exact ties.
    """
    norms = gram.diagonal().astype(np.float64)
    d2 = np.empty(gram.shape)
    for rows in row_panels(gram.shape[0]):
        sizes = norms[rows, None] + norms
        panel = d2[rows]
        # both (i, j) and (j, i), which BLAS may have rounded differently
        np.add(gram[rows], gram[:, rows].T, out=panel)
        np.subtract(sizes, panel, out=panel)
        panel[panel <= NOISE_UNITS * eps * sizes] = 0.0
    np.fill_diagonal(d2, 0.0)
    # samples at distance 0 get the distances of the first of them: else rounding decides which of
    # two copies is the nearer neighbor of a third sample
    first = np.argmax(d2 == 0.0, axis=1)
    copies = np.flatnonzero(first != np.arange(len(d2)))
    d2[copies] = d2[first[copies]]
    d2[:, copies] = d2[:, first[copies]]
    return d2


def median_bandwidth(d2: np.ndarray, seed: int = 0) -> float:
    """Return the median distance over pairs i < j; pairs at infinite distance do not count.

    Of more than 4,096 samples it is that of `random_pairs`.

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances.
    seed : int
        Of these pairs.

    Returns
    -------
    float
        The bandwidth delta of Eq. 1.1.

    Raises
    ------
    InputError
        When the median is 0, or there is no pair.
    """
    n = len(d2)
    if n > LIMITS.dense_distances:
        pairs = d2[random_pairs(n, seed)]
    else:
        pairs = np.concatenate([d2[i, i + 1 :] for i in range(n)])
    pairs = pairs[np.isfinite(pairs)]
    if pairs.size == 0:
        raise InputError(
            "a bandwidth needs at least two samples",
            hint="give more samples, or the bandwidth as a number",
            option="bandwidth",
        )
    return positive_median(median_distance(pairs))


def median_distance(d2: np.ndarray) -> float:
    """Return the median of distances whose squares are given; these are put in another order."""
    middle = [(d2.size - 1) // 2, d2.size // 2]
    d2.partition(middle)
    # the roots are averaged: the median of the distances is wanted, not that of their squares
    return float(np.sqrt(d2[middle]).mean())


def positive_median(median: float) -> float:
    """Return a median distance; one of 0 is an `InputError`."""
    if median == 0.0:
        raise InputError(
            "the median distance between samples is 0: at least half of the pairs are identical",
            hint="drop duplicated samples, or give bandwidth= as a number if the similarity takes "
            "it; a single huge value (1e30 for a missing one?) hides all differences, too",
            option="bandwidth",
        )
    return median


def self_tuning_bandwidths(d2: np.ndarray) -> np.ndarray:
    """Return the distance of each sample to its 7th neighbor (Zelnik-Manor & Perona, NIPS 2004).

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances, 0 on the diagonal.

    Returns
    -------
    ndarray, shape (n,)
        delta_i > 0.

    Raises
    ------
    InputError
        When there are too few samples, or a bandwidth is 0 (identical samples).
    """
    n = len(d2)
    if n <= SELF_TUNING_NEIGHBOR:
        raise InputError(
            f"the self-tuning bandwidth needs more than {SELF_TUNING_NEIGHBOR} samples, "
            f"there are {n}",
            hint="use the median bandwidth, or a number",
            option="bandwidth",
        )
    # the sample itself, at distance 0, takes the first place
    at = SELF_TUNING_NEIGHBOR
    found = [np.partition(d2[rows], at, axis=1)[:, at] for rows in row_panels(n)]
    return positive_widths(np.concatenate(found))


def positive_widths(d2: np.ndarray) -> np.ndarray:
    """Return the distances to the 7th neighbors from their squares, (n,); 0 is an `InputError`."""
    zero = np.flatnonzero(d2 == 0.0)
    if zero.size:
        raise InputError(
            f"the self-tuning bandwidth is 0 for {zero.size:,} samples: each has at least "
            f"{SELF_TUNING_NEIGHBOR} identical ones",
            where=name_samples(zero),
            hint="drop duplicated samples, or use the median bandwidth or a number",
            option="bandwidth",
        )
    return np.sqrt(d2)


def rbf(d2: np.ndarray, bandwidth: float | np.ndarray) -> np.ndarray:
    """Return the Gaussian similarity: exp(-dist^2 / (2 delta^2)) (Eq. 1.1), or self-tuning.

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances.
    bandwidth : float or ndarray, shape (n,)
        delta. With one delta_i per sample it is exp(-dist^2 / (delta_i delta_j)), without the 2,
        as in Zelnik-Manor & Perona 2004.

    Returns
    -------
    ndarray, shape (n, n)
        S, 1 on the diagonal.

    Raises
    ------
    InputError
        When a bandwidth is not a positive finite number.
    """
    delta = checked_bandwidth(bandwidth)
    S = gaussian_weights(d2, 2 * delta * delta if delta.ndim == 0 else np.outer(delta, delta))
    np.fill_diagonal(S, 1.0)
    return S


def gaussian_weights(d2: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return exp(-d2 / scale), of the shape of `d2`."""
    # a quotient that overflows is a weight of 0
    with np.errstate(over="ignore"):
        weights = np.divide(d2, scale, dtype=np.float64)
    np.negative(weights, out=weights)
    return np.exp(weights, out=weights)


def checked_bandwidth(bandwidth: float | np.ndarray) -> np.ndarray:
    """Return `bandwidth` as a float64 array, refusing one whose square is no positive number."""
    delta = np.asarray(bandwidth, dtype=np.float64)
    # distances are divided by its square, which may under- or overflow where delta itself does not:
    # S would become the identity, or 1 everywhere, without a word
    smallest, largest = np.sqrt(np.finfo(np.float64).tiny), np.sqrt(np.finfo(np.float64).max) / 2
    if not np.all((delta > smallest) & (delta < largest)):
        raise InputError(
            "the bandwidth of a Gaussian similarity must be a positive finite number",
            where=f"bandwidth {bandwidth}" if delta.ndim == 0 else None,
            hint="give a number near the typical distance between samples, or `median`",
        )
    return delta


def linear(gram: np.ndarray) -> np.ndarray:
    """Return the inner products between samples, over centered features.

    Parameters
    ----------
    gram : ndarray, shape (n, n)
        Inner products between samples; of centered features, for accuracy.

    Returns
    -------
    ndarray, shape (n, n)
        The doubly centered Gram matrix, symmetric to the last bit. All its degrees are 0.
    """
    S = np.add(gram, gram.T, dtype=np.float64)
    S *= 0.5
    means = S.mean(axis=1)
    # half of the total mean goes to each of i and j: s_ij - m_i - m_j is symmetric to the last bit
    means -= 0.5 * means.mean()
    S -= np.add.outer(means, means)
    return S


def correlation(
    gram_raw: np.ndarray, sums: np.ndarray, n_features: int, sample_ids: Sequence[str] | None = None
) -> np.ndarray:
    """Return (1 + r) / 2, r the Pearson correlation between samples over features.

    r itself is negative for half of the pairs when features are standardized, and so may be the
    degrees of a graph. The shift makes every similarity and degree positive, keeps the kernel
    positive semidefinite (it adds a constant matrix), and leaves centered kernels as they are but
    for the factor 1/2.

    Parameters
    ----------
    gram_raw : ndarray, shape (n, n)
        Inner products between samples of features as they are, not centered.
    sums : ndarray, shape (n,)
        Sum of each sample over its features.
    n_features : int
        Number of features summed over.
    sample_ids : sequence of str, optional
        Names for messages.

    Returns
    -------
    ndarray, shape (n, n)
        Values in [0, 1], 1 on the diagonal, symmetric to the last bit.

    Raises
    ------
    InputError
        When a sample has the same value in all features.
    """
    means = np.asarray(sums, dtype=np.float64) / n_features
    S = np.add(gram_raw, gram_raw.T, dtype=np.float64)
    S *= 0.5
    squares = S.diagonal().copy()
    S -= n_features * np.outer(means, means)
    variances = S.diagonal().copy()
    # of a sample without variance only the rounding of its squares is left, of either sign
    constant = np.flatnonzero(~(variances > NOISE_UNITS * EPS * squares))
    if constant.size:
        raise InputError(
            f"{constant.size:,} samples have the same value in all features: "
            "their correlation is not defined",
            where=name_samples(constant, sample_ids),
            hint="drop these samples, or use another similarity such as rbf",
            option="similarity",
        )
    deviations = np.sqrt(variances)
    S /= np.outer(deviations, deviations)
    np.clip(S, -1.0, 1.0, out=S)
    S += 1.0
    S *= 0.5
    np.fill_diagonal(S, 1.0)
    return S
