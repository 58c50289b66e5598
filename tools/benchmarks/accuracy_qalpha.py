"""Q-alpha without labels on the medulloblastoma outcomes, judged as the paper did.

usage: python tools/benchmarks/accuracy_qalpha.py DATA_FOLDER

`sfs rank --method qalpha --clusters 6` ranks the genes once, without labels; a linear SVM on the
first genes is judged by its leave-one-out errors. The paper (JMLR 6, 2005, Table 1, "brain") gives
15 errors of 60 and does not say how many genes it took; the errors of chance are 21.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

COUNTS = (10, 20, 50, 100, 200, 500, 1000)


def main() -> None:
    folder = Path(sys.argv[1]) / "medulloblastoma"
    matrix = folder / "expression.parquet"
    X = pd.read_parquet(matrix).set_index("feature_id")
    y = pd.read_csv(folder / "labels.tsv", sep="\t", index_col=0)["label"].loc[X.columns]
    command = [sys.executable, "-m", "sfs_cli", "rank", str(matrix), "-q"]
    done = subprocess.run(
        [*command, "--method", "qalpha", "--clusters", "6"],
        check=True,
        capture_output=True,
        text=True,
    )
    genes = [line.split("\t")[1] for line in done.stdout.splitlines()[1:]]
    print("| genes | leave-one-out errors of 60 (paper: 15) |\n|---|---|")
    for count in COUNTS:
        model = make_pipeline(StandardScaler(), SVC(kernel="linear"))
        predicted = cross_val_predict(model, X.loc[genes[:count]].T.to_numpy(), y, cv=LeaveOneOut())
        print(f"| {count} | {(predicted != y).sum()} |")


if __name__ == "__main__":
    main()
