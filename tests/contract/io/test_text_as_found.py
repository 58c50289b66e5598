"""Text files as other programs and people write them."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfs_cli
from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions, open_matrix

SAMPLES = [f"s{i}" for i in range(4)]
FRAME = pd.DataFrame(
    np.random.default_rng(3).normal(size=(150, 4)).round(3),
    pd.Index([f"ENSG{i:03d}" for i in range(150)], name="id"),
    SAMPLES,
)


def read(path: Path, **options: Any) -> tuple[pd.DataFrame, dict[str, list[str]], list[str]]:
    """Return the values by the ids of both axes, the annotations, and the notes."""
    asked = {"decimal": "auto", "dtype": "float64"} | options
    reader = open_matrix(path, ReadOptions(**asked))
    blocks = list(reader.blocks())
    reader.close()
    ids = [name for block in blocks for name in block.ids]
    values = np.concatenate([block.values for block in blocks])
    texts = {
        name: [text for block in blocks for text in block.texts[at][1]]
        for at, (name, _) in enumerate(blocks[0].texts)
    }
    return pd.DataFrame(values, ids, list(reader.column_ids)), texts, list(reader.notes)


def same(found: pd.DataFrame, expected: pd.DataFrame = FRAME) -> None:
    pd.testing.assert_frame_equal(found, expected, check_names=False)


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value)


def annotated() -> pd.DataFrame:
    made = FRAME.copy()
    made.insert(0, "symbol", [f"SYM{i}" for i in range(len(made))])
    made.insert(3, "description", [f'part "{i}", of a; protein' for i in range(len(made))])
    made["biotype"] = ["coding", ""] * (len(made) // 2)
    return made


WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "m.tsv": lambda frame, path: frame.to_csv(path, sep="\t"),
    "quoted.csv": lambda frame, path: frame.to_csv(path, quoting=2, lineterminator="\r\n"),
    "m.parquet": lambda frame, path: frame.to_parquet(path),
    "m.feather": lambda frame, path: frame.reset_index().to_feather(path),
}


# ---- columns of text -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITERS)
def test_columns_of_text_are_annotations_in_every_format(tmp_path, name):
    WRITERS[name](annotated(), tmp_path / name)
    for block_bytes in (1, 8 << 20):
        found, texts, _ = read(tmp_path / name, block_bytes=block_bytes)
        same(found)
        for column in ("symbol", "description", "biotype"):
            assert texts[column] == list(annotated()[column])


@pytest.mark.parametrize("name", ["m.tsv", "m.parquet"])
def test_tables_without_numbers_are_refused(tmp_path, name):
    WRITERS[name](annotated()[["symbol", "biotype"]], tmp_path / name)
    assert "number" in refused(tmp_path / name)


# ---- decimal commas ------------------------------------------------------------------------------


@pytest.mark.parametrize("sep", [";", "\t"])
def test_decimal_commas_are_told_from_the_first_rows(tmp_path, sep):
    path = tmp_path / "m.csv"
    FRAME.to_csv(path, sep=sep, decimal=",")
    found, _, notes = read(path)
    same(found)
    assert "decimal commas" in notes[0]
    annotated().to_csv(path, sep=sep, decimal=",")
    found, texts, _ = read(path)
    same(found)
    assert texts["description"] == list(annotated()["description"])


def test_commas_that_may_be_thousands_marks_are_not_guessed(tmp_path):
    path = tmp_path / "m.tsv"
    path.write_text("id\ta\tb\ng1\t1,234\t2\ng2\t2,500\t3\n")
    assert "--decimal comma" in refused(path)
    assert list(read(path, decimal="comma")[0]["a"]) == [1.234, 2.5]
    assert "'1,234' is not a number" in refused(path, decimal="point")
    path.write_text("id\ta\tb\ng1\t1,234\t2\ng2\t0,125\t3\n")
    assert list(read(path)[0]["a"]) == [1.234, 0.125]
    path.write_text("id\ta\tb\ng1\t1,25\t2.5\ng2\t0,125\t3\n")
    assert "not clear" in refused(path)


# ---- encodings and line ends ---------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "packed"), [("utf-16-le", False), ("utf-16-be", True)])
def test_utf_16_is_decoded_as_a_stream(tmp_path, encoding, packed):
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
    frame = pd.concat([FRAME.add_prefix("é𝛼")] * 40, axis=1).set_axis(
        [f"é𝛼{i}" for i in range(160)], axis=1
    )
    data = mark[encoding] + frame.to_csv(sep="\t", lineterminator="\r\n").encode(encoding)
    path = tmp_path / ("m.txt" + ".gz" * packed)
    path.write_bytes(gzip.compress(data) if packed else data)
    same(read(path)[0], frame)
    path.write_bytes(gzip.compress(data[:-1]) if packed else data[:-1])
    assert "UTF-16" in refused(path)


# ---- lines above the values ----------------------------------------------------------------------

TABLE = "id,a,b\ng1,1.5,2\ng2,3,4\n"


@pytest.mark.parametrize(
    ("above", "below", "skipped"),
    [
        ("# one\n# two\n", "", ["line 1 ('# one')", "line 2"]),
        ("My experiment,,\nsomewhere,in May,\n,,\n", "", ["My experiment", "in May"]),
        ("Title\n", ",counts,counts\n", ["Title", "line 3 ('counts counts')"]),
        (",control,control\n", "", ["line 1 ('control control')"]),
        ("Table 1, arrays, log2\n", "", ["line 1 ('Table 1 arrays log2')"]),
    ],
)
def test_lines_of_text_above_the_values_are_skipped_and_told(tmp_path, above, below, skipped):
    names, _, rows = TABLE.partition("\n")
    (tmp_path / "m.csv").write_text(f"{above}{names}\n{below}{rows}")
    found, texts, notes = read(tmp_path / "m.csv")
    same(found, pd.DataFrame({"a": [1.5, 3], "b": [2.0, 4]}, ["g1", "g2"]))
    assert not texts
    assert all(text in notes[0] for text in skipped)


@pytest.mark.parametrize(
    "content",
    [
        f"Total,24\n{TABLE}",  # a number
        "id,a,b\ng1,high,NA\ng2,3,4\n",  # a row with a gap
    ],
)
def test_what_is_not_clear_is_not_skipped(tmp_path, content):
    (tmp_path / "m.csv").write_text(content)
    assert refused(tmp_path / "m.csv")


def test_rows_without_any_value_are_rows(tmp_path):
    (tmp_path / "m.csv").write_text("id,a,b\ng0,NA,NA\ng1,,\ng2,1,2\n")
    assert list(read(tmp_path / "m.csv")[0].index) == ["g0", "g1", "g2"]
    (tmp_path / "m.csv").write_text("id,symbol,a,b\ng0,x,NA,NA\ng1,y,1,2\n")
    assert list(read(tmp_path / "m.csv")[0].index) == ["g0", "g1"]


# ---- nothing is left out or taken by mistake -----------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "at", "index"),
    [("csv", 0, ""), ("csv", 2, "index"), ("csv", 4, "Unnamed: 0"), ("parquet", 2, "")],
)
def test_ids_anywhere_behind_a_numbered_column_lose_no_sample(tmp_path, kind, at, index):
    frame = FRAME.reset_index(drop=True)
    frame.insert(at, "gene", list(FRAME.index))
    path = tmp_path / f"m.{kind}"
    if kind == "csv":
        frame.to_csv(path, index_label=index)
    else:
        frame.insert(0, index or "__index_level_0__", range(len(frame)))
        frame.to_parquet(path, index=False)
    found, texts, _ = read(path)
    same(found)
    assert not texts


@pytest.mark.parametrize("kind", ["csv", "parquet", "index"])
def test_whole_numbers_that_are_ids_are_the_same_ids_in_every_format(tmp_path, kind):
    frame = annotated()
    frame.index = pd.Index([1000 + 7 * i for i in range(len(frame))], name="entrez_id")
    path = tmp_path / f"m.{'parquet' if kind == 'index' else kind}"
    write = {
        "csv": frame.to_csv,
        "index": frame.to_parquet,
        "parquet": frame.reset_index().to_parquet,
    }
    write[kind](path)
    found, texts, _ = read(path)
    assert list(found.index) == [str(i) for i in frame.index]
    assert list(found.columns) == SAMPLES
    assert texts["symbol"] == list(frame["symbol"])


@pytest.mark.parametrize("word", ["-", "n.d.", "<LOD", "12%", "2020-01-05", "1 234"])
def test_words_for_missing_values_make_no_annotation_and_no_line_of_units(tmp_path, word):
    frame = FRAME.astype(object)
    frame.iloc[0] = word
    frame.to_csv(tmp_path / "row.csv")
    assert f"{word!r} is not a number" in refused(tmp_path / "row.csv")
    frame = FRAME.astype(object)
    frame.iloc[:, 2] = word
    frame.to_csv(tmp_path / "column.csv")
    assert f"{word!r} is not a number" in refused(tmp_path / "column.csv")


# ---- proteinGroups.txt of MaxQuant ---------------------------------------------------------------

LFQ = [f"LFQ intensity {name}" for name in "abcd"]


def protein_groups(path: Path) -> Path:
    """Write a table of 240 groups; flags and lists of numbers first occur far below."""
    n = 240
    ids = pd.Index([f"P{i:05d};Q{i:05d}" for i in range(n)], name="Protein IDs")
    frame = pd.DataFrame({"Gene names": "G1;G2"}, ids)
    frame["Score"] = 1.5
    frame[LFQ] = np.random.default_rng(4).normal(25, 2, (n, 4)).round(4)
    for at, name in enumerate(("Only identified by site", "Reverse", "Potential contaminant")):
        frame[name] = ["+" if j == 150 + 20 * at else "" for j in range(n)]
    frame["Oxidation (M) site IDs"] = [
        "5" if j == 120 else "6;7" if j == 200 else "" for j in range(n)
    ]
    frame.to_csv(path, sep="\t")
    return path


def test_flags_that_begin_far_below_and_columns_that_are_left_out_are_no_values(tmp_path):
    path = protein_groups(tmp_path / "proteinGroups.txt")
    labels = pd.Series(["x", "x", "y", "y"], LFQ)
    found = sfs_cli.rank(path, labels=labels, samples="intersect", method="t-test")
    table = found.table
    for name in ("Only identified by site", "Reverse", "Potential contaminant"):
        assert (table[name] == "+").sum() == 1
    clean = pd.read_csv(path, sep="\t", index_col=0)[LFQ]
    alone = sfs_cli.rank(clean, rows="features", labels=labels, method="t-test")
    pd.testing.assert_frame_equal(table[["score"]], alone.table[["score"]], check_names=False)
    assert "--samples intersect" in refused(path)


def test_texts_of_columns_that_are_left_out_may_look_like_other_numbers(tmp_path):
    values = np.arange(30.0).reshape(6, 5) ** 2
    frame = pd.DataFrame(values, [f"g{i}" for i in range(6)], list("abcde"))
    labels = pd.Series(list("xxyy"), list("abcd"))
    how = {"labels": labels, "samples": "intersect", "method": "t-test", "transform": "log1p"}
    expected = sfs_cli.rank(frame, rows="features", **how).table
    frame.astype(object).assign(e=["1,5", "<2", "3", "", "oops", "1 2"]).to_csv(
        path := tmp_path / "m.tsv", sep="\t"
    )
    pd.testing.assert_frame_equal(sfs_cli.rank(path, decimal="point", **how).table, expected)


def test_lists_of_numbers_are_annotations(tmp_path):
    n = 240
    counts = {
        "Peptide counts (all)": ["5", "3;1", "3;2;12"] * (n // 3),
        "Best MS/MS": ["7;1" if j > 150 else "" for j in range(n)],  # below what is looked at
        "Oxidation (M) site IDs": ["5;6" if j == 200 else "5" for j in range(n)],
    }
    frame = pd.DataFrame({"s1": range(n), **counts, "s2": 0.5}, [f"P{j}" for j in range(n)])
    frame.to_csv(path := tmp_path / "proteinGroups.txt", sep="\t")
    table = sfs_cli.rank(path, method="variance", transform="log1p").table
    assert table.loc["P200", [*counts]].tolist() == ["3;2;12", "7;1", "5;6"]
    frame.iloc[:, 1] = ["3;1"] + ["5"] * (n - 1)  # one alone is a slip
    frame.to_csv(path, sep="\t")
    assert "'3;1' is not a number" in refused(path)


def test_flags_and_lists_are_no_ids_of_rows_that_are_numbered(tmp_path):
    n = 240
    frame = pd.DataFrame({"ids": ["3;1"] * n, "s1": 2.5, "s2": 1.5}, [str(i) for i in range(n)])
    frame["Reverse"] = ["+" if i == 150 else "" for i in range(n)]
    frame.to_csv(path := tmp_path / "m.tsv", sep="\t")
    values, texts, _ = read(path)
    assert ([*texts], [*values.index[:2]]) == (["ids", "Reverse"], ["0", "1"])


def test_a_column_without_any_value_stays_a_sample(tmp_path):
    path = tmp_path / "m.tsv"
    FRAME.assign(s1=np.nan).to_csv(path, sep="\t")
    same(read(path)[0], FRAME.assign(s1=np.nan))
