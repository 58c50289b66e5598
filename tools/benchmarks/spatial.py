"""Spatially variable genes: `sfs rank --spatial` beside squidpy, FlashS and quadsv.

usage: python -m tools.benchmarks.spatial [--spots N] [--features M] [--null N] [--seeds K]
           [--depth NAME,...] [--tissue FILE.h5ad ...] [--size NxM ...]
           [--peers FOLDER | --no-peers] [--out FILE.md]

A tissue is a square grid of spots. Counts of a gene are Poisson (half of the genes) or negative
binomial, of a mean that is drawn for each gene (log-normal, median 0.25), times the depth of the
spot, times a pattern: a gradient in a random direction, two hotspots, periodic stripes, or domains
(two of six regions around random points). Null genes have no pattern. The depth of the spots is
even, random, or follows the tissue: a smooth field of standard deviation 0.5 of its logarithm. So
null genes follow the tissue in their counts, and what is asked is whether they do so by more.

Power is the share of the genes of a pattern with a q-value (Benjamini and Hochberg) up to 0.05; FDR
is the measured share of null genes among all of these. Of the null genes the table has the shares
with p-values up to 0.05 and 0.001, and the Kolmogorov-Smirnov distance of their p-values from
uniform ones. Others get the counts scaled to the same total and log1p, as in their tutorials, or
the counts where it says so. Seconds of sfs are of the whole command on an h5ad; those of the others
are of the function alone, after it has been compiled. Memory is the largest resident size of the
process. All have one thread. Peers that cannot be installed are left out by name.

`--tissue FILE.h5ad` takes the counts of a real tissue (X, and its places in obsm["spatial"]): spots
of a tenth of the median depth or more, and M genes drawn at random from those in 10 spots or more.
Each gets a null gene beside it, negative binomial with the total of the gene, divided among the
spots in proportion to their depth, and with the dispersion of the gene around that (by moments):
it follows the depth and is as noisy, but has no place of its own. Beside the number of real genes
found stands that of the longest list whose share of null genes is 0.05 (at FDR .05), how many of
them are found on each of two halves of the counts (in both; a fair coin splits each count), and
which share of what one half finds the other one has, too (again).

`--size 50000x20000` measures the time and memory of `sfs rank --spatial` on sparse counts of that
size (7 % other than zero), in place of the table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import false_discovery_control, kstest

from tools.benchmarks.peers import default_folder, environment, run_peer
from tools.benchmarks.power import Data
from tools.benchmarks.processes import sfs
from tools.benchmarks.table import Bench, MissingError

MEAN, SPREAD, DISPERSION = 0.25, 1.0, 0.7
EFFECTS = {"gradient": 0.8, "hotspots": 1.3, "stripes": 0.5, "domains": 0.5}
"""Largest log fold changes of 2,500 spots: chosen so that the power of tests differs."""
DEPTHS = ("even", "random", "tissue")
DEVIATION = 0.5
REAL, NULL, LEVEL, LEAST = "real", "null", 0.05, 10

OURS: dict[str, tuple[str, ...]] = {
    "sfs --spatial": ("--spatial",),
    "sfs --spatial, cpm,log1p": ("--spatial", "--transform", "cpm,log1p"),
}
COUNTS = ", counts"
PEERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "squidpy, Moran's I, 6 neighbors": ("squidpy", "autocorrelation", {"mode": "moran"}),
    "squidpy, Moran's I, 50 neighbors": (
        "squidpy",
        "autocorrelation",
        {"mode": "moran", "neighbors": 50},
    ),
    "FlashS": ("flashs", "svg", {}),
    "FlashS, counts": ("flashs", "svg", {}),
    "quadsv, CAR": ("quadsv", "qstat", {"method": "car"}),
}


class Test(NamedTuple):
    """p-values (m,), NaN for genes without one; seconds; bytes."""

    p: np.ndarray
    seconds: float
    peak: int


def pattern(kind: str, places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a pattern of one kind at places (n, 2) of the unit square: from 0 to 1, shape (n,)."""
    angle = rng.uniform(0, 2 * np.pi)
    along = places @ np.array([np.cos(angle), np.sin(angle)])
    if kind == "gradient":
        return (along - along.min()) / np.ptp(along)
    if kind == "hotspots":
        return (cdist(places, rng.uniform(0.1, 0.9, size=(2, 2))).min(axis=1) < 0.07).astype(float)
    if kind == "stripes":
        waves = rng.uniform(3, 8)
        return (1 + np.sin(2 * np.pi * (waves * along + rng.uniform()))) / 2
    if kind == "domains":
        region = cdist(places, rng.uniform(size=(6, 2))).argmin(axis=1)
        return np.isin(region, rng.permutation(6)[:2]).astype(float)
    return np.zeros(len(places))


