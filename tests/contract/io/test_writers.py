"""A ranking reads back from every format as it was."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.io.results.writers import (
    CHUNK,
    as_written,
    ranking_bytes,
    rounded,
    write_ranking,
)
from sfs_cli.ranking.table import Picked, Ranking, rank_features
from sfs_cli.store.ids import FeatureIds

AWKWARD = [
    "plain",
    "tab\there",
    'quo"te',
    "new\nline",
    "re\rturn",
    "com,ma",
    "ünï😀",
    " spaced ",
    "=1+1",
]
SCORES = np.array([0.1, 1 / 3, -2e-30, 6.02214076e23, 0.0, np.nan, np.inf, -1.5, np.nan])
NAMES = ("ok", "constant")


def ranking(features=AWKWARD, scores=SCORES, larger=False, extra=None) -> Ranking:
    status = np.isnan(scores).astype(int)
    return rank_features(features, scores, status, NAMES, larger_is_better=larger, extra=extra)


@pytest.fixture
def table():
    return ranking(extra={"p_value": np.linspace(0, 1, 9) / 7, "entered": np.arange(9)})


@pytest.mark.parametrize(("form", "delimiter"), [("tsv", "\t"), ("csv", ",")])
def test_text_reads_back_whatever_is_in_the_ids(table, form, delimiter):
    text = ranking_bytes(table, form).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert header == ["rank", "feature", "score", "status", "p_value", "entered"]
    assert [int(r[0]) for r in rows] == list(range(1, 10))
    assert [r[1] for r in rows] == table.feature
    assert [r[3] for r in rows] == table.status
    for column, values in ((2, table.score), (4, table.extra["p_value"])):
        np.testing.assert_allclose([float(r[column]) for r in rows], values, rtol=5e-10)
    assert [r[2] for r in rows][-3:] == ["inf", "NaN", "NaN"]


def numbers_near_rounding() -> np.ndarray:
    """Powers of ten, halves of a digit, and their neighbours."""
    tens = [float(f"{lead}e{power}") for power in range(-312, 18) for lead in (1, 5, 9.9999999995)]
    rng = np.random.default_rng(3)
    halves = (rng.integers(0, 10**10, 2000) + 0.5) / 10.0 ** rng.integers(0, 14, 2000)
    small = (rng.integers(0, 10**10, 2000) + 0.5) * 10.0 ** -rng.integers(10, 316, 2000)
    exact = np.concatenate([tens, halves, small])
    near = [np.nextafter(exact, 0), np.nextafter(exact, np.inf), exact * (1 - 3e-11)]
    return np.concatenate([exact, -exact, *near, [0.0, -0.0, 5e-324, np.inf, -np.inf, np.nan]])


def read_back(values: np.ndarray) -> list[float]:
    return [float(f"{value:.10g}") for value in values.tolist()]


def check_rounded(values: np.ndarray) -> None:
    found = rounded(values)
    np.testing.assert_allclose(found, values, rtol=5.001e-10)
    np.testing.assert_array_equal(found, read_back(found))  # none has more digits


def test_numbers_have_ten_digits():
    values = numbers_near_rounding()
    check_rounded(values)
    far = np.random.default_rng(4).normal(size=1000) * 10.0 ** np.arange(-300, 300).repeat(2)[:1000]
    np.testing.assert_array_equal(rounded(far), read_back(far))


def test_columns_of_any_type_are_written():
    extra = {
        "single": np.array([0.1, 1e-20, np.nan], np.float32),
        "small": np.array([-1, 0, 1], np.int8),
        "large": np.array([0, 1, 2**64 - 1], np.uint64),
        "text": Picked(["a", "ü", ""], np.arange(3)),
    }
    made = ranking(["a", "b", "c"], np.array([1.0, 2.0, 3.0]), extra=extra)
    rows = [line.split("\t")[4:] for line in ranking_bytes(made, "tsv").decode().splitlines()]
    assert rows[0] == list(extra)
    single, *others = zip(*rows[1:])
    np.testing.assert_array_equal([float(v) for v in single], read_back(extra["single"]))
    assert others == [tuple(str(v) for v in column) for column in [*extra.values()][1:]]


def test_threads_write_the_same_bytes(tmp_path):
    form, m = "tsv", 2 * CHUNK + 5
    rng = np.random.default_rng(0)
    scores = np.where(rng.random(m) < 0.1, np.nan, 10.0 ** rng.uniform(-6, 11, m))
    made = ranking(FeatureIds.of(f"gene {i}" for i in range(m)), scores)
    write_ranking(made, tmp_path / "ranking", form, ThreadExecutor(3).map)
    assert (tmp_path / "ranking").read_bytes() == ranking_bytes(made, form)


def test_json_reads_back(table):
    records = json.loads(ranking_bytes(table, "json"))
    assert list(records[0]) == ["rank", "feature", "score", "status", "p_value", "entered"]
    assert [r["feature"] for r in records] == table.feature
    assert [r["rank"] for r in records] == list(range(1, 10))
    scores = [r["score"] for r in records]
    assert scores[-3:] == ["inf", None, None]
    np.testing.assert_allclose(scores[:-3], table.score[:-3], rtol=5e-10)


def test_parquet_keeps_every_bit(table, tmp_path):
    import pyarrow.parquet as pq

    write_ranking(table, tmp_path / "r.parquet", "parquet")
    read = pq.read_table(tmp_path / "r.parquet")
    assert read.column_names == list(table.columns())
    for name, column in table.columns().items():
        np.testing.assert_array_equal(read[name].to_pylist(), column)


def test_a_workbook_has_ids_as_text_and_numbers_as_numbers(table, tmp_path):
    from python_calamine import CalamineWorkbook

    write_ranking(table, tmp_path / "r.xlsx", "xlsx")
    book = CalamineWorkbook.from_path(tmp_path / "r.xlsx")
    assert book.sheet_names == ["ranking"]
    head, *rows = book.get_sheet_by_index(0).to_python()
    assert head == list(table.columns())
    columns = dict(zip(head, zip(*rows)))
    assert list(columns["feature"]) == list(table.feature)
    for name, expected in as_written(table, "tsv").columns().items():
        if np.asarray(expected).dtype.kind == "f":
            read = [np.nan if v == "" else float(v) for v in columns[name]]
            np.testing.assert_array_equal(read, expected)


def test_a_workbook_keeps_names_that_a_spreadsheet_would_change():
    from python_calamine import CalamineWorkbook

    names = ["MARCH1", "1E5", "007", "=1+1", "http://x", "2-Sep"]
    made = ranking(names, np.arange(6.0)[::-1])
    book = CalamineWorkbook.from_filelike(io.BytesIO(ranking_bytes(made, "xlsx")))
    assert [row[1] for row in book.get_sheet_by_index(0).to_python()[1:]] == names[::-1]


@pytest.mark.parametrize("larger", [True, False])
def test_rnk_gives_equal_scores_one_metric(larger):
    scores = np.array([1.0, np.inf, -np.inf, 1.0, np.inf, np.nan])
    made = ranking(list("abcdef"), scores, larger)
    lines = [line.split("\t") for line in ranking_bytes(made, "rnk").decode().splitlines()]
    metric = {name: float(value) for name, value in lines}
    assert metric["a"] == metric["d"]
    assert metric["b"] == metric["e"]
    assert (metric["b"] > metric["a"] > metric["c"]) == larger
    assert min(metric.values()) > 0
    np.testing.assert_allclose(sum(metric.values()), 5, rtol=1e-9)
