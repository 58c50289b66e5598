"""False selections of noise, of many draws."""

from __future__ import annotations

import numpy as np

from sfs_cli import RankConfig
from sfs_cli.workflow.rank import rank
from tests.contract.run.test_stability import (
    quiet,
)
from tests.making import write_labels, write_table


def test_false_selections_of_noise_stay_below_the_bound(tmp_path):
    """Whole rankings of noise: what is selected often is less than promised."""
    found: dict[float, list[int]] = {}
    bounds: dict[float, dict[str, float | None]] = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        write_table(tmp_path / "x.csv", rng.normal(size=(200, 30)))
        write_labels(tmp_path / "y.tsv", rng.permutation(np.arange(30) % 2).tolist())
        config = RankConfig(
            str(tmp_path / "x.csv"),
            "f-test",
            labels=str(tmp_path / "y.tsv"),
            stability="half",
            stability_subsets=20,
            stability_top=10,
        )
        for row in rank(config, quiet()).facts["stability"]["stable"]:
            found.setdefault(row["threshold"], []).append(row["features"])
            bounds[row["threshold"]] = row["false_selections"]
    assert set(found) == {0.6, 0.75, 0.9}
    for threshold, counts in found.items():
        for bound in bounds[threshold].values():
            assert bound is None or np.mean(counts) <= bound
