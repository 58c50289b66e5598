"""Real data of R packages as folders of the benchmarks: expression.parquet and labels.tsv.

usage: python -m tools.benchmarks.r_collections FOLDER DATA

FOLDER holds files of the folders `data` of the R packages datamicroarray, mixOmics, NBPSeq, NOISeq,
ropls, scde, spls, TCC and zebrafishRNASeq (`.RData`, `.rda`, `.rdata`); what is not there is named.
DATA gets a folder for each. The values are left as they are, and so are names, where there are any.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd


class Source(NamedTuple):
    """A file, and where it has the values (samples in rows) and the classes of the samples."""

    file: str
    values: tuple[str, ...] = ("x",)
    labels: tuple[str, ...] = ("y",)


class Named(NamedTuple):
    """A file, its object with the values (samples in columns), and what in a name is the class."""

    file: str
    values: str
    label: str


SOURCES: dict[str, Source | Named] = {
    **{
        name: Source(f"{name}.RData", (name, "x"), (name, "y"))
        for name in [
            "borovecki",
            "chowdary",
            "gordon",
            "gravier",
            "khan",
            "lymphoma",
            "nakayama",
            "shipp",
            "sorlie",
            "su",
            "subramanian",
            "west",
        ]
    },
    **{
        name.replace(".", "_"): Source(f"{name}.rda", (name, values), (name, *labels))
        for name, values, *labels in [
            ("breast.tumors", "gene.exp", "sample", "treatment"),
            ("liver.toxicity", "gene", "treatment", "Dose.Group"),
            ("nutrimouse", "gene", "genotype"),
            ("stemcells", "gene", "celltype"),
            ("vac18", "genes", "stimulation"),
        ]
    },
    "sacurine": Source(
        "sacurine.rdata", ("sacurine", "dataMatrix"), ("sacurine", "sampleMetadata", "gender")
    ),
    "nakai": Named("nakai.RData", "nakai", r"fed|fasted"),
    "arab": Named("arab.rda", "arab", r"mock|hrcc"),
    "marioni": Named("Marioni.RData", "mycounts", r"Kidney|Liver"),
    "zebrafish": Named("zfGenes.rda", "zfGenes", r"Ctl|Trt"),
    "es_mef": Named("es.mef.small.rda", "es.mef.small", r"ESC|MEF"),
    "pollen": Named("pollen.rda", "pollen", r"NPC|GW16|GW21"),
}


def at(objects: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        objects = objects[name]
    return objects


def frame(values: Any) -> pd.DataFrame:
    """Return a matrix of R as a table, with the names that it has."""
    return pd.DataFrame(values.to_pandas() if hasattr(values, "to_pandas") else values)


def names(index: pd.Index, letter: str) -> list[str]:
    """Return the names of rows or columns; numbers where they have none, or twice the same."""
    if index.is_unique and not pd.api.types.is_integer_dtype(index):
        return [*index.astype(str)]
    return [f"{letter}{i + 1}" for i in range(len(index))]


def read(path: Path, source: Source | Named) -> tuple[pd.DataFrame, list[str]]:
    """Return the values, features x samples, and the class of each sample."""
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes of R that it knows no constructor of
        objects = rdata.read_rda(path)
    if isinstance(source, Named):
        values = frame(objects[source.values])
        labels = values.columns.astype(str).str.extract(f"({source.label})", expand=False)
    else:
        values = frame(at(objects, source.values)).T
        labels = pd.Index(at(objects, source.labels)).astype(str)
    table = values.astype("float64").set_axis(names(values.index, "f"))
    return table.set_axis(names(values.columns, "s"), axis=1), [*labels]


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
        out = given.data / name
        out.mkdir(parents=True, exist_ok=True)
        values.rename_axis("feature_id").reset_index().to_parquet(out / "expression.parquet")
        table = pd.DataFrame({"sample": values.columns, "label": labels})
        table.to_csv(out / "labels.tsv", sep="\t", index=False)
        print(f"{name}: {len(labels)} samples x {len(values)} features, {len({*labels})} classes")


if __name__ == "__main__":
    main()
