from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.delimited import open_text


def read(path, **options):
    reader = open_text(path, ReadOptions(**{"dtype": "float64", **options}))
    blocks = list(reader.blocks())
    reader.close()
    return reader, [i for b in blocks for i in b.ids], np.concatenate([b.values for b in blocks])


@pytest.fixture
def write(tmp_path):
    def _write(text, name="m.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value)


@settings(max_examples=40)
@given(data=st.data())
def test_whatever_is_written_is_read_back(data, tmp_path_factory):
    n, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    cell = st.one_of(st.floats(allow_nan=False, width=64), st.none())
    rows = data.draw(st.lists(st.lists(cell, min_size=m, max_size=m), min_size=n, max_size=n))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    missing = data.draw(st.sampled_from(["", "NA", "NaN", "#N/A", '""']))
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
        ("m.csv", "id,a,b\ng1,1,2\ng2,3,4\n"),
        ("m.tsv", "id\ta\tb\ng1\t1\t2\ng2\t3\t4"),
        ("m.txt", "id;a;b\ng1;1;2\ng2;3;4\n\n\n"),
        ("m.txt", "a b\ng1 1 2\ng2 3 4\n"),
        ("m.csv", '"","a","b"\r\n"g1",1,2\r\n"g2","3","4"\r\n'),
        ("m.csv", "\ufeffid,a,b\ng1,1,2\ng2,3,4\n"),
        ("m.csv", "id , a,b\n g1,1, 2\ng2,3 ,4\n"),
        ("m.tsv", "# made on Monday\n# by hand\nid\ta\tb\ng1\t1\t2\ng2\t3\t4\n"),
        ("m.tsv", "#id\ta\tb\ng1\t1\t2\ng2\t3\t4\n"),
        ("m.csv", "id;a;b\ng1;1;2\ng2;3;4\n"),
        ("M.TSV", "id,a,b\ng1,+1,2\ng2,3e0,4.\n"),
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


def test_a_row_longer_than_any_chunk(write):
    n = 20_000
    row = np.random.default_rng(0).normal(size=(3, n))
    lines = ["id," + ",".join(f"s{i}" for i in range(n))]
    lines += [f"g{i}," + ",".join(map(repr, r.tolist())) for i, r in enumerate(row)]
    _, ids, values = read(write("\n".join(lines)), block_bytes=1000)
    assert ids == ["g0", "g1", "g2"]
    np.testing.assert_array_equal(values, row)


def test_infinities_pass_and_are_left_to_the_store(write):
    _, _, values = read(write("id,a,b\ng,inf,-Inf\n"), dtype="float32")
    np.testing.assert_array_equal(values, [[np.inf, -np.inf]])


def test_values_beyond_float32_are_refused_only_there(write):
    path = write("id,a,b\ng1,1,2\ng2,1,-1e39\n")
    assert "float64" in refused(path, dtype="float32")
    assert read(path)[2][1, 1] == -1e39


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("id,a,b\n", "no rows"),
        ("id\ng1\ng2\n", "only one column"),
        ("id,a,b\ng1,1,2\ng2,1\n", "line 3"),
        ("id,a,b\ng1,1,2\ng2,1,2,3\ng3,1\n", "4 fields"),
        ("id,a,b\ng1,1,2\n\ng2,1,2\n", "line 3"),
        ("id,a,b\ng1,1,2\n,1,2\n", "line 3"),
        ("id,a,\ng1,1,2\n", "column 3 has no id"),
        ("id,a,b\ng1,1,2,\ng2,3,4,\n", "end in a comma"),
        ("g1,1.5,2\ng2,3,4\n", "first line"),
        ("g1,7,7\ng2,3,4\n", "first line"),
        ("a,b,c\n1.5,2.5,3\n2.5,4.5,5\n", "first column holds values"),
        ("id;a;b\ng1;1,5;2,5\n", "decimal commas"),
        ("id,a,b\ng1,1,2\ng2,1,oops\n", "line 3, column 'b'"),
        ("id,a,b\ng1,1,2\ng2,1,oops\n", "'oops' is not a number"),
        ("id,what,b\ng1,kinase,2\ng2,,3\ng3,ligase,3\n", "column 'what' holds text: remove it"),
        ('id,a,b\n"g1,1,2\n', "line 2"),
        ('id,a,b\ng1,"1,5",2\n', "line 2"),
        ('id,a,b\ng1,1,2\ng2,"1,2\n', "quote"),
        ("id,a,b\ng1,1,2\ng2,1\r5,2\n", "line 3"),
        ('id,what,b\ng1,"a, b",2\ng2,c,3\n', "the field 'a, b' holds a comma"),
        ('id,what,b\ng1,"a, b",2\ng2,c,3\n', "remove its column if it is text"),
        ('id,what,b\n"g\n1",2,2\ng2,4,3\n', "take quotes, line ends"),
        ('id,a,b\ng1,1,2\n"g2" x,3,4\n', "within a field"),
        (b"id,a,b\ng1,1,2\ng\xe9,1,2\n", "not UTF-8"),
        (b"id,a\xe9,b\ng1,1,2\n", "line 1"),
        (b"id,a,b\ng1,1,2\ng2,\0,2\n", "line 3"),
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


def test_the_first_bad_value_is_found_deep_in_a_file(write):
    lines = ["id,a,b,c", *(f"g{i},1,2,3" for i in range(5000))]
    lines[3210] = "g,1,x,3"
    lines[4000] = "g,y,1,3"
    message = refused(write("\n".join(lines)))
    assert "'x' is not a number" in message
    assert "line 3211, column 'b'" in message


def test_one_stray_text_is_not_taken_for_a_column_of_text(write):
    message = refused(write("id,a,b\ng1,1,2\ng2,low,2\ng3,1,2\n"))
    assert "line 3, column 'a'" in message
    assert "holds text" not in message


def test_line_numbers_count_comments(write):
    assert "line 5" in refused(write("# one\n# two\nid,a,b\ng1,1,2\ng2,1,z\n"))


def test_damaged_gzip_is_named(write):
    data = gzip.compress(b"id,a,b\n" + b"".join(b"g%d,%d,2\n" % (i, i * 7) for i in range(9999)))
    message = refused(write(data[: len(data) // 2], "m.csv.gz"))
    assert "gzip" in message
    assert "m.csv.gz" in message


def test_reading_text_does_not_import_pandas(write):
    path = write("id,a,b\ng1,1,\n")
    code = (
        "import sys; from sfs_cli.io.matrix.base import open_matrix; "
        "from sfs_cli.io.matrix.base import ReadOptions; "
        f"list(open_matrix({str(path)!r}, ReadOptions()).blocks()); "
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
