"""Sparse matrices on sparse graphs are scored without their zeros, and the record tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.logs import Messages
from sfs_cli.methods import sparse
from sfs_cli.options import RankConfig
from sfs_cli.workflow.rank import RankResult, rank
from tools.benchmarks.make_cells import make_cells

pytest.importorskip("numba")
N, M = 300, 40


class Listening(Messages):
    """Keeps notes."""

    def __init__(self) -> None:
        super().__init__(verbosity=-1)
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


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
    monkeypatch.setattr(sparse, "find_spec", lambda _name: None)
    messages = Listening()
    dense = ranked(cells, messages, **options)
    assert dense.facts["method"]["scored_from"] == "dense blocks"
    assert any("sfs-cli[singlecell]" in note for note in messages.notes)
    assert thin.ranking.feature == dense.ranking.feature
    np.testing.assert_allclose(thin.ranking.score, dense.ranking.score, rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [{"transform": "zscore"}, {"gamma_power": 3}, {"similarity": "rbf"}],
)
def test_what_needs_dense_blocks_gets_them_without_a_word(
    cells: Path, options: dict[str, Any]
) -> None:
    messages = Listening()
    assert ranked(cells, messages, **options).facts["method"]["scored_from"] == "dense blocks"
    assert not any("numba" in note for note in messages.notes)
