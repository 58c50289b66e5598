"""One h5ad through every face: shell, Python, scikit-learn, Dask, shards and Nextflow."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

import sfs_cli
from tests.docs.workflows.commands import environment, run
from tests.running import run_here

N, M = 40, 300
OPTIONS = (
    *("--method", "spec,ranking=phi2", "--similarity", "knn-correlation,neighbors=5"),
    *("--dtype", "float64"),
)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an h5ad of two groups of cells, of float64 values."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, M))
    X[: N // 2, :30] += rng.uniform(0.5, 2, 30)
    names = [f"cell{i}" for i in range(N)]
    path = tmp_path_factory.mktemp("cells") / "cells.h5ad"
    genes = pd.DataFrame(index=[f"gene{j}" for j in range(M)])
    anndata.AnnData(X, pd.DataFrame(index=names), genes).write_h5ad(path)
    return path


@pytest.fixture(scope="module")
def shell(cells: Path) -> str:
    """Return the table that the command writes."""
    return sfs(cells.parent, "rank", cells, *OPTIONS)


def sfs(folder: Path, *words: object) -> str:
    done = run(["sfs", *map(str, words)], folder, environment(folder / "bin"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def features(table: str) -> list[str]:
    return pd.read_csv(io.StringIO(table), sep="\t")["feature"].tolist()


def test_python(cells, shell):
    asked = {
        "method": {"name": "spec", "ranking": "phi2"},
        "similarity": "knn-correlation,neighbors=5",
        "dtype": "float64",
    }
    wanted = pd.read_csv(io.StringIO(shell), sep="\t")
    loaded = anndata.read_h5ad(cells)
    given = [cells, str(cells), loaded, loaded[:, :], anndata.read_h5ad(cells, backed="r")]
    for matrix in given:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sfs_cli.SfsWarning)  # of a list of mostly noise
            table = sfs_cli.rank(matrix, **asked).table.reset_index()
        assert table["feature"].tolist() == wanted["feature"].tolist()
        np.testing.assert_allclose(table["score"], wanted["score"], rtol=1e-9)


def test_scikit_learn(cells, shell):
    from sfs_cli.sklearn import Selector

    frame = anndata.read_h5ad(cells).to_df()
    asked = {"similarity": "knn-correlation,neighbors=5"}
    selector = Selector(25, method="spec,ranking=phi2", options=asked).fit(frame)
    order = np.argsort(selector.ranking_)
    assert frame.columns[order].tolist() == features(shell)
    assert set(selector.get_feature_names_out()) == set(features(shell)[:25])


def test_shards(cells, shell, tmp_path, monkeypatch, capfd, set_blocks):
    monkeypatch.chdir(tmp_path)
    set_blocks(64)
    for words in (
        ["init", "plan", str(cells), *OPTIONS, "--shards", "3"],
        *(["run", "plan", number] for number in "123"),
        ["merge", "plan", "--out", "out"],
    ):
        done = run_here(["shard", *words], capfd)
        assert done.code == 0, done.err
    assert (tmp_path / "out" / "ranking.tsv").read_text() == shell
