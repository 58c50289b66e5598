"""Tables of more columns than may be decoded together: the same values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.arrow import Panels, TableReader, group_columns
from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from sfs_cli.io.matrix.parquet import ParquetSource


def read(path, **options):
    reader = open_matrix(path, ReadOptions(block_bytes=1 << 12, **options))
    first = list(reader.first_row_ids())
    blocks = list(reader.blocks())
    reader.close()
    ids = [name for block in blocks for name in block.ids]
    assert ids[: len(first)] == first
    return reader, ids, np.concatenate([block.values for block in blocks])


def table(n: int, width: int) -> pa.Table:
    rng = np.random.default_rng(8)
    columns = [pa.array([f"r{i}" for i in range(n)])]
    for j in range(width):
        values = rng.normal(size=n).astype(["f8", "f4", "i2"][j % 3])
        columns.append(pa.array(values, mask=rng.random(n) < 0.1))
    names = ["id", *(f"c{j}" for j in range(width))]
    names[5] = names[6] = "twice"
    return pa.Table.from_arrays(columns, names=names)


WRITERS = {
    "parquet": lambda t, path: pq.write_table(t, path, row_group_size=70),
    "parquet v1": lambda t, path: pq.write_table(
        t, path, version="1.0", compression="gzip", use_dictionary=False, write_statistics=False
    ),
    "feather": lambda t, path: feather.write_feather(t, path, compression="zstd", chunksize=70),
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("budget", [1, 100_000, 400_000])
def test_groups_of_columns_give_the_same_table(tmp_path, kind, budget):
    path = tmp_path / f"t.{kind.split()[0]}"
    WRITERS[kind](table(200, 40), path)
    whole, ids, values = read(path, dtype="float64")
    grouped, ids_again, again = read(path, dtype="float64", decode_bytes=budget, scratch=tmp_path)
    assert len(whole.groups) == 1
    assert (len(grouped.groups) > 1) == (budget < 200_000 or kind.startswith("parquet"))
    assert ids_again == ids
    assert list(grouped.column_ids) == list(whole.column_ids)
    np.testing.assert_array_equal(again, values)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_group_has_no_columns_whose_names_only_begin_like_its_own(tmp_path):
    path = tmp_path / "t.parquet"
    columns = [pa.array(["x", "y"]), *(pa.array([j, j + 0.5]) for j in range(5))]
    names = ["gene", "a.b", "a", "twice", "a.c", "twice"]
    pq.write_table(pa.Table.from_arrays(columns, names=names), path)
    options = ReadOptions(decode_bytes=40_000, scratch=tmp_path)
    reader = TableReader(path, "parquet", ParquetSource(path, options), options)
    assert len(reader.groups) == 3
    values = np.concatenate([block.values for block in reader.blocks()])
    np.testing.assert_array_equal(values, [np.arange(5), np.arange(5) + 0.5])


def test_index_of_pandas_is_found_in_groups_too(tmp_path):
    path = tmp_path / "p.parquet"
    frame = pd.DataFrame(np.eye(4), index=list("wxyz"), columns=list("abcd"))
    frame.to_parquet(path)
    reader, ids, values = read(path, decode_bytes=1)
    assert len(reader.groups) > 1
    assert (ids, list(reader.column_ids)) == (list("wxyz"), list("abcd"))
    np.testing.assert_array_equal(values, np.eye(4))


def test_nested_columns_are_refused_as_ever(tmp_path):
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"id": ["a"], "pair": [[1.0, 2.0]]}), path)
    with pytest.raises(InputError, match="without numbers"):
        read(path, decode_bytes=1)


def test_groups_hold_at_least_a_column():
    assert [list(g) for g in group_columns(range(5), [9, 1, 1, 1, 2], 3)] == [[0], [1, 2, 3], [4]]


def test_panels_of_different_heights_are_found(tmp_path):
    panels = Panels(tmp_path, np.dtype("float32"))
    for height in (3, 2):
        panels.begin(2)
        panels.add(np.ones((height, 2), np.float32))
    with pytest.raises(EOFError, match="different numbers of rows"):
        panels.check_rows(3)
    panels.close()
