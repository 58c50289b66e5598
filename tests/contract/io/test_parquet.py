"""Parquet: which column is what, and what is refused."""

from __future__ import annotations

import decimal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.parquet import open_parquet

GENES = ["a", "b", "c"]


def write(folder, columns, **options):
    path = folder / "table.parquet"
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def read(path, **options):
    reader = open_parquet(path, ReadOptions(**options))
    blocks = list(reader.blocks())
    reader.close()
    ids = [name for block in blocks for name in block.ids]
    return ids, np.concatenate([block.values for block in blocks]), reader


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


def test_string_index_of_pandas_is_the_ids_wherever_it_stands(tmp_path):
    path = tmp_path / "p.parquet"
    pd.DataFrame({"s1": [1.0, 2, 3], "s2": [4.0, 5, 6]}, index=GENES).to_parquet(path)
    ids, values, reader = read(path)
    assert ids == GENES
    assert reader.column_ids == ["s1", "s2"]
    np.testing.assert_array_equal(values[:, 1], [4, 5, 6])


def test_integer_index_left_by_filtering_is_no_sample(tmp_path):
    path = tmp_path / "p.parquet"
    frame = pd.DataFrame({"gene": ["x", *GENES], "s1": [0.0, 1, 2, 3]})
    frame.index = pd.Index([4, 7, 2, 9])  # as filtering leaves it: not a range
    frame[frame["s1"] > 0].to_parquet(path)
    ids, values, reader = read(path)
    assert (ids, reader.column_ids) == (GENES, ["s1"])
    assert values.shape == (3, 1)
    assert "__index_level_0__" in reader.notes[0]


def test_categorical_and_entrez_ids(tmp_path):
    coded = pa.array(GENES).dictionary_encode()
    assert read(write(tmp_path, {"s1": [1.0, 2, 3], "gene": coded}))[0] == GENES
    ids, _, reader = read(write(tmp_path, {"s1": [1, 2, 3], "entrez_id": [7157, 672, 1956]}))
    assert (ids, reader.column_ids) == (["7157", "672", "1956"], ["s1"])


def test_a_column_name_that_is_a_prefix_of_another(tmp_path):
    path = write(tmp_path, {"gene.x": [1.0, 2, 3], "gene": GENES, "gene.y": [1.0, 2, 3]})
    reader = open_parquet(path, ReadOptions())
    assert reader.first_row_ids() == GENES
    assert reader.column_ids == ["gene.x", "gene.y"]


def test_columns_of_the_same_name_keep_their_own_values(tmp_path):
    columns = [pa.array(GENES), pa.array([1.0, 2, 3]), pa.array([4.0, 5, 6])]
    path = write(tmp_path, pa.Table.from_arrays(columns, names=["gene", "s", "s"]))
    _, values, reader = read(path)
    assert reader.column_ids == ["s", "s"]
    np.testing.assert_array_equal(values, [[1, 4], [2, 5], [3, 6]])


def test_no_names_is_refused(tmp_path):
    with pytest.raises(InputError, match="no column holds the names"):
        read(write(tmp_path, {"s1": [1.0], "s2": [2]}))


def test_text_besides_the_names_is_refused_with_name_and_type(tmp_path):
    path = write(tmp_path, {"gene": GENES, "description": GENES, "s1": [1.0, 2, 3]})
    with pytest.raises(InputError) as caught:
        read(path)
    assert "'description' (string)" in caught.value.where
    assert caught.value.hint


@pytest.mark.parametrize("columns", [{"gene": GENES}, {"gene": ["a", None], "s": [1.0, 2]}])
def test_tables_without_values_or_with_a_nameless_row_are_refused(tmp_path, columns):
    with pytest.raises(InputError, match=r"no numeric column|without a name"):
        read(write(tmp_path, columns))


def test_values_out_of_the_range_of_float32_are_refused_but_infinity_is_not(tmp_path):
    path = write(tmp_path, {"gene": GENES, "s1": [1.0, 1e300, np.inf]})
    with pytest.raises(InputError, match="out of the range") as caught:
        read(path)
    assert "'s1'" in caught.value.where
    assert "--dtype float64" in caught.value.hint
    np.testing.assert_array_equal(read(path, dtype="float64")[1][:, 0], [1, 1e300, np.inf])
    fits = write(tmp_path, {"gene": GENES, "s1": [1.0, 2.0, np.inf]})
    assert np.isinf(read(fits)[1][2, 0])


def test_truncated_file_is_refused(tmp_path):
    path = write(tmp_path, {"gene": [f"g{i}" for i in range(500)], "s": np.arange(500.0)})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read(path)


def test_damaged_pages_are_refused(tmp_path):
    columns = {"gene": [f"g{i}" for i in range(5000)], "s": np.random.default_rng(0).random(5000)}
    path = write(tmp_path, columns, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[100:20_000] = bytes(19_900)
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read(path)


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_row_group(tmp_path):
    peaks = []
    for n in (300_000, 1_500_000):
        values = np.random.default_rng(0).random((6, n), np.float32)
        columns = {"gene": np.arange(n).astype("S8").astype(str)}
        table = pa.table(columns | {f"s{j}": column for j, column in enumerate(values)})
        peaks.append(peak_of_reading(write(tmp_path, table, row_group_size=n)))
        del table, values
    assert peaks[1] < peaks[0] + 8 * 2**20


def peak_of_reading(path):
    code = (
        "import pyarrow as pa; from pathlib import Path\n"
        "from sfs_cli.io.matrix.base import ReadOptions\n"
        "from sfs_cli.io.matrix.parquet import open_parquet\n"
        f"r = open_parquet(Path({str(path)!r}), ReadOptions(block_bytes=1 << 20))\n"
        "n = sum(len(b.ids) for b in r.blocks())\n"
        "print(pa.default_memory_pool().max_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.nightly
def test_real_matrix_agrees_with_pandas(shared_data):
    path = shared_data / "nci60" / "transporters.parquet"
    ids, values, reader = read(path, dtype="float64", block_bytes=4096)
    frame = pd.read_parquet(path).set_index("feature_id")
    assert ids == list(frame.index)
    assert list(reader.column_ids) == list(frame.columns)
    np.testing.assert_array_equal(values, frame.to_numpy(np.float64))
