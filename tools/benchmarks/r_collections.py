"""Real data of two R packages as folders of the benchmarks: expression.parquet and labels.tsv.

usage: python -m tools.benchmarks.r_collections FOLDER DATA

FOLDER holds files of the folders `data` of the R packages datamicroarray and mixOmics (`.RData`,
`.rda`); what is not there is named. DATA gets a folder for each. The values are left as they are.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd


class Source(NamedTuple):
    """A file, and where its object has the values (samples in rows) and the classes."""

    file: str
    values: str = "x"
    labels: tuple[str, ...] = ("y",)


SOURCES = {
    **{
        name: Source(f"{name}.RData")
        for name in [
            "borovecki",
            "chowdary",
            "gordon",
            "gravier",
            "khan",
            "nakayama",
            "shipp",
            "sorlie",
            "su",
            "west",
        ]
    },
    "breast_tumors": Source("breast.tumors.rda", "gene.exp", ("sample", "treatment")),
    "liver_toxicity": Source("liver.toxicity.rda", "gene", ("treatment", "Dose.Group")),
    "nutrimouse": Source("nutrimouse.rda", "gene", ("genotype",)),
    "stemcells": Source("stemcells.rda", "gene", ("celltype",)),
}


def read(path: Path, source: Source) -> tuple[np.ndarray, np.ndarray]:
    """Return the values, samples x features, and the class of each sample."""
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes of R that it knows no constructor of
        (data,) = rdata.read_rda(path).values()
    labels = data
    for name in source.labels:
        labels = labels[name]
    return np.asarray(data[source.values], dtype=np.float64), np.asarray(labels).astype(str)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    for name, source in SOURCES.items():
        path = given.folder / source.file
        if not path.exists():
            print(f"{source.file} is left out: it is not in {given.folder}", file=sys.stderr)
            continue
        values, labels = read(path, source)
        samples = [f"s{i + 1}" for i in range(len(values))]
        frame = pd.DataFrame(values.T, columns=samples)
        frame.insert(0, "feature_id", [f"f{j + 1}" for j in range(values.shape[1])])
        out = given.data / name
        out.mkdir(parents=True, exist_ok=True)
        frame.to_parquet(out / "expression.parquet", index=False)
        table = pd.DataFrame({"sample": samples, "label": labels})
        table.to_csv(out / "labels.tsv", sep="\t", index=False)
        print(f"{name}: {values.shape[0]} samples x {values.shape[1]} features, {len(set(labels))}")


if __name__ == "__main__":
    main()
