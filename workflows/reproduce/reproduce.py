"""Reproduce the tables of the papers: our number beside the published one, and why they differ.

usage: python reproduce.py DATA [--quick] [--tables 2.3 4.2 ...] [--sets COLON ...] [--splits N]
           [--jobs N] [--seed N] [--out FILE.md or FILE.tsv]

Every ranking is made by `sfs_cli.rank`. What is measured on it, on which samples and how often is
that of the paper, as far as it says so; README.md has what it does not say, and what is done there.
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # processes are parallel, not the sums of one; read by NumPy's BLAS
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import argparse
import csv
import math
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from scipy.stats import t as student

from sfs_cli import RankConfig, SfsError, rank
from sfs_cli.api import SfsWarning
from sfs_cli.errors import InputError, listed
from sfs_cli.evaluation.classify import (
    CLASSIFIERS,
    accuracies,
    folds_of,
    standard_error,
    standardized,
)
from sfs_cli.evaluation.measures import jaccard, redundancy

HERE = Path(__file__).resolve().parent
FACTS, REASONS = HERE / "paper.tsv", HERE / "reasons.tsv"
MATRIX, LABELS = "expression.parquet", "labels.tsv"
TOLERATED = 0.05
"""A larger difference needs a reason."""
CONFIDENCE = 0.95
CHANCE, UNEXPLAINED = "within chance", "not explained"
"""How a reason begins that is chance, and one that says only what was tried."""
VERDICTS = (f"within {TOLERATED}", CHANCE, "with a reason", UNEXPLAINED)
COLUMNS = (
    "table", "data set", "method", "paper", "ours", "standard error", "difference", "reason"
)  # fmt: skip
FOLDERS = {
    "DATABASEC": "medulloblastoma",
    "brain": "medulloblastoma",
    "TOX": "tox171",
    "CLL-SUB": "cll_sub",
    "breast met.": "breast_met",
}
"""Where the folder of a data set is not its name in lower case, with `_` for what is no letter."""

Options = Mapping[str, Any]
"""Options of `RankConfig`, by name."""


class Cell(NamedTuple):
    """A number of a paper, by its table, data set and method."""

    table: str
    data: str
    method: str


@dataclass(frozen=True)
class Split:
    """The samples of one split, and where the matrix of those is that features are ranked on.

    Attributes
    ----------
    X : ndarray, shape (m, n)
        All samples, prepared: features x samples.
    codes : ndarray of int, shape (n,)
        Their classes.
    train, test : ndarray of int
        Indices of the samples that are known, and of the others.
    folder : Path
        Where the files of the training samples are.
    """

    X: np.ndarray
    codes: np.ndarray
    train: np.ndarray
    test: np.ndarray
    folder: Path

    def write(self, features: pd.Index, samples: pd.Index) -> None:
        """Write the training samples and their classes."""
        known = pd.DataFrame(self.X[:, self.train], features, samples[self.train])
        known.to_parquet(self.folder / MATRIX)
        classes = pd.DataFrame({"class": [f"c{code}" for code in self.codes[self.train]]})
        classes.index = known.columns.rename("sample")
        classes.to_csv(self.folder / LABELS, sep="\t")

    def ranked(self, options: Options, *, labels: bool) -> np.ndarray:
        """Rank the features on the training samples; return their positions, best first."""
        classes, samples = int(self.codes.max()) + 1, len(self.codes)
        sizes: dict[object, object] = {CLASSES: classes, ONE_MORE: classes + 1, SAMPLES: samples}
        given: dict[str, Any] = {name: sizes.get(value, value) for name, value in options.items()}
        if labels:
            given["labels"] = str(self.folder / LABELS)
        ranking = rank(RankConfig(str(self.folder / MATRIX), threads=1, **given)).ranking
        return ranking.order[: ranking.n_scored]

    def top(self, order: np.ndarray) -> np.ndarray:
        """Return as many of the first features as there are samples, in the training samples."""
        return self.X[order[: len(self.codes)]][:, self.train]


CLASSES, ONE_MORE, SAMPLES = "classes", "classes and one", "samples"
"""Stand for these numbers in `Options`."""

# ---- the methods of each table, by the names of `paper.tsv` --------------------------------------

_NEAREST = {"RBF": "knn", "DIJ": "geodesic"}
_RBF = {"similarity": "rbf"}
_LABEL = {"similarity": "label"}


def _spec(ranking: str, clusters: str, **more: Any) -> Options:
    """Return the options of SPEC; phi3 alone takes the number of clusters."""
    of_phi3 = {"clusters": clusters} if ranking == "phi3" else {}
    return {"method": "spec", "ranking": ranking, **of_phi3, **more}


UNSUPERVISED_SPEC: dict[str, Options] = {
    "Laplacian Score": {"method": "laplacian", "similarity": "knn", "neighbors": 10},
    "SEPER": {"method": "seper"},
    **{
        # with as many eigenvectors as classes, two classes leave one beside the trivial one: the
        # lists of r and r^3 would be the same, and in the paper they are not
        f"{kernel} {phi} {power}": _spec(
            phi, ONE_MORE, gamma_power=gamma_power, similarity=similarity, neighbors=10
        )
        for kernel, similarity in _NEAREST.items()
        for phi in ("phi1", "phi2", "phi3")
        for power, gamma_power in (("r", 1), ("r^3", 3))
    },
}
SUPERVISED_SPEC: dict[str, Options] = {
    "ReliefF": {"method": "relieff"},
    "Fisher Score": {"method": "fisher"},
    "AROM-SVM": {"method": "arom-svm", "select": 50},
    **{phi: _spec(phi, CLASSES, **_LABEL) for phi in ("phi1", "phi2", "phi3")},
}
LONGEST = 200
SUPERVISED_MRSF: dict[str, Options] = {
    "ReliefF": {"method": "relieff"},
    "Fisher Score": {"method": "fisher"},
    "Trace Ratio": {"method": "trace-ratio", "variant": "fisher", "select": LONGEST},
    "HSIC": {"method": "hsic"},
    "mRMR": {"method": "mrmr", "select": LONGEST},
    "AROM-SVM": {"method": "arom-svm", "select": LONGEST},
    "MRSF": {"method": "mrsf", **_LABEL, "select": LONGEST},
}
UNSUPERVISED_MRSF: dict[str, Options] = {
    "Laplacian Score": {"method": "laplacian", **_RBF},
    "SPEC": _spec("phi3", CLASSES, **_RBF),
    "Trace Ratio": {
        "method": "trace-ratio", "variant": "laplacian", "select": SAMPLES, **_RBF
    },
    "HSIC": {"method": "hsic", **_RBF},
    "MRSF": {"method": "mrsf", "select": SAMPLES, **_RBF},
}  # fmt: skip
RFS_TABLE: dict[str, Options] = {
    "ReliefF": {"method": "relieff"},
    "F-score": {"method": "f-test"},
    "T-test": {"method": "t-test"},
    "Information Gain": {"method": "mutual-info"},
    "mRMR": {"method": "mrmr", "select": 80},
    "RFS": {"method": "rfs"},
}
Q_ALPHA: Options = {"method": "qalpha", "clusters": 6}
Q_ALPHA_GENES = (10, 20, 50, 100, 200, 500)
"""The paper does not say how many it took: the mean over these."""
NOT_IN_SFS = {
    "GS": "gene shaving",
    "SNR": "signal-to-noise ratio",
    "RFE": "recursive feature elimination",
    "RMB": "radius-margin bound",
}

# ---- what is measured on one split ---------------------------------------------------------------

Found = dict[tuple[str, str], float]
"""The numbers of a list on one split: by the table, and what follows the name of the method."""


def accuracy(split: Split, values: np.ndarray) -> float:
    """Return the accuracy of a linear SVM on the test samples, of values (features x samples)."""
    found = accuracies(values.T, split.codes, split.train, split.test)
    return float(found[CLASSIFIERS.index("linear SVM"), 0])


def accuracy_of_nearest(split: Split, values: np.ndarray) -> float:
    """Return the accuracy of the nearest neighbor on the test samples; the first of equals."""
    # not by `accuracies`: a linear SVM on values that are not scaled takes seconds
    apart = cdist(values[:, split.test].T, values[:, split.train].T, "sqeuclidean")
    guess = split.codes[split.train][apart.argmin(axis=1)]
    return float(np.mean(guess == split.codes[split.test]))


def nearest_neighbor(table: str, split: Split, order: np.ndarray) -> Found:
    """Return a number of Tables 2.3 and 2.4: mean accuracy of 1-NN on the first 10, ..., 50."""
    found = [accuracy_of_nearest(split, split.X[order[:k]]) for k in range(10, 51, 10)]
    return {(table, ""): float(np.mean(found))}


def supervised(split: Split, order: np.ndarray) -> Found:
    """Return numbers of Tables 4.2 (linear SVM on the first 10, 20, ..., 200) and 4.3."""
    found = [accuracy(split, split.X[order[:k]]) for k in range(10, LONGEST + 1, 10)]
    return {("4.2", ""): float(np.mean(found)), ("4.3", ""): redundancy(split.top(order))}


def unsupervised(split: Split, order: np.ndarray) -> Found:
    """Return numbers of Tables 4.4 (Jaccard score with the rbf kernel of all features) and 4.5."""
    known, top = split.X[:, split.train], split.top(order)
    # the kernel falls with the distance: the same neighbors
    whole = -cdist(known.T, known.T, "sqeuclidean")
    found = {
        ("4.4", f", {k} neighbor{'s' if k > 1 else ''}"): jaccard(top.T @ top, whole, k)
        for k in (1, 5)
    }
    return {**found, ("4.5", ""): redundancy(top)}


def first_genes(split: Split, order: np.ndarray) -> Found:
    """Return numbers of Table 1 of the RFS paper: a linear SVM on the first 20 and 80 genes."""
    return {("RFS 1", f", top {k}"): accuracy(split, split.X[order[:k]]) for k in (20, 80)}


def errors(split: Split, order: np.ndarray) -> Found:
    """Return a number of Table 1 of the Q-alpha paper: the error of a linear SVM."""
    found = [1 - accuracy(split, split.X[order[:k]]) for k in Q_ALPHA_GENES]
    return {("Q-alpha 1", ""): float(np.mean(found))}


def error_of_all(split: Split) -> float:
    """Return the error of a linear SVM on all genes."""
    return 1 - accuracy(split, split.X)


def error_of_components(count: int, split: Split) -> float:
    """Return the error of a linear SVM on principal components of the training samples."""
    axes = np.linalg.svd(split.X[:, split.train], full_matrices=False)[0][:, :count]
    return 1 - accuracy(split, axes.T @ split.X)


WITHOUT_LIST: dict[str, Callable[[Split], float]] = {
    "RAW": error_of_all,
    **{f"PCA{count}": partial(error_of_components, count) for count in (5, 10, 20, 30, 40, 50)},
}
"""What the Q-alpha paper compares with: no genes are selected."""

# ---- how the samples are split -------------------------------------------------------------------

Parts = list[tuple[np.ndarray, np.ndarray]]
LEAST_OF_CLASS = 4


def halves(codes: np.ndarray, number: int, seed: int) -> Parts:
    """Return a random half of the samples to train on; each class has two or more of them."""
    rng, n = np.random.default_rng([seed, number]), len(codes)
    if np.bincount(codes).min() < LEAST_OF_CLASS:
        raise InputError(
            f"a class has fewer than {LEAST_OF_CLASS} samples",
            hint="halves need two of them to train on; leave the class out of matrix and labels",
        )
    while True:
        drawn = rng.permutation(n)
        train = np.sort(drawn[: n // 2])
        if np.bincount(codes[train], minlength=int(codes.max()) + 1).min() > 1:
            return [(train, np.sort(drawn[n // 2 :]))]


def five_folds(codes: np.ndarray, number: int, seed: int) -> Parts:
    """Return five stratified folds."""
    return [(fold.train, fold.test) for fold in folds_of(codes, 5, 1, seed + number)]


def one_left_out(codes: np.ndarray, number: int, seed: int) -> Parts:
    """Leave out one sample."""
    return [(np.delete(np.arange(len(codes)), number), np.array([number]))]


# ---- how the values are prepared -----------------------------------------------------------------


def as_given(X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Leave the values as they are."""
    return X


