"""Moderated variances: the residual variance of each feature, shrunk towards that of all features.

With few samples a residual variance is uncertain, and features that vary little by chance alone get
the largest t-statistics. Empirical Bayes takes the true variances for draws from a scaled inverse
chi-square distribution, ``1 / sigma^2 ~ chi^2_{d0} / (d0 s0^2)``, and finds ``d0`` and ``s0^2``
from the residual variances ``s^2`` of all features, which then have the distribution
``s^2 ~ s0^2 F_{d, d0}``. The posterior variance is ``(d0 s0^2 + d s^2) / (d0 + d)``, with
``d0 + d`` degrees of freedom.

G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments", Stat. Appl. Genet. Mol. Biol. 3, 2004, section 6.2 (the moments of
``log s^2``); B. Phipson, S. Lee, I. J. Majewski, W. S. Alexander and G. K. Smyth, "Robust
hyperparameter estimation protects against hypervariable genes and improves power to detect
differential expression", Ann. Appl. Stat. 10, 2016 (`robust`). The numbers are those of
``squeezeVar`` and ``eBayes`` of limma 3.54.1; since 3.62 these are under ``legacy=TRUE``, for newer
ones treat unequal degrees of freedom in another way. The robust d0 is a root, found to rounding
here; limma stops within 1e-8 of ``d0 / (1 + d0)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.errors import InputError
from sfs_cli.methods.lowess import lowess

TAILS = (0.05, 0.1)
"""Parts of the lowest and of the highest log variances that `robust` winsorizes."""
_NODES = 128
"""Of the quadrature of moments."""
_LEAST = 1e-300
"""No tail probability is taken to be smaller."""
_LARGEST = 1e250
"""Of a quantile: beyond it a variance would overflow."""


@dataclass(frozen=True)
class Prior:
    """The distribution of the true variances.

    Attributes
    ----------
    df : ndarray, shape (m,)
        Degrees of freedom d0: how many residual degrees of freedom the prior is worth. The same
        for each feature, unless the fit was robust, where hypervariable features have fewer.
        Infinite if the residual variances differ no more than chance makes them.
    variance : ndarray, shape (m,)
        ``s0^2``: the same for each feature, unless there was a trend; NaN where the covariate is.
    df_of_most : float
        d0 of a feature that is not an outlier.
    raised : int
        Number of residual variances that were too near zero for a logarithm, and were raised.
    """

    df: np.ndarray
    variance: np.ndarray
    df_of_most: float
    raised: int


@dataclass(frozen=True)
class Moderated:
    """Posterior variances of features.

    Attributes
    ----------
    prior : Prior
    variance : ndarray, shape (m,)
        Posterior variance; NaN for a feature without a residual variance.
    df : ndarray, shape (m,)
        Its degrees of freedom, ``d + d0``, but no more than the residual degrees of freedom of all
        features together; NaN for the same features.
    """

    prior: Prior
    variance: np.ndarray
    df: np.ndarray


@dataclass(frozen=True)
class _Fit:
    """Prior of the features that have a residual variance, shape (k,)."""

    df: np.ndarray  # (k,)
    variance: np.ndarray  # (m,): of all features where `trend` is not robust, (k,) otherwise
    df_of_most: float
    raised: int


def moderate(
    s2: np.ndarray, d: float, *, trend: np.ndarray | None = None, robust: bool = False
) -> Moderated:
    """Shrink residual variances towards a common value, or towards a trend.

    Parameters
    ----------
    s2 : ndarray, shape (m,)
        Residual variances. Features with NaN have no part in the prior and get NaN.
    d : float
        Their residual degrees of freedom, above 0.
    trend : ndarray, shape (m,), optional
        Mean log expression of each feature, on which the prior variance depends then, by a natural
        cubic spline. Features with NaN have no part in it and get NaN; infinite values count as 1
        beyond the finite ones.
    robust : bool
        Whether a few hypervariable features are kept from determining the prior, and are shrunk
        less.

    Returns
    -------
    Moderated

    Raises
    ------
    InputError
        If no feature has a residual variance, or if most variances are zero with `robust`.
    """
    s2 = np.asarray(s2, np.float64)
    prior = fit_prior(s2, d, trend=trend, robust=robust)
    with np.errstate(invalid="ignore"):
        variance = (d * s2 + prior.df * prior.variance) / (d + prior.df)
    variance = np.where(np.isinf(prior.df), prior.variance, variance)
    known = ~np.isnan(s2)
    variance[~known] = np.nan
    total = np.where(known, np.minimum(d + prior.df, d * known.sum()), np.nan)
    return Moderated(prior, variance, total)


def fit_prior(
    s2: np.ndarray, d: float, *, trend: np.ndarray | None = None, robust: bool = False
) -> Prior:
    """Find the prior degrees of freedom and variance; parameters and errors as of `moderate`."""
    s2 = np.asarray(s2, np.float64)
    used = np.isfinite(s2) & (s2 > -1e-15)
    if trend is not None:
        trend = np.asarray(trend, np.float64)
        used &= ~np.isnan(trend)
        trend = _finite(trend)
    k = int(used.sum())
    if not k:
        raise InputError(
            "no feature has a residual variance: each sample is fitted exactly",
            hint="use fewer covariates, or more samples",
        )
    if k == 1:  # nothing to shrink to
        return Prior(np.zeros(len(s2)), np.full(len(s2), s2[used][0]), 0.0, 0)
    x = np.maximum(s2[used], 0)
    if robust and k > 2:
        fit = _fit_robust(x, d, None if trend is None else trend[used])
    else:
        fit = _fit(x, d, trend, used)
    df = np.full(len(s2), fit.df_of_most)
    df[used] = fit.df
    variance = fit.variance
    if len(variance) < len(s2):
        variance = np.full(len(s2), fit.variance[0])
        if trend is not None:
            variance = np.exp(_interpolated(trend, trend[used], np.log(fit.variance)))
            variance[np.isnan(trend)] = np.nan
        variance[used] = fit.variance
    return Prior(df, variance, fit.df_of_most, fit.raised)


def trigamma_inverse(x: float) -> float:
    """Return y with ``trigamma(y) = x > 0``, by Newton's method (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    # beyond these the first term of the expansion is all that is used, as limma does
    if x > 1e7:
        return float(1 / np.sqrt(x))
    if x < 1e-6:
        return 1 / x
    y = 0.5 + 1 / x
    for _ in range(50):  # 1 / trigamma is nearly linear, and convex: the steps are monotone
        value = float(polygamma(1, y))
        step = value * (1 - value / x) / float(polygamma(2, y))
        y += step
        if -step / y < 1e-8:
            break
    return y


