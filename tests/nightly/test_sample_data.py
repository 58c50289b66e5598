"""Files of the sample data that are made anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anndata
import numpy as np

from tests.docs.sample_data import conftest
from tests.docs.sample_data.conftest import Study

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
