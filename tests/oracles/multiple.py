"""Slow, obvious twins of the combination of p-values and of q-values."""

from __future__ import annotations

from math import atan, pi, tan


def cauchy(p: list[float], w: list[float]) -> float:
    """The definition, for p-values that are not near 0 or 1."""
    total = sum(weight * tan((0.5 - each) * pi) for each, weight in zip(p, w)) / sum(w)
    return 0.5 - atan(total) / pi


def benjamini_yekutieli(p: list[float]) -> list[float]:
    """The least level at which each p-value is rejected: all pairs are compared."""
    m = len(p)
    harmonic = sum(1 / i for i in range(1, m + 1))
    found = []
    for each in p:
        cuts = [other for other in p if other >= each]
        found.append(min(1.0, *(cut * m * harmonic / sum(x <= cut for x in p) for cut in cuts)))
    return found


def storey_pi0(p: list[float]) -> float:
    """The estimates at all levels, and that of the smallest error."""
    m = len(p)
    levels = [i / 20 for i in range(1, 20)]
    above = [sum(each >= level for each in p) for level in levels]
    shares = [w / (m * (1 - level)) for w, level in zip(above, levels)]
    ordered = sorted(shares)
    at = 0.1 * (len(ordered) - 1)  # R's type 7, which NumPy has too
    low = ordered[int(at)] + (at - int(at)) * (ordered[int(at) + 1] - ordered[int(at)])
    errors = [
        w / (m * m * (1 - level) ** 2) * (1 - w / m) + (share - low) ** 2
        for w, level, share in zip(above, levels, shares)
    ]
    best = [i for i, error in enumerate(errors) if error == min(errors)]
    return min(1.0, *((above[i] + 1) / (m * (1 - levels[i])) for i in best))


def storey(p: list[float]) -> list[float]:
    """pi0 times the least expected share of null features of a cut that takes the feature."""
    m, pi0 = len(p), storey_pi0(p)
    return [min(pi0 * m * cut / sum(x <= cut for x in p) for cut in p if cut >= each) for each in p]
