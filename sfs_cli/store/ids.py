"""Ids of features and samples: held as Arrow strings, checked, made unique, read and written.

A Python string takes some 60 bytes beside its letters, an Arrow one 4: ten million ids would be
more than a run may use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.names import check_texts, nfc, nfc_array
from sfs_cli.io.files.text import number_array, repeated, string_array
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
        return names if isinstance(names, FeatureIds) else cls.joined([names])

    @classmethod
    def joined(cls, pieces: Iterable[Iterable[str] | pa.Array]) -> FeatureIds:
        """Return the ids of some sequences, one after the other, in the form of `nfc`."""
        import pyarrow as pa

        arrays = [each if isinstance(each, pa.Array) else string_array(each) for each in pieces]
        # 64 bits say where an id begins: all letters together may be 2 GiB and more
        kind = pa.large_string()
        arrays = [nfc_array(each).cast(kind) for each in arrays]
        return cls(pa.concat_arrays(arrays) if arrays else pa.nulls(0, kind))

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

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        """Return the ids as an Arrow array, without a copy."""
        return self.array if type is None else self.array.cast(type)

    def take(self, indices: np.ndarray) -> list[str]:
        """Return the ids at some positions, in their order."""
        # of an ndarray, Arrow would make an array by pandas
        return self.array.take(number_array(np.asarray(indices, np.int64))).to_pylist()


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
    # equal ids have equal hashes, of eight bytes each: of most matrices no id is looked at again
    hashes = np.sort(np.fromiter(map(hash, known), np.int64, len(known)))
    if not (hashes[1:] == hashes[:-1]).any():
        return known, 0
    unique = list(known)
    taken, following = set(unique), {}  # and the next suffix of each id that was seen
    for at, name in enumerate(known):
        if name not in following:
            following[name] = 1
            continue
        while (new := f"{name}-{following[name]}") in taken:
            following[name] += 1
        unique[at] = new
        taken.add(new)
    return FeatureIds.of(unique), len(unique) - len(following)


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
        self._columns: list[tuple[str, list[pa.Array]]] = []

    def add(self, texts: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Append those of a block; a control character in them is an `InputError`."""
        for at, (name, column) in enumerate(texts):
            if at == len(self._columns):
                self._columns.append((nfc(name), []))
            check_texts(column, f"column {name!r}", self.where)
            self._columns[at][1].append(string_array(column))

    def finish(self) -> dict[str, FeatureIds]:
        """Return the columns in which something is known, by their names."""
        found = [(name, FeatureIds.joined(pieces)) for name, pieces in self._columns]
        known = [(name, texts) for name, texts in found if not set(texts) <= {"", "na", "NA"}]
        names = free_names((name for name, _ in known), ("feature", "sample"))
        return dict(zip(names, (texts for _, texts in known)))
