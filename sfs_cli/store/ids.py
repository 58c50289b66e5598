"""Ids of features and samples: held as Arrow strings, checked, made unique, read and written.

A Python string takes some 60 bytes beside its letters, an Arrow one 4: ten million ids would be
more than a run may use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.names import check_texts, nfc, nfc_array
from sfs_cli.io.files.text import arrow_file, number_array, repeated, string_array
from sfs_cli.io.matrix.base import CONVERT

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 65_536
"""Ids that become Python strings at a time, where all are gone through."""


def natural_order(ids: Sequence[str]) -> np.ndarray:
    """Return the places of the ids in their natural order, in which s2 is before s10; (n,)."""

    def key(at: int) -> tuple[list[tuple[int, str]], str]:
        parts = re.split(r"([0-9]+)", ids[at])  # every second one is a number
        parts[1::2] = [part.lstrip("0") for part in parts[1::2]]
        return [(len(part) if odd % 2 else 0, part) for odd, part in enumerate(parts)], ids[at]

    return np.array(sorted(range(len(ids)), key=key), np.int64)


class FeatureIds(Sequence[str]):
    """A sequence of strings that cannot be changed."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array  # of Arrow's strings, small or large

    @classmethod
    def of(cls, names: Iterable[str]) -> FeatureIds:
        """Return the ids of any other sequence."""
        if isinstance(names, FeatureIds):
            return names
        builder = FeatureIdsBuilder()
        builder.extend(names)
        return builder.finish()

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, at: Any) -> Any:
        """Return an id, or a list of them."""
        return self.array[at].to_pylist() if isinstance(at, slice) else self.array[int(at)].as_py()

    def __iter__(self) -> Iterator[str]:
        for lo in range(0, len(self), CHUNK):
            yield from self[lo : lo + CHUNK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FeatureIds({len(self):,}: {', '.join(self[:3])}{', ...' if len(self) > 3 else ''})"

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        """Return the ids as an Arrow array, without a copy."""
        return self.array if type is None else self.array.cast(type)

    def take(self, indices: np.ndarray) -> list[str]:
        """Return the ids at some positions, in their order."""
        # of an ndarray, Arrow would make an array by pandas
        return self.array.take(number_array(np.asarray(indices, np.int64))).to_pylist()


class LaterIds(FeatureIds):
    """Ids that are read when they are first needed, by whichever thread.

    Parameters
    ----------
    count : int
        How many they are.
    read : callable
        Returns them; what it raises is raised at every use.
    """

    def __init__(self, count: int, read: Callable[[], FeatureIds]) -> None:
        self._count, self._read = count, read
        self._reading, self._found = Lock(), None

    @property
    def array(self) -> pa.Array:
        """The ids as Arrow's strings."""
        with self._reading:
            if self._found is None:
                self._found = self._read().array
            return self._found

    def __len__(self) -> int:
        return self._count


class FeatureIdsBuilder:
    """Gathers ids piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[pa.Array] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, names: Iterable[str]) -> None:
        """Append ids, in the form of `nfc`; those of an Arrow array are not copied."""
        import pyarrow as pa

        piece = names if isinstance(names, pa.Array) else string_array(names)
        piece = nfc_array(piece)
        self._pieces.append(piece)
        self._count += len(piece)

    def finish(self) -> FeatureIds:
        """Return the ids."""
        import pyarrow as pa

        # 32 bits say where an id begins while all letters together are below 2 GiB
        wide = sum(piece.nbytes for piece in self._pieces) > np.iinfo(np.int32).max
        kind = pa.large_string() if wide else pa.string()
        pieces = [piece.cast(kind) for piece in self._pieces]
        self._pieces = []
        if len(pieces) == 1:
            return FeatureIds(pieces[0])
        return FeatureIds(pa.concat_arrays(pieces) if pieces else pa.nulls(0, kind))


def check_samples(ids: Sequence[str], where: str, *, in_rows: bool) -> list[str]:
    """Return sample ids in the form of `nfc`.

    Raises an `InputError` if they are repeated then, or there are fewer than two.
    """
    samples = [nfc(name) for name in ids]
    if found := repeated(samples):
        plain = all(name.isascii() for name in found)
        forms = "" if plain else " (the Unicode forms of an accented letter count as one)"
        how = "; if the samples are in rows and the features in columns, add --rows samples"
        if in_rows:
            how = ", as adata.obs_names_make_unique() does"
        raise InputError(
            f"{counted(len(found), 'repeated sample id')}{forms}: {listed(found)}",
            where=where,
            hint=f"give every sample its own id{how}",
        )
    if len(samples) < 2:
        raise InputError(
            f"the matrix has {counted(len(samples), 'sample')}; a ranking needs at least 2",
            where=where,
            hint="check the delimiter and --rows: samples are the columns of an expression matrix; "
            f"{CONVERT}",
        )
    return samples


def unique_features(ids: Sequence[str]) -> tuple[FeatureIds, int]:
    """Make feature ids unique by suffixes ``-1``, ``-2``, ...; the first keeps its name.

    Returned are the ids, in order, and how many were given a suffix.
    """
    known = FeatureIds.of(ids)
    again = _repeated(known)
    if not again:
        return known, 0
    # names that a suffix could give; a set of all ids would take more than they do
    taken = {name for name in known if name.rpartition("-")[0] in again}
    last: dict[str, int] = {}  # the last suffix of each that was seen
    unique, renamed = FeatureIdsBuilder(), 0
    for lo in range(0, len(known), CHUNK):
        names = known[lo : lo + CHUNK]
        for i, name in enumerate(names):
            if name not in again:
                continue
            if name not in last:
                last[name] = 0
                continue
            new = name
            while new == name or new in taken:
                last[name] += 1
                new = f"{name}-{last[name]}"
            names[i] = new
            taken.add(new)
            renamed += 1
        unique.extend(names)
    return unique.finish(), renamed


def _repeated(ids: FeatureIds) -> set[str]:
    """Return the ids that occur more than once.

    Equal ids have equal hashes: eight bytes for each tell nearly all that are unique. Arrow's own
    tables (`value_counts`) take a hundred.
    """
    hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
    ordered = np.sort(hashes)
    again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(again):
        return set()
    suspects = Counter(ids.take(np.flatnonzero(np.isin(hashes, again))))
    return {name for name, count in suspects.items() if count > 1}


def read_ids(path: Path, column: str) -> FeatureIds:
    """Read a column of ids of a Parquet file.

    An OSError, KeyError, ValueError or ArrowException says that it cannot be read, is not there, or
    lacks some.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    builder = FeatureIdsBuilder()
    with arrow_file(path) as source, pq.ParquetFile(source) as file:
        if column not in file.schema_arrow.names:
            raise KeyError(column)
        # all at once: batches would have to be joined, with room for two copies
        names = file.read(columns=[column], use_threads=False)[column]
    if names.null_count:
        raise ValueError(f"{names.null_count:,} of the {column} ids are missing")
    for chunk in names.chunks:
        builder.extend(chunk)
    pa.default_memory_pool().release_unused()
    return builder.finish()


def write_ids(path: Path, columns: Mapping[str, Sequence[str]], rows: int = 1 << 20) -> None:
    """Write ids and annotations as columns of a Parquet file, `rows` at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string()) for name in columns])
    count = len(next(iter(columns.values())))
    with arrow_file(path, "wb") as file, pq.ParquetWriter(file, schema) as writer:
        for lo in range(0, count, rows):
            arrays = [pa.array(each[lo : lo + rows], pa.string()) for each in columns.values()]
            writer.write_table(pa.table(arrays, schema))


def free_names(names: Iterable[str], taken: Collection[str]) -> list[str]:
    """Return names with ``_annotation`` after each that another one, or one of the taken, has."""
    found: list[str] = []
    for name in names:
        while name in found or name in taken:
            name += "_annotation"
        found.append(name)
    return found


class Texts:
    """Gathers the annotations of rows that a reader gives with its blocks."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._columns: list[tuple[str, FeatureIdsBuilder]] = []

    def add(self, texts: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Append those of a block; a control character in them is an `InputError`."""
        for at, (name, column) in enumerate(texts):
            if at == len(self._columns):
                self._columns.append((nfc(name), FeatureIdsBuilder()))
            check_texts(column, f"column {name!r}", self.where)
            self._columns[at][1].extend(column)

    def finish(self) -> dict[str, FeatureIds]:
        """Return the columns in which something is known, by their names."""
        found = [(name, builder.finish()) for name, builder in self._columns]
        known = [(name, texts) for name, texts in found if not set(texts) <= {"", "na", "NA"}]
        names = free_names((name for name, _ in known), ("feature", "sample"))
        return dict(zip(names, (texts for _, texts in known)))
