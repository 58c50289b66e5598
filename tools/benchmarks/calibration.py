"""What p-values promise of features that have nothing to do with the graph, and what they keep.

usage: python -m tools.benchmarks.calibration [--quick] [--nulls NULL,...] [--graphs GRAPH,...]
           [--data DATA,...] [--method METHOD] [--features M] [--seeds K] [--jobs N] [--times]
           [--out FILE.md]

A cell is a way to make p-values, a graph of the samples and a kind of data. For each of K seeds M
features are drawn that have nothing to do with the graph, and tested as the command tests them. A
cell holds if in all seeds together

- p-values up to .05, .01, .001 and .0001 are no more frequent than they say, but for 10 % and three
  standard errors (of the rates of the seeds, and at least those of independent features);
- features with a q-value of at most .05 are in no more of the seeds than that allows, and in none
  more of them than chance makes in one of a thousand (nothing is asked of this where features share
  the depth of the samples, as they are significant together then);
- no p-value of a score that is worse than the mean of its distribution (effect < 0) is below .01,
  and none is above 1.

Of some hundreds of cells a few exceed that by chance. So a cell that does not hold is drawn again,
with AGAIN times as many new seeds, which alone decide. The command ends with 1 if a cell does not
hold.

With --out the table of each p-value replaces what is between its two marks of the file. With
--times it is another table that is made: the CPU seconds of scores, moments and permutations, which
are to be had where nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import binom, norm, poisson

from sfs_cli.catalog import METHODS
from sfs_cli.compute.matrix import Block, block_features, cut
from sfs_cli.graph.distances import median_bandwidth, rbf, squared_distances
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, SparseSimilarity
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.shared import least_p_value
from sfs_cli.methods.significance.judge import HOW
from sfs_cli.methods.significance.tested import TestedScorer
from tests.unit.methods.nulls import graph_of, measured_by, null_of, problem
from tools.benchmarks.processes import ONE_THREAD

LEVELS = (0.05, 0.01, 0.001, 1e-4)
NULLS = ("moments", "permutation:1000")
Q, SPARE, ERRORS = 0.05, 0.1, 3.0
"""Level of q-values; what a rate may exceed its level by, as a part of it and in errors."""
BY_CHANCE = 1e-3
"""Features with a q-value of at most Q in one matrix are too many where chance makes them rarer."""
AGAIN = 3
BEGIN, END = "<!-- calibration of {} -->", "<!-- end of {} -->"


# ---- graphs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A graph, and the classes it is made of, if any: codes (n,)."""

    similarity: Similarity
    codes: np.ndarray | None = None


def _classes(small: int, n: int, rng: np.random.Generator) -> Drawn:
    codes = rng.permutation(np.repeat([0, 1], [small, n - small]))
    return Drawn(label_similarity(codes), codes)


def _kernel(rng: np.random.Generator, n: int = 100) -> np.ndarray:
    places = rng.normal(size=(n, 6))
    d2 = squared_distances(places @ places.T)
    return rbf(d2, median_bandwidth(d2))


def _rbf(rng: np.random.Generator) -> Drawn:
    return Drawn(DenseSimilarity(_kernel(rng)))


def _skewed(rng: np.random.Generator) -> Drawn:
    weight = rng.lognormal(0, 1, size=100)
    return Drawn(DenseSimilarity(_kernel(rng) * np.outer(weight, weight)))


def _knn(rng: np.random.Generator) -> Drawn:
    return Drawn(graph_of(100, int(rng.integers(1 << 30))))


def _edges(one: np.ndarray, two: np.ndarray) -> Drawn:
    n = 100
    S = csr_array((np.ones(len(one)), (one, two)), shape=(n, n))
    return Drawn(SparseSimilarity(csr_array(S.maximum(S.T))))


def _lattice(_rng: np.random.Generator) -> Drawn:
    at = np.arange(100).reshape(10, 10)
    one = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    return _edges(one, np.concatenate([at[:, 1:].ravel(), at[1:].ravel()]))


