"""Choosing the number of genes and of neighbors by cross-validation: in memory, and with files.

usage: python -m tools.benchmarks.grid_search [DATA]

`SpectralSelector` and a linear support vector machine in scikit-learn's `GridSearchCV`, on the
allaml set in DATA or, without it, on simulated genes; beside it the same folds, selections and
fits by a script that writes each fold's matrix to a file and runs `sfs rank`. Both must find the
same accuracies. Prints wall and CPU seconds of both, and of the selector's fits alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from sfs_cli.sklearn import SpectralSelector

NUMBERS, NEIGHBORS = (10, 50, 200), (5, 15)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def study(data: Path | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the matrix, samples x genes, and the class of each sample."""
    if data is None:
        X, y = make_classification(60, 400, n_informative=20, random_state=0)
        return pd.DataFrame(X).add_prefix("g"), y
    genes = pd.read_parquet(data / "allaml" / "expression.parquet")
    genes = genes.set_index(genes.columns[0])
    labels = pd.read_csv(data / "allaml" / "labels.tsv", sep="\t", index_col=0).iloc[:, 0]
    return genes.T.astype(np.float64), labels.loc[genes.columns].to_numpy()


def in_memory(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return the mean accuracy of each setting, neighbors x numbers."""
    steps = Pipeline([("genes", SpectralSelector()), ("svm", SVC(kernel="linear"))])
    grid = {"genes__neighbors": list(NEIGHBORS), "genes__n_features_to_select": list(NUMBERS)}
    search = GridSearchCV(steps, grid, cv=FOLDS, refit=False).fit(X, y)
    found = pd.DataFrame(search.cv_results_)
    by = ["param_genes__neighbors", "param_genes__n_features_to_select"]
    return found.set_index(by)["mean_test_score"].unstack().to_numpy(float)


def with_files(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return what `in_memory` does, by a command for each fold and number of neighbors."""
    found = np.zeros((len(NEIGHBORS), len(NUMBERS)))
    with tempfile.TemporaryDirectory(prefix="sfs-grid-") as folder:
        matrix = Path(folder) / "matrix.csv"
        for train, test in FOLDS.split(X, y):
            X.iloc[train].T.to_csv(matrix)
            for row, neighbors in enumerate(NEIGHBORS):
                genes = ranked(matrix, neighbors)
                for column, number in enumerate(NUMBERS):
                    taken = genes[:number]
                    model = SVC(kernel="linear").fit(X.iloc[train][taken], y[train])
                    right = model.score(X.iloc[test][taken], y[test])
                    found[row, column] += right / FOLDS.get_n_splits()
    return found


def ranked(matrix: Path, neighbors: int) -> list[str]:
    """Return the genes, best first, of one run of the command."""
    options = ["--method", "spec", "--neighbors", str(neighbors), "--dtype", "float64", "-q"]
    command = [sys.executable, "-m", "sfs_cli", "rank", str(matrix), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t")[1] for line in done.stdout.splitlines()[1:]]


def fits(X: pd.DataFrame, y: np.ndarray) -> int:
    """Fit the selector on each fold, as the search does; return how often."""
    count = 0
    for train, _ in FOLDS.split(X, y):
        for neighbors in NEIGHBORS:
            for number in NUMBERS:
                SpectralSelector(number, neighbors=neighbors).fit(X.iloc[train])
                count += 1
    return count


def timed(what: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return a result, wall seconds, and CPU seconds of this process and its children."""
    wall, before = time.perf_counter(), os.times()
    found = what()
    after = os.times()
    return found, time.perf_counter() - wall, sum(after[:4]) - sum(before[:4])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?")
    X, y = study(parser.parse_args().data)
    SpectralSelector(2).fit(X.iloc[:, :50])  # its modules are loaded once
    memory, *of_memory = timed(lambda: in_memory(X, y))
    files, *of_files = timed(lambda: with_files(X, y))
    count, *of_fits = timed(lambda: fits(X, y))
    np.testing.assert_allclose(memory, files, atol=1e-12)
    print(f"{X.shape[0]} samples x {X.shape[1]:,} genes, best accuracy {memory.max():.3f}")
    print("| way | wall s | CPU s |\n|---|---|---|")
    print(f"| GridSearchCV | {of_memory[0]:.2f} | {of_memory[1]:.2f} |")
    print(f"| files and commands | {of_files[0]:.2f} | {of_files[1]:.2f} |")
    print(f"| a fit of the selector | {of_fits[0] / count:.4f} | {of_fits[1] / count:.4f} |")


if __name__ == "__main__":
    main()
