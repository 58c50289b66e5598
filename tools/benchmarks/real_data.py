"""What the selected genes are worth on real data, through the command line.

usage: python tools/benchmarks/real_data.py DATA_FOLDER [--splits 10]

For each random half of `tox171`: Fisher and supervised MRSF (`--response lda`) select as many
features as the half has samples, on that half alone; the redundancy of the selected (mean absolute
Pearson correlation over pairs, on the half they were selected on) and the accuracy of a linear SVM
on the other half are averaged. For `allaml` and `prostate_ge`: RFS selects 20 genes inside each of
five folds, and a linear SVM is judged on the fold left out. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

METHODS = {
    "fisher": ["--method", "fisher"],
    "mrsf, lda response": ["--method", "mrsf", "--response", "lda"],
    "mrsf, label similarity": ["--method", "mrsf", "--similarity", "label"],
}


def select(
    folder: Path, X: pd.DataFrame, y: pd.Series, options: list[str], count: int
) -> list[str]:
    """Rank genes by `sfs rank` as a process; return the first."""
    X.to_parquet(folder / "half.parquet")
    y.to_csv(folder / "half.tsv", sep="\t", index_label="sample")
    extra = ["--select", str(count)] if "mrsf" in options else []
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sfs_cli", "rank", str(folder / "half.parquet")),
            *(*options, *extra, "--labels", str(folder / "half.tsv"), "-q"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return [line.split("\t")[1] for line in done.stdout.splitlines()[1 : count + 1]]


def redundancy(X: np.ndarray) -> float:
    """Return the mean absolute correlation over pairs of columns."""
    C = np.abs(np.corrcoef(X.T))
    return float(C[np.triu_indices(len(C), 1)].mean())


def accuracy(train: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray) -> float:
    """Return the accuracy of a linear SVM on standardised genes."""
    scaler = StandardScaler().fit(train)
    model = LinearSVC(C=1.0, max_iter=20000, random_state=0).fit(scaler.transform(train), y)
    return float((model.predict(scaler.transform(test)) == truth).mean())


def read(data: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return genes x samples, and the labels of the samples."""
    X = pd.read_parquet(data / name / "expression.parquet").set_index("feature_id")
    y = pd.read_csv(data / name / "labels.tsv", sep="\t", index_col=0)["label"].loc[X.columns]
    return X, y


def cross_validated(data: Path, name: str, gamma: str, shuffles: int) -> list[float]:
    """Return the accuracy of every shuffle of five folds, the selection inside the fold."""
    X, y = read(data, name)
    options = ["--method", "rfs", "--gamma", gamma]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(shuffles):
            right = 0.0
            for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X.T, y):
                inside, outside = X.iloc[:, train], X.iloc[:, test]
                genes = select(Path(folder), inside, y.iloc[train], options, 20)
                a, b = inside.loc[genes].to_numpy().T, outside.loc[genes].to_numpy().T
                truth = y.iloc[test].to_numpy()
                right += accuracy(a, y.iloc[train].to_numpy(), b, truth) * len(test)
            found.append(right / len(y))
    return found


def measure(data: Path, splits: int) -> pd.DataFrame:
    """Return accuracy and redundancy of every method on every split."""
    X, y = read(data, "tox171")
    rows = []
    halves = StratifiedShuffleSplit(splits, train_size=0.5, random_state=0).split(X.T, y)
    with tempfile.TemporaryDirectory() as folder:
        for number, (train, test) in enumerate(halves):
            half, other = X.iloc[:, train], X.iloc[:, test]
            for name, options in METHODS.items():
                genes = select(Path(folder), half, y.iloc[train], options, len(train))
                a, b = half.loc[genes].to_numpy().T, other.loc[genes].to_numpy().T
                score = accuracy(a, y.iloc[train].to_numpy(), b, y.iloc[test].to_numpy())
                rows.append((number, name, score, redundancy(a), len(genes)))
    return pd.DataFrame(rows, columns=["split", "method", "accuracy", "redundancy", "genes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--shuffles", type=int, default=5)
    given = parser.parse_args()
    found = measure(given.data, given.splits).groupby("method", sort=False)
    print("| method | genes | accuracy | redundancy |\n|---|---|---|---|")
    for name, part in found:
        print(
            f"| {name} | {part['genes'].iloc[0]} | {part['accuracy'].mean():.3f} | "
            f"{part['redundancy'].mean():.3f} |"
        )
    print("\n| RFS, top 20, 5 folds | gamma | accuracy, mean (range) |\n|---|---|---|")
    for name in ("allaml", "prostate_ge"):
        for gamma in ("0.1", "1", "10"):
            part = np.array(cross_validated(given.data, name, gamma, given.shuffles))
            print(f"| {name} | {gamma} | {part.mean():.3f} ({part.min():.3f}-{part.max():.3f}) |")


if __name__ == "__main__":
    main()
