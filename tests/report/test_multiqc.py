"""The MultiQC section, and MultiQC itself on five results of one matrix, where it is installed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.cli.app import run as sfs
from sfs_cli.report.model import ReportData
from sfs_cli.report.multiqc import COLUMNS, POINTS, curve_points, headers, multiqc, row_name

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("spec", "spec_counts.csv", "spec_counts.tsv", "deep/spec", "html/spec.html")
"""Names with the endings that MultiQC cuts names at."""


def test_the_section_is_json_and_holds_a_row_for_the_sample(usual: ReportData) -> None:
    section = json.loads(json.dumps(multiqc(usual, "colon"), allow_nan=False))
    row = section["data"]["colon"]
    assert section["plot_type"] == "table"
    assert row["n_features"] == 2000
    assert row["n_unscored"] == 10
    assert row["top_feature"] == "GENE0"
    assert set(row) == set(section["headers"])
    assert section["id"] != section["pconfig"]["id"]


def test_sections_of_two_rankings_differ_in_their_rows_alone(usual: ReportData) -> None:
    one, two = multiqc(usual, "a"), multiqc(replace(usual, method="other", elbow=None), "b")
    assert one.pop("data") != two.pop("data")
    assert one["sfs"].pop("row") != two["sfs"].pop("row")
    assert one == two


def test_what_is_unknown_is_left_out(usual: ReportData) -> None:
    data = multiqc(replace(usual, elbow=None, top=[]), "a")["data"]
    assert set(data["a"]) == {"method", "n_features", "n_unscored", "n_warnings"}


def test_names_are_escaped_because_multiqc_does_not(hostile: ReportData) -> None:
    section = multiqc(hostile, hostile.title)
    del section["sfs"]  # read by the plugin, which escapes what it shows
    assert "<" not in json.dumps(section)
    assert ">" not in json.dumps(section)


def test_a_row_is_named_by_folder_and_method(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert row_name(Path("results/a"), "SPEC") == "results | a | SPEC"
    assert row_name(tmp_path / "results" / "a", "SPEC") == "results | a | SPEC"
    assert row_name(Path("results"), "SPEC", prefix="study") == "study | SPEC"
    assert row_name(Path("a"), "SPEC", home=tmp_path.parent) == f"{tmp_path.name} | a | SPEC"
    elsewhere = row_name(Path("/data/results"), "SPEC")
    assert elsewhere == "data | results | SPEC"
    assert row_name(Path(), "SPEC").endswith(f"{tmp_path.name} | SPEC")


def test_there_are_at_most_six_columns() -> None:
    assert len(headers()) == len(COLUMNS) <= 6


def test_a_curve_has_few_points_of_finite_scores_best_first() -> None:
    scores = np.sort(np.random.default_rng(1).normal(size=50_000))[::-1]
    points = curve_points(np.concatenate([[np.inf], scores]))
    ranks, values = zip(*points)
    assert len(points) <= 2 * POINTS
    assert ranks[0] == 2
    assert ranks[-1] == 50_001
    assert list(ranks) == sorted(set(ranks))
    assert np.allclose(values, scores[np.array(ranks) - 2], rtol=1e-5)
    assert curve_points(np.array([])) == []


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Rank one matrix five times."""
    folder = tmp_path_factory.mktemp("multiqc")
    matrix = str(ROOT / "sample_data" / "expression.csv")
    with contextlib.chdir(folder):
        for name in FOLDERS:
            words = ["rank", matrix, "--method", "variance", "--out", f"results/{name}", "-q"]
            assert sfs(words) == 0
    return folder


def run_multiqc(folder: Path, out: str, *paths: Path) -> str:
    """Run MultiQC over results, with Python packages of more folders; return the table's rows."""
    found = os.environ.get("SFS_MULTIQC") or shutil.which("multiqc")
    if not found or not Path(found).exists():
        pytest.skip("multiqc is not installed (SFS_MULTIQC says where it is)")
    command = [found, "--strict", "--no-version-check", "--no-ai", "-o", out, "results"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def rows(folder: Path, table: str) -> list[list[str]]:
    lines = (folder / "multiqc_data" / table).read_text().splitlines()
    return [line.split("\t") for line in lines[1:]]


EXPECTED = {f"results | {name.replace('/', ' | ')} | Variance" for name in FOLDERS}


@pytest.mark.slow
def test_five_results_of_a_matrix_are_five_rows(results) -> None:
    run_multiqc(results, "plain")
    found = rows(results / "plain", "multiqc_sfs_ranking_table.txt")
    names = {name.replace("&#46;", ".").replace("&#95;", "_") for name, *_ in found}
    assert names == EXPECTED
    assert len(found) == 5
    assert "sfs_score_curves_plot" not in (results / "plain/multiqc_report.html").read_text()


@pytest.mark.slow
def test_the_plugin_shows_them_once_with_their_curves(results, tmp_path) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = tmp_path / "site" / "sfs_cli-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: sfs-cli\nVersion: 0\n")
    groups = {k: v for k, v in declared["entry-points"].items() if k.startswith("multiqc")}
    assert len(groups) == 2
    lines = [f"[{group}]\n{k} = {v}\n" for group, each in groups.items() for k, v in each.items()]
    (installed / "entry_points.txt").write_text("".join(lines))

    log = run_multiqc(results, "plugin", installed.parent, ROOT)
    found = rows(results / "plugin", "sfs_rankings_table.txt")
    assert {name for name, *_ in found} == EXPECTED
    assert len(found[0]) <= 1 + 6
    curves = rows(results / "plugin", "sfs_score_curves_plot_Scores.txt")
    assert {name for name, *_ in curves} == EXPECTED
    assert not (results / "plugin/multiqc_data/multiqc_sfs_ranking_table.txt").exists()
    assert "custom_content" not in log
