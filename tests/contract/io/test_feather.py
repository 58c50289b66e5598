"""Feather: versions, compression, damage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.feather import open_feather


@pytest.fixture
def table():
    values = np.random.default_rng(1).random((4, 3000))
    names = [f"g{i}" for i in range(3000)]
    return pa.table({f"s{j}": column for j, column in enumerate(values)} | {"gene": names})


def read(path):
    reader = open_feather(path, ReadOptions(dtype="float64", block_bytes=1 << 12))
    blocks = list(reader.blocks())
    reader.close()
    return reader, [i for b in blocks for i in b.ids], np.concatenate([b.values for b in blocks])


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("chunk", [100, 10_000])
def test_batches_and_compression_do_not_matter(tmp_path, table, compression, chunk):
    path = tmp_path / "t.feather"
    feather.write_feather(table, path, compression=compression, chunksize=chunk)
    reader, ids, values = read(path)
    assert reader.n_rows == 3000
    assert ids == table["gene"].to_pylist()
    np.testing.assert_array_equal(values, np.column_stack([table[f"s{j}"] for j in range(4)]))


def test_first_ids_are_of_the_name_column(tmp_path, table):
    path = tmp_path / "t.feather"
    feather.write_feather(table, path)
    reader = open_feather(path, ReadOptions())
    first = reader.first_row_ids()
    assert first == [f"g{i}" for i in range(len(first))]
    reader.close()


def test_version_1_is_refused_by_name(tmp_path):
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    with pytest.raises(InputError, match="version 1"):
        open_feather(path, ReadOptions())


def test_truncated_file_is_refused(tmp_path, table):
    path = tmp_path / "t.feather"
    feather.write_feather(table, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read as feather"):
        read(path)


def test_missing_file_and_text_columns_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read as feather"):
        open_feather(tmp_path / "absent.feather", ReadOptions())
    path = tmp_path / "t.feather"
    feather.write_feather(pa.table({"gene": ["a"], "kind": ["b"], "s": [1.0]}), path)
    with pytest.raises(InputError) as caught:
        open_feather(path, ReadOptions())
    assert "'kind' (string)" in caught.value.where


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_categories_of_numbers_are_refused_as_such(tmp_path, table, compression):
    codes = pa.array(np.arange(table.num_rows) % 3).dictionary_encode()
    path = tmp_path / "c.feather"
    feather.write_feather(table.append_column("cluster", codes), path, compression)
    with pytest.raises(InputError, match="1 column without numbers") as caught:
        open_feather(path, ReadOptions())
    assert "cluster" in caught.value.where


def test_a_category_that_is_missing_is_no_name(tmp_path, table):
    names = [*map(str, range(table.num_rows - 1)), None]
    codes = pa.DictionaryArray.from_arrays(pa.array(range(table.num_rows)), names)
    path = tmp_path / "c.feather"
    feather.write_feather(table.set_column(4, "gene", codes), path)
    with pytest.raises(InputError, match="at least 1 row without a name"):
        list(open_feather(path, ReadOptions()).blocks())
