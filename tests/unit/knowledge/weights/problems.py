"""Kernels that the tests of fusion share: of clusters, of noise, of a neighbor graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.graph.distances import linear, median_bandwidth, rbf, squared_distances
from sfs_cli.graph.neighbors import knn_similarity, nearest_in_panel
from sfs_cli.knowledge.fuse import one_scale
from sfs_cli.knowledge.weights import learner
from sfs_cli.knowledge.weights.base import FusionContext, Weighting

LEARNERS = ("alignf", "rkda", "statis", "sparse-umkl", "naml", "snf")
WEIGHERS = LEARNERS[:-1]
"""Those that learn weights, which the last does not."""


@dataclass
class Problem:
    """Kernels on one scale, classes of the samples, and which kernels know nothing of them."""

    kernels: list[np.ndarray]
    codes: np.ndarray
    noise: list[int]

    def learn(self, name: str, **options: Any) -> Weighting:
        return learn(name, self.kernels, self.codes, **options)


def learn(name: str, kernels: list[np.ndarray], codes: Any = None, **options: Any) -> Weighting:
    if "lam" in options:
        options["lambda"] = options.pop("lam")
    if name == "naml":
        options.setdefault("clusters", 3)
    return learner(name)(kernels, FusionContext(codes, options))


def profile(codes: np.ndarray, signal: float, seed: int, features: int = 40) -> np.ndarray:
    """Samples x features, with a mean per class."""
    rng = np.random.default_rng(seed)
    means = signal * rng.normal(size=(codes.max() + 1, features))
    X = means[codes] + rng.normal(size=(len(codes), features))
    return X - X.mean(axis=0)


def rbf_of(X: np.ndarray) -> np.ndarray:
    d2 = squared_distances(X @ X.T)
    return rbf(d2, median_bandwidth(d2))


def knn_of(X: np.ndarray, neighbors: int = 6) -> np.ndarray:
    d2 = squared_distances(X @ X.T)
    indices, near = nearest_in_panel(d2, 0, neighbors)
    return knn_similarity(indices, near, median_bandwidth(d2)).to_dense()


def planted(seed: int, n: int = 48, graph: bool = False) -> Problem:
    """Three kernels of the classes, one of noise, and perhaps an indefinite neighbor graph."""
    codes = np.random.default_rng(seed).permutation(np.arange(n) % 3)
    kernels = [
        rbf_of(profile(codes, 1.2, seed + 1)),
        linear(gram(profile(codes, 0.8, seed + 2))),
        rbf_of(profile(codes, 0.9, seed + 3)),
        rbf_of(profile(codes, 0.0, seed + 4)),
    ]
    if graph:
        kernels.append(knn_of(profile(codes, 0.9, seed + 5)))
    return Problem([one_scale(K)[0] for K in kernels], codes, [3])


def networks(seed: int, n: int = 40) -> Problem:
    """Kernels without negative entries."""
    codes = np.random.default_rng(seed).permutation(np.arange(n) % 3)
    kernels = [
        rbf_of(profile(codes, 1.0, seed + 1)),
        knn_of(profile(codes, 1.0, seed + 2)),
        rbf_of(profile(codes, 0.0, seed + 3)),
    ]
    return Problem([one_scale(K)[0] for K in kernels], codes, [2])


def problem_for(name: str, seed: int) -> Problem:
    return networks(seed) if name == "snf" else planted(seed)


def gram(X: np.ndarray) -> np.ndarray:
    return X @ X.T
