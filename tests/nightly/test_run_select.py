"""The number of genes on real classes."""

from __future__ import annotations

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.select import SelectConfig
from sfs_cli.workflow import select
from sfs_cli.workflow.rank import run as run_rank


def test_cv_of_real_classes_is_above_chance(tmp_path, shared_data):
    folder, out = shared_data / "allaml", str(tmp_path / "r")
    matrix, labels = str(folder / "expression.parquet"), str(folder / "labels.tsv")
    run_rank(RankConfig(matrix, "f-test", labels=labels, out=out), Messages(-1))
    log = Messages(-1)
    select.run(SelectConfig(out, cv=True, repeats=1), log)
    assert not any("guess" in text for text in log.warnings)
