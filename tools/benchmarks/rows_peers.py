"""The same scores by packages of others, on dense matrices in memory: times and numbers.

Ours is the scoring pass of a method by as many threads as there are cores; a peer's is its function
alone. Both get the same matrix, and the same graph where there is one.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tools.benchmarks import bench_mrsf, bench_relieff, bench_rfs
from tools.benchmarks.peers import Peer, environment, run_peer
from tools.benchmarks.table import Bench, Found, Note, Part, Row, job, seconds

SAME = 1e-6
"""Relative differences between peers and ours up to this are rounding."""


def simulated(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples x features in four classes, the classes, and the rbf similarity."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 4
    X = rng.normal(8, 2, (n, m))
    X[:, : m // 10] += rng.normal(0, 1.5, (4, m // 10))[codes]
    return X, codes, bench_mrsf.rbf(X)


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
    from tests.making import make_problem

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
    places = [np.argsort(order) for order in (first, second)]
    return float(np.corrcoef(places)[0, 1])


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
    from sfs_cli.methods.classical import FisherScorer
    from sfs_cli.methods.spectral import SpecScorer, laplacian_score

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
    from sfs_cli.methods.classical import FTestScorer

    interpreter = environment(bench, "sklearn")
    n, m = (60, 300) if bench.small else (200, 100_000)
    X, codes, _ = simulated(n, m)
    mine, score = ours(FTestScorer, X, bench.repeat, codes=codes)
    given = {"X": X, "y": codes}
    theirs = run_peer(interpreter, "sklearn", "f_classif", given, repeat=bench.repeat)
    yield timing(f"F-test, {n} x {m:,}", mine, theirs)
    yield same("F-test", apart(score, theirs.found["score"]))


@job("mrsf", "scikit-learn: MultiTaskLasso at the last penalty, against the whole MRSF path")
def mrsf(bench: Bench) -> Found:
    interpreter = environment(bench, "sklearn")
    if bench.small:
        cases: dict[str, Callable[[], np.ndarray]] = {"simulated": lambda: simulated(60, 300)[0]}
    else:
        folders = {name: bench.data_set(name) for name in bench_mrsf.NAMES[:2]}
        cases = {
            name: lambda folder=folder: bench_mrsf.load(folder.parent, folder.name)
            for name, folder in folders.items()
        }
    select = 10 if bench.small else 100

    def path(name: str) -> Found:
        X = cases[name]()
        found = bench_mrsf.measure(X, select, interpreter)
        size = f"{X.shape[0]} x {X.shape[1]:,}"
        yield timing(f"MRSF path to {select} features, {name}, {size}", found.seconds, found.theirs)
        yield Row(f"MRSF, {name}, largest relative duality gap", "", "", found.gap, SAME)

    for name in cases:
        yield Part(name, partial(path, name))


@job("skrebate", "scikit-rebate: ReliefF")
def skrebate(bench: Bench) -> Found:
    interpreter = environment(bench, "skrebate")
    n, m = (60, 100) if bench.small else (200, 2000)
    mine, peer, difference = bench_relieff.measure(n, m, bench.repeat, interpreter)
    yield timing(f"ReliefF, {n} x {m:,}, k = 10", mine, peer)
    yield Row("ReliefF, largest difference", "", "", difference, 1e-9)


@job("rfs", "skfeature-chappers: RFS")
def robust(bench: Bench) -> Found:
    interpreter = environment(bench, "skfeature")
    if bench.small:
        name, (X, codes, _) = "simulated", simulated(30, 40)
    else:
        name, (X, codes) = "colon", bench_rfs.read(bench.data_set("colon"))
    size, limit = f"RFS, {name}, {X.shape[0]} x {X.shape[1]:,}, gamma 0.1", 90.0
    mine, gap, best = bench_rfs.ours(X, codes, 0.1, bench.repeat)
    yield Row(f"{size}, relative gap", "", "", gap, SAME)
    try:
        peer, top = bench_rfs.peer(X, codes, 0.1, interpreter, limit)
    except subprocess.TimeoutExpired:
        reference = f"skfeature-chappers: more than {limit:.0f} s, ended then"
        yield Row(size, seconds(mine), reference)
        return
    yield timing(size, mine, peer)
    yield Row(f"{size}, of its 20 best also ours", str(len(best & top)), "20")
    yield Note(
        "skfeature codes the classes as -1 and 1 rather than 0 and 1, and penalises the intercept "
        "with the features, so its objective is another one."
    )
