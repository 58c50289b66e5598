"""Slow, obvious twins of survival models: loops over events and over pairs of samples."""

from __future__ import annotations

from typing import Any

import numpy as np


def steps(
    time: np.ndarray, event: np.ndarray, strata: np.ndarray
) -> list[tuple[list[int], np.ndarray]]:
    """Of each event: the events at its time, and the weight of every sample at risk, (n,)."""
    found = []
    for s, t in sorted({(strata[i], time[i]) for i in range(len(time)) if event[i]}):
        risk = (strata == s) & (time >= t)
        dead = risk & (time == t) & (event == 1)
        d = int(dead.sum())
        at = np.flatnonzero(dead).tolist()
        found += [(at, risk * 1.0 - left / d * dead) for left in range(d)]
    return found


def derivatives(
    time: np.ndarray,
    event: np.ndarray,
    X: np.ndarray,
    beta: np.ndarray,
    strata: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The log partial likelihood of X (n, q), its gradient and information, martingale residuals.

    The hazard of a sample is summed over the events with the weights with which it is at risk.
    """
    theta = np.exp(X @ beta)
    residuals = event.astype(float)
    value, gradient, information = 0.0, np.zeros(X.shape[1]), np.zeros((X.shape[1],) * 2)
    for i in np.flatnonzero(event):
        value += X[i] @ beta
        gradient += X[i]
    for _, weight in steps(time, event, strata):
        w = weight * theta
        mean = w @ X / w.sum()
        value -= np.log(w.sum())
        gradient -= mean
        information += (X - mean).T @ ((X - mean) * w[:, None]) / w.sum()
        residuals -= w / w.sum()
    return float(value), gradient, information, residuals


def fit(*data: Any) -> np.ndarray:
    """The coefficients of (time, event, X, strata) by Newton's method from 0."""
    time, event, X, strata = data
    beta = np.zeros(X.shape[1])
    for _ in range(30):
        _, gradient, information, _ = derivatives(time, event, X, beta, strata)
        beta = beta + np.linalg.solve(information, gradient) if len(beta) else beta
    return beta


def score_test(
    time: np.ndarray,
    event: np.ndarray,
    f: np.ndarray,
    Z: np.ndarray,
    strata: np.ndarray,
) -> tuple[float, float]:
    """``U' I^-1 U`` of covariates and feature at the fit without the feature; the step there."""
    beta = np.append(fit(time, event, Z, strata), 0.0)
    both = np.column_stack([Z, f])
    _, gradient, information, _ = derivatives(time, event, both, beta, strata)
    step = np.linalg.solve(information, gradient)
    return float(gradient @ step), float(step[-1])


def concordance(time: np.ndarray, event: np.ndarray, risk: np.ndarray, strata: np.ndarray) -> float:
    """The share of pairs in the order of the events."""
    agree, pairs = 0.0, 0
    for i in range(len(time)):
        for j in range(len(time)):
            later = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if i != j and event[i] and later and strata[i] == strata[j]:
                pairs += 1
                agree += (risk[i] > risk[j]) + (risk[i] == risk[j]) / 2
    return agree / pairs
