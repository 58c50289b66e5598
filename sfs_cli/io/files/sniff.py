"""What a path stands for: what a file or folder holds, or an object of Python.

Files are looked into, and their names are not trusted. All readers come through here, so that none
has to know of objects but those that take them.
"""

from __future__ import annotations

import re
import struct
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from sfs_cli.errors import CHECK_PATH, CHECK_PERMISSIONS, COPY_AGAIN, InputError
from sfs_cli.io.files.text import BOM, ByteStream, Compression
from sfs_cli.io.given import given

_HEAD_BYTES = 4096
_HDF5 = b"\x89HDF\r\n\x1a\n"
_USER_BLOCK = 512
_ZIP = b"PK\x03\x04"


class Kind(Enum):
    """What can be found at a path; the value is its name in messages."""

    MISSING = "nothing"
    UNREADABLE = "a file without permission to read"
    EMPTY = "nothing (it is empty)"
    TEXT = "delimited text"
    UTF16 = "UTF-16 text"
    GCT = "a GCT matrix"
    MATRIX_MARKET = "a Matrix Market matrix"
    PARQUET = "a Parquet table"
    ARROW = "an Arrow (Feather) table"
    HDF5 = "an HDF5 file"
    EXCEL = "an Excel workbook"
    ZIP = "a zip archive"
    R_DATA = "saved R objects"
    BZIP2 = "data compressed by bzip2"
    XZ = "data compressed by xz"
    BINARY = "binary data of an unknown kind"
    ZARR = "a Zarr folder"
    TENX_FOLDER = "a 10x matrix folder"
    STORE = "an sfs store"
    FOLDER = "a folder of other things"
    OBJECT = "an object of Python"


@dataclass(frozen=True)
class Content:
    """What a path holds once decompressed, and how it is compressed."""

    kind: Kind
    compression: Compression | None = None
    held: Any = None  # the object


_MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.ARROW,
    _HDF5: Kind.HDF5,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Kind.EXCEL,  # workbooks from before 2007
    b"RDX2\n": Kind.R_DATA,
    b"RDX3\n": Kind.R_DATA,
    b"X\n\x00\x00\x00": Kind.R_DATA,
    b"BZh": Kind.BZIP2,
    b"\xfd7zXZ\x00": Kind.XZ,
    b"\xff\xfe": Kind.UTF16,
    b"\xfe\xff": Kind.UTF16,
    b"%%MatrixMarket": Kind.MATRIX_MARKET,
    b"#1.2": Kind.GCT,
    b"#1.3": Kind.GCT,
}
_ABSENT = {
    Kind.MISSING: ("there is no such file or folder", CHECK_PATH),
    Kind.UNREADABLE: ("no permission to read the file", CHECK_PERMISSIONS),
    Kind.EMPTY: ("the file is empty", COPY_AGAIN),
}
_MEMBERS = {
    Kind.STORE: ("manifest.json",),
    Kind.ZARR: (".zgroup", ".zattrs", ".zmetadata", "zarr.json"),
    Kind.TENX_FOLDER: ("matrix.mtx", "matrix.mtx.gz"),
}

H5MU = ".h5mu"
_MODALITY = re.compile(rf"(.*{re.escape(H5MU)}):(.*)", re.IGNORECASE | re.DOTALL)


def split_modality(path: Path) -> tuple[Path, str | None]:
    """Split ``FILE.h5mu:MODALITY``; a file that exists under the whole name is that file."""
    found = _MODALITY.fullmatch(str(path))
    if found is None or path.exists():
        return path, None
    return Path(found[1]), found[2]


def recognize(path: str | Path) -> Content:
    """Say what a path holds, from its first bytes or, for a folder, its members.

    The path need not exist; of ``FILE.h5mu:MODALITY`` the file is examined.
    """
    if (held := given(path)) is not None:
        return Content(Kind.OBJECT, held=held)
    path, _ = split_modality(Path(path))
    try:
        if path.is_dir():
            names = {member.name for member in path.iterdir()}
            kinds = (kind for kind, marks in _MEMBERS.items() if not names.isdisjoint(marks))
            return Content(next(kinds, Kind.FOLDER))
        if not path.exists():
            return Content(Kind.MISSING)
        with path.open("rb"):
            pass
    except PermissionError:
        return Content(Kind.UNREADABLE)
    with ByteStream(path) as stream:
        head = stream.read(_HEAD_BYTES)
        if head.startswith(_ZIP):
            # a damaged directory may also name versions and compressions that do not exist
            damage = suppress(zipfile.BadZipFile, NotImplementedError, ValueError, struct.error)
            with damage, zipfile.ZipFile(path) as archive:
                if any(name.startswith("xl/") for name in archive.namelist()):
                    return Content(Kind.EXCEL, stream.compression)
            return Content(Kind.ZIP, stream.compression)
        if not head.strip():
            return Content(Kind.EMPTY, stream.compression)
        head = head.removeprefix(BOM)
        binary = Kind.BINARY if b"\0" in head else Kind.TEXT
        known = (kind for magic, kind in _MAGIC.items() if head.startswith(magic))
        kind = next(known, None)
        if kind is None:
            after = stream.compression is None and path.is_file() and _has_user_block(path)
            kind = Kind.HDF5 if after else binary
        return Content(kind, stream.compression)


def _has_user_block(path: Path) -> bool:
    """Say whether HDF5 begins after a block of the writer's own, of 512, 1,024, 2,048, ... bytes.

    MuData writes one, with its name and version.
    """
    size, at = path.stat().st_size, _USER_BLOCK
    with path.open("rb") as file:
        while at < size:
            file.seek(at)
            if file.read(len(_HDF5)) == _HDF5:
                return True
            at *= 2
    return False


def examine(path: Path) -> Content:
    """Say what a path holds, as `recognize`; nothing that could be read is an `InputError`."""
    content = recognize(path)
    if content.kind in _ABSENT:
        what, hint = _ABSENT[content.kind]
        raise InputError(what, where=path, hint=hint)
    return content


def refuse_other_than_text(path: Path, wanted: str) -> Content:
    """Refuse what is neither text nor an object of Python; `wanted` as in "a list of genes"."""
    content = examine(path)
    if content.kind not in (Kind.TEXT, Kind.OBJECT):
        raise InputError(
            f"{path.name} holds {content.kind.value}, not {wanted}",
            where=path,
            hint="give it as plain UTF-8 text, which may be compressed with gzip or zstd",
        )
    return content
