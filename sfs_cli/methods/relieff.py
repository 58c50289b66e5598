"""ReliefF: a good feature differs between near samples of different classes, not of the same.

RReliefF, for an outcome: it differs between near samples of different outcomes.

M. Robnik-Sikonja and I. Kononenko, "Theoretical and empirical analysis of ReliefF and RReliefF",
Machine Learning 53, 2003 (RReliefF: Figure 3); Eq. 3.15 of the dissertation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.kinds import class_members, fewer_neighbors, nearest_by_class, neighbor_counts
from sfs_cli.graph.neighbors import smallest_in_rows
from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.class_means import ClassMeans
from sfs_cli.methods.shared import unit_outcome, unit_range

CHUNK_FEATURES = 64
CHUNK_PAIRS = 1024
"""Values of this many features and pairs stay in the cache of a core while they are summed."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of samples, each once, with the weights of their differences."""

    low: np.ndarray  # (p,): one sample
    high: np.ndarray  # (p,): the other; ``low < high``
    weight: np.ndarray  # (p,): negative for hits, positive for misses


def solve(problem: Problem) -> Solution:
    """Score every feature by ReliefF (Eq. 3.15), every sample is used once; larger is better.

    One pass finds the Manhattan distances between samples over all features, each scaled to
    [0, 1], and a second one scores the features. With k neighbors,

    ``1/(n k) sum_i [ sum_C P(C)/(1 - P(y_i)) sum_misses |f_i - f_j| - sum_hits |f_i - f_j| ]``.

    Of a class with at most k samples, one less than its size are taken in place of k, with a
    warning. With an outcome the score is that of `outcome_pairs`.

    Parameters
    ----------
    problem : Problem
        With labels of all samples, and the option ``relieff_neighbors``.

    Raises
    ------
    InputError
        If there are fewer than two classes, a class has one sample, or a label is missing; if the
        outcome is the same among all neighbors.
    OutOfMemoryError
        If the distances between all samples do not fit in memory.
    """
    engine, labels, k = problem.engine, problem.labels, int(problem.options["relieff_neighbors"])
    codes, names = labels.codes, labels.classes
    if labels.values is not None:
        outcome = unit_outcome(labels.values, "RReliefF", 3)
        k = min(k, len(outcome) - 1)
        warning = (
            f"there are only {k} neighbors" if k < problem.options["relieff_neighbors"] else ""
        )
        pairs = outcome_pairs(manhattan_distances(engine, problem.memory), outcome, k)
    else:
        class_members(codes, names)  # refuse wrong labels before a pass is made
        warning = fewer_neighbors(codes, k, names)
        distances = manhattan_distances(engine, problem.memory)
        pairs = weighted_pairs(nearest_by_class(distances, codes, k, names), codes, k)

    means = ClassMeans.of(problem)

    def part(block: BlockLike) -> Arrays:
        compared = {} if means is None else {"class_means": means.measure(block.values)}
        values, status = unit_range(block)
        sums = weighted_differences(values, pairs)
        sums[status != Status.OK] = np.nan
        return {"score": sums, "status": status} | compared

    found = engine.columns(part, DOUBLE)
    return Solution(
        found["score"],
        found["status"],
        class_means=found.get("class_means"),
        stop="every sample was used once",
        facts={"neighbors": k, "pairs": len(pairs.weight), "passes": 2},
        warnings=[warning] if warning else [],
    )


def manhattan_distances(engine: Engine, memory: int) -> np.ndarray:
    """Return the Manhattan distances (n, n) between samples over features scaled to [0, 1]."""
    from scipy.spatial.distance import pdist, squareform

    n = engine.source.n_samples
    # one triangle of float64 for each result that waits for its turn
    needed = 4 * n * (n - 1) * (engine.executor.workers + 6)
    hint = "allow more with --memory, use fewer --threads, or rank on fewer samples"
    check_memory(f"the distances between {n:,} samples need", needed, memory, hint, "threads")

    def part(block: BlockLike) -> Arrays:
        values, _ = unit_range(block)
        return {"distances": pdist(np.ascontiguousarray(values.T), "cityblock")}

    return squareform(engine.total(part, DOUBLE)["distances"])


