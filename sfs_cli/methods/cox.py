"""Cox's proportional hazards: the score test of each feature beside covariates, in one pass.

D. R. Cox, "Regression models and life-tables", J. R. Stat. Soc. B 34, 1972; B. Efron, "The
efficiency of Cox's likelihood function for censored data", J. Am. Stat. Assoc. 72, 1977, for equal
times; T. M. Therneau, P. M. Grambsch and T. R. Fleming, "Martingale-based residuals for survival
models", Biometrika 77, 1990.

The model without features is fitted once. What it says of each feature then takes a few sums over
the samples, so no feature needs a fit of its own.

Every event is one *step*. With the relative hazards ``theta_i = exp(x_i beta)`` of the covariates,
and the d samples D with an event at the same time out of those at risk R,

``S0_l = sum_R theta - l / d sum_D theta``, ``l = 0..d-1``

by Efron. Weighted sums ``S1_l`` of a feature are made in the same way. The log partial likelihood
is ``sum_D x beta - sum_l log S0_l`` over all times.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.errors import InputError
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.kernel import by_pieces, center
from sfs_cli.ranking.false_discovery import q_values

ITERATIONS = 50
"""Steps of Newton's method at most; it takes fewer than ten where there is a maximum."""
CONVERGED = 1e-16
"""Newton decrement ``U' I^-1 U`` at which the last step is made."""
DEPENDENT = 1e-9
"""Part of the largest information below which a combination of covariates has none."""
EXPLAINED = 1e-10
"""Part of the information on a feature up to which what covariates leave of it is rounding."""


class RiskSets:
    """Who is at risk at each event, and sums over them.

    Samples are in an order of their own: by stratum, then from the latest time to the earliest, and
    with events first where times are equal. The samples at risk at a time are those of the stratum
    up to the last one of that time.

    Parameters
    ----------
    time : ndarray, shape (n,)
        Time of the event, or until which none was seen.
    event : ndarray of bool, shape (n,)
        Whether there was an event; one at least.
    strata : ndarray of int, shape (n,)
        Only samples of the same stratum are compared.

    Attributes
    ----------
    order : ndarray of int, shape (n,)
        The samples in their order here.
    event : ndarray of float, shape (n,)
        1 for an event; this and all samples below are in this order.
    strata : list of (int, int)
        The first sample of each stratum, and the one behind its last.
    group, share : ndarray, shape (s,)
        Of each step: its time, counted from 0 among those with events, and the part ``l / d`` of
        the events that is left out.
    """

    def __init__(self, time: np.ndarray, event: np.ndarray, strata: np.ndarray) -> None:
        n = len(time)
        self.order = np.lexsort((~event, -time, strata))
        t, s, happened = time[self.order], strata[self.order], event[self.order]
        self.event = happened.astype(np.float64)
        new_stratum = np.append(True, s[1:] != s[:-1])
        bounds = np.append(np.flatnonzero(new_stratum), n).tolist()
        self.strata = list(pairwise(bounds))
        starts = np.flatnonzero(new_stratum | np.append(True, t[1:] != t[:-1]))
        deaths = np.add.reduceat(happened.astype(np.int64), starts)
        self.ends = np.append(starts[1:], n)[deaths > 0]  # of times with events
        d = deaths[deaths > 0]
        self.event_at = np.flatnonzero(happened)
        self.group, self.first = np.repeat(np.arange(len(d)), d), np.cumsum(d) - d
        self.share = (np.arange(len(self.group)) - self.first[self.group]) / d[self.group]
        self.tied = bool(self.share.any())
        # the latest time with an event at which each sample is at risk, and of each stratum
        self.latest = np.searchsorted(self.ends, np.arange(n), side="right")
        self.times_of_strata = np.searchsorted(self.ends, bounds, side="right")
        in_stratum = self.times_of_strata[np.cumsum(new_stratum)]
        self.at_risk = self.latest < in_stratum  # of any event

    def sums(self, x: np.ndarray) -> np.ndarray:
        """Sum x (..., n) over the samples at risk of each step, shape (..., s)."""
        running = np.empty_like(x)
        for low, high in self.strata:
            np.cumsum(x[..., low:high], axis=-1, out=running[..., low:high])
        total = running[..., self.ends - 1][..., self.group]
        if self.tied:
            out = np.add.reduceat(x[..., self.event_at], self.first, axis=-1)
            total -= self.share * out[..., self.group]
        return total

    def spread(self, v: np.ndarray) -> np.ndarray:
        """Sum v (..., s) over the steps at which each sample is at risk, shape (..., n).

        It is the transpose of `sums`.
        """
        of_time = np.add.reduceat(v, self.first, axis=-1)
        for low, high in pairwise(self.times_of_strata.tolist()):
            backwards = of_time[..., low:high][..., ::-1]
            of_time[..., low:high] = np.cumsum(backwards, axis=-1)[..., ::-1]
        found = np.zeros((*v.shape[:-1], len(self.order)))
        found[..., self.at_risk] = of_time[..., self.latest[self.at_risk]]
        if self.tied:
            out = np.add.reduceat(v * self.share, self.first, axis=-1)
            found[..., self.event_at] -= out[..., self.group]
        return found


