"""Objects that R 4.2 saved (see make_r_files.R)."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.errors import InputError, MissingExtraError
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.files.table import read_table
from sfs_cli.io.knowledge.sample_columns import CLASSES, read_column
from tests.contract.io.reading import read_all

FILES = json.loads(Path(__file__).with_name("r_files.json").read_text())
M = np.array([[-0.5, 1e-300], [0.25, 2], [np.nan, 1 / 3]])
SPARSE = np.array([[1, 0], [0, 3], [2, 0]])
WHOLE = np.array([[np.nan, 4], [2, 5], [3, 6]])


@pytest.fixture
def saved(tmp_path):
    def path(name: str) -> Path:
        file, colon, part = name.partition(":")
        (tmp_path / file).write_bytes(base64.b64decode(FILES[file]))
        return tmp_path / f"{file}{colon}{part}"

    return path


def read(path: Path):
    """Return ids of rows and columns, values, and the reader."""
    ids, values, reader = read_all(path, dtype="float64")
    return ids, list(reader.column_ids), values, reader


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matrix_gzip.rds", M),
        ("matrix_plain.rds", M),
        ("whole.rds", WHOLE),
        ("columns.rds", SPARSE),
        ("one.rda", M),
        ("two.RData:m", M),
        ("experiment.rds:counts", WHOLE),
        ("experiment.rds:norm", M),
        ("ranged.rds", SPARSE),
    ],
)
def test_values_and_names_are_those_of_r(saved, name, expected):
    rows, columns, values, reader = read(saved(name))
    assert (rows, columns) == (["g1", "g2", "g3"], ["s1", "s2"])
    np.testing.assert_array_equal(values, expected)
    assert reader.format == "r"
    assert reader.sparse == (expected is SPARSE)


@pytest.mark.parametrize("name", ["experiment.rds:norm", "ranged.rds"])
def test_an_experiment_says_what_its_samples_are(saved, name):
    reader = read(saved(name))[3]
    assert reader.fixed_rows == "features"
    assert reader.annotations.obs.to_pydict() == {"tissue": ["a", "b"], "age": [1, 2]}


def test_a_data_frame_is_a_table(saved):
    table = read_table(saved("frame.rds"))
    assert table.columns == {
        "": ["s1", "s2"],
        "age": ["31", ""],
        "n": ["1", ""],
        "score": ["0.5", "1.0"],
        "tissue": ["liver", ""],
        "note": ["x", ""],
        "ok": ["True", ""],
    }
    assert table.categories == {"tissue", "note"}
    assert read_column(f"{saved('two.RData:frame')}:tissue", CLASSES) == {"s1": "liver"}
    assert read_table(saved("no_row_names.rds")).columns["gene"] == ["g1", "g2"]


@pytest.mark.parametrize(
    ("name", "rows", "columns", "values"),
    [
        ("renamed.rds", ["g1", "g2", "g3"], ["new1", "new2"], M),
        ("named_outside.rds", ["g1", "g2", "g3"], ["s1", "s2"], M),
        ("entrez.rds", ["7157", "672"], ["s1", "s2"], [[0.5, 3], [2, 4]]),
        ("whole_row_names.rds", ["7157", "672"], ["s1", "s2"], [[1, 3], [1, 4]]),
        ("bit64.rds", ["a", "b", "c"], ["n", "w"], [[5, 1], [np.nan, 2], [9e9, 3]]),
    ],
)
def test_ids_and_numbers_are_those_that_r_shows(saved, name, rows, columns, values):
    found = read(saved(name))
    assert found[:2] == (rows, columns)
    np.testing.assert_array_equal(found[2], values)


def test_times_are_text_as_in_a_table_that_r_writes(saved):
    assert read_table(saved("times.rds")).columns == {
        "id": ["a", "b"],
        "day": ["2020-01-02", ""],
        "time": ["2020-01-02 03:04:05", ""],
    }


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("frame.rds", "columns hold no numbers: tissue, note", "take them out"),
        ("unnamed.rds", "no matrix with names of its rows", "write.table(as.matrix(x)"),
        ("no_ids.rds", "no data frame with ids", "write.table(as.matrix(x)"),
        ("words.rds", "no data frame with ids, and no matrix", "write.table(as.matrix(x)"),
        ("code.rds", "cannot be read as saved R objects", "write.table(as.matrix(x)"),
        ("two.RData", "several objects", "two.RData:NAME, one of m, frame"),
        ("experiment.rds", "several objects", "experiment.rds:NAME, one of counts, norm"),
        ("whole.rds:x", "there is no 'x' in it", "whole.rds:NAME"),
    ],
)
def test_other_objects_are_refused_with_what_to_do_in_r(saved, name, message, hint):
    with pytest.raises(InputError, match=message) as caught:
        read(saved(name))
    assert hint in str(caught.value)
    assert caught.value.where == str(saved(name))


def test_what_save_wrote_is_loaded_in_r(saved):
    path = saved("words.rds").rename(saved("words.rds").with_suffix(".RData"))
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.hint.startswith('write it from R: print(load("FILE")); x <- NAME;')


@pytest.mark.parametrize("name", [n for n in FILES if n.startswith("matrix_")])
def test_it_is_recognized_through_its_compression(saved, name):
    assert recognize(saved(name)).kind is Kind.R_DATA


def test_without_the_library_its_extra_and_the_way_out_are_named(saved, monkeypatch):
    monkeypatch.setattr("sfs_cli.errors.find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "sfs_cli.io.matrix.r_data", raising=False)
    for work in (read, read_table):
        with pytest.raises(MissingExtraError, match="rdata") as caught:
            work(saved("whole.rds"))
        assert "sfs-cli[r]" in str(caught.value)
        assert "write.table" in str(caught.value)
