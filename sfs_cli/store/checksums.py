"""Checksums of the files of a store: made as a file is written, compared as it is read.

A file is cut into blocks of its own, whatever the blocks in which features are read, so that any
part of it can be checked. The checksum is XXH3 of 64 bits: it takes 13 GB/s of one processor, as
fast as memory gives them, where ``zlib.crc32`` takes 3. It finds damage, not forgery.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from xxhash import xxh3_64, xxh3_64_hexdigest, xxh3_64_intdigest

from sfs_cli.errors import InputError

ALGORITHM = "xxh3_64"
BLOCK = 1 << 18
"""Bytes of a block: few enough to stay in a processor's cache between reading and summing."""
SUM_TYPE = np.dtype("<u8")


class BlockSums:
    """The checksums of a file that is written from its beginning to its end."""

    def __init__(self) -> None:
        self._sums: list[int] = []
        self._open, self._room = xxh3_64(), BLOCK

    def add(self, content: memoryview) -> None:
        """Take the bytes that are written next."""
        at = 0
        while at < len(content):
            piece = content[at : at + self._room]
            self._open.update(piece)
            self._room -= len(piece)
            at += len(piece)
            if not self._room:
                self._sums.append(self._open.intdigest())
                self._open, self._room = xxh3_64(), BLOCK

    def result(self) -> np.ndarray:
        """Return the checksums, shape (blocks,), the last one of a block that may be shorter."""
        rest = [] if self._room == BLOCK else [self._open.intdigest()]
        return np.array(self._sums + rest, SUM_TYPE)


SumsByFile = defaultdict[str, BlockSums]
"""The checksums of files by their names."""


def sums_of(path: Path) -> np.ndarray:
    """Return the checksums of a file that is there, shape (blocks,)."""
    sums = BlockSums()
    with path.open("rb") as file:
        while content := file.read(BLOCK):
            sums.add(memoryview(content))
    return sums.result()


def text_sum(text: str) -> str:
    """Return the checksum of a text, in hexadecimal digits."""
    return xxh3_64_hexdigest(text.encode())


def write_sums(path: Path, sums: list[np.ndarray]) -> dict[str, str | int]:
    """Write the checksums of files, one after the other; return what the manifest says of them."""
    content = np.concatenate(sums).tobytes()
    path.write_bytes(content)
    return facts_of(content)


def facts_of(content: bytes) -> dict[str, str | int]:
    """Return what a manifest says of checksums: the digest stands for all bytes of a store."""
    digest = hashlib.sha256(content).hexdigest()
    return {"algorithm": ALGORITHM, "block_bytes": BLOCK, "sha256": digest}


def count_blocks(size: int) -> int:
    """Return the number of blocks of a file of `size` bytes."""
    return -(-size // BLOCK)


class CheckedFile:
    """A file read at given offsets, by many threads at a time; each block is checked once.

    Parameters
    ----------
    path : Path
        The file.
    size : int
        Its bytes.
    sums : ndarray, shape (blocks,)
        Its checksums.
    hint : str
        What to do where it is damaged.
    parts : callable, optional
        Names what bytes ``lo..hi - 1`` hold.
    """

    def __init__(
        self,
        path: Path,
        size: int,
        sums: np.ndarray,
        hint: str,
        parts: Callable[[int, int], str] | None = None,
    ) -> None:
        self.path, self.size, self.hint, self._parts = path, size, hint, parts
        self._sums = sums
        # threads that meet in a block both check it, which does no harm
        self._checked = np.zeros(count_blocks(size), bool)
        self.handle = os.open(path, os.O_RDONLY)

    def read_into(self, offset: int, out: np.ndarray) -> None:
        """Fill `out` with the bytes from `offset`; damage is an `InputError`."""
        view = out.reshape(-1).data.cast("B")
        end = offset + len(view)
        first, last = offset // BLOCK, count_blocks(end)
        if self._checked[first:last].all():
            self._fill(offset, view)
            return
        # block by block: what was just read is still in the cache when it is summed
        for block in range(first, last):
            begin, size = block * BLOCK, self._size_of(block)
            lo, hi = max(offset, begin), min(end, begin + size)
            piece = view[lo - offset : hi - offset]
            if self._checked[block]:
                self._fill(lo, piece)
                continue
            whole = piece if len(piece) == size else memoryview(bytearray(size))
            if not self._check(block, whole):
                raise self.error(block)
            if whole is not piece:
                piece[:] = whole[lo - begin : hi - begin]

    def error(self, block: int) -> InputError:
        """Return the error for a block that is damaged."""
        return InputError(
            f"{self.path.name} of the store is damaged",
            where=f"{self.path}: {self.describe(block)}",
            hint=self.hint,
        )

    def describe(self, block: int) -> str:
        """Name the bytes of a block, and what they hold."""
        lo, hi = block * BLOCK, block * BLOCK + self._size_of(block)
        held = "" if self._parts is None else f" ({self._parts(lo, hi)})"
        return f"bytes {lo:,} to {hi - 1:,}{held}"

    def damaged(self, first: int, last: int) -> list[int]:
        """Return which of the blocks ``first..last - 1`` are damaged."""
        room = memoryview(bytearray(BLOCK))
        blocks = range(first, last)
        return [block for block in blocks if not self._check(block, room[: self._size_of(block)])]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self._checked)

    def _size_of(self, block: int) -> int:
        return min(BLOCK, self.size - block * BLOCK)

    def _check(self, block: int, whole: memoryview) -> bool:
        """Read a block as a whole, and compare it with its checksum."""
        self._fill(block * BLOCK, whole)
        same = xxh3_64_intdigest(whole) == int(self._sums[block])
        self._checked[block] = same
        return same

    def _fill(self, offset: int, view: memoryview) -> None:
        done = 0
        while done < len(view):
            # at an offset of its own: threads share the descriptor, but not its position
            count = os.preadv(self.handle, [view[done:]], offset + done)
            if count == 0:
                raise InputError(
                    "the store ends before its last value", where=str(self.path), hint=self.hint
                )
            done += count

    def read_ahead(self, offset: int, length: int) -> None:
        """Have the kernel read what it does not hold yet."""
        if not length or not hasattr(os, "posix_fadvise"):
            return  # no length would mean all that follows
        # asking about two bytes is cheaper than advice on pages that are in memory already
        if not (self._is_held(offset) and self._is_held(offset + length - 1)):
            os.posix_fadvise(self.handle, offset, length, os.POSIX_FADV_WILLNEED)

    def _is_held(self, offset: int) -> bool:
        """Tell whether a byte can be read without waiting."""
        if not hasattr(os, "RWF_NOWAIT"):
            return False
        try:
            return os.preadv(self.handle, [bytearray(1)], offset, os.RWF_NOWAIT) == 1
        except OSError:  # it would wait, or this file system cannot tell
            return False

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            os.close(self.handle)