class Fit(NamedTuple):
    """The likelihood at some coefficients, and its derivatives; samples in the order of `RiskSets`.

    Attributes
    ----------
    log_likelihood : float
        The log partial likelihood.
    theta, expected : ndarray, shape (n,)
        Relative hazards, 0 for samples that are at risk of no event, and the expected number of
        events.
    s0 : ndarray, shape (s,)
        Sum of the relative hazards of each step.
    means : ndarray, shape (q, s)
        ``S1 / S0``.
    gradient, information : ndarray, shapes (q,) and (q, q)
        Of the likelihood.
    """

    log_likelihood: float
    theta: np.ndarray
    s0: np.ndarray
    expected: np.ndarray
    means: np.ndarray
    gradient: np.ndarray
    information: np.ndarray


@dataclass(frozen=True)
class CoxModel:
    """A proportional hazards model of covariates, without features.

    Attributes
    ----------
    coefficients : ndarray, shape (q,)
        beta: log hazard ratio for each unit of a covariate. Of dependent ones, those with the
        smallest norm where each covariate has a standard deviation of 1.
    residuals : ndarray, shape (n,)
        Martingale residuals: 1 for an event, less the number of events that the model expects of
        the sample; their sum is 0 in every stratum. In the order of the samples.
    events : int
        Number of events.
    risk : RiskSets
        Who is at risk when.
    fit : Fit
        The maximum of the likelihood.
    shared : ndarray, shape (q', n)
        The squared products of a feature with these rows, in the order of `risk`, add up to the
        information on it that the covariates share, ``I_fc I_cc^-1 I_cf``.
    """

    coefficients: np.ndarray
    residuals: np.ndarray
    events: int
    risk: RiskSets
    fit: Fit
    shared: np.ndarray


def _evaluate(risk: RiskSets, Z: np.ndarray, beta: np.ndarray) -> Fit:
    """Evaluate the log partial likelihood of covariates Z (q, n), in the order of `risk`."""
    eta = beta @ Z
    at_risk = risk.at_risk
    top = eta[at_risk].max()  # it cancels, and nothing overflows
    theta = np.where(at_risk, np.exp(np.minimum(eta - top, 0)), 0)
    s0 = risk.sums(theta)
    with np.errstate(all="ignore"):  # of far too large steps, which are halved
        likelihood = float(risk.event @ (eta - top) - np.log(s0).sum())
        expected = theta * risk.spread(1 / s0)
        means = risk.sums(Z * theta) / s0
        gradient = Z @ (risk.event - expected)
        information = (Z * expected) @ Z.T - means @ means.T
    return Fit(likelihood, theta, s0, expected, means, gradient, information)


