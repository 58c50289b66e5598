"""How many spatially variable genes each test finds at one level: sfs beside others.

usage: python -m tools.benchmarks.power [--features M] [--null N] [--seeds K]
           [--add "NAME=key=value ..."] [--peers FOLDER | --no-peers] [--out FILE.md]

A tissue is a grid of 30 x 30 spots. Counts of a gene are negative binomial, about 80 % of them 0,
and independent between spots but for a pattern of the mean, which is drawn anew for each gene:
domains (two of six regions around random points), a gradient in a random direction, a hot spot, or
two small ones. Null genes have none. Power is the share of the genes of a pattern with a p-value
below .001; the last columns are the shares of null genes with p-values up to .05 and .001. All
tools get the counts as they are, or their log1p where it says so. Seconds are of the processor, and
of the function alone, graph included. Peers that cannot be installed are left out by name.

SPARK-X, an R package, is here as a NumPy function (J. Zhu, S. Sun and X. Zhou, "SPARK-X:
non-parametric modeling enables scalable and robust detection of spatial expression patterns for
large spatial transcriptomic studies", Genome Biology 22, 2021).
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
from scipy.spatial.distance import cdist

from tools.benchmarks.peers import default_folder, environment, run_peer
from tools.benchmarks.table import Bench, MissingError

SIDE = 30
MEAN, DISPERSION = 0.25, 0.7
LEVELS = 0.05, 0.001
EFFECTS = {"domains": 0.9, "gradient": 1.3, "hot spot": 1.3, "two spots": 2.3}
"""Largest log fold changes: chosen so that tests differ, with power from .1 to .9."""
NULL = "null"
LOG = ", log1p"

SINGLE = {"method": "hsic", "pvalues": "moments"}
OURS: dict[str, dict[str, Any]] = {
    "sfs, default scales": {},
    "sfs, default scales, log1p": {"transform": "log1p"},
    "sfs, 4 neighbors": SINGLE | {"similarity": "knn", "neighbors": 4},
    "sfs, one scale, 1.5": {"scales": ("1.5",)},
    "sfs, one scale, 3": {"scales": ("3",)},
    "sfs, one scale, 6": {"scales": ("6",)},
    "sfs, linear alone": {"scales": ("linear",)},
}
"""Options of sfs; p-values are those of moments."""
PEERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "FlashS": ("flashs", "svg", {}),
    "FlashS, log1p": ("flashs", "svg", {}),
    "quadsv, Matern": ("quadsv", "qstat", {"method": "matern"}),
    "quadsv, Matern, log1p": ("quadsv", "qstat", {"method": "matern"}),
    "quadsv, CAR": ("quadsv", "qstat", {"method": "car"}),
    "squidpy, Moran's I": ("squidpy", "autocorrelation", {"mode": "moran"}),
}
SPARK_X = "SPARK-X (NumPy)"


class Data(NamedTuple):
    """A simulated tissue: counts (m, n), coordinates (n, 2), and the pattern of each gene."""

    counts: np.ndarray
    coordinates: np.ndarray
    pattern: np.ndarray


class Test(NamedTuple):
    """p-values (m,), and seconds."""

    p: np.ndarray
    seconds: float


def pattern(kind: str, places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a pattern of one kind at places (n, 2) of the unit square: from 0 to 1, shape (n,)."""
    if kind == "domains":
        region = cdist(places, rng.uniform(size=(6, 2))).argmin(axis=1)
        return np.isin(region, rng.permutation(6)[:2]).astype(float)
    if kind == "gradient":
        angle = rng.uniform(0, 2 * np.pi)
        along = places @ np.array([np.cos(angle), np.sin(angle)])
        return (along - along.min()) / np.ptp(along)
    if kind == "hot spot":
        return (cdist(places, rng.uniform(0.2, 0.8, size=(1, 2)))[:, 0] < 0.13).astype(float)
    if kind == "two spots":
        centers = rng.uniform(0.1, 0.9, size=(2, 2))
        return (cdist(places, centers).min(axis=1) < 0.055).astype(float)
    return np.zeros(len(places))


def simulate(m: int, null: int, seed: int, side: int = SIDE) -> Data:
    """Draw counts of m genes of each pattern and of `null` genes without one."""
    rng = np.random.default_rng((seed, side, m))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1)
    coordinates = grid.reshape(-1, 2).astype(float)
    places = coordinates / (side - 1)
    kinds = [kind for kind in EFFECTS for _ in range(m)] + [NULL] * null
    fold = np.array([EFFECTS.get(kind, 0) * pattern(kind, places, rng) for kind in kinds])
    counts = rng.poisson(rng.gamma(DISPERSION, MEAN * np.exp(fold) / DISPERSION))
    varies = counts.any(axis=1)
    return Data(counts[varies], coordinates, np.array(kinds)[varies])


def of_sfs(data: Data, options: dict[str, Any], folder: Path) -> Test:
    """Test by `sfs rank`, called in this process."""
    import anndata

    from sfs_cli.options import RankConfig
    from sfs_cli.workflow.rank import rank

    path = folder / "data.h5ad"
    matrix = anndata.AnnData(data.counts.T.astype(np.float32))
    matrix.obsm["spatial"] = data.coordinates
    matrix.write_h5ad(path)
    given = {"pvalues": "moments"} | options
    config = RankConfig(str(path), coordinates="obsm:spatial", threads=1, **given)
    start = time.process_time()
    ranking = rank(config).ranking
    seconds = time.process_time() - start
    p = np.empty(len(data.counts))
    p[ranking.order] = np.nan_to_num(np.asarray(ranking.extra["p_value"]), nan=1.0)
    return Test(p, seconds)


