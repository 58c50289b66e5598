"""Markers of real cells are those of scanpy, which reads and draws them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.workflow.rank import run

SCANPY = os.environ.get("SFS_SCANPY")

BY_SCANPY = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, scanpy as sc
source, copy, test = sys.argv[1:]
theirs, ours = sc.read_h5ad(source), sc.read_h5ad(copy)
how = {"method": "t-test"} if test == "welch" else {"method": "wilcoxon", "tie_correct": True}
sc.tl.rank_genes_groups(theirs, "label", pts=True, use_raw=False, **how)
for name in theirs.obs["label"].cat.categories:
    one, two = (sc.get.rank_genes_groups_df(a, name).set_index("names") for a in (theirs, ours))
    assert list(one) == list(two)
    for column in one:
        np.testing.assert_allclose(two.loc[one.index, column], one[column], rtol=1e-6, atol=1e-8)
sc.pl.rank_genes_groups(ours, show=False)
sc.pl.rank_genes_groups_dotplot(ours, n_genes=3, show=False)
print("equal")
"""
NORMALIZED = """
import sys
import scanpy as sc
a = sc.read_h5ad(sys.argv[1])
a.X = a.X.astype("f8")
sc.pp.normalize_total(a)
sc.pp.log1p(a)
a.write_h5ad(sys.argv[2])
"""


@pytest.mark.skipif(SCANPY is None, reason="SFS_SCANPY names no Python with scanpy")
@pytest.mark.parametrize("test", ["welch", "wilcoxon"])
@pytest.mark.parametrize("name", ["celseq2_3", "dropseq3"])
def test_markers_are_those_of_scanpy(
    shared_data: Path, tmp_path: Path, name: str, test: str
) -> None:
    source, copy = str(tmp_path / "x.h5ad"), str(tmp_path / "copy.h5ad")
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    alone["MPLBACKEND"] = "Agg"

    def by_scanpy(script: str, *words: str) -> str:
        asked = [str(SCANPY), "-c", script, *words]
        done = subprocess.run(asked, capture_output=True, text=True, env=alone, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    by_scanpy(NORMALIZED, str(shared_data / "cells" / f"{name}.h5ad"), source)
    options = {"method": "variance", "labels": "obs:label", "markers": test, "dtype": "float64"}
    run(RankConfig(source, out=str(tmp_path / "out"), write_h5ad=copy, **options), Messages(-1))
    assert by_scanpy(BY_SCANPY, source, copy, test) == "equal\n"
