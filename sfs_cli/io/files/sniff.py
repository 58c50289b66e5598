"""What a path stands for: what a file or folder holds, or an object of Python.

Files are looked into, and their names are not trusted. All readers come through here, so that none
has to know of objects but those that take them.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from sfs_cli.errors import CHECK_PATH, CHECK_PERMISSIONS, COPY_AGAIN, InputError
from sfs_cli.io.files.text import BOM, ByteStream, Compression, TextBytes, is_utf16, split_member
from sfs_cli.io.files.workbook import OLE, ZIP
from sfs_cli.io.given import given

MANIFEST = "manifest.json"
"""The file of a store that says what it holds."""
_HEAD_BYTES = 4096
_R_HEADS = (b"RDX2\n", b"RDX3\n", b"X\n\0\0\0")
_HTML = re.compile(rb"\s*(?:<(?:!--|\?xml).*?)?<(?:html|!doctype html)\b", re.I | re.S)
_ODS = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"


class Kind(Enum):
    """What can be found at a path; the value is its name in messages."""

    MISSING = "nothing"
    UNREADABLE = "a file without permission to read"
    EMPTY = "nothing (it is empty)"
    HTML = "a web page"
    TEXT = "delimited text"
    GCT = "a GCT matrix"
    SERIES = "a series matrix of GEO"
    MATRIX_MARKET = "a Matrix Market matrix"
    PARQUET = "a Parquet table"
    ARROW = "an Arrow (Feather) table"
    HDF5 = "an HDF5 file"
    WORKBOOK = "a workbook (Excel or OpenDocument)"
    ZIP = "a zip archive"
    R_DATA = "saved R objects"
    JSON = "JSON, as BIOM 1 is"
    VCF = "variants (VCF)"
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

    @property
    def is_text(self) -> bool:
        """Whether it can be read as text, which sheets of a workbook can."""
        return self.kind in (Kind.TEXT, Kind.WORKBOOK)


_MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.ARROW,
    **dict.fromkeys((b"\x89HDF\r\n\x1a\n", b"MuData ("), Kind.HDF5),  # MuData has a title above
    OLE: Kind.WORKBOOK,  # workbooks from before 2007
    **dict.fromkeys(_R_HEADS, Kind.R_DATA),
    b"BZh": Kind.BZIP2,
    b"\xfd7zXZ\x00": Kind.XZ,
    b"%%MatrixMarket": Kind.MATRIX_MARKET,
    b'{"': Kind.JSON,
    b"##fileformat=VCF": Kind.VCF,
    b"#1.2": Kind.GCT,
    b"#1.3": Kind.GCT,
    **dict.fromkeys((b"!Series_", b"!Sample_", b"!series_matrix_table"), Kind.SERIES),
}
_UNPACK: dict[Kind, Any] = {Kind.BZIP2: bz2.open, Kind.XZ: lzma.open}
_ABSENT = {
    Kind.MISSING: ("there is no such file or folder", CHECK_PATH),
    Kind.UNREADABLE: ("no permission to read the file", CHECK_PERMISSIONS),
    Kind.EMPTY: ("the file is empty", COPY_AGAIN),
    Kind.HTML: (
        "this is a web page (HTML) in place of the data, such as a page that asks for a login",
        "download the file itself: open the address in a browser, or take the link to the raw file",
    ),
}
_MEMBERS = {
    Kind.STORE: (MANIFEST,),
    Kind.ZARR: (".zgroup", ".zattrs", ".zmetadata", "zarr.json"),
    Kind.TENX_FOLDER: ("matrix.mtx", "matrix.mtx.gz"),
}


def is_store(path: Path) -> bool:
    """Tell whether `path` is a directory with a store's manifest."""
    return path.is_dir() and (path / MANIFEST).is_file()


def recognize(path: str | Path) -> Content:
    """Say what a path holds, from its first bytes or, for a folder, its members.

    The path need not exist; of ``FILE.h5mu:MODALITY`` and the like the file is examined.
    """
    if (held := given(path)) is not None:
        return Content(Kind.OBJECT, held=held)
    path, _ = split_member(Path(path))
    try:
        if path.is_dir():
            names = {member.name for member in path.iterdir()}
            kinds = (kind for kind, marks in _MEMBERS.items() if not names.isdisjoint(marks))
            return Content(next(kinds, Kind.FOLDER))
        with ByteStream(path) as stream:
            return Content(_kind_of(path, stream.read(_HEAD_BYTES)), stream.compression)
    except FileNotFoundError:
        return Content(Kind.MISSING)
    except PermissionError:
        return Content(Kind.UNREADABLE)


def _kind_of(path: Path, head: bytes) -> Kind:
    """Say what a file holds, by its beginning once decompressed."""
    if head.startswith(ZIP):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            if _ODS in head or any(name.startswith("xl/") for name in archive.namelist()):
                return Kind.WORKBOOK
        return Kind.ZIP
    if not head.strip():
        return Kind.EMPTY
    if is_utf16(head):
        with TextBytes(path) as text:
            head = text.read(_HEAD_BYTES)
    head = head.removeprefix(BOM).lstrip(b"\r\n")
    known = (kind for magic, kind in _MAGIC.items() if head.startswith(magic))
    kind = next(known, Kind.BINARY if b"\0" in head else Kind.TEXT)
    if _HTML.match(head):
        kind = Kind.HTML
    if kind in _UNPACK:  # as R may have written it
        with suppress(OSError, EOFError, lzma.LZMAError), _UNPACK[kind](path) as unpacked:
            kind = Kind.R_DATA if unpacked.read(5) in _R_HEADS else kind
    return kind


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
    if not content.is_text and content.kind is not Kind.OBJECT:
        raise InputError(
            f"{path.name} holds {content.kind.value}, not {wanted}",
            where=path,
            hint="give it as plain UTF-8 text, which may be compressed with gzip or zstd",
        )
    return content
