"""A ranking reads back from every format as it was."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.writers import CHUNK, ranking_bytes, write_ranking
from sfs_cli.ranking.table import Ranking, rank_features

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
    text = ranking_bytes(table, form, 10).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert header == ["rank", "feature", "score", "status", "p_value", "entered"]
    assert [int(r[0]) for r in rows] == list(range(1, 10))
    assert [r[1] for r in rows] == table.feature
    assert [r[3] for r in rows] == table.status
    for column, values in ((2, table.score), (4, table.extra["p_value"])):
        np.testing.assert_allclose([float(r[column]) for r in rows], values, rtol=5e-10)
    assert [r[2] for r in rows][-3:] == ["inf", "NaN", "NaN"]


@pytest.mark.parametrize(("form", "delimiter"), [("tsv", "\t"), ("csv", ",")])
def test_pandas_reads_the_text_as_it_is(table, form, delimiter):
    import pandas as pd

    content = io.BytesIO(ranking_bytes(table, form, 17))
    frame = pd.read_csv(content, sep=delimiter, float_precision="round_trip")
    assert frame["feature"].tolist() == table.feature
    np.testing.assert_array_equal(frame["score"], table.score)


def test_only_ids_that_need_quotes_have_them():
    text = ranking_bytes(ranking(["a b", "c,d", 'e"f'], np.array([1.0, 2.0, 3.0])), "tsv", 10)
    assert text.decode().splitlines()[1:] == ["1\ta b\t1\tok", "2\tc,d\t2\tok", '3\t"e""f"\t3\tok']


@pytest.mark.parametrize("digits", [3, 10, 17])
def test_numbers_have_so_many_significant_digits(digits):
    scores = np.array([123456.789123456789, 1.23456789123456789e-12, 2 / 3])
    made = ranking(["a", "b", "c"], scores)
    expected = [f"{score:.{digits}g}" for score in made.score]
    for form, delimiter in (("tsv", "\t"), ("csv", ",")):
        lines = ranking_bytes(made, form, digits).decode().splitlines()[1:]
        assert [line.split(delimiter)[2] for line in lines] == expected
    records = json.loads(ranking_bytes(made, "json", digits))
    assert [r["score"] for r in records] == [float(text) for text in expected]


def test_json_reads_back(table):
    records = json.loads(ranking_bytes(table, "json", 10))
    assert list(records[0]) == ["rank", "feature", "score", "status", "p_value", "entered"]
    assert [r["feature"] for r in records] == table.feature
    assert [r["rank"] for r in records] == list(range(1, 10))
    scores = [r["score"] for r in records]
    assert scores[-3:] == ["inf", None, None]
    np.testing.assert_allclose(scores[:-3], table.score[:-3], rtol=5e-10)


def test_parquet_keeps_every_bit(table, tmp_path):
    import pyarrow.parquet as pq

    write_ranking(table, tmp_path / "r.parquet", "parquet", 3)
    read = pq.read_table(tmp_path / "r.parquet")
    assert read.column_names == list(table.columns())
    for name, column in table.columns().items():
        np.testing.assert_array_equal(read[name].to_pylist(), column)


def test_more_rows_than_are_written_at_a_time():
    m = CHUNK + 3
    made = ranking([f"g{i}" for i in range(m)], np.arange(m, dtype=float))
    lines = ranking_bytes(made, "tsv", 10).decode().splitlines()
    assert len(lines) == m + 1
    assert [line.split("\t")[1] for line in lines[1:]] == made.feature


@pytest.mark.parametrize("larger", [True, False])
def test_rnk_says_that_more_is_better(larger):
    made = ranking(["a", "b", "c", "d"], np.array([2.0, -1.0, np.nan, 0.0]), larger)
    lines = [line.split("\t") for line in ranking_bytes(made, "rnk", 10).decode().splitlines()]
    assert [name for name, _ in lines] == made.feature[:3]
    metric = [float(value) for _, value in lines]
    assert metric == sorted(metric, reverse=True)
    assert ["d", "0"] in lines, "no negative zero"


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb"])
def test_rnk_refuses_an_id_that_it_cannot_hold(name):
    with pytest.raises(InputError, match="1 feature ids hold a tab or a line break") as caught:
        ranking_bytes(ranking([name, "c"], np.array([1.0, 2.0])), "rnk", 10)
    assert caught.value.where == repr(name)
    unscored = ranking([name, "c"], np.array([np.nan, 2.0]))
    assert ranking_bytes(unscored, "rnk", 10) == b"c\t-2\n"


@pytest.mark.parametrize("form", ["tsv", "csv", "json", "parquet", "rnk"])
def test_a_file_holds_the_bytes_that_go_to_stdout(tmp_path, form):
    made = ranking(["a", "b"], np.array([1.0, 2.0]))
    write_ranking(made, tmp_path / "r", form, 10)
    assert (tmp_path / "r").read_bytes() == ranking_bytes(made, form, 10)
