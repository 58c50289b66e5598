"""How many planted genes are found at the same false-discovery rate: sfs beside others.

usage: python -m tools.benchmarks.power [--samples N ...] [--features M] [--seeds K] [--fdr Q]
           [--add "NAME=key=value ..."] [--peers FOLDER | --no-peers] [--out FILE.md]

Samples lie at random places of the unit square. Counts are negative-binomial, of unequal depth and
with many zeros; a tenth of the genes follow a pattern of the places (a gradient, a hotspot, five
small ones, broad or narrow stripes) with an amplitude drawn for each gene. All tools get logarithms
of depth-normalized counts and the coordinates. The order of the genes is that of the p-values, then
of the statistics. Power is the share of the planted genes in the longest list whose true rate of
false discoveries is at most Q: the same rate for all, whatever their p-values promise. Beside it
stand what is found by Benjamini and Hochberg's method at Q, and the true rate there. Times are CPU
seconds of the function alone, graph included.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from tools.benchmarks.peers import default_folder, environment, run_peer
from tools.benchmarks.table import Bench, MissingError

PLANTED = 0.1
DISPERSION = 0.7
AMPLITUDES = 0.2, 0.8
MEANS = 0.15, 3.0
ALL = "all patterns"

OURS: dict[str, dict[str, Any]] = {
    "spec phi2, knn 6": {"neighbors": 6},
    "spec phi2, knn 15": {"neighbors": 15},
    "spec phi2, knn 15, gaussian": {"neighbors": 15, "pvalues": "gaussian"},
    "spec phi2, knn 30": {"neighbors": 30},
    "laplacian, knn 15": {"method": "laplacian", "neighbors": 15},
    "hsic, knn 15": {"method": "hsic", "neighbors": 15},
    "hsic, knn 30": {"method": "hsic", "neighbors": 30},
    "hsic, rbf 0.1": {"method": "hsic", "similarity": "rbf", "bandwidth": 0.1},
    "gdcov, knn 15": {"method": "gdcov", "neighbors": 15},
    "gdcov inverse, knn 15": {"method": "gdcov", "neighbors": 15, "gamma": "inverse"},
    "gdcov heat:3, knn 15": {"method": "gdcov", "neighbors": 15, "gamma": "heat:3"},
    "gdcov heat:10, knn 15": {"method": "gdcov", "neighbors": 15, "gamma": "heat:10"},
}
"""Options of sfs; where nothing else is said spec with phi2, knn and moments."""
PEERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "squidpy, Moran's I": ("squidpy", "autocorrelation", {"mode": "moran"}),
    "squidpy, Moran's I, 15 neighbors": (
        "squidpy",
        "autocorrelation",
        {"mode": "moran", "neighbors": 15},
    ),
    "squidpy, Geary's C": ("squidpy", "autocorrelation", {"mode": "geary"}),
    "quadsv, CAR": ("quadsv", "qstat", {"method": "car"}),
    "quadsv, CAR, 15 neighbors": ("quadsv", "qstat", {"method": "car", "k_neighbors": 15}),
    "quadsv, Moran": ("quadsv", "qstat", {"method": "moran"}),
    "FlashS": ("flashs", "svg", {}),
}


class Data(NamedTuple):
    """Simulated samples: values (m, n), coordinates (n, 2), and the pattern of each gene."""

    values: np.ndarray
    coordinates: np.ndarray
    pattern: np.ndarray  # "" where there is none


class Test(NamedTuple):
    """p-values, what orders genes of the same p-value (small first), and seconds."""

    p: np.ndarray
    order: np.ndarray
    seconds: float


def patterns(places: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw one pattern of each kind at some places (n, 2), each of mean 0 and variance 1."""
    angle, phase = rng.uniform(0, 2 * np.pi, 2)
    along = places @ np.array([np.cos(angle), np.sin(angle)])

    def spots(count: int, width: float) -> np.ndarray:
        centers = rng.uniform(0.1, 0.9, size=(count, 2))
        square = ((places[:, None] - centers) ** 2).sum(axis=2)
        return np.exp(-square / (2 * width**2)).max(axis=1)

    drawn = {
        "gradient": along,
        "hotspot": spots(1, 0.12),
        "small hotspots": spots(5, 0.05),
        "broad stripes": np.sin(2 * np.pi * 2 * along + phase),
        "narrow stripes": np.sin(2 * np.pi * 5 * along + phase),
    }
    return {name: (each - each.mean()) / each.std() for name, each in drawn.items()}


def simulate(n: int, m: int, seed: int) -> Data:
    """Draw logarithms of depth-normalized counts, a tenth of the genes with a pattern."""
    rng = np.random.default_rng((seed, n, m))
    places = rng.uniform(size=(n, 2))
    depth = np.exp(rng.normal(0, 0.4, size=n))
    kind = np.full(m, "", dtype=object)
    log_mean = np.repeat(rng.uniform(*np.log(MEANS), size=m)[:, None], n, axis=1)
    for gene in range(int(PLANTED * m)):
        names = patterns(places, rng)
        kind[gene] = list(names)[gene % len(names)]
        log_mean[gene] += rng.uniform(*AMPLITUDES) * names[kind[gene]]
    mean = np.exp(log_mean) * depth
    counts = rng.poisson(rng.gamma(DISPERSION, mean / DISPERSION))
    totals = np.maximum(counts.sum(axis=0), 1)
    values = np.log1p(counts * (np.median(totals) / totals))
    return Data(values[counts.any(axis=1)], places, kind[counts.any(axis=1)])


