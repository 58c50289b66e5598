"""Growth of rbf + phi2 in samples and in features, with the exponents of a power law."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tools.benchmarks.processes import Usage, sfs
from tools.benchmarks.table import RBF_PHI2, Bench, Found, Note, Row, job, plain_table, seconds

POINTS = 6
TOO_SMALL = 0.1
"""Points that take less than this part of the start-up beside it tell of noise."""
KINDS = ("wall", "processor")


@dataclass(frozen=True)
class Point:
    """Medians at one size: wall and processor time, and both less those of a tiny run.

    The tiny runs are made in turn with the others, so that both see the same load.
    """

    size: int
    times: tuple[float, float]
    less: tuple[float, float]
    start: tuple[float, float]


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return the slope of the logarithms of times by those of sizes, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def ladder(low: int, high: int, points: int = POINTS) -> list[int]:
    """Return sizes at equal ratios."""
    return [round(size) for size in np.geomspace(low, high, points)]


def rank(bench: Bench, store: Path) -> Usage:
    """Run the whole command."""
    return sfs("rank", store, *RBF_PHI2, "--out", bench.scratch / "growth", "--force", "-q")


def measured(bench: Bench, size: int, n: int, m: int) -> Point:
    """Measure one size."""
    store, tiny = bench.store(n, m), bench.store(10, 100)
    rank(bench, store)  # warms the page cache
    runs = [(rank(bench, store), rank(bench, tiny)) for _ in range(bench.repeat)]
    found = [((a.seconds, a.processor), (b.seconds, b.processor)) for a, b in runs]

    def median(at: int, of: str) -> float:
        parts = {"times": lambda a, b: a, "start": lambda a, b: b, "less": lambda a, b: a - b}
        return statistics.median(parts[of](a[at], b[at]) for a, b in found)

    kinds = {of: (median(0, of), median(1, of)) for of in ("times", "less", "start")}
    return Point(size, **kinds)


def rows(name: str, points: list[Point], asked: float | None) -> Found:
    """Yield the exponents, of wall and processor time, with and without the start-up."""
    span = f"{name} from {points[0].size:,} to {points[-1].size:,}"
    half = len(points) // 2
    for at, kind in enumerate(KINDS):
        whole = [(point.size, point.times[at]) for point in points]
        less = [
            (point.size, point.less[at])
            for point in points
            if point.less[at] > TOO_SMALL * point.start[at]
        ]
        upper = [pair for pair in less if pair[0] >= points[half].size]
        cases = {"": whole, ", less the start-up": less, ", less the start-up, upper half": upper}
        for what, pairs in cases.items():
            label = f"{span}, {kind}{what}"
            if len(pairs) < 2:
                yield Row(label, "not to be told from the start-up")
                continue
            found = exponent(*zip(*pairs))
            grown = f"{seconds(pairs[0][1])} to {seconds(pairs[-1][1])}"
            yield Row(label, grown, f"exponent of {len(pairs)} points", found, asked)
    head = [name, "wall", "processor", "wall, less the start-up", "processor, less the start-up"]
    lines = [[f"{p.size:,}", *map(seconds, p.times), *map(seconds, p.less)] for p in points]
    yield plain_table(head, lines)
    yield Note(
        "The start-up is a run of 10 samples x 100 features, in turn with each; points that take "
        f"less than {TOO_SMALL:.0%} of it besides are left out of the exponents without it. Below "
        "n²m = 2e10 the arithmetic is float64, above it float32: about half of the work."
    )


@job("growth-m", "Growth in features, rbf + phi2")
def in_features(bench: Bench) -> Found:
    n = 30 if bench.small else 300
    sizes = ladder(500, 15_000, 3) if bench.small else ladder(33_333, 1_000_000)
    points = [measured(bench, m, n, m) for m in sizes]
    yield from rows(f"features at {n} samples,", points, bench.asked(1.05))


@job("growth-n", "Growth in samples, rbf + phi2")
def in_samples(bench: Bench) -> Found:
    m = 1000 if bench.small else 20_000
    sizes = ladder(10, 300, 3) if bench.small else ladder(100, 3000)
    points = [measured(bench, n, n, m) for n in sizes]
    yield from rows(f"samples at {m:,} features,", points, bench.asked(2.1))
