from __future__ import annotations

import gzip
import zipfile

import pyarrow as pa
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.files.sniff import Content, Kind, recognize
from sfs_cli.io.files.text import ByteStream

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
}


@pytest.mark.parametrize("kind", HEADS)
def test_plain_files_by_their_first_bytes(tmp_path, kind):
    path = tmp_path / "misnamed.csv"
    path.write_bytes(HEADS[kind])
    assert recognize(path) == Content(kind)


@pytest.mark.parametrize("kind", HEADS)
def test_compressed_files_by_what_they_hold(tmp_path, kind):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(HEADS[kind], mtime=0))
    assert recognize(path) == Content(kind, "gzip")
    path.write_bytes(pa.Codec("zstd").compress(HEADS[kind] * 9, asbytes=True))
    assert recognize(str(path)) == Content(kind, "zstd")


@pytest.mark.parametrize(("member", "kind"), [("xl/w.xml", Kind.WORKBOOK), ("a.csv", Kind.ZIP)])
def test_workbooks_are_told_from_other_archives(tmp_path, member, kind):
    path = tmp_path / "m.csv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "x")
    assert recognize(path).kind is kind
    path.write_bytes(path.read_bytes()[:30])
    assert recognize(path).kind is Kind.ZIP


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


def test_what_is_absent_or_forbidden(tmp_path, monkeypatch):
    assert recognize(tmp_path / "none").kind is Kind.MISSING
    path = tmp_path / "secret"
    path.write_text("x")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    assert recognize(path).kind is Kind.UNREADABLE
    with pytest.raises(InputError, match="permission"):
        ByteStream(path)


def test_several_gzip_members_are_one_stream(tmp_path):
    path = tmp_path / "bgzipped"
    path.write_bytes(gzip.compress(b"one ", mtime=0) + gzip.compress(b"two") + gzip.compress(b""))
    with ByteStream(path) as stream:
        assert stream.read(100) == b"one two"
        assert stream.read(100) == b""


def read_all(path):
    with ByteStream(path) as stream:
        while stream.read(1 << 16):
            pass


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_damaged_compression_names_the_file(tmp_path, compression):
    data = b"".join(b"%d," % (i * 7919 % 10007) for i in range(5_000))
    packed = bytearray(
        gzip.compress(data, mtime=0)
        if compression == "gzip"
        else pa.Codec("zstd").compress(data, asbytes=True)
    )
    del packed[len(packed) // 2 :]
    path = tmp_path / "m.csv.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match=compression) as caught:
        read_all(path)
    assert caught.value.where == str(path)


def test_folders_and_absent_files_cannot_be_opened(tmp_path):
    with pytest.raises(InputError, match="folder"):
        ByteStream(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        ByteStream(tmp_path / "none")