def weighted_pairs(neighbors: np.ndarray, codes: np.ndarray, k: int) -> Pairs:
    """Turn the neighbors of every sample into pairs of samples with the weights of Eq. 3.15.

    `neighbors` are those of `nearest_by_class`, `codes` (n,) the classes.
    """
    n = len(codes)
    prior = np.bincount(codes) / n
    own, other = prior[codes][:, None], prior[codes[neighbors]]
    hits = codes[neighbors] == codes[:, None]
    weight = np.where(hits, -1.0, other / (1 - own)) / (
        n * neighbor_counts(codes, k)[codes[neighbors]]
    )
    return _unique_pairs(neighbors, weight)


def outcome_pairs(distances: np.ndarray, outcome: np.ndarray, k: int) -> Pairs:
    """Return the pairs of neighbors with the weights of RReliefF, every sample used once.

    With d(i, j) = 1/k for the k nearest samples j of each sample i, and differences diff scaled to
    [0, 1], Figure 3 of the paper scores a feature f by

    ``N_dCdf / N_dC - (N_df - N_dCdf) / (n - N_dC)``, where ``N_dC = sum diff_y d``,
    ``N_df = sum diff_f d`` and ``N_dCdf = sum diff_y diff_f d`` over all i and j.

    It is linear in diff_f: a pair has the weight ``d (diff_y / N_dC - (1 - diff_y) / (n - N_dC))``.

    Parameters
    ----------
    distances : ndarray, shape (n, n)
        Between samples; overwritten. Equal ones are ordered by the index of the sample.
    outcome : ndarray, shape (n,)
        Number of each sample.
    k : int
        Number of nearest samples.

    Raises
    ------
    InputError
        If the outcome is the same among all neighbors.
    """
    n = len(outcome)
    np.fill_diagonal(distances, np.inf)  # no sample is its own neighbor
    neighbors, _ = smallest_in_rows(distances, k)
    change = np.abs(outcome[:, None] - outcome[neighbors]) / np.ptp(outcome)
    changed = float(change.sum()) / k
    if not changed:
        raise InputError(
            "the label is the same among all nearest samples, so RReliefF cannot compare features",
            hint=f"give more than {k} neighbors=",
            option=("relieff_neighbors", "labels"),
        )
    weight = change / changed
    if changed < n:  # else every neighbor has the other end of the range, and this part is 0
        weight -= (1 - change) / (n - changed)
    return _unique_pairs(neighbors, weight / k)


def _unique_pairs(neighbors: np.ndarray, weight: np.ndarray) -> Pairs:
    """Return each pair of a sample and its neighbors once; both arguments are (n, k)."""
    n = len(neighbors)
    sample = np.arange(n)[:, None]
    keys = np.minimum(sample, neighbors) * n + np.maximum(sample, neighbors)
    # a pair is found from both of its ends, and in several classes: its weights are added up once
    pairs, where = np.unique(keys.ravel(), return_inverse=True)
    return Pairs(pairs // n, pairs % n, np.bincount(where, weight.ravel()))


def weighted_differences(values: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return ``sum_p weight_p |f_low(p) - f_high(p)|`` (b,) for the features `values` (b, n)."""
    sums = np.zeros(len(values))
    for lo in range(0, len(values), CHUNK_FEATURES):
        chunk = np.ascontiguousarray(values[lo : lo + CHUNK_FEATURES].T)
        for at in range(0, len(pairs.weight), CHUNK_PAIRS):
            part = slice(at, at + CHUNK_PAIRS)
            gaps = chunk[pairs.low[part]]
            gaps -= chunk[pairs.high[part]]
            np.abs(gaps, out=gaps)
            sums[lo : lo + CHUNK_FEATURES] += pairs.weight[part] @ gaps
    return sums