def log_intensities(X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return log2 of intensities between 100 and 16,000, standardized by the training samples."""
    return standardized(np.log2(np.clip(X, 100, 16_000)), train)


# ---- the tables and their protocols --------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """Some tables of a paper that are measured together."""

    tables: tuple[str, ...]
    methods: Mapping[str, Options]
    judge: Callable[[Split, np.ndarray], Found]
    split: Callable[[np.ndarray, int, int], Parts]
    trials: int | None  # splits in the paper; None: one for each sample
    ours: int | None  # splits here
    quick: int | None  # splits in the quick mode
    labels: bool = True  # whether rankings know them
    prepare: Callable[[np.ndarray, np.ndarray], np.ndarray] = as_given

    def splits(self, samples: int, quick: bool, asked: int | None) -> int:
        """Return how many splits are made."""
        full = self.ours or samples
        return min(full, asked or (self.quick if quick else None) or full)


EXPERIMENTS = (
    Experiment(
        ("2.3",), UNSUPERVISED_SPEC, partial(nearest_neighbor, "2.3"), halves,
        trials=10, ours=10, quick=5, labels=False,
    ),
    Experiment(
        ("2.4",), SUPERVISED_SPEC, partial(nearest_neighbor, "2.4"), halves,
        trials=10, ours=10, quick=5,
    ),
    Experiment(
        ("4.2", "4.3"), SUPERVISED_MRSF, supervised, halves,
        trials=20, ours=20, quick=5, prepare=standardized,
    ),
    Experiment(
        ("4.4", "4.5"), UNSUPERVISED_MRSF, unsupervised, halves,
        trials=20, ours=20, quick=5, labels=False, prepare=standardized,
    ),
    Experiment(
        ("RFS 1",), RFS_TABLE, first_genes, five_folds,
        trials=1, ours=10, quick=5, prepare=standardized,
    ),
    Experiment(
        ("Q-alpha 1",), {"Q-alpha": Q_ALPHA}, errors, one_left_out,
        trials=None, ours=None, quick=None, labels=False, prepare=log_intensities,
    ),
)  # fmt: skip
TABLES = tuple(table for each in EXPERIMENTS for table in each.tables)
SLOW = (("RELATHE", "SEPER"),)
"""Data sets and methods that take minutes: the quick mode ranks them on one split."""

# ---- the work ------------------------------------------------------------------------------------


class Fact(NamedTuple):
    """What a paper says of a cell: its number, where it is, and a note."""

    paper: float
    place: str
    note: str


@dataclass(frozen=True)
class Job:
    """One split of a data set in an experiment."""

    experiment: int
    data: str
    folder: Path
    number: int
    methods: tuple[str, ...]
    seed: int


Values = dict[Cell, float]
Failures = dict[tuple[str, str], str]
"""Why a method failed, by the data set and its name."""


def read_facts(path: Path = FACTS) -> dict[Cell, Fact]:
    """Return the numbers of the papers by cell, in the order of the file."""
    return {Cell(*row[:3]): Fact(float(row[3]), row[4], row[5]) for row in _rows(path)}


def read_reasons(path: Path = REASONS) -> list[tuple[Cell, str]]:
    """Return why numbers differ; the table, data set and method of each may hold wildcards."""
    return [(Cell(*row[:3]), row[3]) for row in _rows(path)]


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def folder_of(root: Path, data: str) -> Path:
    """Return where a data set is looked for."""
    plain = "".join(c if c.isalnum() else "_" for c in data.lower()).strip("_")
    return root / FOLDERS.get(data, plain)


def is_there(root: Path, data: str) -> bool:
    """Return whether a folder has the files of a data set."""
    return all((folder_of(root, data) / name).is_file() for name in (MATRIX, LABELS))


def read_data(folder: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a matrix, features x samples, and the codes of the classes of its samples."""
    X = pd.read_parquet(folder / MATRIX)
    X = X.set_index(X.columns[0])
    labels = pd.read_csv(folder / LABELS, sep="\t", index_col=0, dtype=str).iloc[:, 0]
    labels.index = labels.index.astype(str)
    missing = X.columns.astype(str).difference(labels.index)
    if len(missing):
        raise InputError(
            f"{len(missing)} of {X.shape[1]} samples have no label: {listed(list(missing))}",
            where=str(folder / LABELS),
            hint=f"give {LABELS} with every sample of {MATRIX}, or leave these out of it",
        )
    return X, pd.factorize(labels.loc[X.columns.astype(str)], sort=True)[0]


def base_of(method: str) -> str:
    """Return the name of the method of a row, without the length of the list or the like."""
    return method.split(", ")[0]


def is_made(cell: Cell) -> bool:
    """Return whether sfs has the method of a cell, or none is needed."""
    known = {**_experiment(cell.table)[1].methods, **WITHOUT_LIST}
    return base_of(cell.method) in known


def _experiment(table: str) -> tuple[int, Experiment]:
    return next((i, each) for i, each in enumerate(EXPERIMENTS) if table in each.tables)


def plan(
    cells: Iterable[Cell], root: Path, *, quick: bool, splits: int | None, seed: int
) -> list[Job]:
    """Return the jobs that give the numbers of some cells, the longest first."""
    wanted: dict[tuple[int, str], list[str]] = defaultdict(list)
    for cell in cells:
        if is_there(root, cell.data) and is_made(cell):
            wanted[_experiment(cell.table)[0], cell.data].append(base_of(cell.method))
    slow, jobs = [], []
    for (at, data), names in wanted.items():
        folder = folder_of(root, data)
        samples = len(pd.read_csv(folder / LABELS, sep="\t"))
        names = list(dict.fromkeys(names))
        long = tuple(name for name in names if (data, name) in SLOW)
        short = tuple(name for name in names if name not in long)
        for number in range(EXPERIMENTS[at].splits(samples, quick, splits)):
            if short:
                jobs.append(Job(at, data, folder, number, short, seed))
            if long and not (quick and number):
                slow.append(Job(at, data, folder, number, long, seed))
    return slow + jobs


def work(job: Job) -> tuple[Values, Failures]:
    """Return the numbers of one split: means over its parts; and the methods that failed."""
    experiment = EXPERIMENTS[job.experiment]
    warnings.simplefilter("ignore", SfsWarning)  # hundreds of rankings that nobody reads
    table, codes = read_data(job.folder)
    found: dict[Cell, list[float]] = defaultdict(list)
    failed: Failures = {}
    for train, test in experiment.split(codes, job.number, job.seed):
        with tempfile.TemporaryDirectory() as scratch:
            X = experiment.prepare(table.to_numpy(np.float64), train)
            split = Split(X, codes, train, test, Path(scratch))
            split.write(table.index, table.columns)
            for name in job.methods:
                if (job.data, name) in failed:
                    continue
                try:
                    judged = _judged(experiment, split, name)
                except SfsError as error:
                    failed[job.data, name] = "; ".join(str(error).splitlines())
                    continue
                for (of, suffix), value in judged.items():
                    found[Cell(of, job.data, name + suffix)].append(value)
    return {cell: float(np.mean(values)) for cell, values in found.items()}, failed


def _judged(experiment: Experiment, split: Split, name: str) -> Found:
    if name in WITHOUT_LIST:
        return {(experiment.tables[0], ""): WITHOUT_LIST[name](split)}
    order = split.ranked(experiment.methods[name], labels=experiment.labels)
    return experiment.judge(split, order)


def reproduce(jobs: Sequence[Job], workers: int) -> tuple[dict[Cell, list[float]], Failures]:
    """Return the numbers of all splits by cell, some jobs at once."""
    found: dict[Cell, dict[int, float]] = defaultdict(dict)
    failed: Failures = {}
    started = time.perf_counter()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(work, job): job for job in jobs}
        for count, done in enumerate(as_completed(waiting), 1):
            job, (values, why) = waiting[done], done.result()
            failed |= why
            for cell, value in values.items():
                found[cell][job.number] = value
            tables = " and ".join(EXPERIMENTS[job.experiment].tables)
            print(
                f"{count} of {len(jobs)} after {time.perf_counter() - started:.0f} s: "
                f"{tables}, {job.data}, split {job.number + 1}",
                file=sys.stderr,
            )
    # the order in which jobs ended is no part of the result
    return {cell: [by[i] for i in sorted(by)] for cell, by in found.items()}, failed


