"""What knowledge sources do for the selected genes, on real and on simulated data.

usage: python tools/benchmarks/real_data_sources.py DATA_FOLDER

Ranks the genes of `tcga_brca` and `thyroid_paired` on the matrix alone and on the fusion of other
measurements of the same samples, all through `sfs rank`. Classes are not used to rank. Of the first
genes it tells the leave-one-out accuracy of the nearest neighbour for the classes (Euclidean
distance on standardised genes), the number of cancer driver genes (intOGen), and the redundancy
(mean absolute Pearson correlation over pairs). Of `sample_data`, where the truth is known, it tells
how many of the first 50 genes were planted. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from real_data import redundancy

SAMPLE_DATA = Path(__file__).resolve().parents[2] / "sample_data"
WEIGHTS = ("uniform", "statis", "naml", "sparse-umkl", "snf")
THEN = ("spec", "gdcov", "mrsf")
HOWS = ("borda", "median", "geometric", "rra", "mc4")
TOPS = (10, 20, 30)
HITS = (10, 20, 30, 50)
DRAWS = 200
MSFS = ["--method", "msfs", "--no-leave-one-out"]


@dataclass
class Study:
    """A matrix, and sources about its samples.

    Attributes
    ----------
    path : Path
        The matrix.
    steps : list of str
        How it is transformed.
    values : DataFrame, genes x samples
        As it is judged.
    classes, pairs : ndarray, shape (n,)
        What a sample is, and whom it is from where two are of one patient.
    sources : dict
        Name to source.
    mixes : list of list of str
        Names of sources that are fused.
    """

    path: Path
    steps: list[str]
    values: pd.DataFrame
    classes: np.ndarray
    sources: dict[str, str]
    mixes: list[list[str]]
    pairs: np.ndarray | None = None


def first(path: Path, options: list[str], count: int = 50) -> list[str]:
    """Rank genes by `sfs rank` as a process; return the first."""
    words = ["rank", str(path), *options, "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "sfs_cli", *words], stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise SystemExit(f"sfs {' '.join(words)} ended with {done.returncode}")
    return [line.split("\t")[1] for line in done.stdout.splitlines()[1 : count + 1]]


def transformed(*steps: str) -> list[str]:
    return ["--transform", ",".join(steps)] if steps else []


def given(sources: dict[str, str], mix: Sequence[str]) -> list[str]:
    return [word for name in mix for word in ("--source", sources[name])]


def accuracy(X: np.ndarray, y: np.ndarray, pairs: np.ndarray | None = None) -> float:
    """Return the leave-one-out accuracy of the nearest neighbour, perhaps outside the pair.

    Parameters
    ----------
    X : ndarray, shape (n, l)
        Samples in rows; columns are standardised.
    y : ndarray, shape (n,)
        Classes.
    pairs : ndarray, shape (n,), optional
        Samples of one pair are not held against each other.
    """
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    d2 = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.fill_diagonal(d2, np.inf)
    if pairs is not None:
        d2[pairs[:, None] == pairs] = np.inf
    return float((y[d2.argmin(axis=1)] == y).mean())


def drivers(data: Path) -> set[str]:
    table = pd.read_csv(data / "knowledge" / "intogen_driver_genes.tsv", sep="\t")
    return set(table["SYMBOL"])


def read(data: Path, name: str, omic: str) -> pd.DataFrame:
    return pd.read_parquet(data / name / f"{omic}.parquet").set_index("feature_id")


def classes_of(data: Path, name: str, samples: pd.Index) -> np.ndarray:
    table = pd.read_csv(data / name / "labels.tsv", sep="\t", index_col=0)
    return table["label"].loc[samples].to_numpy()


def breast(data: Path) -> Study:
    """Return 150 breast cancers: 200 mRNAs, 184 miRNAs, 142 proteins; PAM50 classes."""
    X = read(data, "tcga_brca", "mrna")
    sources = {"target": "target=target:"} | {
        omic: f"{omic}=profile:{data}/tcga_brca/{omic}.parquet" for omic in ("mirna", "protein")
    }
    mixes = [["mirna", "protein"], ["target", "mirna", "protein"]]
    y = classes_of(data, "tcga_brca", X.columns)
    return Study(data / "tcga_brca" / "mrna.parquet", [], X, y, sources, mixes)


def thyroid(data: Path) -> Study:
    """Return 8 pairs of thyroid tumour and normal tissue: 23,710 mRNAs and 2,576 miRNAs."""
    counts = read(data, "thyroid_paired", "mrna")
    X = np.log1p(counts / counts.sum() * 1e6)
    mirna = f"{data}/thyroid_paired/mirna.parquet,transform=cpm,log1p"
    sources = {"target": "target=target:", "mirna": f"mirna=profile:{mirna}"}
    y = classes_of(data, "thyroid_paired", X.columns)
    pairs = np.array([sample.split("_")[1] for sample in X.columns])
    path = data / "thyroid_paired" / "mrna.parquet"
    return Study(path, ["cpm", "log1p"], X, y, sources, [["mirna"], ["target", "mirna"]], pairs)


def runs(study: Study) -> Iterator[tuple[str, list[str]]]:
    """Yield what is compared: its name, and the options that say so."""
    steps = transformed(*study.steps)
    yield "variance", ["--method", "variance", *steps]
    for method in THEN:
        yield f"{method}, matrix alone", ["--method", method, *steps]
    centred = transformed(*study.steps, "center")  # GDCOV depends on the means of genes
    yield "gdcov on centred genes, matrix alone", ["--method", "gdcov", *centred]
    for mix in study.mixes:
        for then in THEN:
            for weights in WEIGHTS if len(mix) > 1 else WEIGHTS[:1]:
                told = f", {weights}" if len(mix) > 1 else ""
                options = ["--then", then, "--weights", weights, *given(study.sources, mix)]
                yield f"{then} on {' + '.join(mix)}{told}", [*MSFS, *options, *steps]


def judged(study: Study, genes: list[str], known: set[str]) -> list[float]:
    """Return the numbers of a row: accuracies, hits, redundancy of the first 30."""
    X = study.values.loc[genes].to_numpy().T
    found = [accuracy(X[:, :top], study.classes) for top in TOPS]
    if study.pairs is not None:
        found += [accuracy(X[:, :top], study.classes, study.pairs) for top in TOPS]
    found += [float(sum(gene in known for gene in genes[:top])) for top in HITS]
    return [*found, redundancy(X[:, : TOPS[-1]])]


def by_chance(study: Study, known: set[str]) -> list[float]:
    """Return the means over genes that are drawn at random, of those that vary."""
    rng = np.random.default_rng(0)
    varying = study.values.index[study.values.std(axis=1) > 0]
    drawn = [
        judged(study, list(rng.choice(varying, HITS[-1], replace=False)), known)
        for _ in range(DRAWS)
    ]
    return list(np.mean(drawn, axis=0))


def report(study: Study, known: set[str]) -> None:
    """Print the table of a study."""
    judges = [f"1-NN, {top}" for top in TOPS]
    if study.pairs is not None:
        judges += [f"outside the pair, {top}" for top in TOPS]
    names = [*judges, *(f"drivers in {top}" for top in HITS), f"redundancy, {TOPS[-1]}"]
    print(f"| ranked by | {' | '.join(names)} |\n{'|---' * (len(names) + 1)}|")

    def line(name: str, numbers: list[float], digits: int = 0) -> None:
        cells = [f"{v:.3f}" for v in numbers[: len(judges)]]
        cells += [f"{v:.{digits}f}" for v in numbers[len(judges) : -1]]
        print(f"| {name} | {' | '.join(cells)} | {numbers[-1]:.3f} |", flush=True)

    line(f"chance, mean of {DRAWS} draws", by_chance(study, known), 1)
    for name, options in runs(study):
        genes = first(study.path, options)
        line(name, judged(study, genes, known))


def planted_sources() -> dict[str, str]:
    """Return the sources of `sample_data`; the last three know the classes of the samples."""
    folder = SAMPLE_DATA
    enriched = "SIMPATH03,SIMPATH06,SIMPATH07,SIMPATH13,SIMPATH18"
    return {
        "target": "target=target:",
        "mirna": f"mirna=profile:{folder}/mirna.csv",
        "enriched pathways": f"enriched=genes:{folder}/pathways.gmt:{enriched}",
        "all pathways": f"pathways=genes:{folder}/pathways.gmt",
        "terms": f"terms=terms:{folder}/go_terms.csv",
        "interactions": f"interactions=interactions:{folder}/interactions.tsv",
        "similar genes": f"similar=feature-similarity:{folder}/interactions.tsv",
        "tissue labels": f"tissue=labels:{folder}/labels.tsv:tissue",
        "status labels": f"status=labels:{folder}/labels.tsv:status",
        "hierarchy": f"hierarchy=hierarchy:{folder}/hierarchy.tsv",
    }


PLANTED_MIXES = (
    ("target", "mirna"),
    ("target", "terms"),
    ("target", "all pathways"),
    ("target", "mirna", "terms"),
    ("target", "all pathways", "terms", "interactions"),
    ("target", "mirna", "enriched pathways", "terms", "tissue labels"),
)


def planted_runs(sources: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield what is compared on `sample_data`."""
    yield "spec, matrix alone", []
    for name, source in sources.items():
        yield f"msfs, {name}", [*MSFS, "--source", source]
    for mix in PLANTED_MIXES:
        name, words = " + ".join(mix), given(sources, mix)
        for weights in WEIGHTS:
            yield f"msfs, {name}, {weights}", [*MSFS, "--weights", weights, *words]
        for how in HOWS:
            yield f"kogs, {name}, {how}", ["--method", "kogs", "--how", how, *words]


