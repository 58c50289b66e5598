"""Text files as bytes and as whole lines, decompressed on the way.

The compression is read from the first bytes, not from the name: a browser may have unpacked a
``.csv.gz`` already.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.io.files.names import nfc, nfc_bytes
from sfs_cli.io.files.workbook import OLE, ZIP, SheetStream

if TYPE_CHECKING:
    import pyarrow as pa

Compression = Literal["gzip", "zstd"]

PACKED: dict[str | None, str] = {None: "", "gzip": ".gz", "zstd": ".zst"}
"""What the names of files end in, by their compression."""
_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
BOM = b"\xef\xbb\xbf"
"""The mark that some programs write at the beginning of UTF-8 text."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LINE_STEP = 1 << 16
_CHUNK_BYTES = 1 << 20


H5MU = ".h5mu"
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Suffixes of workbooks, whose sheets are read as text."""
_MEMBER = re.compile(r"(.+\.(?:h5mu|xls[xmb]?|ods|rda|rdata|rds)):(.*)", re.IGNORECASE | re.DOTALL)


def split_member(path: Path) -> tuple[Path, str | None]:
    """Split ``FILE.h5mu:MODALITY``, ``FILE.xlsx:SHEET`` or ``FILE.RData:OBJECT``.

    A file that exists under the whole name is that file.
    """
    found = _MEMBER.fullmatch(str(path))
    if found is None or path.exists():
        return path, None
    return Path(found[1]), found[2]


def text_suffix(path: Path) -> str:
    """Return the suffix of a name in lower case, the one before ``.gz`` or ``.zst``."""
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in PACKED.values()]
    return suffixes[-1] if suffixes else ""


def string_array(texts: Iterable[str]) -> pa.Array:
    """Return texts as an Arrow array; the first call of `pyarrow.array` would import pandas."""
    import pyarrow as pa

    pieces = [text.encode() for text in texts]
    bounds = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=bounds[1:])
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(pieces))]
    return pa.Array.from_buffers(pa.large_string(), len(pieces), buffers)


def number_array(values: np.ndarray) -> pa.Array:
    """Return numbers as an Arrow array, without a copy; of `pyarrow.array` see `string_array`."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once, in the order of their first places."""
    if len(set(names)) == len(names):
        return []
    return [name for name, count in Counter(names).items() if count > 1]


def arrow_file(path: str | Path, mode: Literal["rb", "wb"] = "rb") -> pa.OSFile:
    """Open a file for Arrow, which would refuse a name that is no UTF-8."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path), mode)


class Closes:
    """What is closed at the end of a ``with`` block."""

    def close(self) -> None:
        """Release the file."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ByteStream(Closes):
    """A file read from its beginning to its end; gzip (also bgzip) and zstd are decompressed."""

    sheets: Collection[str] = ()

    def __init__(self, path: str | Path) -> None:
        import pyarrow as pa  # the first pass over a store needs none

        self.path = Path(path)
        stream = arrow_file(path)
        head = stream.read(len(ZIP))
        stream.seek(0)
        self.of_sheets = head in (ZIP, OLE[: len(ZIP)])
        self.compression = next((c for magic, c in _MAGIC.items() if head.startswith(magic)), None)
        self._stream = pa.CompressedInputStream(stream, c) if (c := self.compression) else stream

    def has_formulas_alone(self) -> bool:
        """Say that text has none, unlike a `SheetStream`."""
        return False

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end, and none after it."""
        import pyarrow as pa

        try:
            return self._stream.read(size)
        except (OSError, pa.ArrowException) as error:
            if not self.compression:
                raise
            raise InputError(
                f"the {self.compression} data are cut off or damaged ({error})",
                where=self.path,
                hint=f"check the file with '{self.compression} -t' and copy or download it again",
            ) from error

    def close(self) -> None:
        """Release the file."""
        self._stream.close()


class TextBytes(ByteStream):
    """Text as UTF-8 with line feeds: UTF-16 by its mark, and the lines of old Macs, are turned.

    Excel writes UTF-16 as "Unicode Text". Lines end in carriage returns alone where the beginning
    of the text has no line feed.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        head = super().read(_LINE_STEP)
        self._decoder = codecs.getincrementaldecoder("utf-16")() if is_utf16(head) else None
        self._head = self._decoded(head, _LINE_STEP).removeprefix(BOM)
        self._old_mac = b"\r" in self._head[:-1] and b"\n" not in self._head

    def read(self, size: int) -> bytes:
        """Return about ``size`` bytes, which are several characters, and none after the end."""
        data, self._head = self._head or self._decoded(super().read(size), size), b""
        return data.replace(b"\r", b"\n") if self._old_mac else data

    def _decoded(self, data: bytes, size: int) -> bytes:
        """Return what was read as UTF-8; fewer bytes than the size are the last ones."""
        if self._decoder is None:
            return data
        try:
            return self._decoder.decode(data, len(data) < size).encode()
        except UnicodeError as error:
            raise InputError(
                f"the UTF-16 text is cut off or damaged ({error})",
                where=self.path,
                hint="copy it again, or save it as UTF-8",
            ) from None


