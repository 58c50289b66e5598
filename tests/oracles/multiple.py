"""A slow, obvious twin of the combination of p-values."""

from __future__ import annotations

from math import atan, pi, tan


def cauchy(p: list[float], w: list[float]) -> float:
    """The definition, for p-values that are not near 0 or 1."""
    total = sum(weight * tan((0.5 - each) * pi) for each, weight in zip(p, w)) / sum(w)
    return 0.5 - atan(total) / pi
