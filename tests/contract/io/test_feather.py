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


def test_version_1_is_refused_by_name(tmp_path):
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    with pytest.raises(InputError, match="version 1"):
        open_feather(path, ReadOptions())


def test_categories_of_numbers_are_refused_as_such(tmp_path, table):
    codes = pa.array(np.arange(table.num_rows) % 3).dictionary_encode()
    path = tmp_path / "c.feather"
    feather.write_feather(table.append_column("cluster", codes), path)
    with pytest.raises(InputError, match="1 column without numbers") as caught:
        open_feather(path, ReadOptions())
    assert "cluster" in caught.value.where
