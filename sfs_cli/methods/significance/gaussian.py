"""The distribution of a ratio of quadratic forms where the feature is normal noise.

With z of independent standard normal values, ``P(z'Az / z'Bz <= t) = P(z'(A - tB)z <= 0)``, the
distribution of ``sum_j lambda_j(t) chi_j^2`` with the eigenvalues of ``A - tB``. It depends on the
sample graph alone. By inversion of the moment generating function ``exp(K(s)) = prod_j
(1 - 2 s lambda_j)^-1/2`` it is an integral of ``exp(K(s)) / s`` along a vertical line in the
complex plane. On the line through the saddlepoint, ``K'(s) = 0``, nothing oscillates before the
integrand is small and nothing cancels, so the digits are relative ones, however small the
probability. After ``y = a sinh(u)`` on that line the trapezoidal rule converges exponentially.

Where the degrees of the graph differ, each threshold takes an eigendecomposition. A p-value is read
from a rational function of the threshold, which takes some sixty of them.

J. P. Imhof, "Computing the distribution of quadratic forms in normal variables", Biometrika 48,
1961; S. O. Rice, "Distribution of quadratic forms in normal random variables: evaluation by
numerical integration", SIAM J. Sci. Stat. Comput. 1, 1980, for the line through the saddlepoint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sfs_cli.compute.engine import Executor, ThreadExecutor
from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import Span, cut
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.methods.significance.rational import Fit, Piece
from sfs_cli.methods.significance.ratios import Ratio

MOST_SAMPLES = 5000
"""Samples up to which a graph is decomposed."""
SLOW_SAMPLES, SLOW_MINUTES = 2500, 1
"""A graph of unequal degrees, which is decomposed for each of some 60 thresholds, takes so long
with so many samples on two cores; the time grows with their cube."""
STEP, HALVINGS, AGREED = 0.2, 6, 1e-10
"""Of the trapezoidal rule: its first step, which is halved up to so often, until a half changes the
integral by no more than this part of it. The integrand is analytic within pi / 4 of the real line,
so the error is about exp(-2 pi (pi / 4) / step) times what the integrand grows by in there, and
half a step squares it. It grows where few large coefficients stand against many small ones, whose
part oscillates long before it is small."""
NEGLIGIBLE = -38.0
"""Logarithm of what is left out at the end of the integral."""
NEAR = 0.7
"""A saddlepoint within this part of the scale from 0 is as good as 0: the line through 0."""
LARGEST = 500_000
"""Numbers that are held together, of all coefficients at all places of the integral."""
TOGETHER = 16_384
"""Thresholds that one thread interpolates at a time."""
FARTHEST, TOP = 39.0, 7.0
"""Quantiles of the normal distribution below which a probability is less than the smallest number,
and above which it is 1 but for 1e-12."""
BEYOND = 6.0, 1.0
"""How far beyond these two the interpolant may reach."""
ERROR = 1e-9
"""Relative error of an interpolated probability at which no further threshold is added."""
WEIGHTS = 1e-4, 8.0
"""What an error of a quantile counts at least and at most, as a relative error of the probability:
it is that from a quantile of -8 on, below which up to 5 times as much is left."""
EIGENVALUE = 1e-14
"""Ten times the error of an eigenvalue, relative to the largest one."""
RELEASING = 500
"""NumPy lets other threads run while it decomposes matrices with more rows than this in all."""


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
    near = np.abs(saddle) < NEAR / np.sqrt(2 * _squares(values, counts, saddle))
    at = np.where(near, 0.0, saddle)
    scale = 1 / np.sqrt(2 * _squares(values, counts, at))
    tilted = values / (1 - 2 * at[:, None] * values)
    mean = values @ counts

    def integrand(rows: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the sums over u (k,) of what is integrated, shape (rows,)."""
        y = scale[rows, None] * np.sinh(u)
        x = 2 * y[:, :, None] * tilted[rows, None, :]
        # log(1 - ix), which numpy has no log1p for
        exponent = 1j * (np.arctan(x) @ (0.5 * counts)) - np.log1p(x * x) @ (0.25 * counts)
        M = np.exp(exponent)
        with np.errstate(all="ignore"):  # through 0: Im(exp K(iy)) / y, which is the mean at 0
            through = np.where(y > 0, M.imag / y, mean[rows, None])
            part = np.where(near[rows, None], through, (M / (at[rows, None] + 1j * y)).real)
        part *= scale[rows, None] * np.cosh(u)
        part[:, u == 0] /= 2
        return part.sum(axis=1)

    step, rows = STEP, np.arange(len(values))
    u = step * np.arange(int(np.ceil(_end(values, counts, at, scale) / step)) + 1)
    total = step * integrand(rows, u)
    for _ in range(HALVINGS):
        halves = step * integrand(rows, u + step / 2)
        change = 0.5 * np.abs(halves - total[rows])
        total[rows] = 0.5 * (total[rows] + halves)
        step, u = step / 2, np.sort(np.concatenate([u, u + step / 2]))
        rows = rows[change > AGREED * np.where(near[rows], 1.0, np.abs(total[rows]))]
        if not len(rows):
            break
    growth = -0.5 * np.log1p(-2 * at[:, None] * values) @ counts  # K on the real line
    with np.errstate(all="ignore"):
        below = growth + np.log(np.abs(total) / np.pi)
        # on the right of 0 the integral is the probability above 0
        below = np.where(at < 0, below, np.log1p(-np.exp(np.minimum(below, 0))))
        return np.where(near, np.log(0.5 - total / np.pi), below)


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
    nearly a straight line, in the logit of the place of t between the smallest and the largest
    ratio that there is. The interpolant depends on the graph alone, so the p-value of a feature
    does not depend on the other features.

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
        n, free = ratio.n, ratio.free
        if n > MOST_SAMPLES:
            raise InputError(
                "--pvalues gaussian decomposes the sample graph, which is done for up to "
                f"{MOST_SAMPLES:,} samples, and there are {n:,}",
                hint="give --pvalues moments, which needs sums over the graph alone",
                option="pvalues",
            )
        what = f"the eigenvalues of the {n:,} x {n:,} sample graph need"
        check_memory(what, 6 * 8 * n * n, memory, "give more --memory, or --pvalues moments")
        self.at_once = max(1, (memory // (8 * n * n) - 3) // 3)  # decompositions
        taken = np.column_stack([np.ones(n), ratio.design.reshape(n, -1)])
        self.A = _within(ratio.numerator.dense(), taken)
        self.B: np.ndarray | None = None
        if ratio.regular:  # the eigenvectors of A are those of A - tB
            values = np.linalg.eigvalsh(self.A) / (ratio.denominator.trace / free)
            self.values, self.counts = _grouped(values)
            self.ends = float(self.values[0]), float(self.values[-1])
        else:
            self.B = _within(ratio.denominator.dense(), taken)
            self.counts = np.ones(free)
            # of the pencil, with unit degrees: samples of nearly no degree are no harm
            root = np.sqrt(ratio.degrees)
            unit = ratio.numerator.dense() / root / root[:, None]
            # residuals are orthogonal to the covariates, and their roots to the rooted ones
            also = np.column_stack([root, ratio.design.reshape(n, -1) / root[:, None]])
            ends = np.linalg.eigvalsh(_within(unit, also))
            self.ends = float(ends[0]), float(ends[-1])
        # of directions that are uniform on the sphere: the ratio to the first order in z'Bz, which
        # is all of it where the degrees are equal
        self.mean = ratio.numerator.trace / ratio.denominator.trace
        around = self.A - self.mean * _within(ratio.denominator.dense(), taken)
        squares = 2 * float(np.vdot(around, around)) / (free * (free + 2))
        self.deviation = squares**0.5 * free / ratio.denominator.trace
        self.fit: tuple[tuple[float, float], list[Piece]] | None = None  # made when it is needed

    @property
    def slow(self) -> str | None:
        """A note for the user who has to wait; None where the graph takes less than a minute."""
        n = len(self.A) + 1
        minutes = SLOW_MINUTES * (n / SLOW_SAMPLES) ** 3
        if self.B is None or minutes < SLOW_MINUTES:
            return None
        return (
            f"--pvalues gaussian decomposes the graph of {n:,} samples some 60 times, "
            f"which takes about {minutes:.0f} minutes on two cores; --pvalues moments takes "
            "seconds"
        )

    def effects(self, t: np.ndarray) -> np.ndarray:
        """Return by how many standard deviations of the ratio each t (m,) is below its mean."""
        if self._flat:
            return np.where(np.isnan(t), np.nan, 0.0)
        return (self.mean - t) / self.deviation

    @property
    def _flat(self) -> bool:
        """Whether every feature has the same ratio, but for rounding."""
        low, high = self.ends
        return high - low <= EIGENVALUE * len(self.A) * max(abs(low), abs(high))

    def log_probability(self, t: np.ndarray, sign: int = 1) -> np.ndarray:
        """Return the logarithms of the probabilities of a ratio below t, or above if -1."""
        if self.B is None:
            values = self.values - t[:, None]
        else:
            values = np.linalg.eigvalsh(self.A - t[:, None, None] * self.B)
        return log_below_zero(sign * values, self.counts)

    def interpolated(self, t: np.ndarray, executor: Executor | None = None) -> np.ndarray:
        """Return the probabilities of ratios of at most t, (m,), shape (m,); NaN for NaN.

        The threads of `executor` share the decompositions, and then the thresholds.
        """
        from scipy.special import ndtr

        executor = executor or ThreadExecutor()
        low, high = self.ends
        result = np.full(len(t), np.nan)
        result[t <= low], result[t >= high] = 0.0, 1.0
        if self._flat:
            return np.where(np.isnan(t), np.nan, 1.0)
        inside = np.flatnonzero((t > low) & (t < high))
        if not len(inside):
            return result
        if self.fit is None:
            self.fit = self._pieces(executor)
        first, pieces = self.fit
        starts = np.array([start for start, _ in pieces])

        def interpolate(span: Span) -> None:
            rows = inside[span.lo : span.hi]
            logit = np.clip(np.log((t[rows] - low) / (high - t[rows])), *first)
            piece = np.searchsorted(starts[1:], logit, side="right")
            for number in np.unique(piece).tolist():
                those = piece == number
                result[rows[those]] = ndtr(pieces[number][1](logit[those]))

        for _ in executor.map(interpolate, cut(len(inside), TOGETHER)):
            pass
        return result

    def _pieces(self, executor: Executor) -> tuple[tuple[float, float], list[Piece]]:
        """Return the logits from which and to which the quantile is interpolated, and how."""
        from scipy.special import log_ndtr

        low, high = self.ends
        # relative error of the distances to both ends at a logit of 0
        largest = max(abs(low), abs(high))
        noise = np.array([abs(low), abs(high)] if self.B is None else [largest, largest])
        noise *= EIGENVALUE * self.counts.sum() / (high - low)

        def weigh(x: np.ndarray, z: np.ndarray) -> np.ndarray:
            # the derivative of log_ndtr, but for what rounding makes of the distance to an end
            density = -0.5 * (z * z + np.log(2 * np.pi))
            rounding = (noise[0] * np.exp(-x) + noise[1] * np.exp(x)) / ERROR
            weight = np.clip(np.exp(density - log_ndtr(z)), *WEIGHTS)
            return weight / np.maximum(1, rounding)

        quantile = partial(self._quantiles, executor)
        nearest = np.log(1 / (1e-16 + 100 * noise))
        places, values = self._first(quantile, nearest)
        return (places[0], places[-1]), Fit(quantile, weigh, ERROR).pieces(places, values)

    def _first(
        self, quantile: Callable[[np.ndarray], np.ndarray], nearest: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the first logits (r,), ascending, and their quantiles, from about the farthest.

        From the mean outward, each twice as far: a graph bends the curve most around the mean.
        """
        low, high = self.ends
        below, above = self.mean - low, high - self.mean
        middle, unit = np.log(below / above), self.deviation * (1 / below + 1 / above)
        first, last = min(-nearest[0], middle - unit), max(nearest[1], middle + unit)
        places = middle + unit * np.array([-8.0, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4])
        places = np.unique(np.clip(places, first, last))
        values = quantile(places)
        sides = ((-1, FARTHEST, BEYOND[0], -first), (1, TOP, BEYOND[1], last))
        for sign, bound, beyond, end in sides:
            x, z = sign * places[::sign], sign * values[::sign]  # the last one is the farthest
            while z[-1] < bound and x[-1] < end:
                x = np.append(x, min(2 * x[-1] - sign * middle, end))
                z = np.append(z, sign * quantile(sign * x[-1:]))
            while z[-1] > bound + beyond and x[-1] - x[-2] > 1e-6:
                if z[-2] >= bound:
                    x, z = x[:-1], z[:-1]
                    continue
                # on the line between both, but well between them
                part = (bound + 0.5 * beyond - z[-2]) / (z[-1] - z[-2])
                between = x[-2] + np.clip(part, 0.2, 0.8) * (x[-1] - x[-2])
                found = sign * quantile(np.array([sign * between]))
                x, z = np.insert(x, -1, between), np.insert(z, -1, found)
            places, values = sign * x[::sign], sign * z[::sign]
        return places, values

    def _quantiles(self, executor: Executor, places: np.ndarray) -> np.ndarray:
        """Return z with the same probability below it in the normal distribution, (r,)."""
        from scipy.special import ndtri_exp

        together = len(places) if self.B is None else RELEASING // len(self.A) + 1

        def of(span: Span) -> np.ndarray:
            z = np.empty(span.size)
            for low in range(span.lo, span.hi, together):
                t = self._threshold(places[low : min(low + together, span.hi)])
                part = z[low - span.lo : low - span.lo + len(t)]
                for sign, side in ((1, t <= self.mean), (-1, t > self.mean)):  # the smaller tail
                    if side.any():
                        part[side] = sign * ndtri_exp(self.log_probability(t[side], sign))
            return np.clip(z, -LARGEST, LARGEST)  # an end of the ratio is one but for rounding

        each = max(together, -(-len(places) // self.at_once))
        return np.concatenate(list(executor.map(of, cut(len(places), each))))

    def _threshold(self, place: np.ndarray) -> np.ndarray:
        """Return the thresholds at logits (r,)."""
        low, high = self.ends
        # from the nearer end, so that small differences to it keep their digits
        up, down = low + (high - low) / (1 + np.exp(-place)), (high - low) / (1 + np.exp(place))
        return np.where(place < 0, up, high - down)


def _within(M: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix on the complement of columns (n, k), shape (n - k, n - k).

    Reflections ``I - v v'`` take the columns to unit vectors, one after the other.
    """
    columns = taken.copy()
    for _ in range(taken.shape[1]):
        v = columns[:, 0] / np.linalg.norm(columns[:, 0])
        v[0] += 1.0 if v[0] >= 0 else -1.0
        v *= np.sqrt(2 / (v @ v))
        image = M @ v
        M = M - np.outer(v, image) - np.outer(image, v) + (v @ image) * np.outer(v, v)
        columns = columns - np.outer(v, v @ columns)
        M, columns = M[1:, 1:], columns[1:, 1:]
    return M


def _grouped(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending eigenvalues that differ by more than rounding, and how often each occurs."""
    tolerance = 64 * len(values) ** 0.5 * EPS * np.abs(values).max()
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > tolerance)
    counts = np.diff(np.append(starts, len(values))).astype(np.float64)
    means = np.add.reduceat(values, starts) / counts
    means[np.abs(means) <= tolerance] = 0.0
    return means, counts
