"""Parquet: which column is what, and what is refused."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.parquet import open_parquet
from sfs_cli.io.matrix.subset import WRITERS as SUBSETS
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


WRITERS = {
    "parquet": lambda t, path: pq.write_table(t, path, row_group_size=20),
    "feather": lambda t, path: feather.write_feather(t, path, compression="zstd", chunksize=20),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_more_columns_than_may_be_decoded_together_are_read_in_groups(tmp_path, rng, kind):
    path = tmp_path / f"t.{kind}"
    columns = [pa.array([f"r{i}" for i in range(60)])]
    for j in range(40):
        values = rng.normal(size=60).astype(["f8", "f4", "i2"][j % 3])
        columns.append(pa.array(values, mask=rng.random(60) < 0.1))
    names = ["id", *(f"c{j}" for j in range(40))]
    names[4:7] = "twice.x", "twice", "twice"
    WRITERS[kind](pa.Table.from_arrays(columns, names=names), path)
    ids, values, whole = read_all(path, dtype="float64", block_bytes=1 << 12)
    for budget in (1, 100_000):
        again = read_all(path, dtype="float64", decode_bytes=budget, scratch=tmp_path)
        assert len(whole.groups) == 1 < len(again[2].groups)
        assert again[0] == ids
        assert list(again[2].column_ids) == list(whole.column_ids)
        np.testing.assert_array_equal(again[1], values)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_of_columns_of_one_name_some_are_written(tmp_path):
    columns = [pa.array(GENES), pa.array([1.0, 2, 3]), pa.array([4.0, 5, 6])]
    path = write(tmp_path, pa.Table.from_arrays(columns, names=["gene", "s", "s"]))
    target = tmp_path / "new.parquet"
    SUBSETS["parquet"](path, target, target, np.array([0, 2]), "features")
    ids, values, reader = read(target)
    assert (ids, reader.column_ids) == (["a", "c"], ["s", "s"])
    np.testing.assert_array_equal(values, [[1, 4], [3, 6]])
