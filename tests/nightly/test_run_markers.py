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
from scipy.stats import false_discovery_control
source, copy, test = sys.argv[1:]
theirs, ours = sc.read_h5ad(source), sc.read_h5ad(copy)
how = {"method": "t-test"} if test == "welch" else {"method": "wilcoxon", "tie_correct": True}
sc.tl.rank_genes_groups(theirs, "label", pts=True, use_raw=False, **how)
X = theirs.X.toarray() if hasattr(theirs.X, "toarray") else theirs.X
few_zeros = dict(zip(theirs.var_names, (X == 0).mean(0) < 0.25))
for name in theirs.obs["label"].cat.categories:
    one, two = (sc.get.rank_genes_groups_df(a, name).set_index("names") for a in (theirs, ours))
    assert list(one) == list(two)
    two = two.loc[one.index]
    alike = one.index.map(few_zeros) if test == "wilcoxon" else np.full(len(one), True)
    for column in one:
        rows, expected = np.full(len(one), True), one[column]
        if column == "pvals":  # with many ties that by moments is the larger one, which is taken
            rows = alike
            assert (two[column] >= one[column] * (1 - 1e-6)).all()
        elif column == "pvals_adj" and test == "wilcoxon":
            expected = false_discovery_control(two["pvals"])
        np.testing.assert_allclose(two[column][rows], expected[rows], rtol=1e-6, atol=1e-8)
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
