from __future__ import annotations

import gzip

import pytest

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.files.sniff import Content, Kind, recognize
from sfs_cli.io.matrix.base import FORMATS, ReadOptions, format_of, open_matrix

PARQUET = b"PAR1\x15\x04"
TEXT = b"id,a,b\ng,1,2\n"
WORKBOOK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def refused(path, options=None):
    with pytest.raises(InputError) as caught:
        open_matrix(path, options or ReadOptions())
    return str(caught.value)


@pytest.mark.parametrize("found", FORMATS, ids=lambda f: f.name)
def test_every_suffix_leads_to_its_format(tmp_path, found):
    for suffix in found.suffixes:
        for kind in found.kinds:
            assert format_of(tmp_path / f"My.Data{suffix.upper()}", Content(kind)) is found


def test_no_two_formats_claim_a_suffix():
    suffixes = [s for f in FORMATS for s in f.suffixes]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("x.csv", PARQUET, ["x.csv holds a Parquet table, not delimited text", "*.parquet"]),
        ("x.parquet", TEXT, ["holds delimited text, not a Parquet table", "*.csv"]),
        ("x.csv", WORKBOOK, ["a workbook (Excel", "*.xlsx"]),
        ("x.txt", b"#1.2\n1\t1\n", ["a GCT matrix", "*.gct"]),
        ("x.dat", TEXT, ["delimited text", "*.csv"]),
        ("x", PARQUET, ["a Parquet table", "*.parquet"]),
        ("x.h5ad", TEXT, ["holds delimited text, not AnnData in HDF5"]),
        ("x.hdf5", b"\x89HDF\r\n\x1a\n", ["*.h5ad", "*.h5mu", "*.h5 "]),
        ("x.bin", b"\0\1\2", ["unknown kind", ".csv .gct .parquet"]),
        ("x.parquet", gzip.compress(PARQUET, mtime=0), ["compressed with gzip", "decompress"]),
        ("x.dat", gzip.compress(TEXT, mtime=0), ["*.csv.gz"]),
        ("x.csv", b"", ["empty"]),
        ("x.csv.gz", gzip.compress(b"", mtime=0), ["empty"]),
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


def test_a_10x_folder_may_have_any_name(tmp_path):
    (tmp_path / "matrix.mtx.gz").touch()
    assert format_of(tmp_path, recognize(tmp_path)).name == "10x-mtx"


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.csv.zst"])
@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT, mtime=0)])
def test_text_is_read_whether_or_not_the_name_admits_to_compression(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    reader = open_matrix(path, ReadOptions())
    assert list(reader.column_ids) == ["a", "b"]
    reader.close()


@pytest.mark.parametrize("options", [ReadOptions(layer="counts"), ReadOptions(use_raw=True)])
def test_layers_are_asked_of_anndata_only(tmp_path, options):
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT)
    with pytest.raises(UsageError, match="AnnData"):
        open_matrix(path, options)
    layered = {f.name for f in FORMATS if f.anndata}
    assert layered == {"h5ad", "h5mu", "zarr"}
    assert format_of(tmp_path / "x.h5ad", Content(Kind.HDF5)).anndata


def test_a_folder_of_files_names_those_that_may_be_the_matrix(tmp_path):
    for name in ("README.md", "b.tsv", "A.h5ad"):
        (tmp_path / name).write_text("x")
    message = refused(tmp_path)
    assert "A.h5ad, b.tsv" in message
    assert "README" not in message