def is_utf16(head: bytes) -> bool:
    """Tell whether text begins with the mark of UTF-16, and not with that of UTF-32."""
    return head.startswith(_UTF16) and head[2:4] != b"\0\0"


def text_bytes(path: Path) -> ByteStream | SheetStream:
    """Open a text file, or the sheet of a workbook that a path names, as text."""
    file, sheet = split_member(path)
    stream = TextBytes(file)
    if not stream.of_sheets:
        return stream
    stream.close()
    return SheetStream(file, sheet)


class Chunk(NamedTuple):
    """Some whole lines, each with its end, and the line number of the first (from 1)."""

    text: bytes
    first_line: int


class LineStream(Closes):
    """A text file, or a sheet of a workbook, read line by line, or in chunks of whole lines.

    `sheets` are those of the workbook that could be meant: one, unless the `first` may be read.

    ``line`` is the number of the next line, from 1. Blank lines at the end are skipped.
    """

    def __init__(self, path: Path, *, first: bool = False) -> None:
        self.path = path
        self.line = 1
        self._bytes = text_bytes(path)
        self.sheets = self._bytes.sheets
        self.has_formulas_alone = self._bytes.has_formulas_alone
        if len(self.sheets) > 1 and not first:
            raise InputError(
                f"the workbook has several sheets: {listed(list(self.sheets), 20)}",
                where=path,
                hint=f"name one: {path.name}:SHEET (or {path.name}:SHEET:COLUMN)",
            )
        self._ahead = b""  # whole lines, each with its end, that were looked at
        self._begun = b""  # the beginning of the line after them

    def peek_line(self) -> bytes | None:
        """Return the next line without its end, and stay before it; None at the end."""
        ahead = self._look(1)
        return ahead[: ahead.index(b"\n")].removesuffix(b"\r") if ahead else None

    def read_line(self) -> bytes | None:
        """Return the next line without its end; None at the end."""
        line = self.peek_line()
        if line is not None:
            self._ahead = self._ahead[self._ahead.index(b"\n") + 1 :]
            self.line += 1
        return line

    def peek_lines(self, count: int) -> list[bytes]:
        """Return up to so many next lines without their ends, blank ones too, and stay before them.

        They are fewer at the end of the file.
        """
        while self._ahead.count(b"\n") < count and self._read_more(len(self._ahead)):
            pass
        return [line.removesuffix(b"\r") for line in self._ahead.split(b"\n", count)[:-1]]

    def peek_chunk(self, size: int) -> Chunk | None:
        """Return about ``size`` bytes of whole lines, at least one, and stay before them.

        Blank lines at the end of them are left for the next ones, and those of the file left out.
        """
        while not (text := self._look(size).rstrip(b"\r\n")):
            if not self._read_more(size):
                return None
        return Chunk(text + b"\n", self.line)

    def read_chunk(self, size: int) -> Chunk | None:
        """Return about ``size`` bytes of whole lines, at least one; None at the end.

        Blank lines at the end of the file are left out.
        """
        chunk = self.peek_chunk(size)
        if chunk is not None:
            self.line += chunk.text.count(b"\n")
            self._ahead = self._ahead[self._ahead.index(b"\n", len(chunk.text) - 1) + 1 :]
        return chunk

    def close(self) -> None:
        """Release the file."""
        self._bytes.close()

    def _look(self, size: int) -> bytes:
        """Return ``size`` bytes or more of whole lines, fewer at the end, and stay before them."""
        while len(self._ahead) < size and self._read_more(size - len(self._ahead)):
            pass
        return self._ahead

    def _read_more(self, size: int) -> bool:
        """Read about ``size`` bytes of whole lines, at least one; False at the end."""
        pieces = [self._begun]
        self._begun = b""
        while data := self._bytes.read(max(size, _LINE_STEP)):
            end = data.rfind(b"\n") + 1
            pieces.append(data[:end] if end else data)
            if end:
                self._begun = data[end:]
                break
        more = b"".join(pieces)
        if more and not more.endswith(b"\n"):
            more += b"\n"  # which the last line of a file may lack
        self._ahead = self._ahead + more if self._ahead else more
        return bool(more)


