"""Moments of a quadratic form over all permutations of the samples of a feature.

Of ``Q(pi) = sum_ij m_ij x_pi(i) x_pi(j)``, with a feature x around its mean and M symmetric with
``M 1 = 0``, the mean, the variance and the third central moment over all n! permutations are exact
functions of few sums over M and of ``sum x^2, x^3, x^4, x^6``: O(1) numbers for each feature. A
gamma distribution with these three moments (Pearson's type III) gives the p-value.

F. Kazi-Aoual, S. Hitier, R. Sabatier and J.-D. Lebreton, "Refined approximations to permutation
tests for multivariate inference", Computational Statistics and Data Analysis 20, 1995, for the idea
and the moments of such forms. How the coefficients are found here: E(Q^q) is a sum over
assignments of samples to 2 q places. It is grouped by the partition of the places into those that
hold the same sample. Over different samples, ``E(x_a x_b ...)`` is a sum over different values
divided by n (n - 1) ..., and sums over different samples are those over all samples with the signs
of Moebius inversion on the partitions. Sums with a sample that occurs once vanish, as
``M 1 = 0`` and ``sum x = 0``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from sfs_cli.methods.significance.ratios import Form, Ratio

Partition = tuple[tuple[int, ...], ...]
SQUARES, CUBES = 2, 5
"""Number of sums over M of the second and third order."""
NORMAL_BELOW = 1e-4
"""A distribution with less skewness is the normal one."""


class Powers(NamedTuple):
    """Sums of powers of features around their means, each of unit norm; shape (m,).

    Attributes
    ----------
    third, fourth, sixth : ndarray
        ``sum x^3``, ``sum x^4`` and ``sum x^6``, of ``sum x^2 = 1``.
    """

    third: np.ndarray
    fourth: np.ndarray
    sixth: np.ndarray


@dataclass(frozen=True)
class RatioMoments:
    """Moments of ``x'(A - tB)x`` over the permutations of x, at any t.

    With ``A' = A - a H`` and ``B' = B - b H`` of trace 0, H the centering matrix, the form of
    ``A - tB`` is ``a - t b`` for x of unit norm plus that of ``A' - tB'``, of mean 0. Its sums are
    polynomials in t, which their values at four places determine.

    Attributes
    ----------
    n : int
        Number of samples.
    a, b : float
        Means of ``x'Ax`` and ``x'Bx``.
    places : ndarray, shape (k,)
        The t at which the sums are known; one where they do not depend on t.
    sums : ndarray, shape (k, 7)
        `sums_of` ``A' - tB'``.
    """

    n: int
    a: float
    b: float
    places: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, ratio: Ratio) -> RatioMoments:
        """Compute the sums over the graph."""
        n = ratio.n
        a, b = ratio.numerator.trace / (n - 1), ratio.denominator.trace / (n - 1)
        middle = a / b
        first = sums_of(_less(ratio, middle, 0.0))
        if ratio.even:
            return cls(n, a, b, np.array([middle]), first[None])
        width = max(np.sqrt(first[1] / n) / b, np.finfo(np.float64).tiny)
        places = middle + width * np.array([0.0, -1.5, 1.5, 3.0])
        sums = [first, *(sums_of(_less(ratio, t, a - t * b)) for t in places[1:].tolist())]
        return cls(n, a, b, places, np.array(sums))

    def at(self, t: np.ndarray) -> np.ndarray:
        """Return the sums at thresholds (m,), shape (7, m)."""
        if len(self.places) == 1:
            return np.repeat(self.sums.T, len(t), axis=1)
        total = np.zeros((self.sums.shape[1], len(t)))
        for k, (place, sums) in enumerate(zip(self.places, self.sums)):
            others = np.delete(self.places, k)
            lagrange = np.prod([(t - other) / (place - other) for other in others], axis=0)
            total += np.outer(sums, lagrange)
        return total

    def variance(self, t: np.ndarray, powers: Powers) -> np.ndarray:
        """Return the variance over the permutations, shape (m,)."""
        kinds = np.array([powers.fourth, np.ones(len(t))])
        found = ((coefficients(2, self.n) @ kinds) * self.at(t)[:SQUARES]).sum(axis=0)
        return np.maximum(found, 0.0)

    def third(self, t: np.ndarray, powers: Powers) -> np.ndarray:
        """Return the third central moment over the permutations, shape (m,)."""
        ones = np.ones(len(t))
        kinds = np.array([powers.sixth, powers.fourth, powers.third**2, ones])
        return ((coefficients(3, self.n) @ kinds) * self.at(t)[SQUARES:]).sum(axis=0)

    def tested(self, t: np.ndarray, powers: Powers) -> tuple[np.ndarray, np.ndarray]:
        """Return the p-values of ratios t, smaller ones being better, and their effects; (m,).

        The p-value is that of ``x'(A - tB)x <= 0``: a permuted ratio is at most t exactly then. The
        effect is the distance of t from ``a / b``, in standard deviations of the ratio: exact where
        B is a multiple of the centering matrix, else to the first order in its denominator.
        """
        variance = self.variance(t, powers)
        skewness = self.third(t, powers) / variance**1.5
        p = below((t * self.b - self.a) / np.sqrt(variance), skewness)
        # no permutation is rarer than one of all
        p = np.maximum(p, np.exp(-float(np.log(np.arange(1, self.n + 1)).sum())))
        middle = np.full(len(t), self.a / self.b)
        return p, (middle - t) * self.b / np.sqrt(self.variance(middle, powers))


def _less(ratio: Ratio, t: float, mean: float) -> Form:
    """Return ``A - tB`` less a multiple of the centering matrix, which makes the trace 0."""
    A, B, n = ratio.numerator, ratio.denominator, ratio.n
    if isinstance(A.core, np.ndarray):
        M = A.core - t * B.dense()
        M -= mean * (np.eye(n) - 1 / n)
        return Form(M, np.empty((n, 0)), np.empty((0, 0)))
    from scipy.sparse import eye_array

    core = A.core - t * B.core - mean * eye_array(n, format="csr")
    k = A.columns.shape[1]
    size = k + B.columns.shape[1] + 1
    W = np.zeros((size, size))
    W[:k, :k], W[k:-1, k:-1], W[-1, -1] = A.weights, -t * B.weights, mean / n
    return Form(core, np.column_stack([A.columns, B.columns, np.ones(n)]), W)


def sums_of(M: Form) -> np.ndarray:
    """Return the sums over M, ``M 1 = 0`` and trace 0, that the moments of its forms depend on.

    Returns
    -------
    ndarray, shape (7,)
        ``sum m_ii^2, sum m_ij^2``, then ``sum m_ii^3, sum m_ij^2 m_ii, sum m_ii m_ij m_jj,
        sum m_ij^3, tr M^3``.
    """
    S, U, W = M.core, M.columns, M.weights
    if isinstance(S, np.ndarray):
        diagonal, squares = np.diagonal(S), S * S
        rows, cubes = squares.sum(axis=1), np.vdot(squares, S)
        middle, trace = diagonal @ S @ diagonal, np.vdot(S @ S, S)
    else:
        V, G, SU = U @ W, U.T @ U, S @ U  # m_ij = s_ij + v_i u_j
        diagonal = S.diagonal() + np.vecdot(V, U)
        at, entries = S.tocoo(), S.tocoo().data
        low_rank = np.vecdot(V[at.row], U[at.col])
        rows = np.asarray(S.power(2).sum(axis=1)).ravel() + 2 * np.vecdot(V, SU)
        rows += np.vecdot(V @ G, V)
        T = np.array([(U * u[:, None]).T @ U for u in U.T])  # sum_i u_ia u_ib u_ic
        weighted = np.einsum("abc,ax,by,cz->xyz", T, W, W, W, optimize=True)
        cubes = (entries**3 + 3 * entries * low_rank * (entries + low_rank)).sum()
        cubes += np.vdot(weighted, T)
        projected = U.T @ diagonal
        middle = diagonal @ (S @ diagonal) + projected @ W @ projected
        WG = W @ G
        trace = (S @ S).multiply(S).sum() + 3 * np.trace(W @ (SU.T @ SU))
        trace += 3 * np.trace(WG @ W @ (U.T @ SU)) + np.trace(WG @ WG @ WG)
    squared = diagonal * diagonal
    sums = (squared @ diagonal, rows @ diagonal, middle, cubes, trace)
    return np.array([squared.sum(), rows.sum(), *sums], np.float64)


# ---- the coefficients of the moments -----------------------------------------------------------


@cache
def coefficients(order: int, n: int) -> np.ndarray:
    """Return c with ``E(Q^order) = sum_kl c_kl (sum over M)_k (power sum of x)_l``.

    Parameters
    ----------
    order : int
        2 or 3.
    n : int
        Number of samples.

    Returns
    -------
    ndarray
        Rows are the sums of `sums_of` of that order. Columns are ``sum x^4`` and ``(sum x^2)^2``
        for order 2; ``sum x^6``, ``sum x^4 sum x^2``, ``(sum x^3)^2`` and ``(sum x^2)^3`` for 3.
    """
    columns: list[tuple[int, ...]] = [(4,), (2, 2)] if order == 2 else [(6,), (4, 2), (3, 3)]
    columns += [(2, 2, 2)] * (order == 3)
    found = np.zeros((SQUARES if order == 2 else CUBES, len(columns)))
    partitions = list(_partitions(tuple(range(2 * order))))
    coarse = [each for each in partitions if min(map(len, each)) > 1]
    for fine in partitions:
        if len(fine) > n:  # there are not so many different samples
            continue
        falling = prod(range(n - len(fine) + 1, n + 1))
        above = [(each, sign) for each in coarse if (sign := _moebius(fine, each))]
        of_x = np.zeros(len(columns))
        for each, sign in above:
            of_x[columns.index(tuple(sorted(map(len, each), reverse=True)))] += sign
        for each, sign in above:
            row = _row(each)
            if row is not None:
                found[row] += sign * of_x / falling
    return found


def _partitions(items: tuple[int, ...]) -> Iterator[Partition]:
    """Yield the partitions of some items into blocks."""
    if not items:
        yield ()
        return
    first, rest = items[0], items[1:]
    for smaller in _partitions(rest):
        yield ((first,), *smaller)
        for k, block in enumerate(smaller):
            yield (*smaller[:k], (first, *block), *smaller[k + 1 :])


def _moebius(fine: Partition, coarse: Partition) -> int:
    """Return the Moebius function of two partitions; 0 where `fine` is no refinement."""
    counts = [sum(set(part) <= set(block) for part in fine) for block in coarse]
    if sum(counts) < len(fine):
        return 0
    return prod((-1) ** (count - 1) * factorial(count - 1) for count in counts)


def _row(partition: Partition) -> int | None:
    """Return which sum over M has these places in common; None where it has the factor tr M = 0.

    Places 2k and 2k + 1 are the row and the column of factor k.
    """
    sizes = sorted(map(len, partition), reverse=True)
    if any(len(block) == 2 and block[0] // 2 == block[1] // 2 for block in partition):
        return None
    if sum(sizes) == 4:
        return {(4,): 0, (2, 2): 1}[tuple(sizes)]
    if sizes == [3, 3]:  # two samples: m_ii m_ij m_jj, or m_ij^3
        factors = [place // 2 for place in partition[0]]
        return 2 if len(set(factors)) < 3 else 3
    return {(6,): 0, (4, 2): 1, (2, 2, 2): 4}[tuple(sizes)]


# ---- the distribution --------------------------------------------------------------------------


def below(z: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Return ``P(Z <= z)`` for Z of mean 0, variance 1 and some skewness, by Pearson's type III.

    All are of shape (m,). Where the skewness is positive Z has a smallest value, ``-2 / skewness``,
    which permutations may pass. So the skewness is ``1 / |z|`` at most: half of the way, after
    which the probability falls a little faster than that of the normal distribution.
    """
    from scipy.special import gammainc, gammaincc, ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.where(z < 0, np.minimum(skewness, -1 / z), skewness)
        shape = 4 / skewness**2
        root = np.sqrt(shape)
        short = gammainc(shape, np.maximum(shape + z * root, 0))
        long = gammaincc(shape, np.maximum(shape - z * root, 0))
    found = np.where(skewness > 0, short, long)
    return np.where(np.abs(skewness) < NORMAL_BELOW, ndtr(z), found)
