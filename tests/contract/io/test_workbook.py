"""Sheets of workbooks that XlsxWriter, openpyxl and hand-made archives hold, read as text."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import openpyxl
import pytest
import xlsxwriter

from sfs_cli.errors import InputError, MissingExtraError
from sfs_cli.io.files.text import text_bytes
from sfs_cli.io.knowledge.gene_sets import read_gene_list, read_id_map
from sfs_cli.io.knowledge.sample_columns import CLASSES, read_column, read_covariates
from sfs_cli.run.guards import suspicious
from tests.contract.io.reading import read_all

HEADER = ["sample", "tissue", "age"]
ROWS = [["s1", "liver", 31], ["s2", "lung", 45], ["s3", "liver", 60]]


def write(path: Path, sheets: dict) -> Path:
    """Write sheets as lists of rows; None is an empty cell."""
    with xlsxwriter.Workbook(path) as book:
        date = book.add_format({"num_format": "d-mmm"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    if isinstance(value, datetime.date):
                        sheet.write_datetime(i, j, value, date)
                    elif isinstance(value, str) and value.startswith("#"):
                        sheet.write_formula(i, j, "=1/0", None, value)
                    elif value is not None:
                        sheet.write(i, j, value)
    return path


def text_of(path: Path) -> list[str]:
    stream = text_bytes(path)
    parts = []
    while part := stream.read(7):
        assert len(part) <= 7
        parts.append(part)
    stream.close()
    return b"".join(parts).decode().split("\n")


def matrix_of(path: Path) -> tuple[list[str], list[str], np.ndarray, list[str]]:
    ids, values, reader = read_all(path, dtype="float64", decimal="auto")
    return ids, list(reader.column_ids), values, list(reader.notes)


def test_cells_become_text_with_all_their_digits(tmp_path):
    rows = [
        ["id", "a", "b"],
        [1234.0, 1 / 3, True],
        ['5" end', -0.25, "x\ny\tz"],
        [datetime.date(2026, 9, 2), datetime.datetime(2024, 1, 2, 3, 4), "#DIV/0!"],
    ]
    third = float(f"{1 / 3:.16g}")  # as XlsxWriter writes it
    assert text_of(write(tmp_path / "a.xlsx", {"a": rows})) == [
        "id\ta\tb",
        f"1234\t{third!r}\tTrue",
        '"5"" end"\t-0.25\tx y z',
        "2026-09-02\t2024-01-02 03:04:00\t",
        "",
    ]


def test_of_a_workbook_that_begins_with_notes_the_other_sheets_are_named(tmp_path):
    matrix = [["id", "s1", "s2"], ["g1", 1.5, 2]]
    path = write(tmp_path / "m.xlsx", {"Notes": [["About"], ["x"]], "data": matrix})
    with pytest.raises(InputError) as told:
        matrix_of(path)
    assert str(told.value.where).startswith("sheet Notes of ")
    assert told.value.hint == "name the sheet that has the matrix: m.xlsx:data"


def test_a_gene_that_became_a_date_is_warned_of(tmp_path):
    path = tmp_path / "m.xlsx"
    write(path, {"a": [["id", "s1", "s2"], [datetime.date(2026, 3, 1), 1, 2], ["TP53", 3, 4]]})
    ids = matrix_of(path)[0]
    assert len([*suspicious(ids)]) == 1


def test_texts_of_a_sheet_may_have_decimal_commas_beside_its_numbers(tmp_path):
    rows = [["id", "s1", "s2"], ["g1", "1,25", 7.5], ["g2", 2, "-3,5"], ["g3", 1e-7, None]]
    ids, _, values, notes = matrix_of(write(tmp_path / "m.xlsx", {"a": rows}))
    assert ids == ["g1", "g2", "g3"]
    np.testing.assert_array_equal(values, [[1.25, 7.5], [2, -3.5], [1e-7, np.nan]])
    assert "decimal commas: 1,25 is read as 1.25" in notes


def test_a_blank_cell_far_right_makes_no_samples(tmp_path):
    rows = [["id", "s1", "s2"], ["g1", 1.5, 2, None, None, " "], ["g2", 2, 3]]
    path = write(tmp_path / "m.xlsx", {"a": rows})
    reader = read_all(path)[2]
    assert (list(reader.column_ids), len(reader.notes)) == (["s1", "s2"], 1)
    rows[2] += [None, None, 7]
    with pytest.raises(InputError, match="column 4 has no id") as caught:
        matrix_of(write(path, {"a": rows}))
    assert caught.value.where == f"{path}, line 3"


@pytest.mark.parametrize("program", ["openpyxl", "XlsxWriter"])
def test_formulas_that_no_program_has_computed_are_refused(tmp_path, program):
    rows = [["id", "s1", "s2"], ["g1", 1.5, "=B2*2"], ["g2", 2.5, "=B3*2"]]
    path = tmp_path / "m.xlsx"
    if program == "openpyxl":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    else:
        write(path, {"a": rows})
    with pytest.raises(InputError, match="formulas of the sheet have no values"):
        matrix_of(path)


def test_the_first_sheet_is_the_matrix_and_others_are_named(tmp_path):
    two = {"Empty": [], "One": [["id", "s1"], ["g1", 1]], "Two": [["id", "s1"], ["g2", 2]]}
    path = write(tmp_path / "m.xlsx", two)
    ids, _, _, notes = matrix_of(path)
    assert ids == ["g1"]
    assert notes == ["sheet One of m.xlsx is read, and not Two"]
    assert matrix_of(Path(f"{path}:Two"))[::3] == (["g2"], [])
    for sheet in ("Three", "Empty"):
        with pytest.raises(InputError, match="no such sheet with cells") as caught:
            matrix_of(Path(f"{path}:{sheet}"))
        assert "Empty, One, Two" in str(caught.value)
    with pytest.raises(InputError, match="several sheets") as caught:
        read_gene_list(path)
    assert "m.xlsx:SHEET" in str(caught.value)
    assert "several sheets: One, Two" in str(caught.value)
    with pytest.raises(InputError, match="no such sheet with cells"):
        matrix_of(write(tmp_path / "none.xlsx", {"a": [], "b": []}))


@pytest.mark.parametrize("rest", ["Samples:tissue", "tissue", ":tissue"])
def test_a_column_is_found_in_its_sheet(tmp_path, rest):
    sheets = {"Expr": [["id", "s1"], ["g1", 1]], "Samples": [HEADER, *ROWS]}
    path = write(tmp_path / "m.xlsx", sheets)
    if rest.startswith(":"):  # a workbook of one sheet needs no name of it
        path, rest = write(tmp_path / "one.xlsx", {"Samples": [HEADER, *ROWS]}), rest[1:]
    column = read_column(f"{path}:{rest}", CLASSES)
    assert column == {"s1": "liver", "s2": "lung", "s3": "liver"}


def test_a_sheet_may_be_named_without_a_column(tmp_path):
    pairs = [["probe", "symbol"], ["p1", "TP53"]]
    path = write(tmp_path / "m.xlsx", {"A": [HEADER, *ROWS], "B": pairs, "C": [["x", "class"]]})
    assert read_id_map(f"{path}:B") == [("p1", "TP53")]
    assert read_id_map(f"{path}:probe,symbol") == [("p1", "TP53")]
    assert read_column(f"{path}:B", CLASSES) == {"p1": "TP53"}


def test_columns_that_several_sheets_or_none_have_are_refused(tmp_path):
    two = write(tmp_path / "m.xlsx", {"A": [HEADER, *ROWS], "B": [HEADER, *ROWS]})
    for column in ("tissue", "sex"):
        with pytest.raises(InputError, match="several sheets: A, B") as caught:
            read_column(f"{two}:{column}", CLASSES)
        assert "m.xlsx:SHEET:COLUMN" in str(caught.value)
    with pytest.raises(InputError, match="there is no column 'sex'") as caught:
        read_column(f"{two}:B:sex", CLASSES)
    assert caught.value.where == f"{two}:B"
    found = read_covariates(f"{two}:B:age,tissue", "adjust")
    assert [(each.name, each.kind) for each in found] == [
        ("age", "numeric"),
        ("tissue", "categorical"),
    ]


def test_without_the_library_its_extra_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "m.xlsx", {"a": [HEADER, *ROWS]})
    monkeypatch.setattr("sfs_cli.errors.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="python-calamine") as caught:
        matrix_of(path)
    assert "sfs-cli[excel]" in str(caught.value)
