"""q-values: p-values adjusted so that a cut controls the false discovery rate.

Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate: a practical and powerful
approach to multiple testing", J. R. Stat. Soc. B 57, 1995; Y. Benjamini and D. Yekutieli, "The
control of the false discovery rate in multiple testing under dependency", Ann. Stat. 29, 2001;
J. D. Storey, "A direct approach to false discovery rates", J. R. Stat. Soc. B 64, 2002.
"""

from __future__ import annotations

import numpy as np

LAMBDAS = np.arange(1, 20) / 20
"""Levels 0.05, 0.10, .., 0.95 above which p-values are taken for those of null features."""


def q_values(p: np.ndarray) -> np.ndarray:
    """Return the q-values of Benjamini and Hochberg for p-values, shape (m,); NaN for NaN.

    ``q_(i) = min_{j >= i} p_(j) m / j``. The false discovery rate is controlled where tests are
    independent, or depend on each other positively.
    """
    # not by scipy.stats, which takes longer to import than a typical matrix to rank
    q = np.full(len(p), np.nan)
    order = np.argsort(p)  # in any order of equal ones, which get one q-value
    order = order[: np.count_nonzero(~np.isnan(p))]  # NaN comes last
    steps = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return q


def q_values_under_dependence(p: np.ndarray) -> np.ndarray:
    """Return the q-values of Benjamini and Yekutieli for p-values, shape (m,); NaN for NaN.

    They are those of Benjamini and Hochberg times ``1 + 1/2 + .. + 1/m``, up to 1, and control the
    false discovery rate however the tests depend on each other.
    """
    m = int(np.count_nonzero(~np.isnan(p)))
    return np.minimum(q_values(p) * (1 / np.arange(1, m + 1)).sum(), 1)


def storey_q_values(p: np.ndarray, pi0: float | None = None) -> np.ndarray:
    """Return the q-values of Storey for p-values, shape (m,); NaN for NaN.

    They are those of Benjamini and Hochberg times the share of null features, `pi0`, which is that
    of `null_share` if it is not given. They control the false discovery rate of many tests that are
    independent, or depend on each other weakly.
    """
    return q_values(p) * (null_share(p) if pi0 is None else pi0)


def null_share(p: np.ndarray) -> float:
    """Estimate the share of null features among p-values, shape (m,); NaN is left out.

    Above a level lambda nearly all p-values are those of null features, which are uniform, so that
    W of them above it make an estimate of ``W / (m (1 - lambda))``. Of the levels 0.05, 0.10, ..,
    0.95 the one is taken at which its mean squared error is the smallest as by the bootstrap. That
    has a closed form: the variance ``W (1 - W / m) / (m (1 - lambda))^2``, and the squared distance
    to the 0.1 quantile of the estimates of all levels (as in version 2 of the R package qvalue).
    The share is

    ``min(1, (W + 1) / (m (1 - lambda)))``

    at this level; of levels with equal errors, the smallest. The one more is of J. D. Storey, J. E.
    Taylor and D. Siegmund, J. R. Stat. Soc. B 66, 2004: at a fixed level the false discovery rate
    of independent tests is controlled, however few they are. Without it, as in qvalue, few p-values
    of which none is large would have a share of 0, and every feature would be a discovery. The
    level is chosen by the p-values, though, so the rate of few tests may be somewhat larger than
    promised: of 10 null features 0.08 in place of 0.05, of 300 0.055.

    It is 1 where there is no p-value.
    """
    p = np.sort(p[~np.isnan(p)])
    m = len(p)
    if not m:
        return 1.0
    above = m - np.searchsorted(p, LAMBDAS, side="left")
    shares = above / (m * (1 - LAMBDAS))
    variance = above * (1 - above / m) / (m * (1 - LAMBDAS)) ** 2
    error = variance + (shares - np.quantile(shares, 0.1)) ** 2
    one_more = (above + 1) / (m * (1 - LAMBDAS))
    return float(min(one_more[error == error.min()].min(), 1))


ADJUSTED = {"bh": q_values, "by": q_values_under_dependence, "storey": storey_q_values}
"""What makes q-values, by the values of ``--fdr-method``."""
