from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.delimited import open_text
from tests.contract.io.reading import read_all


def read(path, **options):
    ids, values, reader = read_all(path, open_text, **{"dtype": "float64"} | options)
    return reader, ids, values


@pytest.fixture
def write(write_text):
    return lambda text, name="m.csv": write_text(text, name)


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value)


@settings(max_examples=30)
@given(data=st.data())
def test_whatever_is_written_is_read_back(data, tmp_path_factory):
    n, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    cell = st.one_of(st.floats(allow_nan=False, width=64), st.none())
    rows = data.draw(st.lists(st.lists(cell, min_size=m, max_size=m), min_size=n, max_size=n))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    missing = data.draw(st.sampled_from(["", "NA", "NaN", "#N/A", "#DIV/0!", '""']))
    delimiter = data.draw(st.sampled_from([",", "\t", ";"]))
    lines = [delimiter.join(["id", *(f"s{j}" for j in range(m))])]
    lines += [
        delimiter.join([f"g{i}", *(missing if v is None else repr(v) for v in row)])
        for i, row in enumerate(rows)
    ]
    text = end.join(lines) + data.draw(st.sampled_from(["", end, end * 3]))
    path = tmp_path_factory.mktemp("text") / "m.csv"
    path.write_bytes(text.encode())
    _, ids, values = read(path, block_bytes=data.draw(st.sampled_from([1, 200, 1 << 20])))
    assert ids == [f"g{i}" for i in range(n)]
    expected = [[np.nan if v is None else v for v in row] for row in rows]
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.txt", "a b\ng1 1 2\ng2 3 4\n"),
        ("m.csv", '"","a","b"\r\n"g1",1,2\r\n"g2","3","4"\r\n'),
        ("m.csv", "id , a,b\n g1,1, 2\ng2,3 ,4\n"),
        ("m.tsv", "# made on Monday\n# by hand\nid\ta\tb\ng1\t1\t2\ng2\t3\t4\n"),
        ("m.tsv", "#id\ta\tb\ng1\t1\t2\ng2\t3\t4\n"),
        ("M.TSV", "id,a,b\ng1,+1,2\ng2,3e0,4.\n"),
        ("m.csv", "id,a,b,,\ng1,1,2,,\ng2,3,4,,\n"),
    ],
)
def test_dialects_of_the_same_matrix(write, name, text):
    reader, ids, values = read(write(text, name))
    assert list(reader.column_ids) == ["a", "b"]
    assert ids == ["g1", "g2"]
    np.testing.assert_array_equal(values, [[1, 2], [3, 4]])


def test_quoted_ids_may_hold_delimiters_and_quotes(write):
    path = write('id,"s,1",s2\n"a ""b"", c",1,2\nplain,3,4\n')
    reader, ids, values = read(path)
    assert list(reader.column_ids) == ["s,1", "s2"]
    assert ids == ['a "b", c', "plain"]
    np.testing.assert_array_equal(values, [[1, 2], [3, 4]])


def test_entrez_ids_and_integer_sample_ids_are_ids(write):
    reader, ids, _ = read(write("gene,1,2,10\n1001,5,6,0.5\n1002,7,8,0.5\n"))
    assert (list(reader.column_ids), ids) == (["1", "2", "10"], ["1001", "1002"])


LATE = "id,what,b\n" + "".join(f"h{i},NA,1\n" for i in range(100))
"""A column whose texts begin below the rows that are looked at."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,a,b\ng1,1,2\n,1,2\n", "line 3"),
        ("id\ta\tb\ng1\t1\t2\n\t\t\ng2\t1\t2\n\t\t\n", "a row has no id"),
        ("id,a,b,\ng1,1,2,\ng2,1,2,3\n", "column 4 has no id"),
        ("id,,\ng1,,\n", "column 2 has no id"),
        ("id;a;b\ng1;1.234,50;1\ng2;2,5;1\n", "thousands marks"),
        ("# one\n# two\nid,a,b\ng1,1,2\ng2,1,z\n", "line 5"),
        ("a,b,c\n1.5,2.5,3\n2.5,4.5,5\n", "first column holds values"),
        ("id,a,b\ng1,1,2\ng2,1,oops\n", "line 3, column 'b'"),
        ("id,a,b\ng1,1,2\ng2,1,oops\n", "'oops' is not a number"),
        ("id,a,b\ng1,1,2\ng2,1,oops\n", "remove a column that is no sample"),  # of inspect, too
        ("id;a;b\ng1;1,5;2,5\n", "decimal commas"),
        (f'{LATE}g1,1,2\ng2,c,"a, b"\n', "the field 'a, b' holds a comma"),
    ],
)
def test_what_is_wrong_is_named(write, text, expected):
    path = write(text)
    for block_bytes in (1, 1 << 20):
        message = refused(path, block_bytes=block_bytes)
        assert expected in message
        assert str(path) in message


def test_what_is_left_of_lines_of_geo_is_named(write):
    table = "ID_REF\tGSM1\tGSM2\ng1\t1\t2\n!series_matrix_table_end\n"
    assert "remove such lines" in refused(write(table, "m.tsv"))
    soft = "^DATABASE = GeoMiame\n!Database_name = Gene Expression Omnibus (GEO)\n^SERIES = GSE1\n"
    assert "a SOFT file of GEO" in refused(write(soft, "family.soft.txt"))


def test_one_stray_text_is_not_taken_for_a_column_of_text(write):
    message = refused(write("id,a,b\ng1,1,2\ng2,low,2\ng3,1,2\n"))
    assert "line 3, column 'a'" in message


def test_texts_that_begin_below_the_rows_that_are_looked_at_are_annotations(write):
    reader, ids, values = read(write(f'{LATE}g1,"a, b",2\ng2,,3\ng3,ligase,3\n'))
    assert (list(reader.column_ids), list(reader.beside)) == (["b"], ["what"])
    assert (ids[-3:], values[-3:].tolist()) == (["g1", "g2", "g3"], [[2], [3], [3]])
