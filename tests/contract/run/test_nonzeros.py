"""Sparse matrices on sparse graphs are scored without their zeros, and the record tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.options import RankConfig
from sfs_cli.run import scoring
from sfs_cli.workflow.rank import RankResult, rank
from tools.benchmarks.make_cells import make_cells

N, M = 300, 40


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cells") / "cells.h5ad"
    make_cells(path, N, M, filled=0.3)
    batches = [f"cell{i:08d}\tb{i % 7 % 3}\n" for i in range(N)]
    (path.parent / "batches.tsv").write_text("cell\tbatch\n" + "".join(batches))
    return path


def ranked(matrix: Path, **options: Any) -> RankResult:
    graph = {"similarity": "obsp:connectivities"}
    if options.get("adjust"):
        options = options | {"adjust": (f"{matrix.parent}/batches.tsv:batch",)}
    return rank(RankConfig(matrix=str(matrix), **(graph | options)))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transform": "cpm,log1p"},
        {"method": "gdcov"},
        {"ranking": "phi3", "clusters": 4},
        {"adjust": True},
        {"adjust": True, "method": "variance", "similarity": None, "transform": "cpm,log1p"},
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
