"""Moments of a quadratic form over all permutations of the samples of a feature.

Of ``Q(pi) = sum_ij m_ij x_pi(i) x_pi(j)``, with a feature x around its mean and M symmetric with
``M 1 = 0``, the mean and the second to fourth central moments over all n! permutations are exact
functions of few sums over M and of ``sum x^2, x^3, x^4, x^5, x^6, x^8``: O(1) numbers for each
feature. The distribution of Pearson's system with these four moments gives the p-value.

F. Kazi-Aoual, S. Hitier, R. Sabatier and J.-D. Lebreton, "Refined approximations to permutation
tests for multivariate inference", Computational Statistics and Data Analysis 20, 1995, for the idea
and the first three moments of such forms; K. Pearson, "Mathematical contributions to the theory of
evolution XIX", Philosophical Transactions A 216, 1916, for the distributions. How the coefficients
are found here: E(Q^q) is a sum over assignments of samples to 2 q places. It is grouped by the
partition of the places into those that hold the same sample. Over different samples, ``E(x_a x_b
...)`` is a sum over different values divided by n (n - 1) ..., and sums over different samples are
those over all samples with the signs of Moebius inversion on the partitions. Sums with a sample
that occurs once vanish, as ``M 1 = 0`` and ``sum x = 0``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, permutations, product
from math import comb, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli.methods.significance.form import DENSE_SAMPLES, Form
from sfs_cli.methods.significance.pearson import below

if TYPE_CHECKING:
    from sfs_cli.methods.significance.ratios import Ratio

Partition = tuple[tuple[int, ...], ...]
Graph = tuple[tuple[int, int], ...]
SUMS = {
    2: ("00 00", "01 01"),
    3: ("00 00 00", "00 01 01", "00 01 11", "01 01 01", "01 12 20"),
    4: (
        *("00 00 00 00", "00 00 01 01", "00 00 01 11", "00 01 01 01", "01 01 01 01"),
        *("00 01 01 11", "00 00 11 11", "01 01 02 02", "00 01 12 20", "00 00 12 12"),
        *("01 01 12 20", "00 01 12 22", "00 01 12 12", "01 12 23 30", "01 01 23 23"),
    ),
}
"""The sums over M that a moment of each order depends on: ``00 01 01`` is sum m_ii m_ij m_ij."""
POWERS = {
    2: ((4,), (2, 2)),
    3: ((6,), (4, 2), (3, 3), (2, 2, 2)),
    4: ((8,), (6, 2), (5, 3), (4, 4), (4, 2, 2), (3, 3, 2), (2, 2, 2, 2)),
}
"""The products of power sums of x that it depends on: (4, 2) is sum x^4 times sum x^2."""
PLACES = {2: slice(0, 2), 3: slice(2, 7), 4: slice(7, 22)}
"""Where the sums of each order are in `sums_of`."""
PANEL = 4_000_000
"""Entries of a panel of rows of M that are made at a time."""
ROWS = 4096
"""Rows of the square of a sparse matrix that are held together."""
COLUMNS = 8
"""Up to so many columns beside a sparse core, the sums of order 4 are found without a dense one."""
FLAT = 1e-6
"""A form whose standard deviation over the permutations is this part of its size or less does not
vary: that is rounding."""


class Powers(NamedTuple):
    """Sums of powers of features around their means, each of unit norm; shape (m,).

    Attributes
    ----------
    third, fourth, fifth, sixth, eighth : ndarray
        ``sum x^3``, ``sum x^4`` ..., of ``sum x^2 = 1``.
    """

    third: np.ndarray
    fourth: np.ndarray
    fifth: np.ndarray
    sixth: np.ndarray
    eighth: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> Powers:
        """Return the sums of features (m, n)."""
        square = x * x
        fourth = square * square
        pairs = ((square, x), (square, square), (fourth, x), (fourth, square), (fourth, fourth))
        return cls(*(np.vecdot(one, two) for one, two in pairs))

    def products(self, order: int) -> list[Any]:
        """Return the products of `POWERS` of an order: 1, or shape (m,)."""
        sums = dict(zip((2, 3, 4, 5, 6, 8), (1.0, *self)))
        return [prod(sums[p] for p in powers if p > 2) for powers in POWERS[order]]


@dataclass(frozen=True)
class RatioMoments:
    """Moments of ``x'(A - tB)x`` over the permutations of x, at any t.

    With ``A' = A - a H`` and ``B' = B - b H`` of trace 0, H the centering matrix, the form of
    ``A - tB`` is ``a - t b`` for x of unit norm plus that of ``A' - tB'``, of mean 0. Its sums are
    polynomials in t, which their values at five places determine.

    Attributes
    ----------
    n : int
        Number of samples.
    a, b : float
        Means of ``x'Ax`` and ``x'Bx``.
    places : ndarray, shape (k,)
        The t at which the sums are known; one where they do not depend on t.
    sums : ndarray, shape (k, 22)
        `sums_of` ``A' - tB'``.
    size : float
        `Form.size` of A, against which rounding is told from what varies.
    """

    n: int
    a: float
    b: float
    places: np.ndarray
    sums: np.ndarray
    size: float

    @classmethod
    def of(cls, ratio: Ratio) -> RatioMoments:
        """Compute the sums over the graph."""
        n = ratio.n
        a, b = ratio.numerator.trace / (n - 1), ratio.denominator.trace / (n - 1)
        middle = a / b
        first, size = sums_of(less(ratio, middle, 0.0)), ratio.numerator.size
        if ratio.even:
            return cls(n, a, b, np.array([middle]), first[None], size)
        width = max(np.sqrt(first[1] / n) / b, np.finfo(np.float64).tiny)
        places = middle + width * np.array([0.0, -1.5, 1.5, -3.0, 3.0])
        sums = [first, *(sums_of(less(ratio, t, a - t * b)) for t in places[1:].tolist())]
        return cls(n, a, b, places, np.array(sums), size)

    @classmethod
    def of_columns(cls, Y: np.ndarray) -> RatioMoments:
        """Return those of ``-x' Y Y' x``, Y (n, r) with centered columns, for x of unit norm."""
        n, squares = len(Y), Y.T @ Y
        mean = float(np.trace(squares)) / (n - 1)
        sums = sums_of_factor(Y, mean)
        sums[PLACES[3]] *= -1  # of -Y Y', whose small values are asked for
        size = float(np.linalg.norm(squares)) / np.sqrt(n)
        return cls(n, -mean, 1.0, np.zeros(1), sums[None], size)

    @cached_property
    def width(self) -> float:
        """The unit of t in the polynomials."""
        return float(np.ptp(self.places)) / 6 or 1.0

    @cached_property
    def polynomials(self) -> dict[int, np.ndarray]:
        """Coefficients of the moments of each order, shape (products of `POWERS`, powers of u).

        u is the distance of t from the first place in units of `width`.
        """
        u = (self.places - self.places[0]) / self.width
        sums = np.linalg.solve(np.vander(u, increasing=True), self.sums)
        # the sums of products of q entries are of degree q: higher powers are rounding
        return {
            order: coefficients(order, self.n).T @ sums[: order + 1, part].T
            for order, part in PLACES.items()
        }

    def moment(self, order: int, t: np.ndarray, powers: Powers) -> np.ndarray:
        """Return a central moment over the permutations, shape (m,).

        That of order 4 is NaN where the graph is too large for its sums.
        """
        u, total = (t - self.places[0]) / self.width, np.zeros(len(t))
        # a feature at a time, so to speak: a matrix product would round by where it stands
        for product_, polynomial in zip(powers.products(order), self.polynomials[order].tolist()):
            of_t = polynomial[-1]
            for coefficient in polynomial[-2::-1]:
                of_t = of_t * u + coefficient
            total += product_ * of_t
        return total

    def variance(self, t: np.ndarray, powers: Powers) -> np.ndarray:
        """Return the variance over the permutations, shape (m,)."""
        return np.maximum(self.moment(2, t, powers), 0.0)

    def standardized(
        self, t: np.ndarray, powers: Powers
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where 0 is in the distribution of ``x'(A - tB)x``, skewness and kurtosis; (m,).

        A permuted ratio is at most t exactly where this form is at most 0. All are NaN where no
        permutation changes the form.
        """
        variance = self.variance(t, powers)
        variance = np.where(variance > (FLAT * self.size) ** 2, variance, np.nan)
        skewness = self.moment(3, t, powers) / variance**1.5
        kurtosis = self.moment(4, t, powers) / variance**2
        return (t * self.b - self.a) / np.sqrt(variance), skewness, kurtosis

    @property
    def concentration(self) -> float:
        """``sum_i r_i^2 / (sum_i r_i)^2``, r_i the sum of the squares of row i.

        That is 1 over the number of samples that hold the form.
        """
        return self._relative("01 01 02 02")

    @property
    def entry_concentration(self) -> float:
        """``sum m_ij^4 / (sum m_ij^2)^2``: 1 over the number of entries that hold the form."""
        return self._relative("01 01 01 01")

    def _relative(self, name: str) -> float:
        names = list(chain(*SUMS.values()))
        of, squares = (self.sums[0, names.index(each)] for each in (name, "01 01"))
        return float(np.divide(of, squares**2))  # NaN of a form that is 0

    def tested(self, t: np.ndarray, powers: Powers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the p-values of ratios t, smaller ones being better, and their effects; (m,).

        The p-value is that of ``x'(A - tB)x <= 0``. The effect is the distance of t from ``a / b``,
        in standard deviations of the ratio: exact where B is a multiple of the centering matrix,
        else to the first order in its denominator. Where no permutation changes the ratio the
        p-value is 1 and the effect 0. The last array tells where no permutation is as good by the
        fitted distribution, which does not know where the ratios end.
        """
        z, skewness, kurtosis = self.standardized(t, powers)
        p = below(z, skewness, kurtosis)
        past = p == 0
        # no permutation is rarer than one of all
        least = np.exp(-float(np.log(np.arange(1, self.n + 1)).sum()))
        middle = self.a / self.b
        deviation = np.sqrt(self.variance(np.full(len(t), middle), powers))
        flat = np.isnan(z) & ~np.isnan(t)
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 where it does not deviate
            effect = np.where(flat | (deviation == 0), 0.0, (middle - t) * self.b / deviation)
        return np.where(flat, 1.0, np.maximum(p, least)), effect, past


def less(ratio: Ratio, t: float, mean: float) -> Form:
    """Return ``A - tB`` less a multiple of the centering matrix, which makes the trace 0."""
    A, B, n = ratio.numerator, ratio.denominator, ratio.n
    if isinstance(A.core, np.ndarray):
        M = A.core - t * B.dense()
        M -= mean * (np.eye(n) - 1 / n)
        return Form.of(M)
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
    ndarray, shape (22,)
        Those of `SUMS`, in its order. Those of order 4 are NaN of a large sparse matrix with many
        columns beside it.
    """
    sparse = not isinstance(M.core, np.ndarray)
    if sparse and M.columns.shape[1] > COLUMNS and M.n <= DENSE_SAMPLES:
        M, sparse = Form.of(M.dense()), False
    if sparse:
        return _in_order(_sparse_sums(M))
    diagonal = np.diagonal(M.core)
    return _in_order(_sums_of_panel(M.core, M.core @ M.core, diagonal, diagonal))


def _in_order(found: dict[str, float]) -> np.ndarray:
    """Return the sums in the order of `SUMS`, with those that are products of two others, (22,)."""
    diagonal, squares = found["00 00"], found["01 01"]
    found["00 00 11 11"], found["01 01 23 23"] = diagonal**2, squares**2
    found["00 00 12 12"] = diagonal * squares
    return np.array([found[name] for name in chain(*SUMS.values())], np.float64)


def sums_of_factor(Y: np.ndarray, mean: float) -> np.ndarray:
    """Return `sums_of` ``Y Y' - mean H``, Y (n, r) with centered columns, H the centering matrix.

    Its rows are made a panel at a time, so that no n x n matrix is held, and those of samples with
    equal rows of Y, such as of one class, once. Few columns of many samples need no rows.
    """
    n, step = len(Y), max(1, PANEL // len(Y))
    keys = Y[:, 0] if Y.shape[1] == 1 else Y  # one column is put in order much faster
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    if len(first) > PANEL // n and Y.shape[1] < COLUMNS:
        from scipy.sparse import eye_array

        weights = np.diag(np.append(np.ones(Y.shape[1]), mean / n))
        core = -mean * eye_array(n, format="csr")
        return sums_of(Form(core, np.column_stack([Y, np.ones(n)]), weights))
    squares = Y.T @ Y
    second = squares - 2 * mean * np.eye(len(squares))  # M^2 = Y second Y' + mean^2 H
    diagonal = np.vecdot(Y, Y) - mean * (1 - 1 / n)
    found = dict.fromkeys(chain(*SUMS.values()), 0.0)
    for count in np.unique(counts):
        alike = first[counts == count]
        for low in range(0, len(alike), step):
            rows = alike[low : low + step]
            panel, product = Y[rows] @ Y.T, Y[rows] @ second @ Y.T
            for matrix, factor in ((panel, -mean), (product, mean * mean)):
                matrix -= factor / n
                matrix[np.arange(len(rows)), rows] += factor
            for name, value in _sums_of_panel(panel, product, diagonal[rows], diagonal).items():
                found[name] += count * value
    return _in_order(found)


def _sums_of_rows(
    diagonal: np.ndarray, image: np.ndarray, squares: np.ndarray, cubes: np.ndarray
) -> dict[str, float]:
    """Return the sums that depend on the diagonal, ``M diagonal``, and on sums over rows, (n,)."""
    two = diagonal**2
    return {
        "00 00": two.sum(),
        "01 01": squares.sum(),
        "00 00 00": two @ diagonal,
        "00 01 01": diagonal @ squares,
        "00 01 11": diagonal @ image,
        "01 01 01": cubes.sum(),
        "00 00 00 00": two @ two,
        "00 00 01 01": two @ squares,
        "00 00 01 11": two @ image,
        "00 01 01 01": diagonal @ cubes,
        "01 01 02 02": squares @ squares,
        "00 01 12 22": image @ image,
        "00 01 12 12": image @ squares,
    }


def _sums_of_panel(
    S: np.ndarray, product: np.ndarray, diagonal: np.ndarray, whole: np.ndarray
) -> dict[str, float]:
    """Return the parts of some rows (p, n) of M, and of ``M^2``, in the sums.

    `diagonal` is that of these rows (p,), `whole` that of all (n,).
    """
    square = S * S
    cubes = np.vecdot(square, S)
    triangles = np.vecdot(product, S)
    return _sums_of_rows(diagonal, S @ whole, square.sum(axis=1), cubes) | {
        "01 12 20": triangles.sum(),
        "01 01 01 01": np.vdot(square, square),
        "00 01 01 11": diagonal @ square @ whole,
        "00 01 12 20": diagonal @ triangles,
        "01 01 12 20": np.vdot(square, product),
        "01 12 23 30": np.vdot(product, product),
    }


def _sparse_sums(M: Form) -> dict[str, float]:
    """Return the sums of ``m_ij = s_ij + v_i u_j``, V = UW, whose square is ``S^2 + P R'``."""
    S, U, W = M.core, M.columns, M.weights
    V, G, SU = U @ W, U.T @ U, S @ U
    diagonal = S.diagonal() + np.vecdot(V, U)
    image = S @ diagonal + V @ (U.T @ diagonal)
    at = S.tocoo()
    row, s, low_rank = at.row, at.data, np.vecdot(V[at.row], U[at.col])
    squares = np.bincount(row, s * (s + 2 * low_rank), M.n) + np.vecdot(V @ G, V)
    cubes = np.bincount(row, s**3 + 3 * s * low_rank * (s + low_rank), M.n)
    cubes += np.einsum("na,nb,nc,abc->n", V, V, V, _triples(U, U), optimize=True)
    found = _sums_of_rows(diagonal, image, squares, cubes)
    P, R = np.hstack([S @ V, V]), np.hstack([U, SU + V @ G])
    # triangles: of each row i, the sum of m_ij (M^2)_ij; here what holds no S^2
    triangles = np.vecdot(P, S @ R) + np.vecdot(V, S @ SU) + np.vecdot(P, V @ (U.T @ R))
    few = U.shape[1] <= COLUMNS
    if few:
        weighted, fourth = np.kron(W, W), np.zeros((U.shape[1] ** 2,) * 2)
        GD = (U * diagonal[:, None]).T @ U
        change = s * (s + 2 * low_rank)  # from the square of the low-rank part
        double = change @ np.vecdot(P[row], R[at.col]) + np.vdot(_triples(V, P), _triples(U, R))
        cycles = 2 * np.vdot(S @ P, S @ R) + np.vdot(P.T @ P, R.T @ R)
    for low in range(0, M.n, ROWS):
        part = S[low : low + ROWS]
        both = part @ S
        within = part.multiply(both).tocoo()
        triangles[low : low + ROWS] += np.bincount(within.row, within.data, part.shape[0])
        if few:
            entries = both.tocoo()
            beside = np.vecdot(V[low + entries.row], U[entries.col])
            double += part.multiply(within).sum() + beside**2 @ entries.data
            double += 2 * within.data @ np.vecdot(V[low + within.row], U[within.col])
            cycles += entries.data @ entries.data
            columns = U[low : low + ROWS]
            pairs = (columns[:, :, None] * columns[:, None]).reshape(len(columns), -1)
            fourth += weighted @ (pairs.T @ pairs)
    found |= {"01 12 20": triangles.sum()}
    if not few:
        return dict.fromkeys(SUMS[4], np.nan) | found
    power = (s + low_rank) ** 4 - low_rank**4
    return found | {
        "01 01 01 01": power.sum() + np.vdot(fourth.T, fourth),
        "00 01 01 11": diagonal[row] * diagonal[at.col] @ change + np.vdot((W @ GD).T, W @ GD),
        "00 01 12 20": diagonal @ triangles,
        "01 01 12 20": double,
        "01 12 23 30": cycles,
    }


def _triples(U: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return ``sum_i u_ia u_ib r_ic``, shape (k, k, l)."""
    return np.array([(U * u[:, None]).T @ R for u in U.T]).reshape(*2 * U.shape[1:], R.shape[1])


# ---- the coefficients of the moments -----------------------------------------------------------


def coefficients(order: int, n: int) -> np.ndarray:
    """Return c with ``E(Q^order) = sum_kl c_kl (sum over M)_k (product of powers)_l``.

    Parameters
    ----------
    order : int
        2 to 4.
    n : int
        Number of samples.

    Returns
    -------
    ndarray
        Rows are `SUMS` of that order, columns are `POWERS`.
    """
    counts = _counts(order)  # there are no more blocks than samples
    falling = [prod(range(n - blocks + 1, n + 1)) for blocks in range(len(counts))]
    return sum(of / by for of, by in zip(counts[1:], falling[1:]) if by)


@cache
def _counts(order: int) -> np.ndarray:
    """Return the signed numbers of partitions, shape (2 order + 1 numbers of blocks, k, l)."""
    found = np.zeros((2 * order + 1, len(SUMS[order]), len(POWERS[order])))
    alike: dict[Graph, list[Partition]] = {}
    for coarse in _partitions(tuple(range(2 * order))):
        if min(map(len, coarse)) > 1:
            alike.setdefault(_graph(tuple(sorted(_edges(coarse)))), []).append(coarse)
    for row, name in enumerate(SUMS[order]):
        members = alike[_graph(tuple((int(edge[0]), int(edge[1])) for edge in name.split()))]
        for fine in product(*(_finer(len(block)).items() for block in members[0])):
            sizes = tuple(sorted(chain.from_iterable(block for block, _ in fine)))
            weight = len(members) * prod(number for _, number in fine)
            for powers, number in _different(sizes).items():
                found[len(sizes), row, POWERS[order].index(powers)] += weight * number
    return found


@cache
def _finer(count: int) -> dict[tuple[int, ...], int]:
    """Return by their sizes how many partitions of so many places there are, with their signs.

    The sign and number of Moebius inversion for a block that is merged from k is
    ``(-1)^(k - 1) (k - 1)!``.
    """
    if not count:
        return {(): -1}
    found: Counter[tuple[int, ...]] = Counter()
    for size in range(1, count + 1):  # of the block of the first place
        others = comb(count - 1, size - 1)
        for sizes, number in _finer(count - size).items():
            found[tuple(sorted((size, *sizes)))] -= others * number * max(len(sizes), 1)
    return found


@cache
def _different(sizes: tuple[int, ...]) -> dict[tuple[int, ...], int]:
    """Return sum ``x_a^s x_b^t ...`` over different samples by the products of power sums it has.

    Without the others' samples it is the product of ``sum x^s`` and the rest, less what has the
    first sample twice. As ``sum x = 0``, products with it are left out.
    """
    if not sizes:
        return {(): 1}
    first, rest = sizes[0], sizes[1:]
    found: Counter[tuple[int, ...]] = Counter()
    if first > 1:
        for powers, number in _different(rest).items():
            found[tuple(sorted((first, *powers), reverse=True))] += number
    for k, other in enumerate(rest):
        merged = tuple(sorted((*rest[:k], other + first, *rest[k + 1 :])))
        for powers, number in _different(merged).items():
            found[powers] -= number
    return {powers: number for powers, number in found.items() if number}


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


def _edges(partition: Partition) -> Graph:
    """Return the indices of each m_ij; places 2k and 2k + 1 are the row and the column of one."""
    sample = {place: k for k, block in enumerate(partition) for place in block}
    return tuple((sample[place], sample[place + 1]) for place in range(0, len(sample), 2))


@cache
def _graph(edges: Graph) -> Graph:
    """Return the first of the ways to number the samples of a sum."""
    count = max(map(max, edges)) + 1
    numbered = (
        tuple(sorted((min(to[i], to[j]), max(to[i], to[j])) for i, j in edges))
        for to in permutations(range(count))
    )
    return min(numbered)
