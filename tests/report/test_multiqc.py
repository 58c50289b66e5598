"""The MultiQC section."""

from __future__ import annotations

import json
from dataclasses import replace

from sfs_cli.report.model import ReportData
from sfs_cli.report.multiqc import multiqc


def test_the_section_is_json_and_holds_a_row_for_the_sample(usual: ReportData) -> None:
    section = json.loads(json.dumps(multiqc(usual, "colon"), allow_nan=False))
    row = section["data"]["colon"]
    assert section["plot_type"] == "table"
    assert row["n_features"] == 2000
    assert row["n_unscored"] == 10
    assert row["top_feature"] == "GENE0"
    assert set(row) == set(section["headers"])
    assert section["id"] != section["pconfig"]["id"]


def test_sections_of_two_rankings_differ_in_their_data_alone(usual: ReportData) -> None:
    one, two = multiqc(usual, "a"), multiqc(replace(usual, method="other", elbow=None), "b")
    assert one.pop("data") != two.pop("data")
    assert one == two


def test_what_is_unknown_is_left_out(usual: ReportData) -> None:
    data = multiqc(replace(usual, elbow=None, top=[]), "a")["data"]
    assert set(data["a"]) == {"method", "n_features", "n_unscored"}


def test_names_are_escaped_because_multiqc_does_not(hostile: ReportData) -> None:
    section = json.dumps(multiqc(hostile, hostile.title))
    assert "<" not in section
    assert ">" not in section
