"""No output replaces an input: of the paths of a command, before anything is written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import permutations, product
from pathlib import Path
from typing import Any

from sfs_cli.errors import ConflictError, UsageError
from sfs_cli.options.fields import flag
from sfs_cli.options.paths import (
    FILLS,
    OPENS,
    READS,
    REPLACES,
    WRITES,
    NamedPath,
    split_part,
)
from sfs_cli.tables import FILES


def refuse_replaced(paths: Sequence[NamedPath], *, force: bool = True) -> None:
    """Refuse an output that is an input or another output, or a folder with one that would go.

    Files are compared as what they are on the disk, through links of both kinds. Without `force` a
    result is not replaced, so that it may be asked for again by the record in its own folder.

    Raises
    ------
    UsageError
        It names both options.
    """
    for each in paths:
        if "\0" in each.path:
            what = f"{each.label}: the path has a NUL character in it"
            raise UsageError(what, hint="correct the path", option=each.option)
    written = [each for each in paths if each.use in (WRITES, FILLS, REPLACES)]
    for target, source in product(written, paths):
        if target.use == FILLS and source.option == "config_file" and not force:
            continue
        if any(_would_replace(target, path) for path in _read(source)):
            raise ConflictError(
                f"{target.label} {target.path} would replace an input",
                where=f"{source.label} {source.path}",
                hint=f"give another {target.label}; --force does not replace an input either",
                option=(target.option, source.option),
            )
    for one, other in permutations(written, 2):
        if _same(one.path, other.path) or (one.use == FILLS and _is_of_result(one, other.path)):
            raise ConflictError(
                f"{one.label} {one.path} and {other.label} {other.path} would replace each other",
                hint="give one of them another name",
                option=(one.option, other.option),
            )


def refuse_recorded(option: str, target: Path, inputs: Iterable[tuple[str, Path, Any]]) -> None:
    """Refuse an output that is one of the files which a record, or a plan of shards, names."""
    for role, path, _ in inputs:
        if _same(target, path):
            raise ConflictError(
                f"{flag(option)} {target} would replace an input",
                where=f"{role} {path}",
                hint=f"give another {flag(option)}; --force does not replace an input either",
                option=option,
            )


def _read(source: NamedPath) -> Iterator[str]:
    """Yield what is read where a path names it; of a folder of ours its own files."""
    if source.use not in (READS, OPENS):
        return
    path = split_part(source.path)[0]
    if source.use == READS or not os.path.isdir(path):  # noqa: PTH112
        yield path
    else:
        yield from map(str, Path(path).iterdir())


def _would_replace(target: NamedPath, path: str) -> bool:
    """Tell whether an output would replace what is read, or change a folder of that."""
    return (
        _same(target.path, path)
        or (target.use == FILLS and _is_of_result(target, path))
        or (target.use == REPLACES and _is_below(path, target.path))
        or (os.path.isdir(path) and _is_below(target.path, path))  # noqa: PTH112
    )


def _is_of_result(folder: NamedPath, path: str) -> bool:
    """Tell whether a path has the place of a file that results have."""
    is_name = any(fnmatchcase(Path(path).name, pattern) for pattern in FILES)
    return is_name and _same(folder.path, str(Path(path).parent))


def _same(one: str | Path, other: str | Path) -> bool:
    """Tell whether two paths, which need not exist, are one."""
    try:
        return os.path.samestat(os.stat(one), os.stat(other))  # noqa: PTH116
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def _is_below(path: str, folder: str) -> bool:
    """Tell whether a path is in a folder."""
    return any(_same(above, folder) for above in Path(os.path.realpath(path)).parents)
