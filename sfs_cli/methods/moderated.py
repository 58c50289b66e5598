"""Moderated variances: the residual variance of each feature, shrunk towards that of all features.

With few samples a residual variance is uncertain, and features that vary little by chance alone get
the largest t-statistics. Empirical Bayes takes the true variances for draws from a scaled inverse
chi-square distribution, ``1 / sigma^2 ~ chi^2_{d0} / (d0 s0^2)``, and finds ``d0`` and ``s0^2``
from the residual variances ``s^2`` of all features, which then have the distribution
``s^2 ~ s0^2 F_{d, d0}``. The posterior variance is ``(d0 s0^2 + d s^2) / (d0 + d)``, with
``d0 + d`` degrees of freedom.

G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments", Stat. Appl. Genet. Mol. Biol. 3, 2004, section 6.2 (the moments of
``log s^2``). The numbers are those of ``squeezeVar`` and ``eBayes`` of limma 3.54.1; since 3.62
these are under ``legacy=TRUE``, for newer ones treat unequal degrees of freedom in another way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.errors import InputError


@dataclass(frozen=True)
class Prior:
    """The distribution of the true variances.

    Attributes
    ----------
    df : float
        Degrees of freedom d0: how many residual degrees of freedom the prior is worth. Infinite if
        the residual variances differ no more than chance makes them.
    variance : ndarray, shape (m,)
        ``s0^2``: the same for each feature, unless there was a trend; NaN where the covariate is.
    raised : int
        Number of residual variances that were too near zero for a logarithm, and were raised.
    """

    df: float
    variance: np.ndarray
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


def moderate(s2: np.ndarray, d: float, *, trend: np.ndarray | None = None) -> Moderated:
    """Shrink residual variances towards a common value, or towards a trend.

    Parameters
    ----------
    s2 : ndarray, shape (m,)
        Residual variances. Features with NaN have no part in the prior and get NaN.
    d : float
        Their residual degrees of freedom, above 0.
    trend : ndarray, shape (m,), optional
        Mean log expression of each feature, on which the prior variance depends then, by a natural
        cubic spline. Features with NaN have no part in it and get NaN.

    Returns
    -------
    Moderated

    Raises
    ------
    InputError
        If no feature has a residual variance.
    """
    prior = fit_prior(s2, d, trend=trend)
    variance = prior.variance.copy()
    if np.isfinite(prior.df):
        variance = (d * s2 + prior.df * variance) / (d + prior.df)
    known = ~np.isnan(s2)
    variance[~known] = np.nan
    total = np.where(known, min(d + prior.df, d * known.sum()), np.nan)
    return Moderated(prior, variance, total)


def fit_prior(s2: np.ndarray, d: float, *, trend: np.ndarray | None = None) -> Prior:
    """Find the prior degrees of freedom and variance; parameters and errors as of `moderate`."""
    used = np.isfinite(s2) & (s2 > -1e-15)
    if trend is not None:
        used &= ~np.isnan(trend)
    k = int(used.sum())
    if not k:
        raise InputError(
            "no feature has a residual variance: each sample is fitted exactly",
            hint="use fewer covariates, or more samples",
        )
    if k == 1:  # nothing to shrink to
        return Prior(0.0, np.full(len(s2), s2[used][0]), 0)
    return _fit(np.maximum(s2[used], 0), d, trend, used)


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


def _fit(x: np.ndarray, d: float, trend: np.ndarray | None, used: np.ndarray) -> Prior:
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
    return Prior(df, variance, raised)


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
