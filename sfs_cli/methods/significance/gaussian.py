"""The distribution of a ratio of quadratic forms where the feature is normal noise.

With z of independent standard normal values, ``P(z'Az / z'Bz <= t) = P(z'(A - tB)z <= 0)``, the
distribution of ``sum_j lambda_j(t) chi_j^2`` with the eigenvalues of ``A - tB``. It depends on the
sample graph alone. By inversion of the moment generating function ``exp(K(s)) = prod_j
(1 - 2 s lambda_j)^-1/2`` it is an integral of ``exp(K(s)) / s`` along a vertical line in the
complex plane. On the line through the saddlepoint, ``K'(s) = 0``, nothing oscillates before the
integrand is small and nothing cancels, so the digits are relative ones, however small the
probability. After ``y = a sinh(u)`` on that line the trapezoidal rule converges exponentially.

J. P. Imhof, "Computing the distribution of quadratic forms in normal variables", Biometrika 48,
1961; S. O. Rice, "Distribution of quadratic forms in normal random variables: evaluation by
numerical integration", SIAM J. Sci. Stat. Comput. 1, 1980, for the line through the saddlepoint.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.engine import Executor, ThreadExecutor
from sfs_cli.compute.matrix import Span, cut
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.methods.significance.chebyshev import evaluated, fitted
from sfs_cli.methods.significance.ratios import Ratio

EVEN_SAMPLES, UNEVEN_SAMPLES = 5000, 1500
"""Samples up to which a graph is decomposed: once where all degrees are equal, else for each of
some dozens of thresholds."""
STEP = 0.1
"""Of the trapezoidal rule. The integrand is analytic within pi / 4 of the real line, so the error
is about exp(-2 pi (pi / 4) / 0.1), which is 4e-22, times what the integrand grows by in there."""
NEGLIGIBLE = -38.0
"""Logarithm of what is left out at the end of the integral."""
NEAR = 0.7
"""A saddlepoint within this part of the scale from 0 is as good as 0: the line through 0."""
LARGEST = 4_000_000
"""Complex numbers that are held together."""
CELL = 1.0
"""Width of the pieces of the interpolant, in logits of the place between both ends."""
TOGETHER = 16_384
"""Thresholds that one thread interpolates at a time."""
FAR, FARTHEST = 20.0, 39.0
"""Beyond so many standard deviations a probability may be less than the smallest number, as it is
below the latter quantile of the normal distribution."""
EVEN_ERROR, UNEVEN_ERROR = 1e-11, 1e-9
"""Relative error of an interpolated probability at which no further nodes are added."""


def log_below_zero(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return ``log P(sum_j counts_j values_j chi^2 <= 0)`` for sums of independent chi-squares.

    Parameters
    ----------
    values : ndarray, shape (r, k)
        Coefficients, a row for each sum.
    counts : ndarray, shape (k,)
        Degrees of freedom of each chi-square.

    Returns
    -------
    ndarray, shape (r,)
        -infinity where no coefficient is negative.
    """
    result = np.where(values.min(axis=1) < 0, 0.0, -np.inf)
    both = np.flatnonzero((values.min(axis=1) < 0) & (values.max(axis=1) > 0))
    rows = max(1, LARGEST // (64 * values.shape[1]))
    for low in range(0, len(both), rows):
        part = both[low : low + rows]
        result[part] = _inverted(values[part], counts)
    return result


def _inverted(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    # a common factor does not matter, and eigenvalues of 1 keep the numbers in range
    values = values / np.abs(values).max(axis=1, keepdims=True)
    saddle = _saddlepoint(values, counts)
    scale = 1 / np.sqrt(2 * _squares(values, counts, saddle))
    near = np.abs(saddle) < NEAR * scale
    at = np.where(near, 0.0, saddle)
    scale = 1 / np.sqrt(2 * _squares(values, counts, at))
    u = STEP * np.arange(int(np.ceil(_end(values, counts, at, scale) / STEP)) + 1)
    y = scale[:, None] * np.sinh(u)
    growth = -0.5 * np.log1p(-2 * at[:, None] * values) @ counts  # K on the real line
    tilted = values / (1 - 2 * at[:, None] * values)
    exponent = np.zeros(y.shape, np.complex128)
    for j in range(values.shape[1]):  # log(1 - 2 i y lambda), which numpy has no log1p for
        x = 2 * y * tilted[:, [j]]
        exponent -= (0.5 * counts[j]) * (0.5 * np.log1p(x * x) - 1j * np.arctan(x))
    width = STEP * scale[:, None] * np.cosh(u)
    width[:, 0] /= 2
    integrand = np.exp(exponent)
    result = np.empty(len(values))
    line, through = ~near, near
    s = at[line, None] + 1j * y[line]
    tail = np.abs(((integrand[line] / s).real * width[line]).sum(axis=1)) / np.pi
    with np.errstate(divide="ignore"):
        below = growth[line] + np.log(tail)
    # on the right of 0 the integral is the probability above 0
    result[line] = np.where(at[line] < 0, below, np.log1p(-np.exp(np.minimum(below, 0))))
    # through 0 the integrand is Im(exp K(iy)) / y, which is the mean at 0
    mean = values[through] @ counts
    ratio = integrand[through].imag / np.where(y[through] > 0, y[through], 1.0)
    ratio[:, 0] = mean
    result[through] = np.log(0.5 - (ratio * width[through]).sum(axis=1) / np.pi)
    return result


def _saddlepoint(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return s with ``K'(s) = sum_j counts_j lambda_j / (1 - 2 s lambda_j) = 0``, by bisection."""
    low, high = 0.5 / values.min(axis=1), 0.5 / values.max(axis=1)
    for _ in range(64):
        middle = 0.5 * (low + high)
        slope = (values / (1 - 2 * middle[:, None] * values)) @ counts
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return 0.5 * (low + high)


def _squares(values: np.ndarray, counts: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return ``K''(s) / 2``."""
    return (values / (1 - 2 * s[:, None] * values)) ** 2 @ counts


def _end(values: np.ndarray, counts: np.ndarray, at: np.ndarray, scale: np.ndarray) -> float:
    """Return the u beyond which the integrand is negligible."""
    tilted = 2 * scale[:, None] * values / (1 - 2 * at[:, None] * values)
    end = 2.0
    while end < 80:
        decay = -0.25 * np.log1p((np.sinh(end) * tilted) ** 2) @ counts
        if decay.max() < NEGLIGIBLE:
            break
        end += 0.5
    return end


class RatioDistribution:
    """``P(z'Az / z'Bz <= t)``, exactly at any t, and interpolated at many.

    The quantile of the normal distribution that has the same probability is interpolated, which is
    nearly a straight line, by polynomials in the logit of the place of t between the smallest and
    the largest ratio that there is. Cells and nodes depend on the graph alone, so the p-value of a
    feature does not depend on the other features.

    Parameters
    ----------
    ratio : Ratio
        A and B.
    memory : int
        Bytes that may be used.

    Raises
    ------
    InputError
        When there are too many samples to decompose the graph.
    OutOfMemoryError
        When its matrices do not fit.
    """

    def __init__(self, ratio: Ratio, memory: int) -> None:
        n, even = ratio.n, ratio.even
        most = EVEN_SAMPLES if even else UNEVEN_SAMPLES
        if n > most:
            raise InputError(
                f"--pvalues gaussian decomposes the sample graph, which is done for up to {most:,} "
                f"samples{'' if even else ' of different degrees'}, and there are {n:,}",
                hint="give --pvalues moments, which needs sums over the graph alone",
                option="pvalues",
            )
        what = f"the eigenvalues of the {n:,} x {n:,} sample graph need"
        check_memory(what, 6 * 8 * n * n, memory, "give more --memory, or --pvalues moments")
        basis = _complement(n)
        self.A = _within(ratio.numerator.dense(), basis)
        self.B: np.ndarray | None = None
        self.error = EVEN_ERROR if even else UNEVEN_ERROR
        if even:  # the eigenvectors of A are those of A - tB
            values = np.linalg.eigvalsh(self.A) / (ratio.denominator.trace / (n - 1))
            self.values, self.counts = _grouped(values)
            self.ends = float(self.values[0]), float(self.values[-1])
        else:
            from scipy.linalg import eigvalsh

            self.B = _within(ratio.denominator.dense(), basis)
            self.counts = np.ones(n - 1)
            ends = eigvalsh(self.A, self.B)
            self.ends = float(ends[0]), float(ends[-1])
        # of directions that are uniform on the sphere: the ratio to the first order in z'Bz, which
        # is all of it where the degrees are equal
        self.mean = ratio.numerator.trace / ratio.denominator.trace
        around = self.A - self.mean * _within(ratio.denominator.dense(), basis)
        squares = 2 * float(np.vdot(around, around)) / ((n - 1) * (n + 1))
        self.deviation = squares**0.5 * (n - 1) / ratio.denominator.trace

    def effects(self, t: np.ndarray) -> np.ndarray:
        """Return by how many standard deviations of the ratio each t (m,) is below its mean."""
        return (self.mean - t) / self.deviation

    def log_below(self, t: np.ndarray) -> np.ndarray:
        """Return the logarithm of the probability of a ratio of at most t, (r,), shape (r,)."""
        return self._log_probability(t, 1)

    def _log_probability(self, t: np.ndarray, sign: int) -> np.ndarray:
        """Return the logarithms of the probabilities of a ratio below t, or above if -1."""
        if self.B is None:
            values = self.values - t[:, None]
        else:
            values = np.array([np.linalg.eigvalsh(self.A - each * self.B) for each in t.tolist()])
        return log_below_zero(sign * values.reshape(len(t), -1), self.counts)

    def interpolated(self, t: np.ndarray, executor: Executor | None = None) -> np.ndarray:
        """Return the probabilities of ratios of at most t, (m,), shape (m,); NaN for NaN.

        The threads of `executor` share the cells, and then the thresholds.
        """
        from scipy.special import ndtr

        executor = executor or ThreadExecutor()
        low, high = self.ends
        spans = cut(len(t), TOGETHER)
        cells, place = np.empty(len(t)), np.empty(len(t))

        def find(span: Span) -> np.ndarray:
            part = slice(span.lo, span.hi)
            with np.errstate(all="ignore"):  # NaN at both ends and beyond
                logit = np.log((t[part] - low) / (high - t[part])) / CELL
                logit[~np.isfinite(logit)] = np.nan
                cells[part] = np.floor(logit)
                place[part] = 2 * (logit - cells[part]) - 1
            return np.unique(cells[part])

        found = np.unique(np.concatenate([np.empty(0), *executor.map(find, spans)]))
        found = found[~np.isnan(found)]
        numbers = [Span(at, at + 1) for at in range(len(found))]
        made = executor.map(lambda span: self._cell(float(found[span.lo])), numbers)
        pieces = dict(zip(found.tolist(), made))
        result = np.full(len(t), np.nan)
        result[t <= low], result[t >= high] = 0.0, 1.0

        def interpolate(span: Span) -> None:
            for cell in np.unique(cells[span.lo : span.hi]).tolist():
                rows = span.lo + np.flatnonzero(cells[span.lo : span.hi] == cell)
                if len(rows):  # none of NaN
                    result[rows] = ndtr(evaluated(pieces[cell], place[rows]))

        for _ in executor.map(interpolate, spans):
            pass
        return result

    def _cell(self, cell: float) -> np.ndarray:
        """Return the polynomial of one cell."""
        ends = self.effects(self._threshold(CELL * np.array([cell, cell + 1])))
        if ends[1] > FAR and self._quantile(np.array([CELL * (cell + 1)]))[0] < -FARTHEST:
            return np.array([-np.inf])
        if ends[0] < -FAR and self._quantile(np.array([CELL * cell]))[0] > FARTHEST:
            return np.array([np.inf])
        return fitted(lambda x: self._quantile(CELL * (cell + 0.5 + 0.5 * x)), self.error)

    def _quantile(self, place: np.ndarray) -> np.ndarray:
        """Return z with the same probability below it in the normal distribution, (r,)."""
        from scipy.special import ndtri_exp

        t = self._threshold(place)
        z = np.empty(len(t))
        for sign, side in ((1, t <= self.mean), (-1, t > self.mean)):  # the smaller tail
            if side.any():
                z[side] = sign * ndtri_exp(self._log_probability(t[side], sign))
        return np.clip(z, -LARGEST, LARGEST)  # an end of the ratio is one but for rounding

    def _threshold(self, place: np.ndarray) -> np.ndarray:
        """Return the thresholds at logits (r,)."""
        low, high = self.ends
        # from the nearer end, so that small differences to it keep their digits
        up, down = low + (high - low) / (1 + np.exp(-place)), (high - low) / (1 + np.exp(place))
        return np.where(place < 0, up, high - down)


def _complement(n: int) -> np.ndarray:
    """Return v of the reflection ``I - v v'`` that takes constants to the first unit vector."""
    v = np.full(n, n**-0.5)
    v[0] += 1.0
    return v * np.sqrt(2 / (v @ v))


def _within(M: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix on the complement of constants, shape (n - 1, n - 1)."""
    image = M @ v
    reflected = M - np.outer(v, image) - np.outer(image, v) + (v @ image) * np.outer(v, v)
    return reflected[1:, 1:]


def _grouped(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending eigenvalues that differ by more than rounding, and how often each occurs."""
    tolerance = 64 * len(values) ** 0.5 * np.finfo(np.float64).eps * np.abs(values).max()
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > tolerance)
    counts = np.diff(np.append(starts, len(values))).astype(np.float64)
    means = np.add.reduceat(values, starts) / counts
    means[np.abs(means) <= tolerance] = 0.0
    return means, counts
