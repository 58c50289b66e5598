from __future__ import annotations

import gzip

import pytest

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.files.sniff import Content, Kind
from sfs_cli.io.matrix.base import FORMATS, ReadOptions, format_of, open_matrix

PARQUET = b"PAR1\x15\x04"
TEXT = b"id,a,b\ng,1,2\n"
WORKBOOK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def refused(path):
    with pytest.raises(InputError) as caught:
        open_matrix(path, ReadOptions())
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("x.csv", PARQUET, ["x.csv holds a Parquet table, not delimited text", "*.parquet"]),
        ("x.parquet", TEXT, ["holds delimited text, not a Parquet table", "*.csv"]),
        ("x.csv", WORKBOOK, ["a workbook (Excel", "*.xlsx"]),
        ("x.dat", TEXT, ["delimited text", "*.csv"]),
        ("x.hdf5", b"\x89HDF\r\n\x1a\n", ["*.h5ad", "*.h5mu", "*.h5 "]),
        ("x.bin", b"\0\1\2", ["unknown kind", ".csv .gct .parquet"]),
        ("x.parquet", gzip.compress(PARQUET, mtime=0), ["compressed with gzip", "decompress"]),
        ("x.dat", gzip.compress(TEXT, mtime=0), ["*.csv.gz"]),
    ],
)
def test_name_and_content_that_disagree_are_both_named(tmp_path, name, data, expected):
    path = tmp_path / name
    path.write_bytes(data)
    message = refused(path)
    for part in [str(path), *expected]:
        assert part in message


def test_nothing_there_and_plain_folders(tmp_path):
    assert "no such file" in refused(tmp_path / "none.csv")
    (tmp_path / "d.csv").mkdir()
    assert "folder" in refused(tmp_path / "d.csv")
    assert "folder" in refused(tmp_path)


def test_text_is_read_though_its_name_speaks_of_compression(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(TEXT)
    reader = open_matrix(path, ReadOptions())
    assert list(reader.column_ids) == ["a", "b"]
    reader.close()


def test_layers_are_asked_of_anndata_only(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT)
    with pytest.raises(UsageError, match="AnnData"):
        open_matrix(path, ReadOptions(layer="counts"))
    layered = {f.name for f in FORMATS if f.anndata}
    assert layered == {"h5ad", "h5mu", "zarr"}
    assert format_of(tmp_path / "x.h5ad", Content(Kind.HDF5)).anndata


def test_a_folder_of_files_names_those_that_may_be_the_matrix(tmp_path):
    for name in ("README.md", "b.tsv", "A.h5ad"):
        (tmp_path / name).write_text("x")
    message = refused(tmp_path)
    assert "A.h5ad, b.tsv" in message
    assert "README" not in message
