"""Warnings of real data sets: those that trip a guard, and those that do not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from sfs_cli.options.guards import GUARDS
from tests.running import run_here


@pytest.mark.parametrize("name", ["colon", "allaml", "prostate_ge"])
@pytest.mark.parametrize("method", ["f-test", "t-test"])
def test_tests_of_real_classes_are_quiet(
    name: str, method: str, shared_data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = shared_data / name
    given = ["--method", method, "--labels", str(folder / "labels.tsv")]
    done = run_here(["rank", str(folder / "expression.parquet"), *given], capfd)
    assert done.code == 0
    assert "[class-tests]" not in done.err
    assert "by permutation" not in done.err


REAL = {
    "raw-values": (["thyroid_paired/mrna.parquet"], ["prostate_ge/expression.parquet"]),
    "graph": (
        ["colon/expression.parquet", "--similarity", "rbf,bandwidth=0.5"],
        ["colon/expression.parquet", "--similarity", "rbf"],
    ),
    "outliers": (
        ["leukemia/expression.gct", "--similarity", "rbf"],
        ["tox171/expression.parquet", "--similarity", "rbf"],
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_real_files_that_trip_a_guard_and_that_do_not(
    name: str, shared_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def warnings(arguments: list[str], *more: str) -> str:
        words = [str(shared_data / arguments[0]), *arguments[1:], *more]
        found = run_here(["rank", *words, "-v", "--out", str(tmp_path / "out"), "--force"], capfd)
        assert found.code == 0, found.err
        record = json.loads((tmp_path / "out" / "run.json").read_text())
        told = [line for line in found.err.splitlines() if line.startswith("warning: ")]
        assert len(told) == len(record["warnings"])
        return found.err

    trips, does_not = REAL[name]
    assert f"[{name}]" in warnings(trips)
    assert f"[{name}]" not in warnings(does_not)


def test_a_real_matrix_that_a_spreadsheet_has_saved(
    shared_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The thyroid matrix has genes such as SEPT2 and MARCH1, and its samples are pairs."""
    whole = pd.read_parquet(shared_data / "thyroid_paired" / "mrna.parquet").set_index("feature_id")
    dates = {"SEPT": "Sep", "MARCH": "Mar", "DEC": "Dec"}
    found = [re.fullmatch(r"(SEPT|MARCH|DEC)(\d+)", gene) for gene in whole.index]
    saved = [f"{m[2]}-{dates[m[1]]}" if m else gene for m, gene in zip(found, whole.index)]
    assert sum(map(bool, found)) > 20
    part = whole.iloc[[i for i, m in enumerate(found) if m or i % 20 == 0]]
    names = [saved[i] for i, m in enumerate(found) if m or i % 20 == 0]
    part.to_csv(tmp_path / "as_is.csv")
    part.set_axis(names).to_csv(tmp_path / "saved.csv", index_label="gene")
    tissue = str(shared_data / "thyroid_paired" / "labels.tsv")
    pairs = tmp_path / "pairs.tsv"
    lines = [f"{sample}\tpatient{sample.split('_')[1]}" for sample in whole.columns]
    pairs.write_text("\n".join(["sample\tpatient", *lines]))

    def told(file: str, labels: str) -> set[str]:
        words = ("--transform", "cpm,log1p", "--labels", labels, "--method", "fisher")
        run = run_here(["rank", str(tmp_path / file), *words], capfd)
        assert run.code == 0, run.err
        return {name for name in GUARDS if f"[{name}]" in run.err}

    assert told("as_is.csv", tissue).isdisjoint(("names", "labels"))
    assert "names" in told("saved.csv", tissue)
    assert "labels" in told("as_is.csv", str(pairs))
