"""Features that have nothing to do with a graph, graphs of other things, and p-values of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import KDTree

from sfs_cli.catalog import METHODS
from sfs_cli.compute.matrix import Block
from sfs_cli.graph.similarity import Similarity, SparseSimilarity
from sfs_cli.methods.base import Scorer
from sfs_cli.methods.significance.tested import TestedScorer
from sfs_cli.options.testing import DEFAULT_PERMUTATIONS
from tests.making import make_engine, problem_of

MEMORY = 4 << 30
"""Bytes, of which the graph of 5,000 samples takes a third to be decomposed."""


def problem(
    method: str,
    X: np.ndarray,
    S: Similarity | None,
    codes: np.ndarray | None = None,
    **options: Any,
) -> Any:
    engine = make_engine(X)
    given = dict(METHODS[method].options) | options
    return problem_of(engine, S, codes=codes, options=given, memory=MEMORY)


def scored(method: str, X: np.ndarray, S: Similarity | None, null: str, **given: Any) -> Any:
    """Scores, and the columns of the p-values, of all features (n, m) in one block."""
    made = problem(method, X, S, **given)
    prepare = METHODS[method].load("prepare")
    assert prepare is not None
    scorer = TestedScorer(prepare(made), made, *null_of(null))
    found = measured_by(scorer, X)
    return found["score"], scorer.columns(found)


def null_of(pvalues: str) -> tuple[str, int]:
    """Return the distribution that ``moments`` or ``permutation:B`` names, and B."""
    null, _, count = pvalues.partition(":")
    return null, int(count or DEFAULT_PERMUTATIONS)


def asked(pvalues: str) -> dict[str, Any]:
    """Return the options of a ranking that ask for ``moments`` or ``permutation:B``."""
    null, count = null_of(pvalues)
    draws = {"permutation_draws": count} if null == "permutation" else {}
    return {"pvalues": null, **draws}


def measured_by(scorer: Scorer, X: np.ndarray) -> dict[str, np.ndarray]:
    """Return what a scorer finds of features, samples x features."""
    return scorer.score_block(Block(np.array(X.T, order="C")))


def graph_of(n: int, seed: int, neighbors: int = 5) -> Similarity:
    """Return a nearest-neighbor graph of random places in six dimensions, weighted by the rbf."""
    places = np.random.default_rng(seed).normal(size=(n, 6))
    distance, near = KDTree(places).query(places, neighbors + 1)
    row = np.repeat(np.arange(n), neighbors)
    weight = np.exp(-(distance[:, 1:].ravel() ** 2) / (2 * 3.3**2))  # about the median distance
    S = csr_array((weight, (row, near[:, 1:].ravel())), shape=(n, n))
    return SparseSimilarity(csr_array(S.maximum(S.T)))


def noise(n: int, features: int, seed: int) -> np.ndarray:
    """Normal noise; samples x features."""
    return np.random.default_rng(seed).normal(size=(n, features))


def counts(n: int, features: int, seed: int) -> np.ndarray:
    """Negative-binomial counts of unequal depth, nine of ten of them zero; samples x features.

    The samples of each feature are shuffled by themselves: a depth that all features share would
    make them follow the graph together, or none of them.
    """
    rng = np.random.default_rng(seed)
    depth = np.exp(rng.normal(0, 0.4, size=(n, 1)))
    mean = 0.12 * depth * rng.uniform(0.7, 1.3, size=features)
    values = rng.poisson(rng.gamma(0.7, mean / 0.7)).astype(np.float64)
    return rng.permuted(values, axis=0)


def of_depth(kind: str, n: int, features: int, deviation: float, seed: int) -> np.ndarray:
    """Counts that depend on the depth of their sample alone; samples x features.

    Poisson ones, or ``negative binomial`` ones with the dispersion 0.3. Features have means from
    0.1 to 100, and `deviation` is that of the logarithms of the depth.
    """
    rng = np.random.default_rng(seed)
    depth = np.exp(rng.normal(0, deviation, (n, 1)))
    mean = depth * np.exp(rng.uniform(np.log(0.1), np.log(100), features))
    if kind == "negative binomial":
        mean = rng.gamma(1 / 0.3, 0.3 * mean)
    return rng.poisson(mean).astype(np.float64)


def classes_of_depth(X: np.ndarray, seed: int) -> list[str]:
    """Return a class for each sample of X (n, m): deeper ones are more often of the second."""
    z = np.log(X.sum(axis=1))
    z -= z.mean()
    deep = z / z.std() + np.random.default_rng(seed).normal(size=len(z)) > 0
    return np.where(deep, "b", "a").tolist()


def p_values(X: np.ndarray, S: Similarity, null: str) -> np.ndarray:
    """Return the p-values of the features (n, m) that vary, of SPEC's phi2."""
    p = scored("spec", X, S, null)[1]["p_value"]
    return p[~np.isnan(p)]
