"""What is known of the simulated study: a file for every kind of source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from tools.compare.writing import Matrix, csv, rows, text

BIOGRID = (
    "#BioGRID Interaction ID",
    "Entrez Gene Interactor A",
    "Entrez Gene Interactor B",
    "Systematic Name Interactor A",
    "Systematic Name Interactor B",
    "Official Symbol Interactor A",
    "Official Symbol Interactor B",
    "Experimental System Type",
    "Organism ID Interactor A",
    "Score",
    "Qualifications",
)


def make(folder: Path, study: Matrix, obs: pd.DataFrame, rng: np.random.Generator) -> None:
    """Write all of them."""
    profiles(folder, study, rng)
    hierarchies(folder, obs)
    gene_sets(folder, study.features, rng)
    edges(folder, study.features, rng)
    feature_similarities(folder, study, rng)


def profiles(folder: Path, study: Matrix, rng: np.random.Generator) -> None:
    """Write another profile in another order, with strangers; one of some samples; noise."""
    n = len(study.samples)
    names = [*study.samples, "stranger1", "stranger2"]
    values = 9 + rng.normal(size=(40, n + 2))
    values[:12, :n] += 1.4 * rng.normal(size=(12, 4))[:, np.arange(n) % 4]
    other = Matrix(values.round(3), [f"r{i}" for i in range(40)], names)
    csv(folder / "mirna.csv", other.of([names[i] for i in rng.permutation(n + 2)]))
    csv(folder / "mirna_turned.csv", other.of(study.samples).turned())
    csv(folder / "mirna_some.csv", other.of(study.samples[:38]))
    other.of(study.samples).frame().to_parquet(folder / "mirna.parquet")
    gaps = other.of(study.samples)
    gaps.values[[2, 17], [3, 40]] = np.nan
    csv(folder / "mirna_gaps.csv", gaps)
    noise = Matrix(rng.normal(size=(70, n)).round(3), [f"z{i}" for i in range(70)], study.samples)
    csv(folder / "noise.csv", noise)
    rare = Matrix(rng.poisson(2, (30, n)), [f"p{i}" for i in range(30)], study.samples)
    csv(folder / "protein_counts.csv", rare)


def hierarchies(folder: Path, obs: pd.DataFrame) -> None:
    """Write the classes as paths and as a tree."""
    germ = {"colon": "endoderm", "liver": "endoderm", "lung": "endoderm", "kidney": "mesoderm"}
    paths = [f"{germ[t]}/{t}/{s}" for t, s in zip(obs["tissue"], obs["status"])]
    rows(folder / "hierarchy.tsv", ["sample", "path"], *zip(obs.index, paths))
    lines = zip(obs.index, range(len(obs)), paths)
    rows(folder / "hierarchy_columns.tsv", ["sample", "age", "lineage"], *lines)
    groups = [f"({','.join(group.index)}){name}" for name, group in obs.groupby("tissue")]
    text(folder / "tree.nwk", f"(({','.join(groups[:2])}),{','.join(groups[2:])});\n")


def gene_sets(folder: Path, genes: list[str], rng: np.random.Generator) -> None:
    """Write a list, sets, annotations, a map of ids, and terms as a matrix."""
    rows(folder / "genes.txt", *([g] for g in genes[:25]))
    rows(folder / "probes.txt", *([f"P{i}"] for i in range(0, 60, 2)))
    rows(folder / "few.txt", *([g] for g in [*genes[:3], *(f"X{i}" for i in range(60))]))
    pairs = [(g, f"P{i}") for i, g in enumerate(genes[:80])]
    rows(folder / "map.tsv", ["id", "probe"], *pairs)
    sets = [(f"SET{k}", rng.choice(genes[:120], 24, replace=False)) for k in range(1, 7)]
    lines = [[name, "a set", *found] for name, found in sets]
    rows(folder / "sets.gmt", *lines)
    codes = ["IDA", "IEA", "IMP", "TAS"]
    annotated = [(g, f"GO:{int(t)}") for g in genes[:110] for t in rng.choice(12, 2, False)]
    made = [
        ["DB", f"U{g}", g, "", term, "PMID:1", codes[i % 4], "", "P", "", "", "gene", "t", "d", "b"]
        for i, (g, term) in enumerate(annotated)
    ]
    rows(folder / "annotation.gaf", ["!gaf-version: 2.2"], *made)
    has = (rng.random((90, 14)) < 0.2).astype(int)
    has[:, 0] |= np.arange(90) < 20
    csv(folder / "terms.csv", Matrix(has, genes[:90], [f"T{i}" for i in range(14)]))


def edges(folder: Path, genes: list[str], rng: np.random.Generator) -> None:
    """Write interactions as a plain list, with scores, and as STRING and BioGRID have them."""
    found = [(genes[a], genes[b]) for a, b in rng.integers(0, 90, (160, 2))]
    scores = rng.random(160).round(3)
    rows(folder / "edges2.tsv", *found)
    scored = [(a, b, s) for (a, b), s in zip(found, scores)]
    rows(folder / "edges.tsv", ["gene_a", "gene_b", "score"], *scored)
    string = [(f"9606.{a}", f"9606.{b}", int(1000 * s)) for a, b, s in scored]
    rows(folder / "string.txt", ["protein1", "protein2", "combined_score"], *string, delimiter=" ")
    made = [[1, 2, 3, "-", "-", a, b, "physical", 9606, s, "-"] for a, b, s in scored]
    rows(folder / "BIOGRID-ALL.tab3.txt", BIOGRID, *made)
    rows(folder / "seeds.txt", *([g] for g in dict.fromkeys(a for a, _ in found[:8])))


def feature_similarities(folder: Path, study: Matrix, rng: np.random.Generator) -> None:
    """Write similarities between genes as a matrix and as edges."""
    names = study.features[:50]
    C = np.abs(np.corrcoef(study.values[:50])).round(6)
    C[C < 0.2] = 0
    frame = pd.DataFrame(C, index=pd.Index(names, name="id"), columns=names)
    frame.to_csv(folder / "alike.csv")
    pairs = sparse.coo_matrix(np.triu(C, 1))
    made = zip(pairs.row, pairs.col, pairs.data.tolist())
    rows(
        folder / "alike.tsv",
        ["a", "b", "similarity"],
        *((names[i], names[j], v) for i, j, v in made),
    )