# ---- the table -----------------------------------------------------------------------------------


def difference_by_chance(values: Sequence[float], trials: int | None) -> float:
    """Return what the means of our splits and of theirs differ by, at most, in 95 of 100 cases.

    Theirs are taken to vary as ours do. NaN for one split.
    """
    count = len(values)
    if count < 2:
        return math.nan
    ratio = math.sqrt(1 / count + 1 / (trials or count))
    quantile = float(student.ppf((1 + CONFIDENCE) / 2, count - 1))
    return quantile * ratio * float(np.std(values, ddof=1))


def reason_of(
    cell: Cell, difference: float, values: Sequence[float], reasons: Sequence[tuple[Cell, str]]
) -> str:
    """Return why a number differs from that of the paper by more than `TOLERATED`."""
    if abs(difference) <= TOLERATED:
        return ""
    for pattern, reason in reasons:
        if all(map(fnmatchcase, cell, pattern)):
            return reason
    chance = difference_by_chance(values, _experiment(cell.table)[1].trials)
    if abs(difference) <= chance:
        return f"{CHANCE}: {len(values)} splits tell differences above {chance:.2f}"
    return UNEXPLAINED


def rows_of(
    facts: Mapping[Cell, Fact],
    values: Mapping[Cell, Sequence[float]],
    failed: Failures,
    reasons: Sequence[tuple[Cell, str]],
    root: Path,
) -> list[list[str]]:
    """Return the rows of the table."""
    rows = []
    for cell, fact in facts.items():
        ours, error, difference = "", "", ""
        if cell in values:
            mean, of_mean = float(np.mean(values[cell])), standard_error(np.array(values[cell]))
            ours, difference = f"{mean:.3f}", f"{mean - fact.paper:+.3f}"
            error = "" if math.isnan(of_mean) else f"{of_mean:.3f}"
            reason = reason_of(cell, mean - fact.paper, values[cell], reasons)
        elif not is_there(root, cell.data):
            ours, reason = "absent", "the data set is not there"
        elif not is_made(cell):
            ours, reason = "none", f"sfs has no {NOT_IN_SFS[cell.method.rstrip('0123456789')]}"
        else:
            ours, reason = "failed", failed.get((cell.data, base_of(cell.method)), "")
        notes = "; ".join(filter(None, (reason, fact.note)))
        rows.append([*cell, f"{fact.paper:.3f}", ours, error, difference, notes])
    return rows