def decode(raw: bytes, path: Path, line: int) -> str:
    """Return a line as text; a NUL byte, or text that is not UTF-8, is an `InputError`."""
    if b"\0" in raw:
        raise InputError(
            "the line holds a NUL byte: this is binary data, or UTF-16 text without its mark",
            where=f"{path}, line {line}",
            hint="save the table as UTF-8 text",
        )
    try:
        return nfc(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        near = raw[max(error.start - 20, 0) : error.end + 20].decode("latin-1")
        raise InputError(
            f"the text is not UTF-8, near {near!r}",
            where=f"{path}, line {line}",
            hint="save it as UTF-8 (of Excel: CSV UTF-8), or convert it: iconv -f LATIN1 -t UTF-8 "
            "FILE > NEW",
        ) from error


def text_chunks(path: Path, size: int = _CHUNK_BYTES) -> Iterator[Chunk]:
    """Yield about ``size`` bytes of whole lines at a time, blank ones too."""
    with LineStream(path) as stream:
        yield from _chunks(stream, size)


def _chunks(stream: LineStream, size: int = _CHUNK_BYTES) -> Iterator[Chunk]:
    while (chunk := stream.read_chunk(size)) is not None:
        yield Chunk(nfc_bytes(chunk.text), chunk.first_line)


def chunk_lines(chunk: Chunk, path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a chunk that are not blank, without their ends."""
    for number, text in enumerate(_decoded(chunk, path), chunk.first_line):
        if text and not text.isspace():
            yield number, text[:-1] if text[-1] == "\r" else text


def _decoded(chunk: Chunk, path: Path) -> list[str]:
    try:
        if b"\0" not in chunk.text:
            return chunk.text.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        pass
    # line by line, to find the one that is wrong
    return [decode(t, path, chunk.first_line + i) for i, t in enumerate(chunk.text.split(b"\n"))]


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of a file that is not blank."""
    for chunk in text_chunks(path):
        yield from chunk_lines(chunk, path)


def first_lines(path: Path, count: int) -> list[tuple[int, str]]:
    """Return number and text of the first lines that are not blank."""
    return list(islice(text_lines(path), count))


def read_whole(path: Path) -> str:
    """Return all of a text file."""
    with LineStream(path) as stream:
        return read_rest(stream)


def read_rest(stream: LineStream) -> str:
    """Return all of a text file that was not read yet."""
    return "".join("\n".join(_decoded(chunk, stream.path)) for chunk in _chunks(stream))
