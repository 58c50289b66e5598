"""The same scores by packages of others, on dense matrices in memory: times and numbers.

Ours is the scoring pass of a method by as many threads as there are cores; a peer's is its function
alone. Both get the same matrix, and the same graph where there is one.
"""

from __future__ import annotations

import os
import statistics
import time
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from sfs_cli.graph import distances as kernels
from sfs_cli.methods.classical import FisherScorer, FTestScorer
from sfs_cli.methods.relieff import solve
from sfs_cli.methods.spectral import SpecScorer, laplacian_score
from tests.making import make_problem
from tools.benchmarks.peers import Peer, environment, run_peer
from tools.benchmarks.table import Bench, Found, Note, Part, Row, job, seconds

SAME = 1e-6
"""Relative differences between peers and ours up to this are rounding."""


def rbf(X: np.ndarray) -> np.ndarray:
    """Return the rbf similarity of samples x features with the median bandwidth."""
    X = X - X.mean(axis=0)
    d2 = kernels.squared_distances(X @ X.T)
    return kernels.rbf(d2, kernels.median_bandwidth(d2))


def simulated(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples x features in four classes, the classes, and the rbf similarity."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 4
    X = rng.normal(8, 2, (n, m))
    X[:, : m // 10] += rng.normal(0, 1.5, (4, m // 10))[codes]
    return X, codes, rbf(X)


def ours(
    scorer_of: Any,
    X: np.ndarray,
    repeat: int,
    *,
    codes: Any = None,
    S: Any = None,
    **options: Any,
) -> tuple[float, np.ndarray]:
    """Return the median time of a scoring pass, preparation included, and the scores."""
    context = make_problem(X, codes=codes, S=S, threads=os.cpu_count() or 1, **options)
    assert context.engine is not None
    times, score = [], np.empty(0)
    for _ in range(repeat + 1):  # the first one warms up
        start = time.perf_counter()
        scorer = scorer_of(context)
        score = context.engine.columns(scorer.score_block, scorer.dtype)["score"]
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:]), score


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return Spearman's correlation of two orders (features, best first)."""
    return float(spearmanr(np.argsort(first), np.argsort(second)).statistic)


def apart(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference, relative to the largest score."""
    return float(np.abs(mine - theirs).max() / np.abs(theirs).max())


def timing(what: str, mine: float, peer: Peer) -> Row:
    """Return the row of two times."""
    return Row(what, seconds(mine), f"{peer.name}: {seconds(peer.wall)}", mine / peer.wall)


def same(what: str, difference: float) -> Row:
    """Return the row of a difference that is to be rounding."""
    return Row(f"{what}, largest relative difference", "", "", difference, SAME)


def same_order(what: str, correlation: float) -> Row:
    """Return the row of two orders that are to be the same."""
    asked = 1 - SAME
    return Row(f"{what}, rank correlation", "", "", correlation, asked, least=True)


@job("skfeature", "skfeature-chappers: Laplacian Score, SPEC, Fisher Score")
def skfeature(bench: Bench) -> Found:
    interpreter = environment(bench, "skfeature")
    n, m = (60, 300) if bench.small else (200, 10_000)
    X, codes, S = simulated(n, m)
    size, repeat = f"{n} x {m:,}", bench.repeat

    def peer(function: str, **options: Any) -> Peer:
        given = {"X": X, "y": codes, "S": S}
        return run_peer(interpreter, "skfeature", function, given, repeat=repeat, **options)

    def laplacian() -> Found:
        mine, score = ours(laplacian_score, X, repeat, S=S)
        theirs = peer("lap_score")
        yield timing(f"Laplacian Score on rbf, {size}", mine, theirs)
        correlation = rank_correlation(np.argsort(score), theirs.found["order"])
        yield same_order("Laplacian Score", correlation)

    def spectral(style: int, ranking: str, clusters: int | None) -> Found:
        options = {"gamma": "power", "gamma_power": 1, "ranking": ranking, "clusters": clusters}
        mine, score = ours(SpecScorer, X, repeat, S=S, **options)
        theirs = peer("spec", style=style)
        yield timing(f"SPEC {ranking} on rbf, {size}", mine, theirs)
        yield same(f"SPEC {ranking}", apart(score, theirs.found["score"]))
        best_first = np.argsort(-score if ranking == "phi3" else score)
        correlation = rank_correlation(best_first, theirs.found["order"])
        yield Row(f"SPEC {ranking}, rank correlation with its order", "", theirs.name, correlation)

    def fisher_score() -> Found:
        mine, score = ours(FisherScorer, X, repeat, codes=codes)
        theirs = peer("fisher_score")
        yield timing(f"Fisher Score, {size}", mine, theirs)
        correlation = rank_correlation(np.argsort(-score), theirs.found["order"])
        yield same_order("Fisher Score", correlation)

    yield Part("Laplacian Score", laplacian)
    for style, ranking, clusters in ((-1, "phi1", None), (0, "phi2", None), (4, "phi3", 4)):
        yield Part(f"SPEC {ranking}", partial(spectral, style, ranking, clusters))
    yield Part("Fisher Score", fisher_score)
    yield Note(
        "skfeature hands out the scores of SPEC, and orders alone of the other two (its Fisher "
        "Score is 1/Laplacian Score - 1 on the graph of labels, which is ours). It puts large "
        "scores first: right for phi3, and backwards for phi1 and phi2, which are best where small "
        "(Eq. 2.6 and 2.7); a rank correlation of -1 is the same order the other way round."
    )


@job("sklearn", "scikit-learn: f_classif")
def sklearn(bench: Bench) -> Found:
    interpreter = environment(bench, "sklearn")
    n, m = (60, 300) if bench.small else (200, 100_000)
    X, codes, _ = simulated(n, m)
    mine, score = ours(FTestScorer, X, bench.repeat, codes=codes)
    given = {"X": X, "y": codes}
    theirs = run_peer(interpreter, "sklearn", "f_classif", given, repeat=bench.repeat)
    yield timing(f"F-test, {n} x {m:,}", mine, theirs)
    yield same("F-test", apart(score, theirs.found["score"]))


@job("skrebate", "scikit-rebate: ReliefF")
def skrebate(bench: Bench) -> Found:
    interpreter = environment(bench, "skrebate")
    n, m = (60, 100) if bench.small else (200, 2000)
    k = 10
    X, codes = np.random.default_rng(0).normal(8, 2, (n, m)), np.arange(n) % 2
    times, score = [], np.empty(0)
    for _ in range(bench.repeat + 1):  # the first one warms up
        start = time.perf_counter()
        score = solve(make_problem(X, codes=codes, relieff_neighbors=k)).score
        times.append(time.perf_counter() - start)
    theirs = run_peer(interpreter, "skrebate", "relieff", {"X": X, "y": codes}, neighbors=k)
    yield timing(f"ReliefF, {n} x {m:,}, k = {k}", statistics.median(times[1:]), theirs)
    difference = float(np.abs(theirs.found["score"] - score).max())
    yield Row("ReliefF, largest difference", "", "", difference, 1e-9)