def of_sfs(data: Data, options: dict[str, Any], folder: Path) -> Test:
    """Test by `sfs rank`, called in this process."""
    import anndata

    from sfs_cli.options import RankConfig
    from sfs_cli.run.rank import rank

    path = folder / "data.h5ad"
    matrix = anndata.AnnData(data.values.T.astype(np.float32))
    matrix.obsm["spatial"] = data.coordinates
    matrix.write_h5ad(path)
    given = {"method": "spec", "similarity": "knn", "pvalues": "moments"} | options
    if given["method"] == "spec":
        given["ranking"] = "phi2"
    config = RankConfig(str(path), coordinates="obsm:spatial", threads=1, **given)
    start = time.process_time()
    ranking = rank(config).ranking
    seconds = time.process_time() - start
    p, effect = np.empty(len(data.values)), np.empty(len(data.values))
    p[ranking.order] = np.nan_to_num(np.asarray(ranking.extra["p_value"]), nan=1.0)
    effect[ranking.order] = np.nan_to_num(np.asarray(ranking.extra["effect"]), nan=-np.inf)
    return Test(p, -effect, seconds)


def of_peer(data: Data, name: str, bench: Bench) -> Test:
    """Test by a function of a peer, in its environment."""
    package, function, options = PEERS[name]
    inputs = {"X": data.values, "C": data.coordinates}
    found = run_peer(
        environment(bench, package), package, function, inputs, timeout=900, threads=1, **options
    )
    p = np.nan_to_num(found.found["p"], nan=1.0)
    return Test(p, np.nan_to_num(found.found["order"], nan=np.inf), found.processor)


def measure(data: Data, test: Test, fdr: float) -> dict[str, float]:
    """Return power at a true rate of false discoveries, and what the p-values promise."""
    planted = data.pattern != ""
    order = np.lexsort((test.order, test.p))
    true = np.cumsum(planted[order])
    length = np.arange(1, len(true) + 1)
    good = np.flatnonzero((length - true) <= fdr * length)
    listed = order[: good[-1] + 1] if len(good) else order[:0]
    found = {ALL: np.isin(np.flatnonzero(planted), listed).mean()}
    for name in dict.fromkeys(data.pattern[planted]):
        found[name] = np.isin(np.flatnonzero(data.pattern == name), listed).mean()
    called = false_discovery_control(test.p) <= fdr
    found["called"] = called[planted].mean()
    found["false"] = (called & ~planted).sum() / max(1, called.sum())
    null = test.p[~planted]
    found["rate at 0.01"] = (null <= 0.01).mean() / 0.01
    return found | {"seconds": test.seconds}


def measurements(given: argparse.Namespace, bench: Bench) -> Iterator[dict[str, Any]]:
    """Yield a row for each tool and simulated data set; those that are missing are named once."""
    ours = OURS | {name: parse(words) for name, words in given.add}
    missing: set[str] = set()
    for n in given.samples:
        for seed in range(given.seeds):
            data = simulate(n, given.features, seed)
            print(
                f"{n} samples, seed {seed}: {(data.values == 0).mean():.0%} zero", file=sys.stderr
            )
            for name in [*ours, *([] if given.no_peers else PEERS)]:
                if name in missing:
                    continue
                try:
                    if name in ours:
                        test = of_sfs(data, ours[name], bench.scratch)
                    else:
                        test = of_peer(data, name, bench)
                except (MissingError, RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"{name}: {error}", file=sys.stderr)
                    missing.add(name)
                    continue
                tool = f"sfs: {name}" if name in ours else name
                yield {"samples": n, "seed": seed, "tool": tool} | measure(data, test, given.fdr)


def parse(words: str) -> dict[str, Any]:
    """Return options from ``key=value key=value``."""
    found: dict[str, Any] = {}
    for word in words.split():
        key, _, value = word.partition("=")
        found[key] = int(value) if value.isdigit() else value
        if key == "bandwidth":
            found[key] = float(value)
    return found


def report(rows: pd.DataFrame, fdr: float) -> str:
    """Return a Markdown table for each number of samples."""
    lines = []
    columns = [c for c in rows.columns if c not in ("samples", "seed", "tool")]
    for n, part in rows.groupby("samples"):
        means = part.groupby("tool")[columns].mean().sort_values(ALL, ascending=False)
        errors = part.groupby("tool")[ALL].sem()
        lines += [
            f"\n{n} samples, {part['seed'].nunique()} data sets: power at a false-discovery rate "
            f"of {fdr:g}\n",
            f"| tool | {' | '.join(columns[:-4])} | by BH | true rate there | "
            "null genes at p ≤ 0.01, of 1 % | CPU s |",
            "|" + "---|" * (len(columns) + 1),
        ]
        for tool, row in means.iterrows():
            cells = [f"{row[ALL]:.3f} ± {errors[tool]:.3f}"]
            cells += [f"{row[c]:.2f}" for c in columns[1:-4]]
            cells += [f"{row['called']:.3f}", f"{row['false']:.3f}"]
            cells += [f"{row['rate at 0.01']:.2f}", f"{row['seconds']:.2f}"]
            lines.append(f"| {tool} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[300, 1000], metavar="N")
    parser.add_argument("--features", type=int, default=2000, metavar="M")
    parser.add_argument("--seeds", type=int, default=5, metavar="K")
    parser.add_argument("--fdr", type=float, default=0.05, metavar="Q")
    split = lambda text: tuple(text.split("=", 1))  # noqa: E731
    parser.add_argument("--add", type=split, action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    parser.add_argument("--no-peers", action="store_true", help="sfs alone")
    parser.add_argument("--out", type=Path, help="Markdown file, not stdout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfs-power-") as folder:
        bench = Bench(Path(folder), None if given.no_peers else given.peers.absolute())
        text = report(pd.DataFrame(measurements(given, bench)), given.fdr)
    if given.out is None:
        print(text, end="")
    else:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
