"""Neighbors among principal components, from the command line: the twin's graph and its scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from tests.contract.numbers.commands import Table, facts, ranked, ranking_bytes, sfs
from tests.making import annotated
from tests.oracles import components as oracle


def graph_of(X: np.ndarray, samples: list[str], count: int, genes: int, path: Path) -> Path:
    """Write the knn graph of the scores of the twin."""
    scores = oracle.scores(X[:, oracle.most_variable(X, genes)], count)
    d = cdist(scores, scores)
    delta = np.median(d[np.triu_indices(len(d), 1)])
    np.fill_diagonal(d, np.inf)
    near = np.argsort(d, axis=1, kind="stable")[:, :6]
    is_edge = np.zeros(d.shape, bool)
    is_edge[np.repeat(np.arange(len(d)), 6), near.ravel()] = True
    S = np.where(is_edge | is_edge.T, np.exp(-((d / delta) ** 2) / 2), 0)
    pd.DataFrame(S, index=samples, columns=samples).to_csv(path, sep="\t")
    return path


def check_same(found: Table, expected: Table) -> None:
    assert found.status == expected.status
    np.testing.assert_allclose(found.by_feature(), expected.by_feature(), rtol=1e-6)


@pytest.mark.parametrize("limit", [0, 5000])
def test_sample_data(
    sample_data: Path, limit: int, tmp_path: Path, set_limits: Callable[..., None]
) -> None:
    set_limits(exact_samples=limit)
    table = pd.read_csv(sample_data / "expression.csv", index_col=0)
    X = table.to_numpy(np.float32).astype(float).T
    given = ("--similarity", "knn,neighbors=6,components=4,variable-genes=60")
    graph = graph_of(X, list(table.columns), 4, 60, tmp_path / "S.tsv")
    matrix = sample_data / "expression.csv"
    found = ranked(tmp_path / "found", matrix, *given)
    check_same(found, ranked(tmp_path / "twin", matrix, "--similarity", f"file:{graph}"))
    made = facts(tmp_path / "found")
    assert made["graph"]["components"] == 4
    assert made["graph"]["variable_genes"] == 60
    assert made["graph"]["components_by"] == "exact"
    assert made["config"]["similarity"] == {
        "name": "knn",
        "neighbors": 6,
        "components": "4",
        "variable-genes": "60",
    }
    page = (tmp_path / "found" / "report.html").read_text()
    assert "Variable genes" in page
    assert "components=4" in page
    record = tmp_path / "found" / "run.json"
    again = ranking_bytes(tmp_path / "again", matrix, "--config", record, "--format", "tsv")
    assert again == ranking_bytes(tmp_path / "text", matrix, *given)


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    """Sparse counts of cells."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(5)
    level = np.exp(rng.normal(size=(90, 3)) @ rng.normal(size=(3, 200)) * 0.8)
    annotated(csr_matrix(rng.poisson(level).astype(np.float32))).write_h5ad(
        tmp_path / "counts.h5ad"
    )
    return tmp_path / "counts.h5ad"


ASKED = (
    *("--similarity", "knn,neighbors=6,components=8,variable-genes=120"),
    *("--transform", "cpm,log1p"),
)


def test_a_profile_has_its_own(counts: Path, tmp_path: Path) -> None:
    source = "x=target:,similarity=knn,neighbors=6,components=8,variable-genes=120"
    sfs(
        *("fuse", counts, "--transform", "cpm,log1p", "--source", source),
        *("--out", tmp_path / "fused.npz"),
    )
    fused = ranked(
        tmp_path / "fused",
        counts,
        *("--transform", "cpm,log1p", "--similarity", f"file:{tmp_path / 'fused.npz'}"),
    )
    check_same(fused, ranked(tmp_path / "own", counts, *ASKED))
    profile = (
        f"p=profile:{counts},transform=cpm,similarity=knn,neighbors=6,components=8"
        ",variable-genes=120"
    )
    sfs("rank", counts, "--method", "msfs", "--source", profile, "--out", tmp_path / "msfs")
    (part,) = facts(tmp_path / "msfs")["knowledge"]["sources"]
    assert (part["components"], part["variable_genes"]) == (8, 120)
