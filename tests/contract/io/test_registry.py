from __future__ import annotations

import gzip
import re

import h5py
import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions, is_anndata, open_matrix
from tests.contract.io.format_cases import (
    write_csv,
    write_feather,
    write_gct,
    write_h5ad,
    write_parquet,
    write_r_table,
    write_tenx_h5,
    write_tsv_gz,
    write_xlsx,
    write_zarr3,
)
from tests.contract.io.reading import read_all

PARQUET = b"PAR1\x15\x04"
TEXT = b"id,a,b\ng,1,2\n"


def refused(path):
    with pytest.raises(InputError) as caught:
        open_matrix(path, ReadOptions())
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("x.bin", b"\0\1\2", ["unknown kind", ".csv .gct .parquet"]),
        ("x.parquet", gzip.compress(PARQUET, mtime=0), ["compressed with gzip", "decompress"]),
        ("x.h5ad", b"\x89HDF\r\n\x1a\n", ["HDF5"]),
        ("x.biom", b'{"id": "x"}', ["JSON", "biom convert"]),
        ("x.vcf", b"##fileformat=VCFv4.2\n", ["variants (VCF)", "plink2"]),
        ("quant.sf", TEXT, ["counts of one sample"]),
    ],
)
def test_what_is_not_read_is_named(tmp_path, name, data, expected):
    path = tmp_path / name
    path.write_bytes(data)
    message = refused(path)
    for part in [str(path), *expected]:
        assert part in message


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("matrix", "row_attrs", "col_attrs"), "Loom.*read_loom"),
        (("observation", "sample"), "BIOM.*biom convert"),
    ],
)
def test_other_files_in_hdf5_are_named(tmp_path, keys, expected):
    path = tmp_path / "x.h5ad"
    with h5py.File(path, "w") as file:
        for key in keys:
            file.create_group(key)
    assert re.search(expected, refused(path), re.DOTALL)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (write_csv, "x.h5ad"),
        (write_r_table, "counts.xls"),
        (write_tsv_gz, "x.parquet"),
        (write_parquet, "x.csv"),
        (write_feather, "x"),
        (write_h5ad, "x.h5"),
        (write_tenx_h5, "x.h5ad"),
        (write_zarr3, "folder"),
        (write_gct, "x.txt"),
        (write_xlsx, "x.csv"),
    ],
)
def test_what_a_file_holds_decides_and_not_its_name(tmp_path, write, name):
    matrix = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    written = write(tmp_path, matrix, ["g1", "g2", "g3", "g4"], ["s1", "s2", "s3"])
    expected = read_all(written)
    moved = written.rename(tmp_path / name)
    rows, values, reader = read_all(moved)
    assert (rows, reader.format) == (expected[0], expected[2].format)
    np.testing.assert_array_equal(values, expected[1])
    assert is_anndata(moved) == (write in (write_h5ad, write_zarr3))


def test_text_is_read_though_its_name_speaks_of_compression(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(TEXT)
    reader = open_matrix(path, ReadOptions())
    assert list(reader.column_ids) == ["a", "b"]
    reader.close()


def test_a_folder_of_files_names_those_that_may_be_the_matrix(tmp_path):
    for name in ("README.md", "b.tsv", "A.h5ad"):
        (tmp_path / name).write_text("x")
    message = refused(tmp_path)
    assert "A.h5ad, b.tsv" in message
    assert "README" not in message