def report_planted() -> None:
    """Print how many of the first genes of `sample_data` were planted."""
    truth = pd.read_csv(SAMPLE_DATA / "truth.tsv", sep="\t", index_col=0)["role"]
    roles = {"planted": ("tissue", "tumour", "redundant"), "technical": ("batch",)}
    print(f"| ranked by | {' | '.join(f'{role} in 50' for role in roles)} |\n|---|---|---|")
    for name, options in planted_runs(planted_sources()):
        found = truth.loc[first(SAMPLE_DATA / "expression.csv", options)]
        cells = (str(int(found.isin(names).sum())) for names in roles.values())
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    known = drivers(data)
    for name, study in (("tcga_brca", breast(data)), ("thyroid_paired", thyroid(data))):
        n_known = sum(gene in known for gene in study.values.index)
        shape = f"{len(study.classes)} samples x {len(study.values):,} genes"
        print(f"`{name}`: {shape}, {n_known} of them drivers\n")
        if study.pairs is not None:
            print(
                "Samples are in pairs of a tumour and normal tissue of the same patient. 1-NN has "
                "the other of the pair among the neighbours, which is of the wrong class; "
                "outside the pair, it has not.\n"
            )
        report(study, known)
        print()
    print("`sample_data`: 100 genes planted, 150 that follow the batch, of 2,000\n")
    report_planted()


if __name__ == "__main__":
    main()