def depth_of(kind: str, places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the depth of spots at places (n, 2), of mean 1, shape (n,)."""
    waves = 6 * rng.normal(size=(8, 2))
    field = np.cos(places @ waves.T + rng.uniform(0, 2 * np.pi, 8)).sum(axis=1)
    if kind == "random":
        field = rng.normal(size=len(places))
    depth = np.exp((kind != "even") * DEVIATION * (field - field.mean()) / field.std())
    return depth / depth.mean()


def simulate(spots: int, m: int, null: int, depth: str, seed: int) -> Data:
    """Draw counts of m genes of each pattern and of `null` genes without one."""
    side = round(spots**0.5)
    rng = np.random.default_rng((seed, side, m, DEPTHS.index(depth)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1)
    coordinates = grid.reshape(-1, 2).astype(float)
    places = coordinates / (side - 1)
    kinds = np.array([kind for kind in EFFECTS for _ in range(m)] + [NULL] * null)
    fold = np.array([EFFECTS.get(kind, 0) * pattern(kind, places, rng) for kind in kinds])
    fold *= (2500 / side**2) ** 0.5  # so that the power does not grow with the spots
    mean = np.exp(rng.normal(np.log(MEAN), SPREAD, size=(len(kinds), 1)))
    mean = mean * np.exp(fold) * depth_of(depth, places, rng)
    overdispersed = rng.permutation(len(kinds)) % 2 == 1
    mean[overdispersed] = rng.gamma(1 / DISPERSION, mean[overdispersed] * DISPERSION)
    return Data(rng.poisson(mean), coordinates, kinds)


def beside_null(path: Path, m: int, seed: int) -> Data:
    """Return the counts of m genes of a real tissue (h5ad), and a null gene for each of these."""
    import anndata

    tissue = anndata.read_h5ad(path)
    values = sparse.csr_matrix(tissue.X).toarray().T
    counts = values.astype(np.int64)
    if (counts != values).any():
        raise SystemExit(f"{path}: X needs counts, which are whole numbers")
    depth = counts.sum(axis=0)
    kept = depth >= np.median(depth) / 10
    counts = counts[:, kept]
    rng = np.random.default_rng(seed)
    enough = np.flatnonzero((counts > 0).sum(axis=1) >= LEAST)
    counts = counts[np.sort(rng.permutation(enough)[:m])]
    mean = counts.sum(axis=1, keepdims=True) * (counts.sum(axis=0) / counts.sum())
    excess = ((counts - mean) ** 2 - mean).sum(axis=1) / (mean**2).sum(axis=1)
    dispersion = np.maximum(excess, 1e-6)[:, None]
    null = rng.poisson(rng.gamma(1 / dispersion, mean * dispersion))
    kinds = np.repeat([REAL, NULL], len(counts))
    places = np.asarray(tissue.obsm["spatial"], dtype=float)[kept]
    return Data(np.concatenate([counts, null]), places, kinds)


def halves(data: Data, seed: int) -> tuple[Data, Data]:
    """Return the data with each count split at random into two."""
    first = np.random.default_rng((seed, 1)).binomial(data.counts, 0.5)
    return data._replace(counts=first), data._replace(counts=data.counts - first)


def write(path: Path, counts: Any, coordinates: np.ndarray) -> None:
    """Write counts (n, m) of spots as h5ad."""
    import anndata

    matrix = anndata.AnnData(sparse.csr_matrix(counts, dtype=np.float32))
    matrix.var_names = [f"G{i}" for i in range(matrix.n_vars)]
    matrix.obsm["spatial"] = coordinates
    matrix.write_h5ad(path)


def of_sfs(data: Data, words: tuple[str, ...], folder: Path) -> Test:
    """Test by `sfs rank`, as a process."""
    path, out = folder / "tissue.h5ad", folder / "out"
    write(path, data.counts.T, data.coordinates)
    used = sfs("rank", path, *words, "--threads", "1", "--out", out, "--force")
    p = pd.read_csv(out / "ranking.tsv", sep="\t", index_col="feature")["p_value"]
    order = [f"G{i}" for i in range(len(data.counts))]
    return Test(p.reindex(order).to_numpy(), used.seconds, used.peak)


def of_peer(data: Data, name: str, bench: Bench) -> Test:
    """Test by a function of a peer, in its environment."""
    package, function, options = PEERS[name]
    values = data.counts.astype(float)
    if not name.endswith(COUNTS):
        totals = np.maximum(values.sum(axis=0), 1)
        values = np.log1p(values / totals * np.median(totals))
    inputs = {"X": values, "C": data.coordinates}
    found = run_peer(
        environment(bench, package), package, function, inputs, timeout=900, threads=1, **options
    )
    return Test(found.found["p"], found.wall, found.peak)


def tested(data: Data, name: str, bench: Bench) -> Test:
    if name in OURS:
        return of_sfs(data, OURS[name], bench.scratch)
    return of_peer(data, name, bench)


def hits(data: Data, test: Test) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p-values, which genes are tested (the same for all tools), and which are found."""
    p = np.where(np.isnan(test.p), 1.0, test.p)
    enough = (data.counts > 0).sum(axis=1) >= LEAST
    q = np.ones(len(p))
    q[enough] = false_discovery_control(np.clip(p[enough], 0, 1))
    return p, enough, q <= LEVEL


def measure(data: Data, test: Test) -> dict[str, float]:
    """Return the power of each pattern, the FDR, and what null genes have."""
    p, enough, hit = hits(data, test)
    null = data.pattern == NULL
    if REAL in data.pattern:
        falling = null[np.argsort(p, kind="stable")]
        share = falling.cumsum() / np.arange(1, len(p) + 1)
        most = np.flatnonzero(share <= LEVEL).max(initial=-1) + 1
        found = {"found": float((hit & ~null).sum()), "at FDR .05": float((~falling[:most]).sum())}
    else:
        found = {kind: hit[data.pattern == kind].mean() for kind in EFFECTS}
        found["mean"] = float(np.mean(list(found.values())))
    found["FDR"] = (hit & null).sum() / max(hit.sum(), 1)
    of_null = p[null & enough]
    found |= {f"null ≤ {a:g}": (of_null <= a).mean() for a in (0.05, 0.001)}
    found["KS"] = float(kstest(of_null, "uniform").statistic)
    return found | {"seconds": test.seconds, "MB": test.peak / 1e6}


def agreement(data: Data, seed: int, name: str, bench: Bench) -> dict[str, float]:
    """Return the share of what is found on half of the counts that the other half has, too."""
    real = data.pattern == REAL
    first, second = (hits(half, tested(half, name, bench))[2][real] for half in halves(data, seed))
    both = float((first & second).sum())
    return {"again": 2 * both / max(first.sum() + second.sum(), 1), "in both": both}


def tissues(given: argparse.Namespace) -> Iterator[tuple[str, int, Data]]:
    """Yield the name of each tissue, the seed, and its data."""
    for seed in range(given.seeds):
        for path in given.tissue or ():
            yield path.stem, seed, beside_null(path, given.features, seed)
        for depth in () if given.tissue else given.depth:
            data = simulate(given.spots, given.features, given.null, depth, seed)
            yield depth, seed, data


def measurements(given: argparse.Namespace, bench: Bench) -> Iterator[dict[str, Any]]:
    """Yield a row for each tool and tissue; those that are missing are named once."""
    missing: set[str] = set()
    for tissue, seed, data in tissues(given):
        for name in [*OURS, *([] if given.no_peers else PEERS)]:
            if name in missing:
                continue
            try:
                row = measure(data, tested(data, name, bench))
                if given.tissue:
                    row |= agreement(data, seed, name, bench)
            except (MissingError, RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                missing.add(name)
                continue
            told = ", ".join(f"{key} {value:.4g}" for key, value in row.items())
            print(f"{tissue} {seed} {name}: {told}", file=sys.stderr)
            yield {"tissue": tissue, "tool": name, "seed": seed} | row


def report(rows: pd.DataFrame, given: argparse.Namespace) -> str:
    """Return a Markdown table of the means over tissues."""
    columns = [c for c in rows.columns if c not in ("tissue", "tool", "seed")]
    if given.tissue:
        head = f"Real tissues at q ≤ {LEVEL:g}: means of {given.seeds} draws of genes."
    else:
        head = (
            f"Power and FDR at q ≤ {LEVEL:g}: means of {given.seeds} tissues of "
            f"{round(given.spots**0.5) ** 2:,} spots with {given.features} genes of each pattern "
            f"and {given.null:,} null genes."
        )
    of = "tissue" if given.tissue else "depth"
    lines = [
        head,
        "",
        f"| {of} | test | {' | '.join(columns)} |",
        "|" + "---|" * (len(columns) + 2),
    ]
    digits = {"null ≤ 0.05": 3, "null ≤ 0.001": 4, "KS": 3, "seconds": 1}
    digits |= dict.fromkeys(("found", "at FDR .05", "in both", "MB"), 0)
    means = rows.groupby(["tissue", "tool"], sort=False)[columns].mean()
    for row in means.reset_index().to_dict("records"):
        cells = [f"{row[c]:,.{digits.get(c, 2)}f}" for c in columns]
        lines.append(f"| {row['tissue']} | {row['tool']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def of_size(words: str, folder: Path) -> str:
    """Return the time and memory of `sfs rank --spatial` on sparse counts of a size, NxM."""
    n, m = map(int, words.split("x"))
    rng = np.random.default_rng(0)
    side = int(np.ceil(n**0.5))
    coordinates = np.stack(np.divmod(np.arange(n), side), axis=1).astype(float)
    parts = []
    for lo in range(0, m, 500):
        mean = np.exp(rng.normal(np.log(0.05), 1, size=min(500, m - lo)))
        parts.append(sparse.csc_matrix(rng.poisson(mean, size=(n, len(mean))).astype(np.float32)))
    path = folder / "large.h5ad"
    write(path, sparse.hstack(parts).tocsr(), coordinates)
    del parts
    used = sfs("rank", path, "--spatial", "--out", folder / "large", "--force")
    return f"{n:,} spots x {m:,} genes: {used.seconds:.0f} s, {used.peak / 1e9:.1f} GB\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spots", type=int, default=2500, metavar="N")
    parser.add_argument(
        "--features", type=int, default=100, metavar="M", help="of each pattern, or tissue"
    )
    parser.add_argument("--null", type=int, default=3000, metavar="N", help="null genes")
    parser.add_argument("--seeds", type=int, default=3, metavar="K", help="draws of each")
    split = lambda text: tuple(text.split(","))  # noqa: E731
    parser.add_argument("--depth", type=split, default=DEPTHS, metavar="NAME,...")
    parser.add_argument("--tissue", type=Path, action="append", metavar="FILE", help="h5ad")
    parser.add_argument("--size", action="append", metavar="NxM", help="time and memory alone")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    parser.add_argument("--no-peers", action="store_true", help="sfs alone")
    parser.add_argument("--out", type=Path, help="Markdown file, besides stdout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sfs-spatial-") as folder:
        bench = Bench(Path(folder), None if given.no_peers else given.peers.absolute())
        if given.size:
            text = "".join(of_size(words, Path(folder)) for words in given.size)
        else:
            text = report(pd.DataFrame(measurements(given, bench)), given)
    print(text, end="")
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
