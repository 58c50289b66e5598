"""Tests on several scales of a tissue: null rates of many features, and files of squidpy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import kstest

from tests.contract.numbers.commands import rank_to
from tests.making import annotated


def grid(side: int) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)


def table(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "ranking.tsv", sep="\t").set_index("feature")


def test_null_rates_are_nominal(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    X = rng.poisson(rng.gamma(0.7, 0.25 / 0.7, size=(400, 8000))).astype(np.float32)
    places = 50 * (grid(20) + rng.uniform(-0.2, 0.2, size=(400, 2)))
    annotated(X, obsm={"spatial": places}).write_h5ad(tmp_path / "null.h5ad")
    given = ("--coordinates", "obsm:spatial", "--pvalues", "moments")
    out = rank_to(tmp_path / "out", tmp_path / "null.h5ad", *given)
    p = table(out)["p_value"].dropna().to_numpy()
    for level in (0.05, 0.01, 0.001):
        error = np.sqrt(level / len(p))
        assert abs((p <= level).mean() - level) < 0.12 * level + 3 * error


def test_p_values_are_uniform_where_depth_follows_the_tissue(tmp_path: Path) -> None:
    """Of negative binomial and Poisson counts; of logarithms nearly all would be below .05."""
    side, m = 30, 6000
    rng = np.random.default_rng(5)
    places = grid(side)
    depth = np.exp(0.5 * np.sin(6 * places[:, :1] / side) + 0.3 * np.cos(9 * places[:, 1:] / side))
    mean = depth * np.exp(rng.normal(-0.5, 1, size=m))
    mean[:, ::2] = rng.gamma(1 / 0.7, 0.7 * mean[:, ::2])
    made = annotated(rng.poisson(mean).astype(np.float32), obsm={"spatial": places * 1.0})
    made.write_h5ad(tmp_path / "null.h5ad")
    out = rank_to(tmp_path / "o", tmp_path / "null.h5ad", "--spatial")
    found = table(out).dropna(subset=["p_value"])
    for name in ("1.5", "3", "6", "linear"):
        p = found[f"p_value_{name}"]
        assert kstest(p, "uniform").statistic < 0.03
    p = found["p_value"]
    assert 0.04 < (p <= 0.05).mean() < 0.065
    assert (p <= 0.001).mean() < 0.003


@pytest.mark.skipif("SFS_SQUIDPY" not in os.environ, reason="SFS_SQUIDPY: a Python with squidpy")
def test_a_file_that_squidpy_wrote(tmp_path: Path) -> None:
    side, m = 25, 40
    rng = np.random.default_rng(1)
    places = grid(side)
    log_mean = 0.5 * np.sin(5 * places[:, :1] / side) + np.zeros(m)
    log_mean[:, :8] += 1.5 * places[:, 1:] / side
    counts = rng.poisson(np.exp(log_mean + rng.normal(size=m))).astype(np.float32)
    made = annotated(counts, obsm={"spatial": 90.0 * places})
    made.X = sparse.csr_matrix(made.X)
    made.obs["array_row"], made.obs["array_col"] = made.obsm["spatial"].astype(int).T
    made.write_h5ad(tmp_path / "in.h5ad")
    code = (
        "import sys, anndata, squidpy\n"
        "a = anndata.read_h5ad(sys.argv[1])\n"
        "squidpy.gr.spatial_neighbors(a)\n"
        "squidpy.gr.spatial_autocorr(a, mode='moran', show_progress_bar=False)\n"
        "a.write_h5ad(sys.argv[2])\n"
    )
    files = [str(tmp_path / "in.h5ad"), str(tmp_path / "out.h5ad")]
    subprocess.run([os.environ["SFS_SQUIDPY"], "-c", code, *files], check=True)
    out = rank_to(tmp_path / "o", tmp_path / "out.h5ad", "--spatial")
    first = set(table(out).sort_values("rank").index[:8])
    assert len(first & {str(name) for name in made.var_names[:8]}) >= 6
