"""False discoveries on real profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import RankConfig
from sfs_cli.workflow.rank import rank
from tests.contract.run.test_split import columns
from tests.making import write_table


def test_false_discoveries_on_real_profiles_stay_at_their_rate(
    shared_data: Path, tmp_path: Path
) -> None:
    """Nine of ten genes are permuted over the samples: if their q-value is small, it is wrong."""
    import pandas as pd

    table = pd.read_parquet(shared_data / "colon" / "expression.parquet")
    X = np.log2(np.maximum(table.set_index("feature_id").to_numpy(), 1))
    shares: dict[str | None, list[float]] = {"features": [], None: []}
    for seed in range(24):
        rng = np.random.default_rng(seed)
        permuted = rng.random(len(X)) < 0.9
        Z = np.where(permuted[:, None], rng.permuted(X, axis=1), X)
        path = write_table(tmp_path / "z.csv", Z)
        for split, share in shares.items():
            if split is None and seed >= 6:
                continue
            options: dict[str, Any] = {"split": split} if split else {}
            found = columns(
                rank(
                    RankConfig(matrix=path, method="spec", pvalues="moments", seed=seed, **options)
                )
            )
            small = [int(g[1:]) for g, each in found.items() if each["q_value"] <= 0.1]
            share.append(float(permuted[small].mean()) if small else 0.0)
    valid, inflated = (np.array(shares[key]) for key in ("features", None))
    assert valid.mean() <= 0.1 + 2 * valid.std(ddof=1) / np.sqrt(len(valid))
    assert inflated.mean() > 0.15
