"""Annotations of features beside a ranking, and of samples in rows as labels."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfs_cli.store.disk import open_store
from tests.running import run_here as run_captured

SAMPLES = [f"s{i}" for i in range(12)]
FRAME = pd.DataFrame(
    np.random.default_rng(11).normal(8, 1, (40, 12)).round(4),
    pd.Index([f"ENSG{i:03d}" for i in range(40)], name="id"),
    SAMPLES,
)
SYMBOLS = [f"SYM{i}" for i in range(40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    frame = FRAME.copy()
    frame.insert(0, "gene_name", SYMBOLS)
    frame["score"] = ["text"] * 40
    frame["q_value"] = 0.001
    frame["biotype"] = ["coding", 'a"b c'] * 20
    frame.to_csv(tmp_path / "m.tsv", sep="\t")
    return tmp_path / "m.tsv"


def table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), sep="\t", index_col="feature", dtype=str)


def test_they_follow_the_columns_of_the_method_under_their_names(path, sfs, tmp_path) -> None:
    out = tmp_path / "out"
    done = sfs("rank", path, "--method", "variance", "--out", out)
    found = table((out / "ranking.tsv").read_text())
    own = ["gene_name", "score_annotation", "q_value_annotation", "biotype"]
    assert list(found.columns[-4:]) == own
    assert "score as score_annotation" in done.err
    expected = pd.Series(SYMBOLS, FRAME.index).loc[found.index]
    assert list(found["gene_name"]) == list(expected)
    order = FRAME.var(axis=1).sort_values(ascending=False).index
    assert list(found.index) == list(order)
    page = (out / "report.html").read_text()
    assert "SYM1" in page  # names, and no other annotations
    assert "coding" not in page
    record = json.loads((out / "run.json").read_text())
    assert record["input"]["annotations"] == own
    sfs("select", out, "--top", 3, "--out", tmp_path / "selected")
    chosen = table((tmp_path / "selected" / "selected.tsv").read_text())
    assert list(chosen["gene_name"]) == list(expected[:3])


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_every_format_of_a_ranking_has_them(path, sfs, tmp_path, form) -> None:
    sfs("rank", path, "--method", "variance", "--out", tmp_path / "o", "--format", form)
    read = {"json": pd.read_json, "parquet": pd.read_parquet}[form]
    found = read(tmp_path / "o" / f"ranking.{form}").set_index("feature")
    assert found["gene_name"].to_dict() == dict(zip(FRAME.index, SYMBOLS))
    assert set(found["biotype"]) == {"coding", 'a"b c'}


def test_a_store_keeps_them(path, sfs, tmp_path) -> None:
    store = tmp_path / "m.store"
    sfs("convert", path, store)
    of_store = sfs("rank", store, "--method", "variance").out
    assert of_store == sfs("rank", path, "--method", "variance").out
    assert list(open_store(store).ids.var) == ["gene_name", "score", "q_value", "biotype"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_text_beside_samples_in_rows_labels_them(sfs, tmp_path, kind) -> None:
    frame = FRAME.T.assign(tissue=["lung", "liver"] * 6).rename_axis("sample")
    asked = ["--rows", "samples", "--method", "f-test"]
    if kind == "csv":
        frame.to_csv(tmp_path / "c.csv")
    else:
        frame.reset_index().to_parquet(tmp_path / "c.parquet")
    found = sfs("rank", tmp_path / f"c.{kind}", "--labels", "obs:tissue", *asked)
    labels = tmp_path / "labels.tsv"
    frame[["tissue"]].to_csv(labels, sep="\t")
    FRAME.T.to_csv(tmp_path / "plain.csv")
    plain = sfs("rank", tmp_path / "plain.csv", "--labels", f"{labels}:tissue", *asked)
    assert found.out == plain.out
    sfs("convert", tmp_path / f"c.{kind}", tmp_path / "s.store", "--rows", "samples")
    of_store = sfs("rank", tmp_path / "s.store", "--labels", "obs:tissue", "--method", "f-test")
    assert of_store.out == plain.out


def test_a_subset_keeps_text_where_it_is(sfs, tmp_path) -> None:
    frame = FRAME.T.assign(tissue=["lung", "liver"] * 6).rename_axis("sample")
    frame = frame[[*FRAME.index[:3], "tissue", *FRAME.index[3:]]]
    frame.to_csv(tmp_path / "c.csv")
    out = tmp_path / "out"
    sfs("rank", tmp_path / "c.csv", "--rows", "samples", "--method", "variance", "--out", out)
    sfs("select", out, "--top", 5, "--write-matrix", tmp_path / "few.csv", "--out", tmp_path / "s")
    few = pd.read_csv(tmp_path / "few.csv", index_col=0)
    first = FRAME.var(axis=1).sort_values(ascending=False).index[:5]
    kept = frame[[name for name in frame if name in first or name == "tissue"]]
    pd.testing.assert_frame_equal(few, kept, check_names=False)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_that_is_text_at_first_and_numbers_then_is_refused(tmp_path, kind, capfd) -> None:
    """A sample below the limit of detection in the first features is no annotation."""
    frame = FRAME.loc[np.repeat(FRAME.index, 5)].astype(object)
    frame.iloc[:120, 3] = "low"
    frame.iloc[120:, 3] = [str(value) for value in frame.iloc[120:, 3]]
    path = tmp_path / f"m.{kind}"
    frame.to_csv(path) if kind == "csv" else frame.to_parquet(path)
    done = run_captured(["rank", str(path), "--method", "variance"], capfd)
    assert done.code == 3
    assert "column 's3' holds" in done.err
    assert "numbers as text" in done.err


@pytest.mark.parametrize(("name", "warned"), [("class", True), ("gene type", False)])
def test_classes_beside_what_is_taken_as_features_are_warned_of(tmp_path, sfs, name, warned):
    frame = FRAME.T.assign(**{name: ["a", "b"] * 6})
    frame.to_csv(tmp_path / "m.csv")
    done = sfs("rank", tmp_path / "m.csv", "--method", "variance")
    assert ("--rows samples" in done.err) is warned
    told = sfs("rank", tmp_path / "m.csv", "--method", "variance", "--rows", "features")
    assert "looks like classes" not in told.err
