"""The harness of gene lists, on small data whose answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tools.benchmarks import lists
from tools.benchmarks.table import Bench

pytestmark = pytest.mark.any_python


def labeled(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Genes x samples of three classes: 30 genes differ between them, 20 are spikes, 350 noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(48) % 3
    X = rng.normal(8, 1, size=(400, 48))
    X[:30] += 3 * (y == np.arange(30)[:, None] % 3)
    X[30:50] = 8 + 0.01 * rng.normal(size=(20, 48))
    X[np.arange(30, 50), rng.integers(0, 48, 20)] += 40
    return pd.DataFrame(X, [f"g{i}" for i in range(400)], [f"s{i}" for i in range(48)]), y


def test_judge_tells_good_genes_from_noise_and_spikes() -> None:
    X, y = labeled()
    judge = lists.Judge(X.to_numpy(), y)
    good = judge.worth(np.arange(400))
    noise = judge.worth(np.r_[50:400, :50])
    spiky = judge.worth(np.r_[30:400, :30])
    assert good.accuracy > 0.7 > 0.5 > noise.accuracy
    assert good.nmi > 0.8 > noise.nmi
    assert good.redundancy > noise.redundancy + 0.1
    assert spiky.spikes == pytest.approx(0.4)
    assert noise.spikes == 0


def test_the_default_beats_variance_and_the_papers_choice(tmp_path: Path) -> None:
    X, y = labeled()
    file = tmp_path / "matrix.parquet"
    X.to_parquet(file)
    judge = lists.Judge(X.to_numpy(), y)
    worth = {
        name: judge.worth(X.index.get_indexer(lists.ranked(file, lists.RANKINGS[name])))
        for name in ("default", lists.BASELINE, "as in the paper: rbf, SPEC")
    }
    best = worth["default"]
    for other in (lists.BASELINE, "as in the paper: rbf, SPEC"):
        assert best.accuracy >= worth[other].accuracy + 0.03
        assert best.nmi >= worth[other].nmi
    assert best.spikes <= 0.02 < worth[lists.BASELINE].spikes


def test_a_set_of_the_shared_data(shared_data: Path, tmp_path: Path) -> None:
    known = tuple(s for s in lists.SETS if s.name == "tcga_protein")
    rankings = {name: lists.RANKINGS[name] for name in ("default", lists.BASELINE)}
    rest = rankings, shared_data, Bench(tmp_path, None)
    found = lists.of_sets(lists.measure, known, 1, *rest)
    assert set(found["ranking"]) == {"random genes", "all genes", "default", lists.BASELINE}
    accuracy = found.set_index("ranking")["accuracy"]
    assert accuracy["default"] > accuracy["random genes"]
    assert "tcga_protein" in lists.report(found)
