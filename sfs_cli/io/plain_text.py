"""Plain text of any size: whole lines many at a time, or one by one, decompressed on the way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sfs_cli.errors import InputError
from sfs_cli.io.compression import open_binary
from sfs_cli.io.header import decode
from sfs_cli.io.lines import Chunk
from sfs_cli.io.sniff import Kind, recognise, refuse_absent

_BOM = b"\xef\xbb\xbf"
_STEP = 1 << 20


def refuse_other_than_text(path: Path, wanted: str) -> None:
    """Raise if a path does not hold text.

    Parameters
    ----------
    path : Path
        The file.
    wanted : str
        What it should hold, as in "a list of genes".

    Raises
    ------
    InputError
        If nothing is there, it may not be read, it is empty, or it holds something else.
    """
    content = recognise(path)
    refuse_absent(path, content)
    if content.kind is not Kind.TEXT:
        raise InputError(
            f"{path.name} holds {content.kind.value}, not {wanted}",
            where=str(path),
            hint="give it as plain UTF-8 text, perhaps compressed with gzip or zstd",
        )


def text_chunks(path: Path, size: int = _STEP) -> Iterator[Chunk]:
    """Yield about ``size`` bytes of whole lines at a time, blank ones too.

    Parameters
    ----------
    path : Path
        The file; a UTF-8 byte order mark is left out.
    size : int
        One line may be longer.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    with open_binary(path) as stream:
        line, parts = 1, []
        data = stream.read(size).removeprefix(_BOM) or stream.read(size)
        while data:
            end = data.rfind(b"\n") + 1
            parts.append(data[:end] if end else data)
            if end:
                text = b"".join(parts)
                yield Chunk(text, line)
                line += text.count(b"\n")
                parts = [data[end:]]
            data = stream.read(size)
        if last := b"".join(parts):
            yield Chunk(last + b"\n", line)


def chunk_lines(chunk: Chunk, path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a chunk that are not blank, without their ends.

    Raises
    ------
    InputError
        If a line holds a NUL byte or is not UTF-8.
    """
    for number, text in enumerate(_decoded(chunk, path), chunk.first_line):
        if text and not text.isspace():
            yield number, text[:-1] if text[-1] == "\r" else text


def _decoded(chunk: Chunk, path: Path) -> list[str]:
    try:
        if b"\0" not in chunk.text:
            return chunk.text.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        pass
    raw = chunk.text.split(b"\n")  # one of them is refused
    return [decode(text, path, chunk.first_line + i) for i, text in enumerate(raw)]


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of a file that is not blank; see `chunk_lines`."""
    for chunk in text_chunks(path):
        yield from chunk_lines(chunk, path)


def first_lines(path: Path, count: int) -> list[tuple[int, str]]:
    """Return number and text of the first lines that are not blank."""
    return list(islice(text_lines(path), count))


def read_whole(path: Path) -> str:
    """Return all of a text file.

    Raises
    ------
    InputError
        If it cannot be read, holds a NUL byte or is not UTF-8.
    """
    return "".join("\n".join(_decoded(chunk, path)) for chunk in text_chunks(path))