def _finite(covariate: np.ndarray) -> np.ndarray:
    """Return a covariate whose infinite values are 1 beyond the finite ones."""
    finite = covariate[np.isfinite(covariate)]
    if not len(finite):
        return np.sign(covariate)
    return np.nan_to_num(covariate, nan=np.nan, posinf=finite.max() + 1, neginf=finite.min() - 1)


def _fit(x: np.ndarray, d: float, trend: np.ndarray | None, used: np.ndarray) -> _Fit:
    """Find the prior by the first two moments of log variances (Smyth 2004, section 6.2).

    Parameters
    ----------
    x : ndarray, shape (k,)
        Variances of 0 or more.
    d : float
        Their degrees of freedom.
    trend : ndarray, shape (m,), optional
        Of all features.
    used : ndarray of bool, shape (m,)
        The k features.
    """
    from scipy.special import digamma, polygamma

    k = len(x)
    columns = 1 + (k >= 3) + (k >= 6) + (k >= 30)
    if trend is not None:
        columns = min(columns, len(np.unique(trend[used])))
    middle = float(np.median(x)) or 1.0
    least = 1e-5 * middle
    raised = int((x < least).sum())
    x = np.maximum(x, least)
    e = np.log(x) - digamma(d / 2) + np.log(d / 2)  # its mean is a function of s0^2 and d0 alone
    if trend is None or columns < 2:
        mean = np.full(len(used), e.mean())
        spread = float(((e - mean[0]) ** 2).sum() / (k - 1))
    else:
        basis = _natural_splines(trend, trend[used], columns)
        coefficients, _, rank, _ = np.linalg.lstsq(basis[used], e, rcond=1e-7)
        mean = basis @ coefficients
        spread = float(((e - mean[used]) ** 2).sum() / (k - rank)) if k > rank else 0.0
    excess = spread - float(polygamma(1, d / 2))  # trigamma(d0 / 2)
    if excess > 0:
        df = 2 * trigamma_inverse(excess)
        variance = np.exp(mean + digamma(df / 2) - np.log(df / 2))
    else:
        df = np.inf
        flat = trend is None or columns < 2
        variance = np.full(len(used), x.mean()) if flat else np.exp(mean)
    return _Fit(np.full(k, df), variance, df, raised)


