"""Files of the sample data that are made anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from tests.docs.sample_data import conftest
from tests.docs.sample_data.conftest import Study
from tests.running import run_here

study = conftest.study


def test_script_makes_an_h5ad(study: Study, sample_data: Path, tmp_path: Path) -> None:
    target = tmp_path / "cells.h5ad"
    subprocess.run([sys.executable, str(sample_data / "make_h5ad.py"), str(target)], check=True)
    adata = anndata.read_h5ad(target)
    assert list(adata.obs_names) == list(study.expression.index)
    assert list(adata.var_names) == list(study.expression)
    assert np.allclose(adata.X, study.expression.to_numpy(), rtol=1e-6)
    assert list(adata.obs["tissue"]) == list(study.labels.loc[adata.obs_names, "tissue"])
    graph = adata.obsp["connectivities"]
    assert (graph != graph.T).nnz == 0
    assert graph.sum(axis=1).min() >= 8


def test_pairs_of_the_counts_have_genes_to_select(
    sample_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-B", str(sample_data / "make_files.py"), "."], check=True)
    totals = pd.read_csv("counts.txt", sep="\t", comment="#", index_col=0).iloc[:, 5:].sum()
    assert 15e6 < totals.mean() < 25e6
    command = "rank counts.txt --labels samples.tsv:status --block patient --adjust batch"
    command += " --method t-test --voom --min-count 10 --out pairs"
    assert run_here(command.split(), capfd).code == 0
    found = run_here(["select", "pairs", "--fdr", "0.05"], capfd).out.split()
    truth = pd.read_csv(sample_data / "truth.tsv", sep="\t", index_col=0)
    assert len(found) > 5
    assert {*truth.loc[found, "role"]} == {"tumour"}
