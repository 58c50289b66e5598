"""The files of the simulated study: reproducible bytes, ids that agree, what README.md says."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import rdata
from scipy.stats import hypergeom

if TYPE_CHECKING:
    from tests.docs.sample_data.conftest import Study

DATA_FILES = (
    "expression.csv",
    "go_terms.csv",
    "hierarchy.tsv",
    "interactions.tsv",
    "labels.tsv",
    "labels_partial.tsv",
    "mirna.csv",
    "pathways.gmt",
    "simulated_platform.txt",
    "simulated_series_matrix.txt",
    "truth.tsv",
)
SCRIPTS = (
    *("knowledge.py", "make.py", "make_files.py", "make_h5ad.py", "mirna_similarity.py"),
    "simulate.py",
)


@pytest.mark.any_python
def test_script_reproduces_the_committed_bytes(sample_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "made" / "here"
    script = [sys.executable, "-B", str(sample_data / "make.py"), str(out)]
    subprocess.run(script, check=True, cwd=tmp_path)
    assert sorted(p.name for p in out.iterdir()) == sorted(DATA_FILES)
    differing = [
        name
        for name in DATA_FILES
        if (out / name).read_bytes() != (sample_data / name).read_bytes()
    ]
    assert differing == []


def test_row_names_of_r_are_text_of_any_type(sample_data: Path, tmp_path: Path) -> None:
    write = runpy.run_path(str(sample_data / "make_files.py"))["write_r"]
    frame = pd.DataFrame({"a": [1.5, 2]}, index=pd.Index(["g1", "g2"], dtype="string"))
    write(tmp_path / "x.rds", frame)
    assert list(rdata.read_rds(tmp_path / "x.rds").index) == ["g1", "g2"]


def test_folder_is_small_and_holds_nothing_unaccounted_for(sample_data: Path) -> None:
    files = [p for p in sample_data.iterdir() if p.is_file()]
    assert {p.name for p in files} == {*DATA_FILES, *SCRIPTS, "README.md", "run.yaml"}
    assert sum(p.stat().st_size for p in files) < 2_000_000
    readme = (sample_data / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in DATA_FILES)


def test_sample_ids_agree_but_mirna_has_its_own_order(study: Study, sample_data: Path) -> None:
    samples = list(study.expression.index)
    hierarchy = pd.read_csv(sample_data / "hierarchy.tsv", sep="\t", index_col="sample")
    assert len(set(samples)) == len(samples) == 60
    assert sorted(study.mirna.index) == sorted(study.labels.index) == sorted(samples)
    assert list(study.mirna.index) != samples
    assert sorted(hierarchy.index) == sorted(samples)


def test_gene_ids_agree_across_files(study: Study) -> None:
    genes = set(study.expression)
    assert study.expression.shape == (60, 2000)
    assert len(genes) == 2000
    assert list(study.truth.index) == list(study.expression)
    assert set(study.terms.index) <= genes
    assert {*study.edges["gene_a"], *study.edges["gene_b"]} <= genes
    assert set().union(*study.pathways.values()) <= genes


def test_hierarchy_and_partial_labels_agree_with_the_labels(
    study: Study, sample_data: Path
) -> None:
    hierarchy = pd.read_csv(sample_data / "hierarchy.tsv", sep="\t", index_col="sample")["path"]
    parts = hierarchy.str.split("/", expand=True).loc[study.labels.index]
    assert (parts[1] == study.labels["tissue"]).all()
    assert (parts[2] == study.labels["status"]).all()
    assert parts.groupby(0)[1].nunique().tolist() == [2, 2]
    assert parts.groupby(1)[0].nunique().tolist() == [1, 1, 1, 1]
    partial = pd.read_csv(sample_data / "labels_partial.tsv", sep="\t", index_col="sample")
    assert (partial["tissue"] == study.labels.loc[partial.index, "tissue"]).all()
    assert partial["tissue"].value_counts().tolist() == [5, 5, 5, 5]


def test_tissue_status_and_batch_are_crossed_evenly(study: Study) -> None:
    cells = study.labels.groupby(["tissue", "status", "batch"]).size()
    assert len(cells) == 16
    assert cells.between(3, 4).all()


def test_values_look_like_log_expression(study: Study) -> None:
    X = study.expression.to_numpy()
    assert X.min() >= 0
    assert X.max() < 20
    varying = X[:, np.ptp(X, axis=0) > 0]
    assert (varying == 0).mean() < 0.001
    assert study.mirna.to_numpy().min() > 0
    assert study.mirna.shape == (60, 150)


def test_roles_have_the_promised_sizes(study: Study, sample_data: Path) -> None:
    counts = study.truth["role"].value_counts().to_dict()
    table = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", (sample_data / "README.md").read_text(), re.M)
    assert counts == {role: int(n.replace(",", "")) for role, n in table}


def test_exactly_the_constant_genes_are_constant(study: Study) -> None:
    X = study.expression
    constant = set(X.columns[np.ptp(X.to_numpy(), axis=0) == 0])
    assert constant == study.genes("constant")
    assert (X[sorted(constant)].max() == 0).sum() == 4


def test_gene_positions_do_not_give_roles_away(study: Study) -> None:
    for role, group in study.truth.reset_index().groupby("role"):
        mean, sd = 999.5, 2000 / np.sqrt(12 * len(group))
        assert abs(group.index.to_numpy().mean() - mean) < 4 * sd, role


def enriched_pathways(study: Study) -> list[str]:
    """Pathways with more planted genes than chance allows (hypergeometric, Bonferroni 0.001)."""
    planted = study.planted
    found = []
    for name, members in study.pathways.items():
        hits = len(planted.intersection(members))
        p = hypergeom.sf(hits - 1, len(study.truth), len(planted), len(members))
        if p < 0.001 / len(study.pathways):
            found.append(name)
    return found


def test_pathways_named_in_the_readme_are_the_enriched_ones(
    study: Study, sample_data: Path
) -> None:
    named = set(re.findall(r"SIMPATH\d+", (sample_data / "README.md").read_text()))
    assert set(enriched_pathways(study)) == named
    sizes = [len(members) for members in study.pathways.values()]
    assert len(sizes) == 25
    assert min(sizes) >= 15
    assert max(sizes) <= 60
    assert all(len(set(m)) == len(m) for m in study.pathways.values())
    assert sum(sizes) > len(set().union(*study.pathways.values()))
