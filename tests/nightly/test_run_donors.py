"""Donors: many draws of noise, and a real paired study."""

from __future__ import annotations

import csv

from sfs_cli.logs import Messages
from sfs_cli.options.compare import CompareConfig
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.workflow import judge
from tests.contract.run.test_donors import study


def best(table: bytes, **wanted: str) -> float:
    """Return the largest balanced accuracy of an evaluation."""
    rows = csv.DictReader(table.decode().splitlines(), delimiter="\t")
    named = [row for row in rows if all(row[k] == v for k, v in wanted.items())]
    return max(float(row["value"]) for row in named if row["measure"] == "balanced_accuracy")


def test_noise_of_donors_is_at_chance_where_folds_keep_them_whole(tmp_path):
    options = study(tmp_path) | {"repeats": 2, "lengths": "10,50"}
    method = {"selection": "in folds"}
    assert best(judge.run(EvaluateConfig(**options), Messages(-1)), **method) < 0.8
    leaky = EvaluateConfig(**options | {"donors": None})
    assert best(judge.run(leaky, Messages(-1)), **method) > 0.95
    several = CompareConfig(**options | {"method": None}, method_=("f-test", "fisher"))
    assert best(judge.run(several, Messages(-1)), **method) < 0.8
