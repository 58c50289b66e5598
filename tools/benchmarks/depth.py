"""What p-values of counts keep of their promise where the samples differ in depth.

usage: python -m tools.benchmarks.depth [--samples N] [--features M] [--seeds K] [--depth SD]
           [--out FILE.md]

Counts, Poisson or negative binomial ones (dispersion 0.3), have nothing to do with anything but the
depth of their samples, whose logarithms have the standard deviation SD. They are tested by `spec`
on a graph of other features (``--split``), and by the F-test of two classes, of
which one has more of the deep samples. A row is a transformation; a cell has the rates of p-values
up to 0.05 and 0.001 in all seeds, and in how many the warning `depth` came up.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfs_cli as sfs
from tests.making import names
from tests.unit.methods.nulls import classes_of_depth, of_depth

TRANSFORMS = ("cpm,log1p", "log1p", "clr", "deviance", "pearson-residuals")
TESTS: dict[str, dict[str, Any]] = {
    "--split features": {"method": "spec", "pvalues": "moments", "split": "features"},
    "f-test": {"method": "f-test"},
}
KINDS = ("Poisson", "negative binomial")


def ranked(X: np.ndarray, test: str, transform: str, seed: int) -> tuple[np.ndarray, bool]:
    """Return the p-values of null counts (n, m), and whether the warning came up."""
    table = pd.DataFrame(X, names("s", len(X)), names("g", X.shape[1]))
    more = TESTS[test]
    if test == "f-test":
        more = more | {"labels": pd.Series(classes_of_depth(X, seed), table.index)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sfs.rank(table, transform=transform, seed=seed, threads=1, **more)
    told = any("[depth]" in text for text in found.warnings)
    return found.table.p_value.dropna().to_numpy(), told


def cell(found: list[tuple[np.ndarray, bool]]) -> str:
    """Return the rates in all seeds, and how often the warning came up."""
    p, told = np.concatenate([p for p, _ in found]), sum(told for _, told in found)
    rates = f"{(p <= 0.05).mean():.3f}, {(p <= 0.001).mean():.4f}"
    return f"{rates} ({told} of {len(found)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100, metavar="N")
    parser.add_argument("--features", type=int, default=500, metavar="M")
    parser.add_argument("--seeds", type=int, default=20, metavar="K")
    parser.add_argument("--depth", type=float, default=0.5, metavar="SD")
    parser.add_argument("--out", type=Path, help="Markdown file, besides stdout")
    given = parser.parse_args()
    lines = [f"| counts | --transform | {' | '.join(TESTS)} |", "|---" * (2 + len(TESTS)) + "|"]
    print("\n".join(lines), flush=True)
    for kind in KINDS:
        draws = [
            of_depth(kind, given.samples, given.features, given.depth, seed)
            for seed in range(given.seeds)
        ]
        for transform in TRANSFORMS:
            cells = [
                cell([ranked(X, test, transform, seed) for seed, X in enumerate(draws)])
                for test in TESTS
            ]
            lines.append(f"| {kind} | `{transform}` | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