def _inverse_root(information: np.ndarray, least: float) -> np.ndarray:
    """Return A (q', q) with ``A' A`` the inverse on eigenvectors of eigenvalues above `least`."""
    values, vectors = np.linalg.eigh(information)
    kept = values > least
    return (vectors[:, kept] / np.sqrt(values[kept])).T


def fit_cox(
    time: np.ndarray,
    event: np.ndarray,
    covariates: np.ndarray | None = None,
    strata: np.ndarray | None = None,
) -> CoxModel:
    """Fit a proportional hazards model of covariates by Newton's method.

    Parameters
    ----------
    time : ndarray, shape (n,)
        Time of the event, or until which none was seen, in any unit: only the order matters.
    event : ndarray, shape (n,)
        1 or True for an event, 0 or False for a sample that was censored. One that was censored at
        the time of an event is at risk of it.
    covariates : ndarray, shape (n, q), optional
        Known columns; none by default. One that the others or the strata determine adds nothing.
    strata : ndarray of int, shape (n,), optional
        Groups with a baseline hazard each; one by default.

    Raises
    ------
    InputError
        When there is no event, or the likelihood has no maximum because covariates tell who has an
        event first.
    """
    time = np.asarray(time, np.float64)
    n = len(time)
    Z = np.empty((n, 0)) if covariates is None else np.asarray(covariates, np.float64)
    groups = np.zeros(n, np.int64) if strata is None else np.asarray(strata)
    happened = np.asarray(event, bool)
    if not happened.any():
        raise InputError(
            f"there is no event: all {n:,} samples were censored",
            hint="check which column holds the events",
        )
    risk = RiskSets(time, happened, groups)

    moved = Z - Z[:1]  # a constant covariate becomes exactly 0
    moved -= moved.mean(axis=0)
    scale = np.sqrt((moved * moved).mean(axis=0))
    scale[scale == 0] = 1
    X = np.ascontiguousarray((moved / scale).T)[:, risk.order]
    for low, high in risk.strata:  # a number added to a stratum changes nothing
        X[:, low:high] -= X[:, low:high].mean(axis=1, keepdims=True)
    # what is left of one that the strata determine is rounding
    X[np.vecdot(X, X) <= n * DEPENDENT**2] = 0

    beta = np.zeros(len(X))
    fit = _evaluate(risk, X, beta)
    least = DEPENDENT * float(np.linalg.eigvalsh(fit.information).max(initial=0))
    rank = len(_inverse_root(fit.information, least))
    decrement, iterations = (np.inf if rank else 0.0), 0
    while decrement > CONVERGED:
        root = _inverse_root(fit.information, least)
        if len(root) < rank or iterations == ITERATIONS:
            raise InputError(
                "the proportional hazards model of the covariates has no finite coefficients",
                hint="does a covariate tell which samples have an event first? leave it out",
                option="adjust",
            )
        step = root.T @ (root @ fit.gradient)
        decrement = float(fit.gradient @ step)
        after = _evaluate(risk, X, beta + step)
        slack = 1e-12 * abs(fit.log_likelihood)
        while not after.log_likelihood >= fit.log_likelihood - slack and np.abs(step).max() > 1e-12:
            step /= 2
            after = _evaluate(risk, X, beta + step)
        beta, fit, iterations = beta + step, after, iterations + 1

    root = _inverse_root(fit.information, least)
    # what a feature shares with covariates is linear in it
    cross = X * fit.expected - fit.theta * risk.spread(fit.means / fit.s0)
    residuals = np.empty(n)
    residuals[risk.order] = risk.event - fit.expected
    return CoxModel(
        coefficients=beta / scale,
        residuals=residuals,
        events=int(happened.sum()),
        risk=risk,
        fit=fit,
        shared=root @ cross,
    )