def of_peer(data: Data, name: str, bench: Bench) -> Test:
    """Test by a function of a peer, in its environment."""
    package, function, options = PEERS[name]
    values = np.log1p(data.counts) if name.endswith(LOG) else data.counts.astype(float)
    inputs = {"X": values, "C": data.coordinates}
    found = run_peer(
        environment(bench, package), package, function, inputs, timeout=900, threads=1, **options
    )
    return Test(np.nan_to_num(found.found["p"], nan=1.0), found.processor)


def spark_x(counts: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Return the p-values of the covariance test of SPARK-X, shape (m,).

    With y a gene around its mean, and X two columns of transformed coordinates around theirs, the
    statistic ``n y' X (X'X)^-1 X' y / y'y`` has the chi-squared distribution with two degrees of
    freedom. X is that of the coordinates, and of their Gaussian and cosine transformations with
    five widths each; the eleven p-values are combined (Cauchy).
    """
    from scipy.stats import chi2

    from sfs_cli.ranking.combine import cauchy

    y = counts - counts.mean(axis=1, keepdims=True)
    centered = coordinates - coordinates.mean(axis=0)
    forms = [centered]
    for widths in np.quantile(np.abs(centered), [0.2, 0.4, 0.6, 0.8, 1.0], axis=0):
        forms.append(np.exp(-((centered / widths) ** 2) / 2))
        forms.append(np.cos(2 * np.pi * centered / widths))
    p = []
    for X in forms:
        basis = np.linalg.qr(X - X.mean(axis=0))[0]
        share = ((y @ basis) ** 2).sum(axis=1) / (y * y).sum(axis=1)
        p.append(chi2.sf(y.shape[1] * share, 2))
    return cauchy(np.array(p))


def measure(data: Data, test: Test) -> dict[str, float]:
    """Return the power of each pattern, its mean, the rates of null genes, and seconds."""
    found: dict[str, float] = {
        kind: (test.p[data.pattern == kind] < LEVELS[1]).mean() for kind in EFFECTS
    }
    found["mean"] = float(np.mean(list(found.values())))
    null = test.p[data.pattern == NULL]
    return found | {f"null {a:g}": (null <= a).mean() for a in LEVELS} | {"seconds": test.seconds}


def measurements(given: argparse.Namespace, bench: Bench) -> Iterator[dict[str, Any]]:
    """Yield a row for each tool and simulated tissue; those that are missing are named once."""
    ours = OURS | {f"sfs, {name}": parse(words) for name, words in given.add}
    missing: set[str] = set()
    for seed in range(given.seeds):
        data = simulate(given.features, given.null, seed)
        for name in [*ours, SPARK_X, *([] if given.no_peers else PEERS)]:
            if name in missing:
                continue
            try:
                if name in ours:
                    test = of_sfs(data, ours[name], bench.scratch)
                elif name == SPARK_X:
                    start = time.process_time()
                    p = spark_x(data.counts, data.coordinates)
                    test = Test(p, time.process_time() - start)
                else:
                    test = of_peer(data, name, bench)
            except (MissingError, RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                missing.add(name)
                continue
            zeros = float((data.counts[data.pattern == NULL] == 0).mean())
            yield {"tool": name, "seed": seed, "zeros": zeros} | measure(data, test)


def parse(words: str) -> dict[str, Any]:
    """Return options from ``key=value key=value``."""
    found: dict[str, Any] = {}
    for word in words.split():
        key, _, value = word.partition("=")
        found[key] = int(value) if value.isdigit() else value
        if key == "bandwidth":
            found[key] = float(value)
        elif key == "scales":
            found[key] = tuple(value.split(","))
    return found


def report(rows: pd.DataFrame) -> str:
    """Return a Markdown table of the means over tissues."""
    columns = [c for c in rows.columns if c not in ("tool", "seed", "zeros")]
    means = rows.groupby("tool")[columns].mean().sort_values("mean", ascending=False)
    head = [*columns[:5], "null ≤ .05", "null ≤ .001", "CPU s"]
    lines = [
        f"Power at p < {LEVELS[1]:g}, mean of {rows['seed'].nunique()} tissues of "
        f"{SIDE * SIDE} spots; {rows['zeros'].mean():.0%} of the counts of null genes are 0.",
        "",
        f"| test | {' | '.join(head)} |",
        "|" + "---|" * (len(head) + 1),
    ]
    for tool, row in means.iterrows():
        cells = [f"{row[c]:.2f}" for c in columns[:4]] + [f"{row['mean']:.3f}"]
        cells += [f"{row['null 0.05']:.4f}", f"{row['null 0.001']:.4f}", f"{row['seconds']:.1f}"]
        lines.append(f"| {tool} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=300, metavar="M", help="of each pattern")
    parser.add_argument("--null", type=int, default=10000, metavar="N", help="null genes")
    parser.add_argument("--seeds", type=int, default=3, metavar="K", help="tissues")
    split = lambda text: tuple(text.split("=", 1))  # noqa: E731
    parser.add_argument("--add", type=split, action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    parser.add_argument("--no-peers", action="store_true", help="sfs and SPARK-X alone")
    parser.add_argument("--out", type=Path, help="Markdown file, not stdout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfs-power-") as folder:
        bench = Bench(Path(folder), None if given.no_peers else given.peers.absolute())
        text = report(pd.DataFrame(measurements(given, bench)))
    if given.out is None:
        print(text, end="")
    else:
        told = " ".join(__doc__.split("\n\n")[2].split())
        command = "```bash\npython -m tools.benchmarks.power --out docs/power.md\n```"
        page = f"# Power of spatial tests\n\n{told}\n\n{command}\n\n{text}"
        given.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
