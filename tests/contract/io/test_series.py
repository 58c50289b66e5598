"""Series matrix files of GEO, written by `series_matrix` as GEO writes them."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.files.table import read_table
from sfs_cli.io.knowledge.sample_columns import CLASSES, read_column, read_covariates
from tests.contract.io.reading import read_all
from tests.making import series_matrix

X = np.array([[1.5, np.nan, 3], [4, 5.25, -6]])
FEATURES, TITLES, GSM = ["1007_s_at", "1053_at"], ["lung, left", "a 2", "a 3"], ["GSM1", "GSM2"]
GSM = [*GSM, "GSM3"]
TRAITS = "characteristics_ch1"
LINES = [
    ("source_name_ch1", ["lung", "liver", "lung"]),
    ("organism_ch1", ["Homo sapiens"] * 3),
    (TRAITS, ["tissue: lung: left", "tissue: liver", "tissue: lung: left"]),
    (TRAITS, ["age: 31", "Sex: F", "age: 40"]),
    (TRAITS, ["sex: M", "age: NA", ""]),
    (TRAITS, ["treatment: a", "treatment: b", "treatment: a"]),
    (TRAITS, ["treatment: c", "treatment: b", "recorded"]),
    (TRAITS, ["Stage:2", "Stage:3", "Stage:2"]),
    ("characteristics_ch2", ["tissue: pool"] * 3),
    ("description", ["x", "", ""]),
    ("description", ["y", "y", "z"]),
]
COLUMNS = {
    "tissue": ["lung: left", "liver", "lung: left"],
    "age": ["31", "NA", "40"],
    "Sex": ["M", "F", ""],
    "treatment": ["a; c", "b; b", "a"],
    TRAITS: ["", "", "recorded"],
    "Stage": ["2", "3", "2"],
    "tissue_ch2": ["pool"] * 3,
    "title": TITLES,
    "geo_accession": GSM,
    "source_name_ch1": ["lung", "liver", "lung"],
    "description": ["x; y", "y", "z"],
}


@pytest.fixture
def series(write_text):
    """Write a series matrix, which may be changed before, and return its path."""

    def write(lines=LINES, *, titles=TITLES, name="GSE9_series_matrix.txt", change=lambda t: t):
        return write_text(change(series_matrix(X, FEATURES, titles, lines)), name)

    return write


def opened(path, **options):
    ids, values, reader = read_all(path, dtype="float64", **options)
    return reader, ids, values


@pytest.mark.parametrize(
    ("begin", "end", "name"), [("", "\n", "m.txt"), ("\ufeff", "\r\n", "m.txt.gz")]
)
def test_what_geo_and_editors_write(write_text, begin, end, name):
    text = begin + series_matrix(X, FEATURES, TITLES, LINES).replace("\n", end)
    reader, ids, values = opened(write_text(text, name))
    assert (reader.format, reader.fixed_rows) == ("series-matrix", "features")
    assert (list(reader.column_ids), ids) == (TITLES, FEATURES)
    np.testing.assert_array_equal(values, X)


@pytest.mark.parametrize("titles", [["a", "a", "b"], ["a", "", "b"]])
def test_titles_that_tell_no_samples_apart_give_way_to_accessions(series, titles):
    reader = opened(series(titles=titles))[0]
    assert reader.column_ids == GSM
    assert "accessions" in reader.notes[0]


@pytest.mark.parametrize("before", [0, 9, 24])
def test_the_end_is_found_wherever_reading_stops(series, before):
    length = len(series_matrix(X, FEATURES, TITLES, [("description", ["", "", "z"])]))
    length -= len("!series_matrix_table_end\n")
    long = "z" * (1 + (1 << 16) - before - length)
    path = series([("description", ["", "", long])])
    assert path.read_bytes().index(b"!series_matrix_table_end") == (1 << 16) - before
    assert opened(path, block_bytes=16)[1] == FEATURES


@pytest.mark.parametrize("samples", [TITLES, GSM, GSM[1:]])
def test_a_column_is_found_by_title_or_accession(series, samples):
    column = read_column(f"{series()}:tissue", CLASSES)
    assert {*column.possible_ids} >= {*TITLES, *GSM}
    column.settle(samples)
    known = dict(zip(TITLES if samples is TITLES else GSM, COLUMNS["tissue"]))
    assert len(column) == 3
    assert {sample: column[sample] for sample in samples} == {s: known[s] for s in samples}


def test_names_of_columns_are_matched_but_for_case_and_signs(series):
    path = series([(TRAITS, ["scan day: 1", "scan day: 2", "scan day: 1"])])
    for name in ("scan day", "Scan_Day", "scan.day"):
        (found,) = read_covariates(f"{path}:{name}", "adjust")
        assert (found.name, found.kind) == ("scan day", "numeric")
    with pytest.raises(InputError, match="no column 'scan'"):
        read_covariates(f"{path}:scan", "adjust")


def test_a_series_without_values_still_has_columns_of_the_samples(series):
    def empty(text):
        head, name, table = text.partition('"ID_REF"')
        return head + name + table.partition("\n")[0] + "\n!series_matrix_table_end\n"

    path = series(change=empty)
    with pytest.raises(InputError, match="no values") as caught:
        opened(path)
    for part in ("supplementary files", "--labels GSE9_series_matrix.txt:COLUMN", "tissue, age"):
        assert part in str(caught.value.hint)
    assert read_table(path).columns["tissue"] == COLUMNS["tissue"]
    path = series(change=lambda text: text.partition('"ID_REF"')[0] + "!series_matrix_table_end\n")
    with pytest.raises(InputError, match="no table with the accessions"):
        opened(path)


OTHER = "is not of the 3 samples of the table"


@pytest.mark.parametrize(
    ("change", "what", "where"),
    [
        (lambda t: t.partition("!series_matrix_table_end")[0], "has no end", "GSE9"),
        (lambda t: t.replace("!series_matrix_table_begin", "!x"), "has no table", "GSE9"),
        (lambda t: t.replace('"ID_REF"\t"GSM1"', '"ID_REF"\t"GSM7"'), OTHER, "line 5"),
        (lambda t: t.replace('"tissue: liver"', '"a"\t"b"'), OTHER, "line 9"),
        (lambda t: t.replace("5.25", "5.25\t"), "expected", "line 22"),
        (lambda t: t.replace("5.25", "high"), "'high' is not a number", "line 22"),
        (lambda t: t.replace('\n"1053', '\n\n"1053'), "blank line", "line 22"),
    ],
)
def test_what_is_wrong_is_named(series, check_refused, change, what, where):
    path = series(change=change)
    check_refused(lambda: opened(path), what, where)
