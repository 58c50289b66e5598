"""Parquet and Feather: which column is what, and what is refused."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.arrow import open_feather, open_parquet
from sfs_cli.io.matrix.base import ReadOptions
from tests.contract.io.reading import read_all

GENES = ["a", "b", "c"]


def write(folder, columns, **options):
    path = folder / "table.parquet"
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def read(path, **options):
    return read_all(path, open_parquet, **options)


def test_every_kind_of_number_is_read_and_null_is_nan(tmp_path):
    columns = {
        "gene": GENES,
        "small": pa.array([1, None, 3], pa.int8()),
        "unsigned": pa.array([1, 2, 2**40], pa.uint64()),
        "half": pa.array(np.array([0.5, 1, 2], np.float16)),
        "flag": [True, False, None],
        "money": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3.50")]),
        "single": pa.array([1.5, np.nan, None], pa.float32()),
        "nothing": pa.nulls(3),
    }
    _, values, reader = read(write(tmp_path, columns), dtype="float64")
    nan = np.nan
    expected = [
        [1, 1, 0.5, 1, 1.25, 1.5, nan],
        [nan, 2, 1, 0, nan, nan, nan],
        [3, 2**40, 2, nan, -3.5, nan, nan],
    ]
    np.testing.assert_array_equal(values, expected)
    assert values.flags.c_contiguous
    assert list(reader.column_ids) == list(columns)[1:]


def test_integer_index_left_by_filtering_is_no_sample(tmp_path):
    path = tmp_path / "p.parquet"
    frame = pd.DataFrame({"gene": ["x", *GENES], "s1": [0.0, 1, 2, 3]})
    frame.index = pd.Index([4, 7, 2, 9])  # as filtering leaves it: not a range
    frame[frame["s1"] > 0].to_parquet(path)
    ids, values, reader = read(path)
    assert (ids, reader.column_ids) == (GENES, ["s1"])
    assert values.shape == (3, 1)
    assert "__index_level_0__" in reader.notes[0]


def test_columns_of_the_same_name_keep_their_own_values(tmp_path):
    columns = [pa.array(GENES), pa.array([1.0, 2, 3]), pa.array([4.0, 5, 6])]
    path = write(tmp_path, pa.Table.from_arrays(columns, names=["gene", "s", "s"]))
    _, values, reader = read(path)
    assert reader.column_ids == ["s", "s"]
    np.testing.assert_array_equal(values, [[1, 4], [2, 5], [3, 6]])


def test_no_names_is_refused(tmp_path):
    with pytest.raises(InputError, match="no column holds the names"):
        read(write(tmp_path, {"s1": [1.0], "s2": [2]}))


@pytest.mark.parametrize("columns", [{"gene": GENES}, {"gene": ["a", None], "s": [1.0, 2]}])
def test_tables_without_values_or_with_a_nameless_row_are_refused(tmp_path, columns):
    with pytest.raises(InputError, match=r"no numeric column|without a name"):
        read(write(tmp_path, columns))


def test_feather_of_version_1_is_refused_by_name(tmp_path):
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    with pytest.raises(InputError, match="version 1"):
        open_feather(path, ReadOptions())


def test_categories_of_numbers_are_refused_as_such(tmp_path):
    codes = pa.array([0, 1, 0]).dictionary_encode()
    table = pa.table({"gene": GENES, "s1": [0.5, 1, 2], "cluster": codes})
    feather.write_feather(table, tmp_path / "c.feather")
    with pytest.raises(InputError, match="1 column without numbers") as caught:
        open_feather(tmp_path / "c.feather", ReadOptions())
    assert "cluster" in caught.value.where