class CoxScorer(Scorer):
    """Score test of each feature in a proportional hazards model; larger is better.

    With the martingale residuals r and the information I of the model without the feature,

    ``chi^2 = U^2 / V``,  ``U = f r``,  ``V = I_ff - I_fc I_cc^-1 I_cf``,

    where c are the covariates. ``I_ff = sum_i e_i f_i^2 - sum_l (S1_l / S0_l)^2`` with the expected
    events e of the samples. Nothing is fitted for the feature; without equal times, covariates and
    strata it is the log-rank test of a feature of two values. Where the feature has no effect it
    follows the chi-square distribution with 1 degree of freedom in the limit of many events.

    Further columns are the p-value, the q-value (Benjamini and Hochberg, over the features that
    have a score) and ``log_hazard_ratio``, ``U / V``: the first step of Newton's method towards the
    coefficient of the feature, for each of its units, positive where larger values go with earlier
    events. It is near the coefficient where that is small.

    Parameters
    ----------
    model : CoxModel
        The model without features, of the same samples in the same order.
    """

    def __init__(self, model: CoxModel) -> None:
        super().__init__()
        self.model = model
        self.residuals = model.residuals[model.risk.order]
        self.starts = np.array([low for low, _ in model.risk.strata])
        self.sizes = np.diff(np.append(self.starts, len(self.residuals)))
        expected = model.fit.expected
        total = np.add.reduceat(expected, self.starts)
        safe = np.where(total > 0, total, 1)
        self.parts = expected / np.repeat(safe, self.sizes)
        self.facts |= {"events": model.events, "ties": "efron", "strata": len(self.starts)}

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score``, ``status`` and ``log_hazard_ratio``, each (b,); overwrites it."""
        return by_pieces(self._score, block)

    def _score(self, block: BlockLike) -> Arrays:
        risk, fit = self.model.risk, self.model.fit
        centered = center(block)
        status = centered.status
        x = np.take(centered.values, risk.order, axis=1)  # row by row, whatever rows are beside
        # a number added to a stratum changes nothing; around the mean no digits cancel
        x -= np.repeat(np.add.reduceat(x * self.parts, self.starts, axis=1), self.sizes, axis=1)
        x[:, ~risk.at_risk] = 0
        score_u = np.vecdot(x, self.residuals)
        diagonal = np.vecdot(x * x, fit.expected)
        means = risk.sums(x * fit.theta) / fit.s0
        information = diagonal - np.vecdot(means, means)
        left = information.copy()
        for row in self.model.shared:
            left -= np.vecdot(x, row) ** 2
        n = x.shape[1]
        # in every risk set the same, so that events cannot depend on it
        rounding = (n * EPS) ** 2 * centered.square * fit.expected.max()
        still = (information <= 8 * n * EPS * diagonal) | (diagonal <= rounding)
        explained = left <= EXPLAINED * information
        usable = status == Status.OK
        status[usable & explained] = Status.EXPLAINED
        why = Status.CONSTANT if len(self.starts) == 1 else Status.EXPLAINED
        status[usable & still] = why
        with np.errstate(all="ignore"):
            score = score_u * score_u / left
            slope = score_u / left / centered.scale
        for array in (score, slope):
            array[status != Status.OK] = np.nan
        return {"score": score, "status": status, "log_hazard_ratio": slope}

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return p-values, q-values and log hazard ratios of all features, each shape (m,)."""
        from scipy.special import erfc

        score, slope = found["score"], found["log_hazard_ratio"]
        p = np.asarray(erfc(np.sqrt(score / 2)))  # of chi-square with 1 degree, far into the tail
        self.facts["tested_features"] = int(np.count_nonzero(np.isfinite(score)))
        return {"p_value": p, "q_value": q_values(p), "log_hazard_ratio": slope}


def cox(problem: Problem) -> CoxScorer:
    """Return the score test of a problem with covariates in the null model, and blocks as strata.

    What a feature shares with covariates is subtracted by the information on it, so that features
    of which their linear effect was taken have the same scores and log hazard ratios.

    Raises
    ------
    InputError
        As for `fit_cox`.
    """
    labels, context = problem.labels, problem.context
    assert labels.survival is not None, "checked with the options"
    return CoxScorer(fit_cox(*labels.survival, context.basis.T, context.blocks))
