"""Results of two runs, compared to the byte."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

RESULT = (
    "ranking.tsv",
    "report.html",
    "page.json",
    "sfs_mqc.json",
    "sfs_general_mqc.json",
    "sfs_mqc_versions.yml",
)
"""The files of a ranking that have the same bytes however they were made."""


def rows_in(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table, by its columns."""
    return list(csv.DictReader(path.read_text().splitlines(), delimiter="\t"))


def bytes_of(path: Path) -> bytes:
    """Return the content of a file of a result; of rows for MultiQC, without their folder.

    They are named by the folder, which differs where two results are compared.
    """
    content = path.read_bytes()
    if not path.name.endswith("_mqc.json"):
        return content
    section = json.loads(content)
    section["data"] = list(section["data"].values())
    return json.dumps(section).encode()


def result(folder: Path) -> dict[str, bytes]:
    """Return what has to be the same to the byte."""
    return {name: bytes_of(folder / name) for name in RESULT}


def assert_same_numbers(folder: Path, expected: Path) -> None:
    """Compare two results: the same files, order and words, and numbers to nine digits.

    Shards and workers elsewhere add up in another order; tables have ten digits.
    """
    assert sorted(p.name for p in folder.iterdir()) == sorted(p.name for p in expected.iterdir())
    for theirs in expected.glob("*.tsv"):
        tables = [pd.read_csv(path, sep="\t") for path in (folder / theirs.name, theirs)]
        pd.testing.assert_frame_equal(*tables, rtol=1e-9, atol=1e-300, obj=theirs.name)
    records = [json.loads((path / "run.json").read_text()) for path in (folder, expected)]
    for key in ("method", "graph", "result", "warnings"):
        _assert_near(records[0][key], records[1][key])


def _assert_near(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            _assert_near(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected):
            _assert_near(ours, theirs)
    else:
        assert found == (
            pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected
        )
