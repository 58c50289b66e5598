"""Ids of very many features: UTF-8 side by side, decoded where they are asked for.

A Python string takes some 60 bytes beside its letters; ten million of them would be more than a
run may use.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 65_536
"""Ids that are decoded at a time by what goes through all."""
_ENCODING = ("utf-8", "surrogatepass")


class FeatureIds(Sequence[str]):
    """A sequence of strings that cannot be changed.

    Parameters
    ----------
    text : bytes or bytearray
        All ids, one after the other, in UTF-8.
    bounds : ndarray of int, shape (m + 1,)
        Where each begins in `text`, and where the last ends.
    """

    def __init__(self, text: bytes | bytearray, bounds: np.ndarray) -> None:
        self._text = text
        self._bounds = bounds

    @classmethod
    def of(cls, names: Iterable[str]) -> FeatureIds:
        """Return the ids of any other sequence."""
        if isinstance(names, FeatureIds):
            return names
        builder = FeatureIdsBuilder()
        builder.extend(names)
        return builder.finish()

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return len(self._text) + self._bounds.nbytes

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        """Return an id, or a list of them."""
        if isinstance(at, slice):
            lo, hi, step = at.indices(len(self))
            return self._run(lo, hi) if step == 1 else self.take(np.arange(lo, hi, step))
        place = range(len(self))[at]
        lo, hi = self._bounds[place : place + 2].tolist()
        return self._text[lo:hi].decode(*_ENCODING)

    def __iter__(self) -> Iterator[str]:
        for lo in range(0, len(self), CHUNK):
            yield from self._run(lo, min(lo + CHUNK, len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FeatureIds({len(self):,}: {', '.join(self[:3])}{', ...' if len(self) > 3 else ''})"

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        """Return the ids as an array of Arrow, which shares their letters."""
        import pyarrow as pa

        narrow = len(self._text) <= np.iinfo(np.int32).max
        kind = pa.string() if narrow else pa.large_string()
        bounds = self._bounds.astype(np.int32 if narrow else np.int64, copy=False)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self._text)]
        ids = pa.Array.from_buffers(kind, len(self), buffers)
        return ids if type is None else ids.cast(type)

    def take(self, places: np.ndarray) -> list[str]:
        """Return the ids at some places.

        Parameters
        ----------
        places : ndarray of int, shape (l,)
            From 0.
        """
        taken: list[str] = []
        for lo in range(0, len(places), CHUNK):
            taken += self._gathered(places[lo : lo + CHUNK])
        return taken

    def _gathered(self, places: np.ndarray) -> list[str]:
        """Copy the letters of some ids side by side, and decode them at once."""
        starts = self._bounds[places].astype(np.int64)
        lengths = self._bounds[1:][places] - starts
        bounds = np.append(0, np.cumsum(lengths))
        letters = np.frombuffer(self._text, np.uint8)
        at = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], lengths)
        return _strings(letters[at].tobytes(), bounds.tolist())

    def _run(self, lo: int, hi: int) -> list[str]:
        """Return the ids of a run, which lie side by side."""
        if hi <= lo:
            return []
        bounds = self._bounds[lo : hi + 1]
        first = bounds[0]
        return _strings(bytes(self._text[first : bounds[-1]]), (bounds - first).tolist())


def _strings(text: bytes, bounds: list[int]) -> list[str]:
    if text.isascii():  # a letter is a byte: one string can be cut
        whole = text.decode("ascii")
        return [whole[a:b] for a, b in pairwise(bounds)]
    return [text[a:b].decode(*_ENCODING) for a, b in pairwise(bounds)]


class FeatureIdsBuilder:
    """Gathers ids piece by piece."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._lengths: deque[np.ndarray] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, names: Iterable[str]) -> None:
        """Append ids."""
        pieces = [name.encode(*_ENCODING) for name in names]
        lengths = np.fromiter(map(len, pieces), np.int32, len(pieces))
        self.extend_encoded(b"".join(pieces), lengths)

    def extend_encoded(self, text: bytes | memoryview, lengths: np.ndarray) -> None:
        """Append ids that are in UTF-8 already.

        Parameters
        ----------
        text : bytes-like
            One after the other.
        lengths : ndarray of int32
            Bytes of each.
        """
        self._text += text
        self._lengths.append(lengths)
        self._count += len(lengths)

    def finish(self) -> FeatureIds:
        """Return the ids."""
        wide = len(self._text) > np.iinfo(np.uint32).max
        bounds = np.zeros(self._count + 1, np.int64 if wide else np.uint32)
        at = 0
        while self._lengths:
            lengths = self._lengths.popleft()
            ends = np.cumsum(lengths, dtype=bounds.dtype)
            np.add(ends, bounds[at], out=bounds[at + 1 : at + 1 + len(lengths)])
            at += len(lengths)
        return FeatureIds(self._text, bounds)


def read_ids(path: Path, column: str) -> FeatureIds:
    """Read a column of ids of a Parquet file.

    Raises
    ------
    OSError, KeyError, ValueError, pyarrow.ArrowException
        When it cannot be read, is not there, or lacks some.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    builder = FeatureIdsBuilder()
    with pq.ParquetFile(path) as file:
        if column not in file.schema_arrow.names:
            raise KeyError(column)
        for batch in file.iter_batches(CHUNK, columns=[column], use_threads=False):
            names = batch.column(0).cast(pa.string())
            if names.null_count:
                raise ValueError(f"{names.null_count:,} of the {column} ids are missing")
            _append(builder, names)
    pa.default_memory_pool().release_unused()
    return builder.finish()


def _append(builder: FeatureIdsBuilder, names: object) -> None:
    _, offsets, text = names.buffers()  # type: ignore[attr-defined]
    lo, count = names.offset, len(names)  # type: ignore[attr-defined,arg-type]
    if not count:
        return
    bounds = np.frombuffer(offsets, np.int32, count + 1, 4 * lo)
    content = memoryview(text)[bounds[0] : bounds[-1]] if text is not None else b""
    builder.extend_encoded(content, np.diff(bounds))


def write_ids(path: Path, column: str, ids: Sequence[str], rows: int = 1 << 20) -> None:
    """Write ids as a column of a Parquet file, `rows` at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(column, pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for lo in range(0, len(ids), rows):
            writer.write_table(pa.table([pa.array(ids[lo : lo + rows], pa.string())], schema))
