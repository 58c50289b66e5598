"""Whether results were made from one matrix, by the digests that their records keep.

A matrix has more than one digest, because a store is made of a file, and either may be ranked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from sfs_cli.io.files.text import split_member
from sfs_cli.io.given import given
from sfs_cli.provenance import InputFile, describe_input

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


class Identity(NamedTuple):
    """What is known of matrices: digests of their files, and in which formats these are."""

    digests: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()


def matrix_identity(matrix: str) -> Identity:
    """Return what is known of the matrix of a run; nothing of an object of Python."""
    if given(matrix) is not None:
        return Identity()
    return identity_of([{"role": "matrix"} | describe_input(Path(matrix))])


def identity_of(
    inputs: Iterable[InputFile] | None, roles: Collection[str] = ("matrix",)
) -> Identity:
    """Return what the inputs of a record say of the matrices among them, which have these roles."""
    matrices = [each for each in inputs or () if each["role"] in roles]
    sources = [each.get("source", each) for each in matrices]
    files = [file for each in sources for file in each.get("files", ())]  # that a store is made of
    digests = {each["sha256"] for each in (*matrices, *sources, *files)}
    # a store has the format of what it was made of
    names = [split_member(Path(each["path"]))[0] for each in sources]
    return Identity(frozenset(digests), frozenset(map(_format, names)))


def _format(name: Path) -> str:
    suffix = name.suffix.lower()
    return Path(name.stem).suffix.lower() + suffix if suffix in _COMPRESSED else suffix


def same_matrix(one: Identity, other: Identity) -> bool | None:
    """Tell whether two matrices are one; None where that is not known.

    Those with a digest in common are. Other digests tell of other matrices in files of one format
    alone: a table may hold the same values as a Parquet file.
    """
    if one.digests & other.digests:
        return True
    return False if one.digests and other.digests and one.formats & other.formats else None


def any_same(found: Iterable[bool | None]) -> bool | None:
    """Tell whether an answer of `same_matrix` is yes; None where that is not known."""
    answers = set(found)
    if True in answers:
        return True
    return None if None in answers else False
