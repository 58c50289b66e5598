"""What a page shows comes back from its JSON, which is valid, the same each time, and small."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from sfs_cli.report.model import Evidence, Heatmap, Pictures, ReportData, SampleNotes, Strip, Table
from sfs_cli.report.stored import Column, from_json, to_json


def again(data: ReportData, **columns: list[float]) -> ReportData:
    text = to_json(data)
    assert text == to_json(data)
    assert text.isascii()
    json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
    return from_json(text, lambda name: np.array(columns[name]))


def test_columns_of_the_ranking_are_named_and_read_from_it(usual: ReportData) -> None:
    columns = {"scores": Column("score", 2), "evidence": Evidence(p_values=Column("p_value", 1))}  # type: ignore[arg-type]
    data = replace(usual, **columns)  # type: ignore[arg-type]
    found = again(data, score=[3.0, math.inf, math.nan], p_value=[0.5, math.nan])
    assert found.scores.tolist() == [3, math.inf]
    assert found.evidence.p_values is not None
    assert found.evidence.p_values.tolist() == [0.5]
    with pytest.raises(KeyError):
        again(data, score=[3.0])


def test_numbers_that_json_lacks_and_names_of_any_kind_come_back(usual: ReportData) -> None:
    row: dict[str, object] = {"rank": np.int64(1), "feature": "inf", "score": -math.inf}
    table = Table(heading="<b>$x$</b>", columns=("a",), rows=[(math.nan,), (np.float32(0.5),)])
    kinds: list[dict[str, object]] = [{name: [1]} for name in ("array", "number", "Column")]
    found = again(replace(usual, top=[row, *kinds], tables=[table], title="a\udce9\u05d0"))
    assert found.top == [row, *kinds]
    assert found.tables[0].rows == [[None], [0.5]]
    assert found.tables[0].heading == table.heading
    assert found.title == "a\\xe9\u05d0"  # as people see names that are no UTF-8


def test_arrays_keep_their_kind_and_ten_digits(usual: ReportData) -> None:
    codes, outcome = np.array([-1, 0], np.int8), np.array([np.nan, 1 / 3])
    notes = SampleNotes(n=2, codes=codes, outcome=outcome)
    groups = [(np.array([1e8 + 0.25]), 0.5)]
    heatmap = Heatmap(
        features=["g"],
        ranks=[1],
        cells=np.array([[1.0, -1.0]], np.float32),
        sizes=np.ones(2, int),
        codes=None,
        outcome=None,
        samples=None,
        ordered="",
        by_class=False,
    )
    strips = [Strip(feature="g", rank=1, groups=groups)]
    pictures = Pictures(notes=notes, heatmap=heatmap, plane=None, strips=strips)
    found = again(replace(usual, pictures=pictures)).pictures
    assert found is not None
    assert found.notes.codes is not None
    assert found.notes.codes.dtype.kind == "i"
    assert found.notes.codes.tolist() == [-1, 0]
    assert found.notes.outcome is not None
    np.testing.assert_array_equal(found.notes.outcome, [np.nan, 0.3333333333])
    assert found.heatmap.cells.tolist() == [[1, -1]]
    assert found.strips[0].groups[0][0].tolist() == [100000000.2]


def test_another_document_is_no_page() -> None:
    with pytest.raises(ValueError, match="no page"):
        from_json("[]", lambda _: np.empty(0))
