"""Write parts of the simulated study as other programs write such files: one example of each kind.

usage: python sample_data/make_files.py FOLDER

The workbook needs the extra `excel`, the file of R the extra `r`; without it, each is left out.
`docs/guides/start.md` and `docs/guides/stories.md` say what to do with each file.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
from scipy import sparse

HERE = Path(__file__).parent
PAIRS = 8
SIDE = 20
READS, COUNTS_OF_A_CELL = 20e6, 2_000
DISPERSION = 0.07  # of a tissue, between patients


def paired(labels: pd.DataFrame) -> pd.DataFrame:
    """Return a table of samples that are pairs of tumour and normal, with made-up outcomes."""
    tumour, normal = (labels.index[labels["status"] == s][:PAIRS] for s in ("tumour", "normal"))
    samples = labels.loc[[*tumour, *normal], ["status", "batch"]]
    number = np.arange(2 * PAIRS)
    samples["patient"] = [f"patient{i}" for i in number % PAIRS + 1]
    samples["age"] = 40 + number * 7 % 31
    samples["days"] = 900 - 200 * (samples["status"] == "tumour") + number * 37 % 300
    samples["died"] = np.where(number % 3, "yes", "no")
    return samples


def counts_of(expression: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return counts whose means follow the values, which are log2, at unequal depth.

    The samples have `READS` counts in the mean.
    """
    depth = rng.uniform(0.5, 2, expression.shape[1])
    means = 2 ** expression.to_numpy() * depth
    means *= READS / means.sum(axis=0).mean()
    counts = rng.negative_binomial(1 / DISPERSION, 1 / (1 + DISPERSION * means))
    return pd.DataFrame(counts, expression.index, expression.columns)


def write_feature_counts(path: Path, counts: pd.DataFrame) -> None:
    """Write counts as featureCounts does: a comment, places of genes, names of BAM files."""
    table = counts.rename(columns=lambda name: f"bam/{name}.sorted.bam")
    number = np.arange(len(table))
    places: dict[str, Any] = {"Chr": "chr1", "Start": 1000 * number, "End": 1000 * number + 900}
    for at, (name, values) in enumerate((places | {"Strand": "+", "Length": 901}).items()):
        table.insert(at, name, values)
    text = table.to_csv(sep="\t", index_label="Geneid", lineterminator="\n")
    path.write_text(f"# Program:featureCounts v2.0.6; Command:featureCounts -a genes.gtf\n{text}")


def write_quant(folder: Path, counts: pd.DataFrame) -> None:
    """Write counts as Salmon does: a folder for each sample, with quant.sf."""
    for name, values in counts.items():
        table = pd.DataFrame({"Length": 900, "EffectiveLength": 700.0}, counts.index)
        table["TPM"] = values / values.sum() * 1e6
        table["NumReads"] = values.astype(float)
        (folder / str(name)).mkdir(parents=True, exist_ok=True)
        table.to_csv(folder / str(name) / "quant.sf", sep="\t", index_label="Name")


def write_export(path: Path, expression: pd.DataFrame) -> None:
    """Write values as a spreadsheet exports them: a title, a text column, decimal commas."""
    table = expression.copy()
    table.insert(0, "Description", [f"simulated gene {name}" for name in table.index])
    text = table.to_csv(sep="\t", decimal=",", index_label="Gene", lineterminator="\n")
    path.write_text(f"Export of the study\n\n{text}", encoding="utf-16")


