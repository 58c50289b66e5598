"""Labelled counts of single cells, real and simulated, that other benchmarks use.

The real ones are three cell lines known by genotype (`cells` of the data folder), as they are and
with counts drawn at random until few are left. The simulated ones differ in depth, in the rarity of
their types, in how far the types differ, and in batches.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

FEWEST = 3
"""Cells that a gene of a real set needs."""
HALF = 100
"""Cells that a half of a set needs."""


@dataclass(frozen=True)
class Cells:
    """Counts (n, m) of labelled cells.

    Attributes
    ----------
    name : str
    counts : ndarray, shape (n, m)
        Whole numbers; where a set has none, its logarithms (`logarithms` is True).
    types : ndarray of int, shape (n,)
    markers : ndarray of int, optional
        Positions of the genes that differ between types, where it is known.
    logarithms : bool
        Whether `counts` are logarithms of normalized counts already.
    full : ndarray, shape (n, m), optional
        The counts before most of them were left out.
    """

    name: str
    counts: np.ndarray
    types: np.ndarray
    markers: np.ndarray | None = None
    logarithms: bool = False
    full: np.ndarray | None = None


@dataclass(frozen=True)
class Design:
    """How cells are simulated.

    Attributes
    ----------
    depth : float
        Median total count of a cell.
    shares : tuple of float
        Of the types; they add up to 1.
    fold : tuple of float
        Lowest and highest ratio of a marker's mean in its type.
    markers : int
        Of each type, among the genes of higher expression; types may share some.
    spread : float
        Standard deviation of the logarithm of depth.
    batches : int
        Batches of cells, in each of which all genes have a factor of their own.
    sized : float
        Standard deviation of the logarithm of the size of types, which changes their depth.
    n, m : int
        Cells and genes.
    """

    depth: float = 2000
    shares: tuple[float, ...] = (0.25, 0.2, 0.15, 0.15, 0.1, 0.09, 0.04, 0.02)
    fold: tuple[float, float] = (2, 6)
    markers: int = 30
    spread: float = 0.35
    batches: int = 1
    sized: float = 0.0
    n: int = 1000
    m: int = 3000


RARE = (0.4, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.01, 0.01)
DESIGNS = {
    "simulated": Design(),
    "simulated, 330 counts": Design(depth=330, markers=60),
    "simulated, 800 counts": Design(depth=800, fold=(1.5, 4), markers=60),
    "simulated, 10,000 counts": Design(depth=10_000, fold=(1.5, 3)),
    "simulated, rare types": Design(shares=RARE, depth=1500, n=2000),
    "simulated, 3 batches": Design(batches=3, fold=(1.5, 5), markers=60),
    "simulated, types of unequal depth": Design(sized=0.7, fold=(1.5, 4), markers=60),
    "simulated, types alike": Design(fold=(1.3, 2.2), markers=150, depth=3000),
}


def simulated(name: str, design: Design, seed: int) -> Cells:
    """Return cells of a design.

    Counts are negative binomial; means differ between genes by orders of magnitude, and so does the
    dispersion, which falls from about 1 to 0.1 as the mean rises.
    """
    rng = np.random.default_rng([len(name), seed])
    n, m, k = design.n, design.m, len(design.shares)
    types = rng.choice(k, n, p=design.shares)
    types[:k] = np.arange(k)  # every type is there
    level = np.exp(rng.normal(-1.5, 1.4, m))
    effect = np.ones((k, m))
    for each in range(k):
        # of the half that is expressed more: a gene without counts marks nothing
        chosen = rng.choice(np.argsort(-level)[: m // 2], design.markers, replace=False)
        effect[each, chosen] = rng.uniform(*design.fold, design.markers)
    depth = np.exp(rng.normal(0, design.spread, n) + rng.normal(0, design.sized, k)[types])
    batch = rng.integers(design.batches, size=n)
    factor = np.exp(rng.normal(0, 0.4, (design.batches, m)))
    if design.batches == 1:
        factor[:] = 1
    mean = level * effect[types] * factor[batch]
    mean *= (depth / np.median(depth * mean.sum(axis=1)) * design.depth)[:, None]
    shape = 1 / (0.1 + 1 / (1 + 3 * mean.mean(axis=0)))
    counts = rng.poisson(rng.gamma(shape, mean / shape)).astype(np.float64)
    kept = np.flatnonzero((counts > 0).sum(axis=0) >= FEWEST)
    markers = np.flatnonzero((effect[:, kept] > 1).any(axis=0))
    return Cells(name, counts[:, kept], types, markers)


def genotyped(data: Path, share: float = 1.0) -> Iterator[Cells]:
    """Yield the real sets of counts; of each count about a `share` is kept, at random."""
    for name in ("celseq2_3", "dropseq3"):
        cells = read(data / "cells" / f"{name}.h5ad")
        full = np.asarray(cells.X.toarray(), np.float64)
        types = np.unique(np.asarray(cells.obs["label"].astype(str)), return_inverse=True)[1]
        counts = full
        if share < 1:
            rng = np.random.default_rng(0)
            counts = rng.binomial(full.astype(np.int64), share).astype(np.float64)
            name += f", {share:.0%} of the counts"
        kept = (counts > 0).sum(axis=0) >= FEWEST
        yield Cells(name, counts[:, kept], types, full=full[:, kept])


def bulk(data: Path) -> Iterator[Cells]:
    """Yield counts of bulk samples: pairs of thyroid tumors and normal tissue."""
    import pandas as pd

    for name in ("mrna", "mirna"):
        table = pd.read_parquet(data / "thyroid_paired" / f"{name}.parquet").set_index("feature_id")
        labels = pd.read_csv(
            data / "thyroid_paired" / "labels.tsv", sep="\t", index_col=0, dtype=str
        ).iloc[:, 0]
        counts = table[labels.index].to_numpy(np.float64).T
        types = np.unique(labels.to_numpy(str), return_inverse=True)[1]
        yield Cells(f"bulk: thyroid {name}", counts[:, (counts > 0).sum(axis=0) >= FEWEST], types)


def pbmc(data: Path) -> Cells:
    """Return pbmc68k_reduced, which has logarithms alone, and the types of its authors."""
    cells = read(data / "pbmc68k_reduced" / "10x_pbmc68k_reduced.h5ad")
    values = np.asarray(cells.raw.to_adata().to_df(), np.float64)
    types = np.unique(np.asarray(cells.obs["bulk_labels"].astype(str)), return_inverse=True)[1]
    return Cells("pbmc68k_reduced", values, types, logarithms=True)


def more(folder: Path) -> Iterator[Cells]:
    """Yield the sets of h5ad files with `obs["label"]` and `uns["logarithms"]`."""
    for path in sorted(folder.glob("*.h5ad")):
        cells = read(path)
        values = np.asarray(cells.X.toarray(), np.float64)
        types = np.unique(np.asarray(cells.obs["label"].astype(str)), return_inverse=True)[1]
        kept = (values > 0).sum(axis=0) >= FEWEST
        yield Cells(path.stem, values[:, kept], types, logarithms=bool(cells.uns["logarithms"]))


def read(path: Path):
    """Read an h5ad without what anndata has to say of its age."""
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return anndata.read_h5ad(path)


def every_set(data: Path, seeds: int) -> Iterator[Cells]:
    """Yield the real sets and the simulated ones with each seed."""
    yield pbmc(data)
    yield from genotyped(data)
    yield from genotyped(data, 0.03)
    for name, design in DESIGNS.items():
        for seed in range(seeds):
            yield simulated(name, design, seed)


def twice(cells: Cells) -> Iterator[Cells]:
    """Yield two random halves of the cells; of small sets two draws of 80 %, which overlap."""
    rng, n = np.random.default_rng(0), len(cells.types)
    order, size = rng.permutation(n), n // 2
    parts = order[:size], order[size:]
    if size < HALF:
        size = round(0.8 * n)
        parts = order[:size], rng.permutation(n)[:size]
    for part in map(np.sort, parts):
        counts = cells.counts[part]
        kept = (counts > 0).sum(axis=0) >= FEWEST
        yield replace(cells, counts=counts[:, kept], types=cells.types[part], full=None)
