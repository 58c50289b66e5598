"""Opening a file as a stream of bytes, decompressed on the way where it is compressed.

What a file is compressed with is read from its first bytes, not from its name, so a ``.csv.gz``
that a browser has already unpacked is read as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import pyarrow as pa

from sfs_cli.errors import CHECK_PATH, CHECK_PERMISSIONS, InputError

Compression = Literal["gzip", "zstd"]

_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def compression_of(head: bytes) -> Compression | None:
    """Return what a file that begins with these bytes is compressed with, if it is."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


class ByteStream:
    """A file opened for reading from its beginning to its end.

    Parameters
    ----------
    path : Path
        The file; gzip (also of several members, as bgzip writes it) and zstd are decompressed.

    Raises
    ------
    InputError
        If there is no such file, it may not be read, or it is a folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _opening(path):
            with path.open("rb") as file:
                self.compression = compression_of(file.read(4))
            self._stream: pa.NativeFile = pa.OSFile(str(path), "rb")
        if self.compression:
            self._stream = pa.CompressedInputStream(self._stream, self.compression)

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end, and none after it.

        Raises
        ------
        InputError
            If the compressed data are cut off or damaged.
        """
        try:
            return self._stream.read(size)
        except (OSError, pa.ArrowException) as error:
            if not self.compression:
                raise
            raise InputError(
                f"the {self.compression} data are cut off or damaged ({error})",
                where=str(self.path),
                hint=f"check the file with '{self.compression} -t' and copy or download it again",
            ) from error

    def close(self) -> None:
        """Release the file."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputError("there is no such file", where=str(path), hint=CHECK_PATH) from error
    except PermissionError as error:
        raise InputError(
            "the file may not be read", where=str(path), hint=CHECK_PERMISSIONS
        ) from error
    except IsADirectoryError as error:
        raise InputError(
            "this is a folder, not a file", where=str(path), hint="give a file inside it"
        ) from error


def open_binary(path: str | Path) -> ByteStream:
    """Open a file for reading, decompressing gzip and zstd; see `ByteStream`."""
    return ByteStream(Path(path))