def write_tissue(path: Path, rng: np.random.Generator) -> None:
    """Write counts of 300 genes in a square of spots; the first ten are high in one half."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
    means = np.full((SIDE * SIDE, 300), 2.0)
    means[x < SIDE // 2, :10] *= 2
    tissue = anndata.AnnData(rng.poisson(means).astype("float32"))
    tissue.obsm["spatial"] = np.column_stack([x, y]).astype(float)
    tissue.write_h5ad(path)


def write_cells(path: Path, counts: pd.DataFrame, samples: pd.DataFrame) -> None:
    """Write cells of several donors: three cells of each sample, with few of its counts each.

    Besides a file of all there is a folder with a file of each half of the donors.
    """
    rng = np.random.default_rng(3)
    cells = np.repeat(counts.to_numpy().T, 3, axis=0)
    obs = samples.iloc[np.repeat(np.arange(len(samples)), 3)].reset_index(names="donor")
    obs.index = [f"cell{i}" for i in range(len(obs))]
    found = rng.binomial(cells, COUNTS_OF_A_CELL / READS)
    data = anndata.AnnData(found.astype("float32"), obs=obs)
    data.var_names = counts.index
    data.write_h5ad(path)
    halves = path.with_suffix("")
    halves.mkdir(exist_ok=True)
    half = data.n_obs // 6 * 3
    data[:half].write_h5ad(halves / "run1.h5ad")
    data[half:, ::-1].write_h5ad(halves / "run2.h5ad")


def write_donors(path: Path) -> None:
    """Write 30 cells of each of 8 donors, four of them cases, in two clusters.

    `var["planted"]` says which genes differ between the clusters, and which between the donors by
    condition; every gene differs somewhat between donors.
    """
    rng = np.random.default_rng(5)
    planted = np.repeat(["cluster", "condition", "no"], [30, 20, 450])
    donor, cluster = np.repeat(np.arange(8), 30), np.tile(np.arange(30) < 18, 8)
    means = np.tile(rng.lognormal(0, 1, 500), (240, 1)) * rng.lognormal(0, 0.3, (8, 500))[donor]
    means[np.ix_(cluster, planted == "cluster")] *= 3
    means[np.ix_(donor % 2 == 1, planted == "condition")] *= 3
    means *= rng.lognormal(0, 0.3, (240, 1))
    condition, groups = np.array(["control", "case"])[donor % 2], np.where(cluster, "T", "B")
    obs = {"donor": [f"donor{i + 1}" for i in donor], "condition": condition, "cluster": groups}
    data = anndata.AnnData(
        sparse.csr_matrix(rng.poisson(means).astype("float32")),
        obs=pd.DataFrame(obs, [f"cell{i}" for i in range(240)]),
        var=pd.DataFrame({"planted": planted}, [f"gene{i}" for i in range(500)]),
    )
    data.write_h5ad(path)


def write_protein(path: Path) -> None:
    """Write levels of 60 proteins, which follow their genes; 30 of these differ by tissue."""
    rng = np.random.default_rng(4)
    expression = pd.read_csv(HERE / "expression.csv", index_col=0)
    roles = pd.read_csv(HERE / "truth.tsv", sep="\t", index_col=0)["role"]
    chosen = [g for role in ("tissue", "noise") for g in roles.index[roles == role][:30]]
    genes = expression.loc[sorted(chosen)].T
    levels = (genes - genes.mean()) / genes.std() + rng.normal(0, 0.3, genes.shape)
    levels.T.rename(index="protein_{}".format).round(3).to_csv(path, index_label="protein")


def write_clinical(path: Path, samples: pd.DataFrame) -> None:
    """Write times as TCGA has them: those of death, and of the last visit of the living."""
    died = samples["died"] == "yes"
    table = pd.DataFrame({"vital_status": np.where(died, "Dead", "Alive")}, samples.index)
    table["days_to_death"] = samples["days"].where(died).astype("Int64")
    table["days_to_last_follow_up"] = samples["days"].mask(died).astype("Int64")
    table.to_csv(path, sep="\t")


def write_r(path: Path, expression: pd.DataFrame) -> None:
    """Write the matrix as a data frame of R."""
    import rdata

    # of text it takes objects alone as row names, and pandas 3 makes others
    rdata.write_rds(path, expression.set_axis(expression.index.astype(object)))


def main(out: Path) -> None:
    """Write every file into a folder, which is made if need be."""
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    samples = paired(pd.read_csv(HERE / "labels.tsv", sep="\t", index_col=0))
    expression = pd.read_csv(HERE / "expression.csv", index_col=0)[samples.index]
    counts = counts_of(expression, rng)
    samples.to_csv(out / "samples.tsv", sep="\t")
    write_feature_counts(out / "counts.txt", counts)
    write_quant(out / "quant", counts)
    write_export(out / "export.txt", expression)
    write_protein(out / "protein.csv")
    write_clinical(out / "clinical.tsv", samples)
    write_tissue(out / "tissue.h5ad", rng)
    write_cells(out / "cells.h5ad", counts, samples)
    write_donors(out / "donors.h5ad")
    differences = expression.T.groupby(samples["status"]).mean().diff().iloc[-1]
    found = pd.DataFrame({"log2FoldChange": differences, "padj": 10 ** -differences.abs()})
    found.sort_values("padj").to_csv(out / "deseq2.csv")
    with suppress(ImportError), pd.ExcelWriter(out / "study.xlsx", engine="xlsxwriter") as book:
        expression.to_excel(book, sheet_name="expression")
        samples.to_excel(book, sheet_name="samples")
    with suppress(ImportError):
        write_r(out / "expression.rds", expression)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
