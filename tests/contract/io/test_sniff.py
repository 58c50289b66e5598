from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

from sfs_cli.io.files.sniff import Content, Kind, recognize

HEADS = {
    Kind.TEXT: b"id,a,b\n",
    Kind.GCT: b"#1.3\n1\t2",
    Kind.SERIES: b'\n!Series_title\t"A study"\n',
    Kind.MATRIX_MARKET: b"%%MatrixMarket matrix coordinate integer general\n",
    Kind.PARQUET: b"PAR1\x15\x04",
    Kind.ARROW: b"ARROW1\0\0",
    Kind.HDF5: b"\x89HDF\r\n\x1a\n\0",
    Kind.WORKBOOK: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    Kind.R_DATA: b"X\n\0\0\0\3",
    Kind.BINARY: b"\x01\x02\0\x03",
    Kind.EMPTY: b"",
    Kind.HTML: b"\n<!-- saved -->\n<!DOCTYPE HTML>\n<html><body>Log in</body></html>",
}


@pytest.mark.parametrize("kind", HEADS)
def test_files_by_the_first_bytes_that_they_hold(tmp_path, kind):
    path = tmp_path / "misnamed.csv"
    path.write_bytes(HEADS[kind])
    assert recognize(path) == Content(kind)
    path.write_bytes(gzip.compress(HEADS[kind], mtime=0))
    assert recognize(path) == Content(kind, "gzip")
    path.write_bytes(pa.Codec("zstd").compress(HEADS[kind] * 9, asbytes=True))
    assert recognize(str(path)) == Content(kind, "zstd")


@pytest.mark.parametrize(
    ("member", "kind"),
    [
        (".zgroup", Kind.ZARR),
        ("zarr.json", Kind.ZARR),
        ("matrix.mtx", Kind.TENX_FOLDER),
        ("matrix.mtx.gz", Kind.TENX_FOLDER),
        ("manifest.json", Kind.STORE),
        ("readme", Kind.FOLDER),
    ],
)
def test_folders_by_their_members(tmp_path, member, kind):
    (tmp_path / member).touch()
    assert recognize(tmp_path) == Content(kind)
