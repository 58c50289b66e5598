"""Reading a stream of bytes line by line, or many whole lines at a time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sfs_cli.errors import InputError
from sfs_cli.io.compression import open_binary

_BOM = b"\xef\xbb\xbf"
_STEP = 1 << 16
_COUNTED_AT_ONCE = 1 << 22


class Chunk(NamedTuple):
    """Some whole lines of a file.

    Attributes
    ----------
    text : bytes
        The lines, each with its end.
    first_line : int
        Number of the first of them in the file, counted from 1.
    """

    text: bytes
    first_line: int


class LineStream:
    """A text file, decompressed on the way, as lines; blank lines at its end do not count.

    Parameters
    ----------
    path : Path
        The file. A UTF-8 byte order mark is left out.

    Attributes
    ----------
    line : int
        Number of the line that is read next, from 1.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1
        self._bytes = open_binary(path)
        self._rest = self._bytes.read(_STEP).removeprefix(_BOM)
        self._at_end = False

    def peek_line(self) -> bytes | None:
        """Return the next line without its end, None after the last, and stay before it."""
        end = self._find_newline()
        if end < 0 and not self._rest:
            return None
        return (self._rest if end < 0 else self._rest[:end]).removesuffix(b"\r")

    def read_line(self) -> bytes | None:
        """Return the next line without its end, None after the last."""
        line = self.peek_line()
        if line is not None:
            end = self._find_newline()
            self._rest = b"" if end < 0 else self._rest[end + 1 :]
            self.line += 1
        return line

    def peek_chunk(self, size: int) -> Chunk | None:
        """Return about ``size`` bytes of whole lines, at least one, and stay before them."""
        return self._whole_lines(size)[0]

    def read_chunk(self, size: int) -> Chunk | None:
        """Return about ``size`` bytes of whole lines, at least one, None after the last.

        Raises
        ------
        InputError
            If a blank line is followed by another that is not.
        """
        chunk, used = self._whole_lines(size)
        if chunk is None:
            return None
        n_lines = self._rest.count(b"\n", 0, used)
        self._rest = self._rest[used:]
        self.line += n_lines
        return chunk

    def close(self) -> None:
        """Release the file."""
        self._bytes.close()

    def _find_newline(self) -> int:
        searched = 0
        while (end := self._rest.find(b"\n", searched)) < 0 and not self._at_end:
            searched = len(self._rest)
            self._fill(max(_STEP, 2 * searched))
        return end

    def _fill(self, size: int) -> None:
        while len(self._rest) < size and not self._at_end:
            more = self._bytes.read(size - len(self._rest))
            self._at_end = not more
            self._rest = self._rest + more if self._rest else more

    def _whole_lines(self, size: int) -> tuple[Chunk | None, int]:
        self._fill(size)
        while (used := self._rest.rfind(b"\n") + 1) == 0 and not self._at_end:
            # twice as much each time, or a long line would be copied over and over
            self._fill(2 * max(len(self._rest), _STEP))
        if self._at_end:
            used = len(self._rest)
        text = self._rest[:used].rstrip(b"\r\n")
        if self._rest.count(b"\n", len(text), used) > bool(text):
            self._refuse_rows_after_blank(len(text), used)
        return (Chunk(text + b"\n", self.line) if text else None), used

    def _refuse_rows_after_blank(self, text_end: int, used: int) -> None:
        blank = self.line + self._rest.count(b"\n", 0, text_end) + bool(text_end)
        rest = self._rest[used:]
        while not rest.strip(b"\r\n") and not self._at_end:
            rest = self._bytes.read(_STEP)
            self._at_end = not rest
        if rest.strip(b"\r\n"):
            raise InputError(
                "a blank line stands between the rows",
                where=f"{self.path}, line {blank}",
                hint="remove the blank line, or what follows it",
            )


def count_lines(path: Path) -> int:
    """Return the number of lines of a text file, without parsing them.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    with open_binary(path) as stream:
        count, last = 0, b"\n"
        while data := stream.read(_COUNTED_AT_ONCE):
            count += data.count(b"\n")
            last = data[-1:]
    return count + (last != b"\n")
