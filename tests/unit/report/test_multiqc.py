"""What MultiQC shows, and MultiQC itself on results of one matrix, where it is installed."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sfs_cli.cli.app import run as sfs
from sfs_cli.report.multiqc import (
    EVALUATED,
    GENERAL,
    RANKING,
    SELECTED,
    row_name,
    section,
)
from sfs_cli.workflow.outputs import VERSIONS
from tests.places import ROOT
from tests.unit.report.conftest import HOSTILE


def cells(**changed: Any) -> dict[str, Any]:
    of = {"title": "x", "method": "SPEC", "n_features": 2000, "n_unscored": 10}
    return of | {"top_feature": "GENE0", "n_warnings": 0} | changed


def test_the_section_is_json_and_holds_a_row_for_the_sample() -> None:
    found = json.loads(json.dumps(section(RANKING, {"colon": cells()}), allow_nan=False))
    row = found["data"]["colon"]
    assert found["plot_type"] == "table"
    assert row["n_features"] == 2000
    assert row["n_unscored"] == 10
    assert row["top_feature"] == "GENE0"
    assert set(row) == set(found["headers"])
    assert found["id"] != found["pconfig"]["id"]


def test_what_is_unknown_is_left_out() -> None:
    data = section(RANKING, {"a": cells(top_feature=None)})["data"]
    assert set(data["a"]) == {"title", "method", "n_features", "n_unscored", "n_warnings"}
    judged = {"balanced_accuracy": 0.5, "stability": float("nan"), "nmi": 0.1}
    assert section(EVALUATED, {"a": judged})["data"] == {"a": {"balanced_accuracy": 0.5}}


def test_names_are_escaped_because_multiqc_does_not() -> None:
    evil = HOSTILE[0]
    for file in (RANKING, GENERAL):
        text = json.dumps(section(file, {evil: cells(title=evil, top_feature=evil)}))
        assert "<" not in text
        assert ">" not in text


def test_a_row_is_named_by_folder_and_method(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert row_name(Path("results/a"), "SPEC") == "results | a | SPEC"
    assert row_name(tmp_path / "results" / "a", "SPEC") == "results | a | SPEC"
    assert row_name(Path("a"), "SPEC", home=tmp_path.parent) == f"{tmp_path.name} | a | SPEC"
    elsewhere = row_name(Path("/data/results"), "SPEC")
    assert elsewhere == "data | results | SPEC"
    assert row_name(Path(), "SPEC") == f"{tmp_path.name} | SPEC"
    assert row_name(Path("results/a")) == "results | a"


LABELS = str(ROOT / "sample_data" / "labels.tsv") + ":tissue"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Rank one matrix, select and evaluate."""
    folder = tmp_path_factory.mktemp("multiqc")
    matrix = str(ROOT / "sample_data" / "expression.csv")
    with contextlib.chdir(folder):
        words = ["rank", matrix, "--method", "variance", "--out", "results/spec", "-q"]
        assert sfs(words) == 0
        assert sfs(["select", "results/spec", "--top", "7", "--out", "results/cut", "-q"]) == 0
        words = ["evaluate", matrix, "--labels", LABELS, "--method", "f-test", "-q"]
        words += ["--splits", "2", "--repeats", "2", "--list", "results/spec", "--leaky"]
        assert sfs([*words, "--out", "results/judged"]) == 0
    return folder


def shown(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["data"]
    return found


def test_a_selection_and_an_evaluation_have_rows(results) -> None:
    cells = shown(results / "results" / "cut" / SELECTED)["results | cut"]
    first = (results / "results/cut/selected.txt").read_text().split()
    expected = {"rule": "--top 7", "n_ranked": 1988, "n_selected": 7, "n_warnings": 0}
    assert cells == expected | {"top_feature": first[0]}
    general = shown(results / "results" / "cut" / GENERAL)["results | cut"]
    assert general == {"top_feature": first[0], "n_selected": 7}
    rows = shown(results / "results" / "judged" / EVALUATED)
    names = {"f-test", "spec", "most variable genes", "random genes"}
    assert set(rows) == {f"results | judged | {name}" for name in names}
    with (results / "results/judged/evaluation.tsv").open() as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    for name in names:
        cells = rows[f"results | judged | {name}"]
        for measure in ("balanced_accuracy", "stability", "redundancy"):
            found = [
                float(line["value"])
                for line in table
                if (line["list"], line["features"], line["measure"]) == (name, "50", measure)
                and (name != "f-test" or measure == "redundancy" or line["selection"] == "in folds")
                and line["classifier"] in ("", "linear SVM")
            ]
            assert cells.get(measure) == pytest.approx(*found or [None])
        assert cells["length"] == 50
        assert cells["selection"] == ("given" if name == "spec" else "in folds")


def test_all_results_say_the_versions(results) -> None:
    of_one = (results / "results" / "spec" / VERSIONS).read_text()
    run = json.loads((results / "results/spec/run.json").read_text())
    assert yaml.safe_load(of_one) == {"sfs": run["versions"]}
    for folder in ("cut", "judged"):
        assert (results / "results" / folder / VERSIONS).read_text() == of_one