def as_tsv(rows: Sequence[Sequence[str]]) -> str:
    """Return the table, tab-separated."""
    return "".join("\t".join(row) + "\n" for row in (COLUMNS, *rows))


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return the table in Markdown."""
    lines = (COLUMNS, ["---"] * len(COLUMNS), *rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def summary(rows: Sequence[Sequence[str]]) -> str:
    """Return a line for each table: how many numbers there are, how near, and why they differ."""
    lines = []
    for table in dict.fromkeys(row[0] for row in rows):
        of = [row for row in rows if row[0] == table]
        apart = [abs(float(row[6])) for row in of if row[6]]
        line = f"table {table}: {len(apart)} of {len(of)} numbers"
        if apart:
            verdicts = [verdict(row) for row in of if row[6]]
            counts = "; ".join(f"{verdicts.count(each)} {each}" for each in VERDICTS)
            line += f"; {counts}; median difference {np.median(apart):.3f}"
        lines.append(line)
    return "\n".join(lines)


def verdict(row: Sequence[str]) -> str:
    """Return which of `VERDICTS` holds for a row that has a number of ours."""
    if abs(float(row[6])) <= TOLERATED:
        return VERDICTS[0]
    for known, name in ((CHANCE, VERDICTS[1]), (UNEXPLAINED, VERDICTS[3])):
        if row[7].startswith(known):
            return name
    return VERDICTS[2]


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    facts = read_facts()
    sets = list(dict.fromkeys(cell.data for cell in facts))
    made.add_argument("data", type=Path, help="folder with a folder for each data set")
    made.add_argument("--quick", action="store_true", help="fewer splits: a few minutes")
    made.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES, metavar="TABLE",
                      help=f"by default all: {', '.join(TABLES)}")  # fmt: skip
    made.add_argument("--sets", nargs="+", choices=sets, default=sets, metavar="SET",
                      help=f"by default all: {', '.join(sets)}")  # fmt: skip
    made.add_argument("--splits", type=_count, help="at most so many splits of each data set")
    made.add_argument("--jobs", type=_count, default=2, help="splits at once, each on one core")
    made.add_argument("--seed", type=int, default=0, help="of the splits")
    made.add_argument("--out", type=Path, help="FILE.md or FILE.tsv; by default Markdown on stdout")
    return made


def _count(text: str) -> int:
    """Return a number of 1 or more."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Reproduce what is asked for; return the exit code."""
    line = parser()
    asked = line.parse_args(arguments)
    if asked.out is not None and asked.out.suffix not in (".md", ".tsv"):
        line.error(f"--out {asked.out}: give a file that ends in .md or .tsv")
    facts = {
        cell: fact
        for cell, fact in read_facts().items()
        if cell.table in asked.tables and cell.data in asked.sets
    }
    if not any(is_there(asked.data, cell.data) for cell in facts):
        names = ", ".join(sorted({folder_of(asked.data, cell.data).name for cell in facts}))
        line.error(f"{asked.data} has none of the folders {names} with {MATRIX} and {LABELS}")
    jobs = plan(facts, asked.data, quick=asked.quick, splits=asked.splits, seed=asked.seed)
    try:
        values, failed = reproduce(jobs, asked.jobs)
    except SfsError as error:  # of the data; a method that fails is a row of the table
        print(error, file=sys.stderr)
        return int(error.exit_code)
    rows = rows_of(facts, values, failed, read_reasons(), asked.data)
    as_text = as_tsv if asked.out is not None and asked.out.suffix == ".tsv" else as_markdown
    if asked.out is None:
        sys.stdout.write(as_text(rows))
    else:
        asked.out.write_text(as_text(rows), encoding="utf-8")
    print(summary(rows), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
