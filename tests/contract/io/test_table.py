from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.files.table import read_unnamed
from sfs_cli.io.knowledge.sample_columns import CLASSES, read_column, split_label_spec


def read_labels(spec):
    return read_column(spec, CLASSES)


EXPECTED = {"s1": "tumour", "s2": "normal"}


@pytest.fixture
def write(tmp_path):
    def _write(text, name="labels.tsv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write


@pytest.mark.parametrize(
    "text",
    [
        "sample\tlabel\ns1\ttumour\ns2\tnormal\n",
        '"sample","x"\n"s1","tumour"\n"s2","normal"\n',
        "id;Condition;age\ns1;tumour;4\ns2;normal;5\n",
        "\ufeffid\tlabel\ns1\ttumour\ns2\tnormal\ns3\tNA\ns4\t\n",
        "# note\nid\tlabel\ns1\ttumour\ns1\ttumour\ns2\tnormal\n\n",
        gzip.compress(b"id\tlabel\ns1\ttumour\ns2\tnormal\n", mtime=0),
        "#SampleID\tBarcode\tlabel\ns1\tAC\ttumour\ns2\tGT\tnormal\n",  # QIIME
        "Table S1. Patients,,\nid,label,age\ns1,tumour,4\ns2,normal,5\n",
        "My clinical table 2024\nid\tlabel\ns1\ttumour\ns2\tnormal\n",
        "id,label,note\ns1,tumour,x\n,,\n\ns2,normal,\n,,\n",
        "id,label,,\ns1,tumour,,\ns2,normal,,\n",
    ],
)
def test_labels_of_many_dialects(write, text):
    assert read_labels(str(write(text))) == EXPECTED


def test_a_column_may_be_named_and_a_colon_may_be_part_of_the_file(write):
    text = "id\ta\tb\ns1\ttumour\tx\ns2\tnormal\ty\n"
    assert read_labels(f"{write(text)}:a") == EXPECTED
    assert read_labels(f"{write(text)}:b") == {"s1": "x", "s2": "y"}
    colon = write("id\tlabel\ns1\ttumour\ns2\tnormal\n", "run:1.tsv")
    assert read_labels(str(colon)) == EXPECTED
    assert read_labels(f"{colon}:label") == EXPECTED


@pytest.mark.parametrize("name", ["disease state:ch1", "age (years):ch1", "label"])
def test_a_column_may_hold_colons(write, name):
    text = f"id\t{name}\tb\ns1\ttumour\tx\ns2\tnormal\ty\n"
    assert read_labels(f"{write(text)}:{name}") == EXPECTED
    assert split_label_spec(f"nowhere.tsv:{name}")[0] != Path("nowhere.tsv") or name == "label"


BESIDE = "patient,sample,label\nP1,s1,tumour\nP1,s2,normal\nP2,s3,tumour\n"


@pytest.mark.parametrize(
    "text",
    [
        BESIDE,
        ",sample,label\n0,s1,tumour\n1,s2,normal\n2,s3,tumour\n",
        "n,sample,label\n1,s1,tumour\n2,s2,normal\n3,s3,tumour\n",
    ],
)
def test_the_ids_are_those_of_the_column_that_has_most_of_the_samples(write, text):
    column = read_labels(str(write(text, "t.csv")))
    assert {"s1", "s2", "s3"} <= {*column.possible_ids}
    column.settle(["s2", "s1", "s9"])
    assert (column, column.ids_name) == ({"s1": "tumour", "s2": "normal", "s3": "tumour"}, "sample")


NUMBERED = [str(i) for i in range(1, 21)]
TURNED = NUMBERED[::-1]


@pytest.mark.parametrize(
    ("first", "other", "name"),
    [
        ([str(i) for i in range(11, 31)], NUMBERED, "age"),  # half of the samples
        ([*NUMBERED[:4], "05", *NUMBERED[5:]], TURNED, "order"),  # one is misspelled
        (["NaN", *NUMBERED[1:]], TURNED, "sample"),
        ([f"x{i}" for i in NUMBERED], TURNED, "order"),  # none: numbers are no ids
    ],
)
def test_the_first_column_has_the_ids_if_it_has_some(write, first, other, name):
    rows = [f"{a},{b},{a}" for a, b in zip(first, other)]
    column = read_labels(str(write("\n".join([f"s,{name},label", *rows]) + "\n", "t.csv")))
    column.settle(NUMBERED)
    assert column == {a: a for a in first if a != "NaN"}


@pytest.mark.parametrize("index", ["", "Unnamed: 0", "index"])
def test_a_column_that_counts_the_rows_has_no_ids(write, index):
    rows = [f"{i},{name},{name}" for i, name in enumerate(TURNED)]
    text = "\n".join([f"{index},sample,label", *rows]) + "\n"
    column = read_labels(str(write(text, "t.csv")))
    column.settle(NUMBERED)
    assert column == dict(zip(TURNED, TURNED))


def test_the_first_column_may_be_asked_for_beside_the_ids(write):
    column = read_labels(f"{write(BESIDE, 't.csv')}:patient")
    column.settle(["s1", "s2", "s3"])
    assert column == {"s1": "P1", "s2": "P1", "s3": "P2"}
    numbered = write("n,sample,label\n1,s1,a\n2,s2,b\n", "t.csv")
    column = read_labels(f"{numbered}:sample")
    with pytest.raises(InputError, match="the one that names the samples"):
        column.settle(["s1", "s2"])


def test_a_patient_has_one_value_where_the_samples_are_patients(write):
    column = read_labels(str(write(BESIDE, "t.csv")))
    with pytest.raises(InputError, match="'P1' has two labels, 'tumour' and 'normal'"):
        column.settle(["P1", "P2"])


@pytest.mark.parametrize("index", [True, False])
def test_parquet_labels(tmp_path, index):
    frame = pd.DataFrame(
        {"label": ["tumour", "normal", None], "sample": ["s1", "s2", "s3"], "age": [1, 2, 3]}
    )
    path = tmp_path / "labels.parquet"
    frame = frame.set_index("sample") if index else frame[["sample", "label", "age"]]
    frame.to_parquet(path)
    assert read_labels(str(path)) == EXPECTED
    assert read_labels(f"{path}:age") == {"s1": "1", "s2": "2", "s3": "3"}


@pytest.mark.parametrize(
    ("text", "spec", "expected"),
    [
        ("id\tlabel\ns1\ta\ns1\tb\n", "", "'s1' has two labels, 'a' and 'b'"),
        ("id\tx\ty\ns1\ta\tb\n", "", "x, y"),
        ("id\tlabel\ns1\tNA\n", "", "no sample has a label"),
        ("s1\ns2\n", "", "only one column"),
        ("id\tlabel\ns1\ta\n\ns2\n", "", "line 4"),
        ("id\tlabel\t\ns1\ta\t\ns2\tb\tc\n", "", "line 3"),
        ('id\tlabel\ns1\ta\n\ns2\t"b\ns3\tc"\n', "", "line 4"),
        ('id\tlabel\ns1\t"a"\rs2\t"b"\n', "", "line 2"),
        (f'id\tlabel\ns1\t"{"x" * 200_000}"\n', "", "line 2"),
        (b"\x89HDF\r\n\x1a\n", "", "an HDF5 file"),
        (b"PAR1 and no more", "", "damaged"),
    ],
)
def test_what_is_wrong_is_named(write, text, spec, expected):
    path = write(text)
    with pytest.raises(InputError) as caught:
        read_labels(f"{path}{spec}")
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


def test_comments_may_hold_quotes_and_rows_that_are_none_begin_as_they_do(write_text):
    """A quote in a comment opens no field, and only the first character of a line makes one."""
    lines = ["G1\ta", '# from the paper\t"Table 2', '"#1"\tb', " #2\tc", "G2\td"]
    table = read_unnamed(
        write_text("\n".join(lines) + "\n", "l.rnk"), ["gene", "x"], "", lambda _first: False
    )
    assert list(table.columns["x"]) == ["a", "b", "c", "d"]
    assert list(table.rows) == [1, 3, 4, 5]
