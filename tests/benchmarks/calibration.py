"""What p-values promise of features that have nothing to do with the graph, and what they keep.

usage: python -m tests.benchmarks.calibration [--samples N ...] [--features M] [--seeds K]
           [--out FILE.md]

For every seed a nearest-neighbor graph is drawn and features independent of it: normal noise, or
negative-binomial counts of unequal depth with nine zeros in ten. A row has in how many seeds the
p-values pass the test of Kolmogorov and Smirnov (p > 0.01), and the rates of p-values up to 0.1,
0.01 and 0.001 in all seeds together as multiples of these levels, with the standard error of a rate
that is right. `gaussian` decomposes the graph some 60 times, which takes minutes with thousands of
samples: above 1,000 all seeds share a graph there, and 5,000 take a quarter of an hour.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats

from tests.methods.nulls import LEVELS, counts, graph_of, noise, p_values

ROWS = (
    ("normal noise", "gaussian"),
    ("normal noise", "moments"),
    ("normal noise", "permutation"),
    ("counts", "gaussian"),
    ("counts", "moments"),
    ("counts", "permutation"),
)
SHARED = 1000
"""Samples above which `gaussian` has one graph for all seeds."""


def line(kind: str, null: str, n: int, features: int, seeds: int) -> str:
    """Return a row of the table."""
    start = time.process_time()
    draws = [(noise if kind == "normal noise" else counts)(n, features, k) for k in range(seeds)]
    if null == "gaussian" and n > SHARED:
        found = np.array_split(p_values(np.hstack(draws), graph_of(n, 100), null), seeds)
    else:
        found = [p_values(X, graph_of(n, 100 + seed), null) for seed, X in enumerate(draws)]
    passed = sum(stats.kstest(p, "uniform").pvalue > 0.01 for p in found)
    p = np.concatenate(found)
    cells = [kind, null, f"{n:,}", f"{passed} of {seeds}"]
    for level in LEVELS:
        error = np.sqrt((1 - level) / level / len(p))
        cells.append(f"{(p <= level).mean() / level:.2f} ± {error:.2f}")
    cells.append(f"{time.process_time() - start:.0f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[30, 100, 500, 5000], metavar="N")
    parser.add_argument("--features", type=int, default=1000, metavar="M")
    parser.add_argument("--seeds", type=int, default=20, metavar="K")
    parser.add_argument("--out", type=Path, help="Markdown file, besides stdout")
    given = parser.parse_args()
    lines = [
        "| features | --pvalues | samples | uniform | at 0.1 | at 0.01 | at 0.001 | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for n in given.samples:
        for kind, null in ROWS:
            lines.append(line(kind, null, n, given.features, given.seeds))
            print(lines[-1], flush=True)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
