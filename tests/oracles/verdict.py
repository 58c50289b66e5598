"""A slow, obvious twin of the corrected resampled t interval."""

from __future__ import annotations

from math import exp, lgamma, pi, sqrt


def t_density(x: float, df: int) -> float:
    """The density of the t distribution."""
    scale = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)
    return scale * (1 + x * x / df) ** (-(df + 1) / 2)


def t_upper(x: float, df: int, steps: int = 20_000) -> float:
    """The probability of more than x, 0 or more: a half less the integral, by Simpson's rule."""
    h = x / steps
    inner = sum((4 if i % 2 else 2) * t_density(i * h, df) for i in range(1, steps))
    return 0.5 - h / 3 * (t_density(0, df) + inner + t_density(x, df))


def interval(
    values: list[float], test: int, train: int, quantile: float
) -> tuple[float, float, float, float]:
    """The mean, the limits at so many standard errors, and the two-sided p-value of mean 0."""
    J = len(values)
    mean = sum(values) / J
    variance = sum((value - mean) ** 2 for value in values) / (J - 1)
    error = sqrt((1 / J + test / train) * variance)
    p = 2 * t_upper(abs(mean) / error, J - 1)
    return mean, mean - quantile * error, mean + quantile * error, p
