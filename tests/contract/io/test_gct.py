from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from tests.contract.io.reading import read_all

GCT13 = [
    "#1.3",
    "2\t3\t1\t2",
    "id\tsymbol\ts1\ts2\ts3",
    "batch\tna\tx\ty\tna",
    "age\tna\t40\t50\t60",
    "p1\tTP53\t1\t2\t3",
    'p2\t5" end\t4\tNaN\t6',
]
GCT12 = ["#1.2", "2\t2", "Name\tDescription\ts1\ts2", "p1\td\t1\t2", "p2\t\t3\t4"]


@pytest.fixture
def write(tmp_path):
    def _write(lines, end="\n"):
        path = tmp_path / "m.gct"
        path.write_bytes((end.join(lines) + end).encode())
        return path

    return _write


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_version_1_3_skips_row_fields_and_keeps_sample_annotations(write, end):
    ids, values, reader = read_all(write(GCT13, end), dtype="float64")
    assert reader.fixed_rows == "features"
    assert list(reader.column_ids) == ["s1", "s2", "s3"]
    assert ids == ["p1", "p2"]
    np.testing.assert_array_equal(values, [[1, 2, 3], [4, np.nan, 6]])
    assert reader.annotations.obs.to_pydict() == {
        "batch": ["x", "y", None],
        "age": ["40", "50", "60"],
    }


def changed(lines, at, line):
    return [*lines[:at], line, *lines[at + 1 :]]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (changed(GCT12, 1, "1\t2"), "1 rows, but it has 2"),
        (changed(GCT12, 1, "2\t3"), "3 samples"),
        (changed(GCT12, 2, "Name\tDescription\t\ts2"), "column 3 has no id"),
        (changed(GCT12, 4, "p2\td\t3\tx"), "line 5, column 's2'"),
        (changed(GCT13, 3, "batch\tna\tx\ty\tz\tw"), "line 4"),
        (GCT12[:1], "ends before"),
    ],
)
def test_what_is_wrong_is_named(write, lines, expected):
    with pytest.raises(InputError) as caught:
        read_all(write(lines))
    assert expected in str(caught.value)
