"""Scores go into a copy of an h5ad, and nothing else of it changes."""

from __future__ import annotations

import hashlib

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.io.files.atomic import replacing
from sfs_cli.io.results import writers
from sfs_cli.ranking.table import rank_features

SCORES = np.array([0.5, np.nan, 0.1, 0.9])
GENES = ["g1", "g2", "g3", "g4"]


@pytest.fixture
def source(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (6, 4)).astype(np.float32)
    data = ad.AnnData(
        sparse.csr_matrix(X),
        obs=pd.DataFrame({"type": pd.Categorical(list("aabbcc"))}, index=list("uvwxyz")),
        var=pd.DataFrame(
            {"symbol": ["S1", "S2", "S3", "S4"], "class": pd.Categorical(["p", "q", "p", "p"])},
            index=["g1", "g2", "g3", "g4"],
        ),
        layers={"counts": X * 2},
        obsm={"X_pca": rng.normal(size=(6, 2))},
        varm={"PCs": rng.normal(size=(4, 2))},
        obsp={"connectivities": sparse.random(6, 6, 0.5, "csr", random_state=0)},
        uns={"log1p": {"base": 2.0}, "colors": np.array(["#fff", "#000"], dtype=object)},
    )
    data.raw = data
    path = tmp_path / "cells.h5ad"
    data.write_h5ad(path)
    return path


@pytest.fixture
def ranking():
    status = np.isnan(SCORES).astype(int)
    return rank_features(GENES, SCORES, status, ("ok", "constant"), larger_is_better=True)


def write_scores(source, target, ranking, about):
    with replacing(target) as partial:
        writers.write_scores(source, partial, ranking, about, list, lambda _: {}, top=None)


def content(path, leave_out=()):
    """Return a digest of every array and every attribute of an HDF5 file."""
    found = {}

    def see(name, item):
        if name.startswith(leave_out):
            return
        values = item[()] if isinstance(item, h5py.Dataset) else ""
        attributes = {k: str(v) for k, v in sorted(item.attrs.items())}
        found[name] = (hashlib.sha256(np.asarray(values).astype("S")).hexdigest(), attributes)

    with h5py.File(path) as file:
        file.visititems(see)
    return found


def test_nothing_else_changes(source, ranking, tmp_path):
    before = hashlib.sha256(source.read_bytes()).hexdigest()
    write_scores(source, tmp_path / "out.h5ad", ranking, {})
    assert hashlib.sha256(source.read_bytes()).hexdigest() == before
    ours = ("var/sfs_", "uns/sfs")
    was, now = content(source), content(tmp_path / "out.h5ad", ours)
    assert set(was) == set(now)
    for name, (digest, attributes) in was.items():
        assert now[name][0] == digest, name
        if name != "var":
            assert now[name][1] == attributes, name
    assert "column-order" in was["var"][1]


def test_scores_of_an_earlier_run_are_replaced(source, ranking, tmp_path):
    write_scores(source, tmp_path / "one.h5ad", ranking, {"record": "1"})
    status = np.zeros(4, int)
    other = rank_features(GENES, np.arange(4.0), status, ("ok",), larger_is_better=True)
    write_scores(tmp_path / "one.h5ad", tmp_path / "one.h5ad", other, {"record": "2"})
    data = ad.read_h5ad(tmp_path / "one.h5ad")
    assert data.var["sfs_rank"].tolist() == [4, 3, 2, 1]
    assert data.uns["sfs"]["record"] == "2"
    assert len(data.var.columns) == 5
