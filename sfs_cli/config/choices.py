"""The values that single options take, whatever the other options are: words and bounds."""

from __future__ import annotations

from sfs_cli.methods import catalog

METHODS = tuple(catalog.METHODS)
ON_SOURCES = ("msfs", "kogs")
"""Methods that another one scores for, on knowledge sources."""
FORMATS = ("tsv", "csv", "parquet", "json", "rnk")

MAX_GAMMA_POWER = 64
"""Higher powers of eigenvalues, which go up to 2, leave the range of numbers of 32 bits."""
MAX_DIGITS = 17
"""A number of 64 bits is told from every other by so many digits."""

CHOICES: dict[str, tuple[str, ...]] = {
    "method": METHODS,
    "rows": ("auto", "features", "samples"),
    "missing": ("error", "drop", "mean"),
    "samples": ("error", "intersect", "union"),
    "edge_weights": ("rbf", "binary"),
    "normalize": ("frobenius",),
    "format": FORMATS,
    "on_no_convergence": ("warn", "error"),
    "dtype": ("float32", "float64"),
}
"""Options that are one of a few words. Those of methods are in the catalogue of the methods."""
LEAST = {
    "gamma_power": 1,
    "select": 1,
    "rank": 1,
    "power": 1,
    "fusion_neighbors": 1,
    "fusion_clusters": 2,
    "neighbors": 1,
    "threads": 1,
    "block_size": 1,
    "digits": 1,
    "seed": 0,
}
"""Lower bounds of whole numbers."""
MOST = {"gamma_power": MAX_GAMMA_POWER, "digits": MAX_DIGITS}
"""Upper bounds of whole numbers."""
POSITIVE = ("budget", "fusion_lambda", "beta")
"""Numbers that are above zero."""
EXECUTOR = r"local|dask(:(tcp|tls|ws|wss|ucx)://[^\s/]+)?"
"""Pattern of what runs the work."""
DEFINITIONS = (1, 3)
"""Of the graph-dependent covariance, as its paper numbers them."""