def _hub(_rng: np.random.Generator) -> Drawn:
    ring = np.arange(100)
    hubs = np.repeat([0, 33, 66], 100)
    others = np.tile(ring, 3)
    one, two = np.r_[ring, hubs[hubs != others]], np.r_[(ring + 1) % 100, others[hubs != others]]
    return _edges(one, two)


def _star(_rng: np.random.Generator) -> Drawn:
    return _edges(np.zeros(99, int), np.arange(1, 100))


def _pairs(_rng: np.random.Generator) -> Drawn:
    return _edges(np.arange(0, 100, 2), np.arange(1, 100, 2))


def _cliques(_rng: np.random.Generator) -> Drawn:
    """Five cliques, and two samples that are beside each other alone."""
    S = np.kron(np.eye(5), np.ones((20, 20)))
    S = np.pad(S - np.eye(100), (0, 2))
    S[-1, -2] = S[-2, -1] = 1
    return Drawn(DenseSimilarity(S))


def _bipartite(rng: np.random.Generator) -> Drawn:
    S = np.zeros((100, 100))
    S[:50, 50:] = rng.random((50, 50)) < 0.2
    S[np.arange(50), 50 + np.arange(50)] = 1  # none is alone
    return Drawn(DenseSimilarity(S + S.T))


def _blocks(rng: np.random.Generator) -> Drawn:
    codes = rng.permutation(np.repeat([0, 1, 2], [70, 25, 5]))
    return Drawn(label_similarity(codes), codes)


def _strong_pair(rng: np.random.Generator) -> Drawn:
    S = _kernel(rng)
    S[0, 1] = S[1, 0] = 1e4
    return Drawn(DenseSimilarity(S))


def _heavy(rng: np.random.Generator) -> Drawn:
    weight = rng.pareto(1.5, size=100) + 0.1
    return Drawn(DenseSimilarity(_kernel(rng) * np.outer(weight, weight)))


def _outliers(rng: np.random.Generator) -> Drawn:
    places = rng.normal(size=(100, 6))
    places[:2] += 30
    d2 = squared_distances(places @ places.T)
    return Drawn(DenseSimilarity(rbf(d2, median_bandwidth(d2))))


def _of_size(n: int, rng: np.random.Generator) -> Drawn:
    return Drawn(DenseSimilarity(_kernel(rng, n)))


GRAPHS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "labels-50-50": partial(_classes, 50, 100),
    "labels-10-90": partial(_classes, 10, 100),
    "labels-5-95": partial(_classes, 5, 100),
    "labels-20-980": partial(_classes, 20, 1000),
    "rbf": _rbf,
    "knn": _knn,
    "lattice": _lattice,
    "hub": _hub,
    "star": _star,
    "skewed": _skewed,
    "pairs": _pairs,
    "labels-4-20": partial(_classes, 4, 24),
    "labels-9-391": partial(_classes, 9, 400),
    "labels-70-25-5": _blocks,
    "rbf-17": partial(_of_size, 17),
    "rbf-37": partial(_of_size, 37),
    "rbf-140": partial(_of_size, 140),
    "cliques": _cliques,
    "outliers": _outliers,
    "bipartite": _bipartite,
    "strong-pair": _strong_pair,
    "heavy": _heavy,
}


# ---- data --------------------------------------------------------------------------------------


def _counts(
    zeros: float, rng: np.random.Generator, size: tuple[int, int], depth: Any = 1.0
) -> np.ndarray:
    """Return negative-binomial counts of shape 1/2 with such a part of zeros where depth is 1."""
    mean = 0.5 * (zeros**-2 - 1)
    return rng.poisson(depth * rng.gamma(0.5, 2 * mean, size=size)).astype(np.float64)


