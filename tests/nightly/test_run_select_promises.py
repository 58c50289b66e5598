"""What ``sfs select`` promises, on simulated data with 20 planted genes, through whole runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.select import SelectConfig
from sfs_cli.workflow import select
from sfs_cli.workflow.rank import run as run_rank
from tests.making import write_labels, write_parquet

PLANTED, M, N = 20, 600, 60


def labeled(folder: Path, rng: np.random.Generator, shift: float, n: int = N) -> dict[str, Any]:
    """Write genes of which the first are higher in one of two classes; the others vary in modules.

    Noise genes share factors in tens, so that they are no more independent than real ones.
    """
    y = rng.permutation(np.arange(n) % 2)
    X = np.repeat(rng.normal(size=(M // 10, n)), 10, axis=0) * 0.6 + rng.normal(size=(M, n))
    X = X / np.sqrt(1.36)
    X[:PLANTED] = rng.normal(size=(PLANTED, n)) + shift * y
    return {
        "matrix": write_parquet(folder / "x.parquet", X.astype(np.float32)),
        "labels": write_labels(folder / "y.tsv", y.tolist()),
    }


def chosen(folder: Path, given: dict[str, Any], log: Messages | None = None, **how: Any) -> Any:
    """Rank and select; return the indices of the chosen genes."""
    out = str(folder / "ranked")
    run_rank(RankConfig(**given, out=out, force=True), Messages(-1))
    text = select.run(SelectConfig(out, **how), log or Messages(-1)).decode()
    return np.array([int(name[1:]) for name in text.split()], int)


@pytest.mark.parametrize(("n", "shift"), [(60, 1.2), (100, 0.9)])
def test_cross_validation_picks_the_planted_number_within_a_factor_of_two(tmp_path, n, shift):
    picked = []
    for seed in range(10):
        given = labeled(tmp_path, np.random.default_rng(seed), shift, n)
        genes = chosen(
            tmp_path, given | {"method": "f-test"}, cv=True, repeats=3, seed=seed, threads=1
        )
        picked.append(len(genes))
    inside = [PLANTED / 2 <= k <= 2 * PLANTED for k in picked]
    assert sum(inside) >= 8
    assert PLANTED / 2 <= np.median(picked) <= 2 * PLANTED
