"""Probabilities of quadratic forms by quadrature with 30 digits: makes ``ratio_values.tsv``.

``python -m tests.oracles.ratio_values`` writes the table again. It needs mpmath, which the tests do
not: they read the table. A row holds a pattern of eigenvalues of A, a threshold t, and the
probability that the sum of chi-squares with the coefficients of A - t I is at most 0. Where all
degrees of freedom are even it is a sum of residues, which are rational numbers, and the quadrature
is compared with it; where there are two coefficients, with the beta distribution.
"""

from __future__ import annotations

from fractions import Fraction
from math import cos, exp, pi, sin
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("ratio_values.tsv")
DIGITS = 30
THRESHOLDS = 20
"""Of each pattern; from one end of the ratio to the other in logits."""
FARTHEST = 7.0
GROUPS = "four groups of 500"
"""Three large coefficients against many small ones, which are alike."""
OF_GROUPS = 1.0, 4.8
"""The first and the last logit there: beyond them the quadrature would take hours."""


def patterns() -> dict[str, tuple[list[float], list[int]]]:
    """Eigenvalues of A of B = I, and how often each occurs."""
    ring = sorted({round(cos(2 * pi * j / 41), 6) for j in range(1, 41)})
    return {
        "two samples more than classes": ([0.0, 1.0], [1, 1]),
        "few": ([-0.5, 0.0, 1.0], [1, 2, 1]),
        "classes": ([0.0, 1.0], [24, 2]),
        "many classes": ([0.0, 1.0], [81, 9]),
        "a ring": (ring, [2] * len(ring)),
        "decay": ([round(0.7**j, 6) for j in range(30)], [1] * 30),
        "slow decay": ([round((j + 1) ** -0.5, 6) for j in range(60)], [1] * 60),
        "of both signs": (sorted(round(sin(j * j) ** 3, 6) for j in range(1, 36)), [1] * 35),
        "a large one": ([0.0, 0.01, 0.02, 0.03, 1.0], [20, 10, 6, 3, 1]),
        "nearly equal ones": ([0.4, 0.401, 0.402, 0.6, 0.601], [4, 2, 8, 6, 2]),
        GROUPS: ([0.0, 0.1, 0.18, 0.998, 0.9985, 0.999, 0.9995, 1.0], [1] * 3 + [100] * 4 + [95]),
    }


def thresholds(name: str, values: list[float]) -> list[float]:
    """Thresholds between the smallest and the largest eigenvalue, most of them in the middle."""
    low, high = min(values), max(values)
    first, last = OF_GROUPS if name == GROUPS else (-FARTHEST, FARTHEST)
    logits = [first + (last - first) * k / (THRESHOLDS - 1) for k in range(THRESHOLDS)]
    return [round(low + (high - low) / (1 + exp(-x)), 9) for x in logits]


def rows() -> list[tuple[str, float, list[float], list[int]]]:
    """The pattern, threshold, coefficients and degrees of freedom of each sum."""
    return [
        (name, t, [round(value - t, 9) for value in values], counts)
        for name, (values, counts) in patterns().items()
        for t in thresholds(name, values)
    ]


def stored() -> list[tuple[str, float, float]]:
    """The pattern, threshold and probability of each row of the table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split("\t") for line in lines]
    return [(name, float(t), float(probability)) for name, t, probability in cells]


def by_residues(values: list[float], counts: list[int]) -> Fraction:
    """``P(sum <= 0)`` of even degrees of freedom: less the residues of M(s) / s left of 0."""
    exact = [Fraction(str(value)) for value in values]
    total = Fraction(0)
    for value, count in zip(exact, counts):
        if value >= 0:
            continue
        pole, order = 1 / (2 * value), count // 2
        # around the pole: M(s) / s = (-2 value)^-order (s - pole)^-order times this series
        series = [Fraction(0)] * order
        series[0] = Fraction(1)
        factors = [(1 - 2 * pole * o, -2 * o, c // 2) for o, c in zip(exact, counts) if o != value]
        for constant, slope, power in [*factors, (pole, Fraction(1), 1)]:
            for _ in range(power):  # divided by constant + slope (s - pole)
                last = Fraction(0)
                for k in range(order):
                    series[k] = last = (series[k] - slope * last) / constant
        total -= series[order - 1] / (-2 * value) ** order
    return total


def by_quadrature(values: list[float], counts: list[int]) -> Any:
    """``P(sum <= 0)``: the integral of M(s) / s over a vertical line on the left of 0.

    The line is not that of the saddlepoint, and the steps are halved until 16 digits agree.
    """
    from mpmath import cosh, mp, mpc, mpf, sinh, sqrt

    mp.dps = DIGITS
    terms = [(mpf(str(value)), count) for value, count in zip(values, counts)]
    if sum(count * value for value, count in terms) < 0:
        # the sum above 0 is the rare one: that of the opposite sum below it
        return 1 - by_quadrature([-value for value in values], counts)
    lowest = min(value for value, _ in terms)
    low, high = 1 / (2 * lowest), mpf(0)
    for _ in range(50):
        middle = (low + high) / 2
        slope = sum(count * value / (1 - 2 * middle * value) for value, count in terms)
        low, high = (middle, high) if slope < 0 else (low, middle)
    at = min(mpf("0.9") * low, 1 / (20 * lowest))
    tilted = [(value / (1 - 2 * at * value), count) for value, count in terms]
    scale = 1 / sqrt(2 * sum(count * value**2 for value, count in tilted))

    def integrand(u: Any) -> Any:
        y = scale * sinh(u)
        s = mpc(at, y)
        product = 1 / s
        for value, count in terms:
            factor = 1 - 2 * s * value
            product /= factor ** (count // 2)
            if count % 2:
                product /= sqrt(factor)  # of the right half of the plane
        return product.real * scale * cosh(u)

    def summed(start: Any, step: Any) -> Any:
        total, u, largest = mpf(0), start, mpf(0)
        while True:
            term = integrand(u)
            total, largest = total + term, max(largest, abs(term))
            if abs(term) < largest * mpf(10) ** (-DIGITS // 2 - 4) and u > 2:
                return total
            u += step

    step = mpf(1) / 8
    total = integrand(mpf(0)) / 2 + summed(step, step)
    found = -step * total / mp.pi
    while True:
        total += summed(step / 2, step)
        step /= 2
        before, found = found, -step * total / mp.pi
        if abs(found / before - 1) < mpf(10) ** -16:
            return found


def main() -> None:
    """Compute and write the table."""
    from mpmath import betainc, mp, mpf

    lines = []
    for name, t, values, counts in rows():
        found = by_quadrature(values, counts)
        if all(count % 2 == 0 for count in counts):
            exact = by_residues(values, counts)
            assert abs(found / (mpf(exact.numerator) / exact.denominator) - 1) < 1e-12, name
        if len(values) == 2:
            low, high = (mpf(str(value)) for value in values)
            share = -low / (high - low)
            beta = betainc(mpf(counts[1]) / 2, mpf(counts[0]) / 2, 0, share, regularized=True)
            assert abs(found / beta - 1) < 1e-12, name
        lines.append(f"{name}\t{t!r}\t{mp.nstr(found, 17)}\n")
    TABLE.write_text("pattern\tthreshold\tprobability\n" + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
