"""Donors: many draws of noise, and a real paired study."""

from __future__ import annotations

import csv

import pandas as pd

from sfs_cli.logs import Messages
from sfs_cli.options.compare import CompareConfig
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.workflow import judge
from tests.contract.run.test_donors import study, told


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


def test_a_real_paired_study(tmp_path, shared_data):
    folder = shared_data / "thyroid_paired"
    labels = pd.read_csv(folder / "labels.tsv", sep="\t")
    patients = labels["sample"].str.extract(r"(\d+)$")[0]
    table = pd.DataFrame({"sample": labels["sample"], "patient": "p" + patients})
    table.to_csv(tmp_path / "d.tsv", sep="\t", index=False)
    options = {
        "matrix": str(folder / "mirna.parquet"),
        "transform": "cpm,log1p",
        "method": "f-test",
        "labels": str(folder / "labels.tsv"),
        "donors": f"{tmp_path / 'd.tsv'}:patient",
    }
    text, _ = told(tmp_path, **options)
    assert "--block" in text
    assert "average" not in text
    within = {"block": options["donors"]}
    assert not told(tmp_path, **options | within)[0]
