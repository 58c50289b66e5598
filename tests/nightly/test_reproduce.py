"""The reproduction of published tables, run."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.docs.workflows import test_reproduce as plain
from tests.docs.workflows.commands import run
from tests.docs.workflows.test_reproduce import PROGRAM
from tests.places import ROOT

folder = plain.folder


def reproduced(folder: Path, out: Path, *options: str) -> tuple[list[dict[str, str]], str]:
    """Run the program; return the rows of its table, and what it said."""
    command = [sys.executable, str(PROGRAM), str(folder), "--out", str(out), *options]
    done = run(command, out.parent, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    with out.open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t")), done.stderr


def test_a_small_table_on_simulated_data(folder, tmp_path):
    options = ["--tables", "2.4", "--sets", "COLON", "PIX10P", "--splits", "2", "--jobs", "1"]
    rows, said = reproduced(folder, tmp_path / "table.tsv", *options)
    ours = {row["method"]: row for row in rows if row["data set"] == "COLON"}
    assert list(ours) == ["ReliefF", "Fisher Score", "AROM-SVM", "phi1", "phi2", "phi3"]
    for row in ours.values():
        near = float(row["ours"]) - float(row["paper"])
        assert float(row["difference"]) == pytest.approx(near, abs=0.0011)
        assert float(row["standard error"]) >= 0
        assert bool(row["reason"]) == (abs(near) > 0.05)
    # phi2 on the graph of the labels is the Fisher Score (Eq. 3.14)
    assert ours["phi2"]["ours"] == ours["Fisher Score"]["ours"]
    assert float(ours["Fisher Score"]["ours"]) > 0.8  # 1-NN on planted genes
    absent = [row for row in rows if row["data set"] == "PIX10P"]
    assert len(absent) == 6
    assert all(row["ours"] == "absent" and not row["difference"] for row in absent)
    assert "6 of 12 numbers" in said
    # the numbers do not depend on how many processes there are
    assert reproduced(folder, tmp_path / "two.tsv", *options[:-1], "2")[0] == rows


def test_samples_without_label_are_counted(folder, tmp_path):
    shutil.copytree(folder / "colon", tmp_path / "colon")
    labels = tmp_path / "colon" / "labels.tsv"
    labels.write_text("".join(labels.read_text().splitlines(keepends=True)[:-2]))
    command = [sys.executable, str(PROGRAM), str(tmp_path), "--tables", "2.4", "--splits", "1"]
    done = run(command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 3
    assert "2 of 30 samples have no label" in done.stderr
    assert "Traceback" not in done.stderr


def test_method_that_fails_is_a_row(folder, tmp_path):
    shutil.copytree(folder / "colon", tmp_path / "allaml")
    labels = pd.read_csv(tmp_path / "allaml" / "labels.tsv", sep="\t")
    labels["label"] = [f"c{i % 3}" for i in range(30)]  # no t-test of three classes
    labels.to_csv(tmp_path / "allaml" / "labels.tsv", sep="\t", index=False)
    out = tmp_path / "table.tsv"
    command = [sys.executable, str(PROGRAM), str(tmp_path), "--tables", "RFS 1", "--splits", "1"]
    command += ["--sets", "ALLAML", "--out", str(out)]
    done = run(command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 1
    found = pd.read_csv(out, sep="\t", index_col="method")
    failed = found.index[found["ours"] == "failed"]
    assert list(failed) == ["T-test, top 20", "T-test, top 80"]
    assert found.loc[failed, "reason"].str.contains("two classes").all()
    assert found.drop(index=failed)["difference"].notna().all()
