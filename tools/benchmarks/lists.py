"""What the gene lists are worth: methods x labelled data sets, judged by labels they did not see.

usage: python -m tools.benchmarks.lists DATA [--more] [--sets NAME ...] [--rankings NAME ...]
           [--add "NAME=OPTIONS OF sfs rank" ...] [--with-labels]
           [--peers FOLDER | --no-peers] [--jobs N] [--out FILE.md]

Every set is prepared here (logs of intensities and counts), written as Parquet, and ranked by `sfs
rank` as a process, without its labels. With --more the sets are the folders that
`tools.benchmarks.r_collections` made in DATA. With --with-labels the rankings that use labels are
compared in place of these, and chosen inside each fold (3 folds). The first 50, 100 and 200 genes
are judged by the balanced accuracy of a nearest neighbor and of a linear SVM (3 x 5 folds,
standardized genes), the first 100 by the normalized mutual information of k-means with the classes,
the first 50 by the mean absolute correlation of pairs and by the share of genes that one sample
makes. Sizes of more than half of the genes are left out. Beside the lists of sfs stand random genes
(mean of five draws), all genes, and the highly variable genes of scanpy.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sfs_cli.evaluation.measures import clustering, redundancy
from tools.benchmarks.peers import default_folder, environment, run_peer
from tools.benchmarks.table import Bench, MissingError

SIZES = (50, 100, 200)
REPEATS, FOLDS = 3, 5
DRAWS = 5
BASELINE = "most variable genes"
SPIKE = 0.5
"""A gene is made by one sample when that has more of the sum of squares around the mean."""

Prepare = Callable[[np.ndarray], np.ndarray]
Rows = list[dict[str, Any]]


def as_is(values: np.ndarray) -> np.ndarray:
    """Leave values that are logarithms or standardized already."""
    return values


def logs(values: np.ndarray) -> np.ndarray:
    """Return log2 of intensities; those of MAS4 below 20, negative ones too, are noise."""
    return np.log2(np.maximum(values, 20.0))


def logs_of_large(values: np.ndarray) -> np.ndarray:
    """Return log2 where values are intensities, of which some are above 100; else as they are."""
    return logs(values) if values.max() > 100 else values


def log_counts(values: np.ndarray) -> np.ndarray:
    """Return log1p of counts."""
    return np.log1p(values)


def log_cpm(values: np.ndarray) -> np.ndarray:
    """Return log1p of counts per million of each sample."""
    return np.log1p(values * (1e6 / values.sum(axis=0)))


@dataclass(frozen=True)
class DataSet:
    """A labelled matrix: its file below the data folder, and how its values are prepared."""

    name: str
    file: str
    prepare: Prepare = as_is

    def read(self, data: Path) -> tuple[pd.DataFrame, np.ndarray]:
        """Return genes x samples without constant or incomplete genes, and codes of the classes."""
        path = data / self.file
        if path.suffix == ".gct":
            X = pd.read_csv(path, sep="\t", skiprows=2, index_col=0).drop(columns="Description")
        elif path.suffix == ".h5ad":
            import anndata

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells = anndata.read_h5ad(path)
            X = cells.to_df().T
        else:
            X = pd.read_parquet(path).set_index("feature_id")
        X = X[~X.index.duplicated()].dropna().astype(np.float64)
        labels = pd.read_csv(path.parent / "labels.tsv", sep="\t", index_col=0, dtype=str).iloc[
            :, 0
        ]
        labels.index = labels.index.astype(str)
        X.columns = X.columns.astype(str)
        counts = labels.value_counts()
        labels = labels[labels.isin(counts.index[counts >= FOLDS])]
        X = X[[sample for sample in X.columns if sample in labels.index]]
        X = pd.DataFrame(self.prepare(X.to_numpy()), X.index.astype(str), X.columns)
        X = X[X.to_numpy().std(axis=1) > 0]
        return X, pd.factorize(labels.loc[X.columns])[0]


SETS: tuple[DataSet, ...] = (
    DataSet("allaml", "allaml/expression.parquet"),
    DataSet("prostate_ge", "prostate_ge/expression.parquet"),
    DataSet("tox171", "tox171/expression.parquet", logs),
    DataSet("colon", "colon/expression.parquet", logs),
    DataSet("leukemia", "leukemia/expression.gct", logs),
    DataSet("medulloblastoma", "medulloblastoma/expression.parquet", logs),
    DataSet("relathe", "relathe/expression.parquet", log_counts),
    DataSet("orl10p", "orl10p/expression.parquet"),
    DataSet("pix10p", "pix10p/expression.parquet"),
    DataSet("ar10p", "ar10p/expression.parquet"),
    DataSet("methylation", "methylation/expression.parquet"),
    DataSet("tcga_mrna", "tcga_brca/mrna.parquet"),
    DataSet("tcga_mirna", "tcga_brca/mirna.parquet"),
    DataSet("tcga_protein", "tcga_brca/protein.parquet"),
    DataSet("rosmap_mrna", "rosmap/mrna.parquet"),
    DataSet("thyroid_mrna", "thyroid_paired/mrna.parquet", log_cpm),
    DataSet("thyroid_mirna", "thyroid_paired/mirna.parquet", log_cpm),
    DataSet("nci60", "nci60/compounds.parquet"),
    DataSet("pbmc68k", "pbmc68k_reduced/10x_pbmc68k_reduced.h5ad"),
)

RANKINGS = {
    "default": "",
    "as in the paper: rbf, SPEC": "--similarity rbf --method spec",
    BASELINE: "--method variance",
    "knn 5, SPEC": "--similarity knn,neighbors=5 --method spec",
    "knn 5, HSIC": "--similarity knn,neighbors=5 --method hsic",
    "rbf, MRSF": "--similarity rbf --method mrsf --select 200",
    "knn 5, MRSF": "--similarity knn,neighbors=5 --method mrsf --select 200",
}
"""Unsupervised rankings, as options of ``sfs rank``."""
WITH_LABELS = {
    "default": "",
    "F-test": "--method f-test",
    "F-test, pruned": "--method f-test --max-correlation 0.7",
    "ReliefF": "--method relieff",
    "HSIC": "--method hsic",
    "MRSF, lda": "--method mrsf,response=lda --select 200",
    "mRMR": "--method mrmr --select 200",
}
"""Rankings that use labels; ``--labels`` is added."""
INNER = 3
FLAVORS = ("seurat", "cell_ranger", "seurat_v3")


@dataclass(frozen=True)
class Worth:
    """What a list is worth on one set; NaN where it cannot be judged."""

    accuracy: float
    nmi: float
    redundancy: float
    spikes: float


class Judge:
    """Judges lists on one set, always by the same folds.

    Parameters
    ----------
    X : ndarray, shape (m, n)
        Prepared values, genes x samples.
    y : ndarray of int, shape (n,)
        Classes.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y = X, y
        self.sizes = [size for size in SIZES if size <= len(X) // 2] or [len(X) // 2]
        self.folds = [
            fold
            for seed in range(REPEATS)
            for fold in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X.T, y)
        ]

    def worth(self, genes: np.ndarray) -> Worth:
        """Judge a list: positions of genes, best first."""
        found = [self.accuracy(genes[:size]) for size in self.sizes]
        top = self.X[genes[:50]]
        return Worth(float(np.mean(found)), self.nmi(genes[:100]), redundancy(top), spikes(top))

    def accuracy(self, genes: np.ndarray) -> float:
        """Return the balanced accuracy, mean of both classifiers over the folds."""
        return float(np.mean([self.in_fold(genes, *fold) for fold in self.folds]))

    def in_fold(self, genes: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
        """Return the balanced accuracy, mean of both classifiers, trained and tested on samples."""
        found = []
        scaler = StandardScaler().fit(self.X[np.ix_(genes, train)].T)
        a, b = (scaler.transform(self.X[np.ix_(genes, part)].T) for part in (train, test))
        for model in (KNeighborsClassifier(1), LinearSVC(C=0.1, random_state=0)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an SVM that has not converged is judged too
                guess = model.fit(a, self.y[train]).predict(b)
            found.append(balanced_accuracy_score(self.y[test], guess))
        return float(np.mean(found))

    def nmi(self, genes: np.ndarray) -> float:
        """Return the normalized mutual information of k-means with the classes."""
        values = StandardScaler().fit_transform(self.X[genes].T)
        return clustering(values, self.y, seed=0)[0]


def spikes(values: np.ndarray) -> float:
    """Return the share of rows of which one sample has most of the variation."""
    square = (values - values.mean(axis=1, keepdims=True)) ** 2
    return float((square.max(axis=1) > SPIKE * square.sum(axis=1)).mean())


def ranked(file: Path, options: str) -> list[str]:
    """Rank a file by ``sfs rank``; return the genes, best first."""
    command = [sys.executable, "-m", "sfs_cli", "rank", str(file), *shlex.split(options), "-q"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[0])
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    return [row[1] for row in rows]


def variable_genes(X: pd.DataFrame, flavor: str, bench: Bench) -> list[str]:
    """Return the genes by a flavor of scanpy's highly variable genes, best first."""
    peer = run_peer(
        environment(bench, "scanpy"), "scanpy", "flavor", {"X": X.to_numpy()}, flavor=flavor
    )
    return list(X.index[np.argsort(-peer.found["score"], kind="stable")])


def lists(
    X: pd.DataFrame, file: Path, rankings: dict[str, str], bench: Bench
) -> Iterator[tuple[str, list[str] | Exception]]:
    """Yield the rankings of a set by their names; what failed, as its error."""
    makers = {name: lambda o=options: ranked(file, o) for name, options in rankings.items()}
    for flavor in FLAVORS if bench.peers is not None else ():
        makers[f"scanpy {flavor}"] = lambda f=flavor: variable_genes(X, f, bench)
    for name, make in makers.items():
        try:
            yield name, make()
        except (RuntimeError, MissingError) as error:
            yield name, error


def measure(known: DataSet, rankings: dict[str, str], data: Path, bench: Bench) -> Rows:
    """Judge every ranking on a set."""
    X, y = known.read(data)
    file = bench.scratch / f"{known.name}.parquet"
    X.to_parquet(file)
    judge = Judge(X.to_numpy(), y)
    rng = np.random.default_rng(0)
    drawn = [judge.worth(rng.permutation(len(X))) for _ in range(DRAWS)]
    means = (np.mean([getattr(w, f) for w in drawn]) for f in Worth.__annotations__)
    everything = np.arange(len(X))
    worths = {
        "random genes": Worth(*map(float, means)),
        "all genes": Worth(judge.accuracy(everything), judge.nmi(everything), np.nan, np.nan),
    }
    for name, found in lists(X, file, rankings, bench):
        if isinstance(found, Exception):
            print(f"{known.name}, {name}: {found}", file=sys.stderr)
            continue
        worths[name] = judge.worth(X.index.get_indexer(pd.Index(found)))
    return [{"set": known.name, "ranking": name, **vars(w)} for name, w in worths.items()]


def measure_with_labels(known: DataSet, rankings: dict[str, str], data: Path, bench: Bench) -> Rows:
    """Judge rankings that see the labels of the training samples, on a set."""
    X, y = known.read(data)
    judge, worth = Judge(X.to_numpy(), y), dict.fromkeys(rankings, 0.0)
    file, labels = (bench.scratch / f"{known.name}.{suffix}" for suffix in ("parquet", "tsv"))
    for train, test in StratifiedKFold(INNER, shuffle=True, random_state=0).split(X.T, y):
        X.iloc[:, train].to_parquet(file)
        classes = pd.DataFrame({"class": [f"c{code}" for code in y[train]]})
        classes.index = pd.Index(X.columns[train], name="sample")
        classes.to_csv(labels, sep="\t")
        for name, options in rankings.items():
            found = ranked(file, f"{options} --labels {labels}:class")
            genes = X.index.get_indexer(pd.Index(found))
            accuracy = [judge.in_fold(genes[:size], train, test) for size in judge.sizes]
            worth[name] += float(np.mean(accuracy)) / INNER
    return [{"set": known.name, "ranking": k, "accuracy": v} for k, v in worth.items()]


def of_sets(
    make: Callable[..., Rows], sets: tuple[DataSet, ...], jobs: int, *given: object
) -> pd.DataFrame:
    """Judge rankings on every set, some sets at once; one row for each pair."""
    rows: Rows = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(make, known, *given): known.name for known in sets}
        for done in as_completed(waiting):
            rows += done.result()
            print(f"{waiting[done]}: done", file=sys.stderr)
    order = [known.name for known in sets]
    rows.sort(key=lambda row: order.index(row["set"]))
    return pd.DataFrame(rows)


def report_with_labels(found: pd.DataFrame) -> str:
    """Return the tables: means over sets with paired differences, and accuracy by set."""
    by_set = found.pivot(index="set", columns="ranking", values="accuracy")
    lines = ["| ranking | sets | accuracy | - F-test |", "|---|---|---|---|"]
    names = list(dict.fromkeys(found["ranking"]))
    for name in names:
        difference = with_error((by_set[name] - by_set["F-test"]).dropna())
        lines.append(f"| {name} | {len(by_set)} | {by_set[name].mean():.3f} | {difference} |")
    return "\n".join(lines + accuracy_by_set(by_set, names)) + "\n"


def accuracy_by_set(by_set: pd.DataFrame, names: list[str]) -> list[str]:
    """Return the lines of a table, one row for each set."""
    lines = ["", f"| set | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for name, row in by_set.iterrows():
        lines.append(f"| {name} | {' | '.join(f'{row[n]:.3f}' for n in names)} |")
    return lines


def report(found: pd.DataFrame) -> str:
    """Return the tables: means over sets with paired differences, and accuracy by set."""
    lines = [
        "| ranking | sets | accuracy | - variable | - random | worst - random | NMI | mean abs r "
        "| one-sample genes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    by_set = found.pivot(index="set", columns="ranking", values="accuracy")
    names = list(dict.fromkeys(found["ranking"]))
    for name in names:
        part = found[found["ranking"] == name]
        to_variable, to_random = (
            (by_set[name] - by_set[other]).dropna() for other in (BASELINE, "random genes")
        )
        lines.append(
            f"| {name} | {len(part)} | {part['accuracy'].mean():.3f} | {with_error(to_variable)} | "
            f"{with_error(to_random)} | {to_random.min():+.3f} ({to_random.idxmin()}) | "
            f"{part['nmi'].mean():.3f} | {part['redundancy'].mean():.2f} | "
            f"{part['spikes'].mean():.0%} |"
        )
    lines += accuracy_by_set(by_set.loc[list(dict.fromkeys(found["set"]))], names)
    return "\n".join(lines) + "\n"


def with_error(differences: pd.Series) -> str:
    """Return the mean of paired differences, with its standard error."""
    return f"{differences.mean():+.3f} ± {differences.std() / len(differences) ** 0.5:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--more", action="store_true", help="the sets of r_collections")
    parser.add_argument("--sets", nargs="+", metavar="NAME")
    named = list(RANKINGS | WITH_LABELS)
    parser.add_argument("--rankings", nargs="+", choices=named, metavar="NAME")
    parser.add_argument("--add", action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--with-labels", action="store_true", help="compare supervised rankings")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    parser.add_argument("--no-peers", action="store_true", help="leave scanpy out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="sets at once")
    parser.add_argument("--out", type=Path, help="Markdown file, not stdout")
    given = parser.parse_args()
    sets = SETS
    if given.more:
        folders = sorted(path.parent.name for path in given.data.glob("*/expression.parquet"))
        sets = tuple(DataSet(name, f"{name}/expression.parquet", logs_of_large) for name in folders)
    unknown = set(given.sets or ()) - {s.name for s in sets}
    if unknown:
        parser.error(f"no such sets: {', '.join(sorted(unknown))}")
    chosen = tuple(s for s in sets if given.sets is None or s.name in given.sets)
    known, base = (WITH_LABELS, "F-test") if given.with_labels else (RANKINGS, BASELINE)
    rankings = {k: v for k, v in known.items() if given.rankings is None or k in given.rankings}
    rankings |= {base: known[base]}
    rankings |= dict(text.split("=", 1) for text in given.add)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # sets run side by side
    with tempfile.TemporaryDirectory(prefix="sfs-lists-") as folder:
        bench = Bench(Path(folder), None if given.no_peers else given.peers.absolute())
        rest = given.jobs, rankings, given.data, bench
        if given.with_labels:
            text = report_with_labels(of_sets(measure_with_labels, chosen, *rest))
        else:
            with suppress(MissingError):  # told set by set
                environment(bench, "scanpy")  # before several processes would make it at once
            text = report(of_sets(measure, chosen, *rest))
    if given.out is None:
        print(text, end="")
    else:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
