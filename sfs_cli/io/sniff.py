"""Telling what a file or folder holds by looking into it, whatever its name is."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sfs_cli.errors import CHECK_PATH, CHECK_PERMISSIONS, COPY_AGAIN, InputError
from sfs_cli.io.compression import Compression, open_binary
from sfs_cli.io.modality import split_modality

_HEAD_BYTES = 4096


class Kind(Enum):
    """What can be found at a path; the value is how a message names it."""

    MISSING = "nothing"
    UNREADABLE = "a file that may not be read"
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
    BINARY = "binary data of an unknown kind"
    ZARR = "a Zarr folder"
    TENX_FOLDER = "a 10x matrix folder"
    STORE = "an sfs store"
    FOLDER = "a folder of other things"


@dataclass(frozen=True)
class Content:
    """What is at a path.

    Attributes
    ----------
    kind : Kind
        What it holds, once decompressed.
    compression : {"gzip", "zstd"} or None
        What it is compressed with.
    """

    kind: Kind
    compression: Compression | None = None


_MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.ARROW,
    b"\x89HDF\r\n\x1a\n": Kind.HDF5,
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Kind.EXCEL,  # workbooks from before 2007
    b"RDX2\n": Kind.R_DATA,
    b"RDX3\n": Kind.R_DATA,
    b"X\n\x00\x00\x00": Kind.R_DATA,
    b"\xff\xfe": Kind.UTF16,
    b"\xfe\xff": Kind.UTF16,
    b"%%MatrixMarket": Kind.MATRIX_MARKET,
    b"#1.2": Kind.GCT,
    b"#1.3": Kind.GCT,
}

_MEMBERS = {
    Kind.STORE: ("manifest.json",),
    Kind.ZARR: (".zgroup", ".zattrs", ".zmetadata", "zarr.json"),
    Kind.TENX_FOLDER: ("matrix.mtx", "matrix.mtx.gz"),
}


def recognise(path: str | Path) -> Content:
    """Say what a path holds, from its first bytes or, for a folder, its members.

    Parameters
    ----------
    path : str or Path
        Anything; it need not exist. ``FILE.h5mu:MODALITY`` is looked at as the file.

    Returns
    -------
    Content
        Never guessed from the name.

    Raises
    ------
    InputError
        If the file is compressed and damaged at its very beginning.
    """
    path, _ = split_modality(Path(path))
    try:
        if path.is_dir():
            return Content(_folder_kind(path))
        if not path.exists():
            return Content(Kind.MISSING)
        with path.open("rb"):
            pass
    except PermissionError:
        return Content(Kind.UNREADABLE)
    return _file_content(path)


def _folder_kind(path: Path) -> Kind:
    names = {member.name for member in path.iterdir()}
    return next((k for k, marks in _MEMBERS.items() if not names.isdisjoint(marks)), Kind.FOLDER)


def _file_content(path: Path) -> Content:
    with open_binary(path) as stream:
        head = stream.read(_HEAD_BYTES)
        if head.startswith(b"PK\x03\x04"):
            return Content(_zip_kind(path), stream.compression)
        return Content(_kind_of(head), stream.compression)


def _kind_of(head: bytes) -> Kind:
    if not head.strip():
        return Kind.EMPTY
    head = head.removeprefix(b"\xef\xbb\xbf")
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    return Kind.BINARY if b"\0" in head else Kind.TEXT


def _zip_kind(path: Path) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return Kind.ZIP
    is_workbook = any(name.startswith("xl/") for name in names)
    return Kind.EXCEL if is_workbook else Kind.ZIP


def refuse_absent(path: Path, content: Content) -> None:
    """Raise if there is nothing at the path that could be read.

    Raises
    ------
    InputError
        If nothing is there, it may not be read, or it is empty.
    """
    if content.kind is Kind.MISSING:
        raise InputError("there is no such file or folder", where=str(path), hint=CHECK_PATH)
    if content.kind is Kind.UNREADABLE:
        raise InputError("the file may not be read", where=str(path), hint=CHECK_PERMISSIONS)
    if content.kind is Kind.EMPTY:
        raise InputError("the file is empty", where=str(path), hint=COPY_AGAIN)
