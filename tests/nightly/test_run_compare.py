"""Compared rankings beside those that are judged alone."""

from __future__ import annotations

import csv

from sfs_cli.logs import Messages
from sfs_cli.options.compare import parse_ranking
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.workflow import judge
from tests.contract.run.test_compare import Rows, compared, tables
from tests.contract.run.test_evaluate import planted, study


def of_list(rows: Rows, name: str) -> Rows:
    return [{k: v for k, v in row.items() if k != "list"} for row in rows if row["list"] == name]


def test_each_ranking_has_the_accuracy_that_evaluate_finds(tmp_path):
    given = study(tmp_path, *planted())
    own = parse_ranking("graph=--method spec --similarity knn,neighbors=4")
    found = tables(compared(tmp_path, **given, method_=("f-test",), ranking_of=(own,)))
    for name, options in (
        ("f-test", {"method": "f-test"}),
        ("graph", {"method": "spec", "similarity": "knn", "neighbors": 4}),
    ):
        out = tmp_path / f"evaluated {name}"
        config = EvaluateConfig(
            **given, **options, lengths="5,10", repeats=1, splits=3, out=str(out)
        )
        judge.run(config, Messages(-1))
        for table in ("evaluation", "folds"):
            lines = (out / f"{table}.tsv").read_text().splitlines()
            wanted = of_list(list(csv.DictReader(lines, delimiter="\t")), options["method"])
            mine = of_list(found["curves" if table == "evaluation" else table], name)
            assert wanted
            assert all(row in mine for row in wanted)


def test_controls_stand_beside_the_rankings(tmp_path):
    found = tables(compared(tmp_path, **study(tmp_path, *planted()), method_=("variance",)))
    names = {row["list"] for row in found["curves"]}
    assert names == {"variance", "most variable genes", "random genes", "all genes"}
    assert of_list(found["folds"], "variance") == of_list(found["folds"], "most variable genes")
