"""Sparse matrices on sparse graphs are scored without their zeros, and the record tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.run import scoring
from sfs_cli.workflow.convert import convert
from sfs_cli.workflow.rank import RankResult, rank
from tools.benchmarks.make_cells import make_cells

N, M = 300, 40


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cells") / "cells.h5ad"
    make_cells(path, N, M, filled=0.3)
    return path


def ranked(matrix: Path, messages: Messages | None = None, **options: Any) -> RankResult:
    graph = {"similarity": "obsp:connectivities"} if matrix.suffix == ".h5ad" else {}
    return rank(RankConfig(matrix=str(matrix), **(graph | options)), messages)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transform": "cpm,log1p"},
        {"method": "gdcov"},
        {"ranking": "phi3", "clusters": 4},
    ],
)
def test_both_ways_give_one_ranking(
    cells: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    thin = ranked(cells, **options)
    assert thin.facts["method"]["scored_from"] == "non-zeros"
    monkeypatch.setattr(scoring, "best_read", lambda engine, scorer: (engine, scorer))
    dense = ranked(cells, **options)
    assert "scored_from" not in dense.facts["method"]
    assert thin.ranking.feature == dense.ranking.feature
    np.testing.assert_allclose(thin.ranking.score, dense.ranking.score, rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [{"transform": "zscore"}, {"gamma_power": 3}, {"similarity": "rbf"}],
)
def test_what_needs_dense_blocks_gets_them(cells: Path, options: dict[str, Any]) -> None:
    assert ranked(cells, **options).facts["method"]["scored_from"] == "dense blocks"


def test_a_store_on_disk_gives_the_same_scores(cells: Path, tmp_path: Path) -> None:
    store, graph = tmp_path / "cells.store", tmp_path / "graph.npz"
    convert(RankConfig(matrix=str(cells)), str(store), Messages(verbosity=-1))
    _write_graph(cells, graph)
    found = ranked(store, similarity_file=str(graph))
    assert found.facts["method"]["scored_from"] == "non-zeros"
    np.testing.assert_array_equal(found.ranking.score, ranked(cells).ranking.score)


def _write_graph(cells: Path, path: Path) -> None:
    from scipy.sparse import save_npz

    from sfs_cli.io.matrix.anndata import read_inside

    save_npz(path, read_inside(cells, "obsp", "connectivities")[0])
