"""Feather: what is refused; its layouts are read in test_reader_protocol.py and test_parquet.py."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import feather

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.feather import open_feather


def test_version_1_is_refused_by_name(tmp_path):
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    with pytest.raises(InputError, match="version 1"):
        open_feather(path, ReadOptions())


def test_categories_of_numbers_are_refused_as_such(tmp_path):
    codes = pa.array([0, 1, 0]).dictionary_encode()
    table = pa.table({"gene": ["a", "b", "c"], "s1": [0.5, 1, 2], "cluster": codes})
    feather.write_feather(table, tmp_path / "c.feather")
    with pytest.raises(InputError, match="1 column without numbers") as caught:
        open_feather(tmp_path / "c.feather", ReadOptions())
    assert "cluster" in caught.value.where