def _natural_splines(x: np.ndarray, known: np.ndarray, columns: int) -> np.ndarray:
    """Return a basis of natural cubic splines at x, shape (m, columns).

    Their knots are the range of the known values and quantiles between, all finite; beyond the
    range they go on as straight lines. Cubic B-splines, less the two combinations that have a
    second derivative at the ends.
    """
    from scipy.interpolate import BSpline

    inner = np.quantile(known, np.linspace(0, 1, columns)[1:-1])
    lo, hi = float(known.min()), float(known.max())
    knots = np.sort(np.concatenate([[lo] * 4, inner, [hi] * 4]))
    splines = BSpline(knots, np.eye(len(knots) - 4), 3)
    ends = splines(np.array([lo, hi]), nu=2)  # (2, columns + 2)
    natural = np.linalg.qr(ends.T, mode="complete")[0][:, 2:]
    inside = np.clip(x, lo, hi)
    slopes = splines(inside, nu=1)
    return np.asarray((splines(inside) + (x - inside)[:, None] * slopes) @ natural)


def _interpolated(x: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate between known points; of those with the same x, the mean value counts."""
    at, back, times = np.unique(known, return_inverse=True, return_counts=True)
    return np.interp(x, at, np.bincount(back, values) / times)


def _fit_robust(x: np.ndarray, d: float, trend: np.ndarray | None) -> _Fit:
    """Find the prior by moments of winsorized log variances (Phipson et al. 2016, section 3).

    Parameters
    ----------
    x : ndarray, shape (k,)
        Variances of 0 or more, k > 2.
    d : float
        Their degrees of freedom.
    trend : ndarray, shape (k,), optional
    """
    from scipy.optimize import brentq

    k, lower, upper = len(x), *TAILS
    middle = float(np.median(x))
    if middle <= 0:
        raise InputError(
            "most residual variances are 0: a robust prior cannot be fitted",
            hint="leave features out that do not vary, or do without robust",
        )
    raised = int((x < 1e-12 * middle).sum())
    x = np.maximum(x, 1e-12 * middle)
    plain = replace(_fit(x, d, trend, np.ones(k, bool)), raised=raised)
    if max(TAILS) < 1 / k:
        return plain
    z = np.log(x)
    if trend is None:
        cut = int(k * upper)
        level = np.full(k, np.sort(z)[cut : k - cut].mean())
    else:
        level = lowess(trend, z, span=0.4)
    residual = z - level
    kept = np.clip(residual, *np.quantile(residual, [lower, 1 - upper]))
    mean, variance = float(kept.mean()), float(kept.var(ddof=1))
    moments = _winsorized_moments(d)
    expected, at_infinity = moments(np.inf)
    log_ratio = float(np.log(variance / at_infinity)) if variance > 0 else -np.inf
    if log_ratio <= 0:
        center = level + mean - expected
        return _Fit(_infinite_df(z - center, d), np.exp(center), np.inf, raised)
    df = plain.df_of_most
    if df == np.inf:
        return plain

    def too_large(share: float) -> float:
        """Return the log ratio of the observed variance to that for ``d0 / (1 + d0)``."""
        return (
            log_ratio if share == 1 else float(np.log(variance / moments(share / (1 - share))[1]))
        )

    start = df / (1 + df)
    if too_large(start) < 0:
        share = float(brentq(too_large, start, 1.0, xtol=1e-15, rtol=4 * EPS))
        df = share / (1 - share)
    center = level + mean - moments(df)[0]
    return _Fit(_outlier_df(z - center, d, df), np.exp(center), df, raised)


def _winsorized_moments(d: float) -> Callable[[float], tuple[float, float]]:
    """Return the function of d0 that gives the mean and variance of ``log F``, winsorized.

    F has d and d0 degrees of freedom. The integral between the quantiles is that of Gauss and
    Legendre in ``F / (1 + F)``.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    nodes, weights = (nodes + 1) / 2, weights / 2
    probabilities = np.array(TAILS)
    lower, upper = np.log(probabilities)[:, None]

    def moments(df: float) -> tuple[float, float]:
        ends = np.concatenate([_quantile(lower, d, df, lower=True), _quantile(upper, d, df)])
        first, last = ends / (1 + ends)
        share = first + (last - first) * nodes
        f = share / (1 - share)
        density = np.exp(_log_density(f, d, df)) / (1 - share) ** 2 * weights * (last - first)
        z, atoms = np.log(f), np.log(ends)
        mean = float(density @ z + probabilities @ atoms)
        return mean, float(density @ (z - mean) ** 2 + probabilities @ (atoms - mean) ** 2)

    return moments


def _infinite_df(z: np.ndarray, d: float) -> np.ndarray:
    """Return d0 of each feature where that of most is infinite, from centered log variances.

    A feature that is an outlier gets the share of the pooled degrees of freedom that it is
    probably none.
    """
    k = len(z)
    tail = np.exp(_log_tail(np.exp(z), d, np.inf))
    usual = np.minimum(tail / _empirical_tail(z), 1)
    df = np.full(k, np.inf)
    outliers = usual < 1
    if outliers.any():
        df[outliers] = usual[outliers] * k * d
        order = np.argsort(tail, kind="stable")
        df[order] = np.maximum.accumulate(df[order])
    return df


def _outlier_df(z: np.ndarray, d: float, most: float) -> np.ndarray:
    """Return d0 of each feature from centered log variances (Phipson et al. 2016, section 4)."""
    k = len(z)
    tail = _log_tail(np.exp(z), d, most)
    usual = np.minimum(tail - np.log(_empirical_tail(z)), 0)
    if not (usual < 0).any():
        return np.full(k, most)
    least = float(tail.min())
    # d0 of an outlier gives the largest variance a tail probability of about 1/2
    of_outlier = np.log(0.5) / least * most
    again = float(_log_tail(np.exp(z.max(keepdims=True)), d, of_outlier)[0])
    of_outlier *= np.log(0.5) / again
    df = np.exp(usual) * most - np.expm1(usual) * of_outlier
    order = np.argsort(tail, kind="stable")
    ordered = df[order]
    # d0 falls with the variance: the most extreme features share their smallest running mean
    means = ordered.cumsum() / np.arange(1, k + 1)
    smallest = int(means.argmin())
    ordered[: smallest + 1] = means[smallest]
    df[order] = np.maximum.accumulate(ordered)
    return df


def _empirical_tail(z: np.ndarray) -> np.ndarray:
    """Return the part of values that are larger, counting half of the value itself."""
    from scipy.stats import rankdata

    return np.asarray((len(z) - rankdata(z) + 0.5) / len(z))


def _log_density(f: np.ndarray, d: float, df: float) -> np.ndarray:
    """Return the log density of F with d and d0 degrees of freedom, d0 infinite or not."""
    from scipy.special import betaln, gammaln

    a, b = d / 2, df / 2
    if df == np.inf:
        return np.asarray(a * np.log(a) + (a - 1) * np.log(f) - a * f - gammaln(a))
    density = a * np.log(d / df) + (a - 1) * np.log(f) - (a + b) * np.log1p(d / df * f)
    return np.asarray(density - betaln(a, b))


def _log_tail(f: np.ndarray, d: float | np.ndarray, df: float) -> np.ndarray:
    """Return the log probability that F with d and d0 degrees of freedom is at least f.

    Shape (k,); d0 may be infinite. Probabilities below `_LEAST` are taken for it: such a variance
    is an outlier, whatever its probability is.
    """
    from scipy import special

    f = np.asarray(f, np.float64)
    a, b = np.broadcast_to(np.asarray(d, np.float64) / 2, f.shape), df / 2
    p = special.gammaincc(a, a * f) if df == np.inf else special.betainc(b, a, b / (b + a * f))
    return np.asarray(np.log(np.maximum(p, _LEAST)))


def _quantile(log_p: np.ndarray, d: float, df: float, *, lower: bool = False) -> np.ndarray:
    """Return the f of which `_log_tail` is a given log probability, shape (k,).

    With `lower`, of which the probability of at most f is.
    """
    from scipy import special

    a, b, p = d / 2, df / 2, np.exp(log_p)
    if df == np.inf:
        return np.asarray((special.gammaincinv if lower else special.gammainccinv)(a, p) / a)
    # ``d F / (d F + d0)`` and one minus that, each by itself so that both have all digits
    if lower:
        share, rest = special.betaincinv(a, b, p), special.betainccinv(b, a, p)
    else:
        share, rest = special.betainccinv(a, b, p), special.betaincinv(b, a, p)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.minimum(b * share / (a * rest), _LARGEST))