def _of_depth(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return _counts(0.8, rng, size, rng.lognormal(0, 0.5, size=(size[0], 1)))


def _outlying(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Two samples of each feature, which are others for each, are far from all others."""
    values = rng.normal(size=size)
    values[:2] *= 20
    return rng.permuted(values, axis=0)


DATA: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "lognormal": lambda rng, size: rng.lognormal(size=size),
    "nb-50": partial(_counts, 0.5),
    "nb-80": partial(_counts, 0.8),
    "nb-95": partial(_counts, 0.95),
    "depth": _of_depth,
    "t3": lambda rng, size: rng.standard_t(3, size=size),
    "zero-inflated": lambda rng, size: (rng.random(size) < 0.25) * rng.lognormal(size=size),
    "0/1/2": lambda rng, size: rng.binomial(2, 0.05, size=size).astype(np.float64),
    "ties": lambda rng, size: rng.poisson(2, size=size).astype(np.float64),
    "two-outliers": _outlying,
}


# ---- cells -------------------------------------------------------------------------------------


def prepare_of(method: str) -> Callable[[Problem], Scorer]:
    """Return what makes the scorer of a method."""
    prepare = METHODS[method].load("prepare")
    assert prepare is not None, method
    return prepare


@dataclass(frozen=True)
class Cell:
    """One p-value, graph and kind of data."""

    null: str
    graph: str
    data: str
    method: str = "spec"

    def seed(self, number: int) -> Seed:
        """Return the seed of a number; graph and data are the same for all p-values."""
        return Seed(self, number)


@dataclass(frozen=True)
class Seed:
    """What is drawn for a cell."""

    cell: Cell
    number: int

    def generator(self, what: str) -> np.random.Generator:
        """Return one of what is drawn."""
        return np.random.default_rng((self.number, crc32(what.encode())))

    def tested(self, features: int) -> Found:
        """Draw so many features, and test them."""
        cell = self.cell
        graph = GRAPHS[cell.graph](self.generator(cell.graph))
        n = graph.similarity.n
        X = DATA[cell.data](self.generator(f"{cell.data} {n}"), (n, features))
        made = problem(cell.method, X, graph.similarity)
        prepare = prepare_of(cell.method)
        least = 0.0 if graph.codes is None else least_p_value(graph.codes)
        scorer = TestedScorer(prepare(made), made, *null_of(cell.null), least)
        found = measured_by(scorer, X)
        columns = scorer.columns(found)
        scored = np.flatnonzero(~np.isnan(found["score"]))
        p, q, effect = (columns[name][scored] for name in ("p_value", "q_value", "effect"))
        return Found(
            np.array([np.count_nonzero(p <= level) for level in LEVELS]),
            len(p),
            int(np.count_nonzero(q <= Q)),
            float(p[effect < 0].min(initial=1.0)),
            float(p.max()),
        )


@dataclass(frozen=True)
class Found:
    """What was found in one matrix."""

    small: np.ndarray
    tested: int
    significant: int
    least_of_worse: float
    largest: float


@dataclass(frozen=True)
class Result:
    """What was found in all seeds of a cell."""

    cell: Cell
    found: tuple[Found, ...]
    drawn_again: bool = False

    @property
    def rates(self) -> np.ndarray:
        """Rates of p-values up to each level."""
        found = self.found
        return np.sum([each.small for each in found], axis=0) / sum(each.tested for each in found)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the rates."""
        found, levels = self.found, np.array(LEVELS)
        tested = sum(each.tested for each in found)
        independent = np.sqrt(levels * (1 - levels) / tested)
        rates = np.array([each.small / each.tested for each in found])
        spread = rates.std(axis=0, ddof=1) if len(found) > 1 else np.zeros(len(levels))
        return np.maximum(independent, spread / np.sqrt(len(found)))

    @property
    def faults(self) -> list[str]:
        """What does not hold."""
        found, levels = self.found, np.array(LEVELS)
        over = self.rates > (1 + SPARE) * levels + ERRORS * self.errors
        faults = [f"at {level:g}" for level in levels[over]]
        matrices = sum(each.significant > 0 for each in found)
        if matrices > binom.ppf(norm.cdf(ERRORS), len(found), (1 + SPARE) * Q):
            faults.append("matrices")
        if max(each.significant for each in found) > self.most:
            faults.append("q")
        if min(each.least_of_worse for each in found) < 0.01:
            faults.append("effect")
        if max(each.largest for each in found) > 1:
            faults.append("above 1")
        return faults

    @property
    def most(self) -> float:
        """How many q-values up to Q one of the matrices may have."""
        if self.cell.data == "depth":
            return np.inf
        # k of m have a q-value of Q where k p-values are up to k Q / m
        chances = ((k, len(self.found) * poisson.sf(k - 1, k * Q)) for k in range(1, 100))
        return next(k for k, chance in chances if chance < BY_CHANCE) - 1

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def line(self) -> str:
        """Return the row of the table."""
        found = self.found
        rates = [f"{rate / level:.2f}" for rate, level in zip(self.rates, LEVELS)]
        matrices = sum(each.significant > 0 for each in found)
        most = max(each.significant for each in found)
        worse = min(each.least_of_worse for each in found)
        verdict = "holds" if self.holds else f"**fails**: {', '.join(self.faults)}"
        verdict += " (drawn again)" * self.drawn_again
        cells = [self.cell.graph, self.cell.data, *rates, f"{matrices} of {len(found)}", str(most)]
        return f"| {' | '.join([*cells, f'{worse:.2f}', verdict])} |"


def result_of(cell: Cell, features: int, seeds: int) -> Result:
    """Draw and test the matrices of a cell, and those of other seeds where they do not hold."""
    first = _drawn(cell, features, range(seeds))
    if first.holds:
        return first
    second = _drawn(cell, features, range(seeds, (1 + AGAIN) * seeds))
    return Result(cell, second.found, drawn_again=True)


def _drawn(cell: Cell, features: int, numbers: range) -> Result:
    return Result(cell, tuple(cell.seed(number).tested(features) for number in numbers))


# ---- the table ---------------------------------------------------------------------------------


def results(
    cells: Sequence[Cell], features: int, seeds: int, jobs: int
) -> Iterator[tuple[Result, float]]:
    """Yield the result of each cell, and its CPU seconds, in order."""
    os.environ.update(ONE_THREAD)
    task = partial(_timed, features=features, seeds=seeds)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(task, cells)


def _timed(cell: Cell, features: int, seeds: int) -> tuple[Result, float]:
    start = time.process_time()
    return result_of(cell, features, seeds), time.process_time() - start


HEADER = (
    "| graph | data | .05 | .01 | .001 | .0001 | with q <= .05 | most | worse | |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


def with_table(page: str, null: str, table: str) -> str:
    """Return the page with another table between the marks of a p-value."""
    begin, end = BEGIN.format(null), END.format(null)
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}"


# ---- times -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timed:
    """Normal features of so many samples, of which the CPU seconds are measured."""

    method: str
    graph: str
    n: int

    def line(self, features: int) -> str:
        """Score and test the features in blocks of the size of a run; return a row of the table."""
        of_size = {"knn": lambda n: graph_of(n, 1), "rbf": _rbf_of}[self.graph]
        spent = dict.fromkeys(("graph", "scores", "both", "permutations"), 0.0)
        start = time.process_time()
        made = problem(self.method, np.zeros((self.n, 2)), of_size(self.n))
        prepare = prepare_of(self.method)
        scorer = TestedScorer(prepare(made), made, "moments")
        rng, found = np.random.default_rng(0), np.zeros(len(HOW), int)
        spent["graph"] = time.process_time() - start
        permute = scorer.judge._permute

        def permuted(*given: Any) -> None:
            start = time.process_time()
            permute(*given)
            spent["permutations"] += time.process_time() - start

        for span in cut(features, block_features(self.n, 8)):
            values = rng.normal(size=(span.size, self.n))
            start = time.process_time()
            scorer.scorer.score_block(Block(values.copy()))
            scored = time.process_time()
            with mock.patch.object(scorer.judge, "_permute", permuted):
                how = scorer.score_block(Block(values))["how"]
            spent["scores"] += scored - start
            spent["both"] += time.process_time() - scored
            found += np.bincount(how, minlength=len(HOW))
        moments = spent["both"] - spent["scores"] - spent["permutations"]
        seconds = (spent["graph"], spent["scores"], moments, spent["permutations"])
        shown = [f"{each:.2f}" for each in seconds]
        size = f"{features:,} x {self.n:,}"
        return f"| {' | '.join([self.method, self.graph, size, *shown])} | {found[1:].sum():,} |"


def _rbf_of(n: int) -> Similarity:
    return DenseSimilarity(_kernel(np.random.default_rng(1), n))


TIMED = (
    Timed("spec", "rbf", 100),
    Timed("spec", "knn", 100),
    Timed("hsic", "rbf", 2000),
    Timed("spec", "knn", 2000),
    Timed("spec", "knn", 5000),
)
TIMES = (
    "| method | graph | features x samples | graph | scores | moments | permutations | permuted |",
    "|---|---|---|---|---|---|---|---|",
)


def times(features: int) -> list[str]:
    """Print and return the table of times."""
    os.environ.update(ONE_THREAD)
    lines = [*TIMES]
    print(*lines, sep="\n", flush=True)
    # a process each: a BLAS that has been loaded keeps its threads
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for line in pool.map(partial(Timed.line, features=features), TIMED):
            print(line, flush=True)
            lines.append(line)
    return lines


def _chosen(names: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(names)}")
        return chosen

    return parse


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="200 features, 3 seeds")
    for name, known in (("nulls", NULLS), ("graphs", tuple(GRAPHS)), ("data", tuple(DATA))):
        parser.add_argument(f"--{name}", type=_chosen(known), default=list(known), help="all")
    parser.add_argument("--method", choices=("spec", "laplacian", "hsic"), default="spec")
    parser.add_argument("--features", type=int, metavar="M", help="2,000")
    parser.add_argument("--seeds", type=int, metavar="K", help="20")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    parser.add_argument("--out", type=Path, help="Markdown file whose table is replaced")
    parser.add_argument("--times", action="store_true", help="of 20,000 features, not the rates")
    given = parser.parse_args(words)
    if given.times:
        lines = times(given.features or 20_000)
        if given.out is not None:
            page = given.out.read_text(encoding="utf-8")
            given.out.write_text(with_table(page, "times", "\n".join(lines)), encoding="utf-8")
        return 0
    features = given.features or (200 if given.quick else 2000)
    seeds = given.seeds or (3 if given.quick else 20)
    page = "" if given.out is None else given.out.read_text(encoding="utf-8")
    marks = [mark.format(null) for null in given.nulls for mark in (BEGIN, END)]
    if given.out is not None and any(page.count(mark) != 1 for mark in marks):
        parser.error(f"{given.out} does not have each of these lines once: {', '.join(marks)}")

    failed = 0
    for null in given.nulls:
        cells = [Cell(null, *each, given.method) for each in product(given.graphs, given.data)]
        lines, seconds, wrong = list(HEADER), 0.0, 0
        print(f"--pvalues {null.replace(':', ',draws=')}:", "", *lines, sep="\n", flush=True)
        for result, spent in results(cells, features, seeds, given.jobs):
            lines.append(result.line())
            print(lines[-1], flush=True)
            seconds, wrong = seconds + spent, wrong + (not result.holds)
        kind = "A quick look only, at few features and seeds. " * given.quick
        said = (
            f"{kind}{given.method}: {len(cells)} of {len(GRAPHS) * len(DATA)} cells, {features:,} "
            f"features x {seeds} seeds, {seconds / 60:.1f} minutes of a core; {wrong} cells fail."
        )
        print("", said, "", sep="\n", flush=True)
        failed += wrong
        if given.out is not None:
            page = with_table(page, null, "\n".join([said, "", *lines]))
            given.out.write_text(page, encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
