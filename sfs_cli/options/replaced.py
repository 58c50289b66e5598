"""No output replaces an input: of the paths of a command, before anything is written."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path
from typing import Any

from sfs_cli.errors import ConflictError, UsageError
from sfs_cli.options.paths import (
    FILLS,
    OPENS,
    READS,
    REPLACES,
    WRITES,
    NamedPath,
    is_there,
    split_part,
)
from sfs_cli.tables import FILES

RESULT_FILES = tuple(FILES)
"""The files that results consist of, as patterns of names."""
_PLAN_FILES = ("plan.json", "store", "parts")
_RECORD = ".run.json"  # added to the name of a single file for its record


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
    if not written:
        return
    read = [other for each in paths if each.use in (READS, OPENS) for other in _read(each)]
    for target in written:
        for source in read:
            if target.use == FILLS and source.option == "config_file" and not force:
                continue
            if place := _replaced(target, source):
                at = "" if str(place) == target.path else f" ({place})"
                raise ConflictError(
                    f"{target.label} {target.path} would replace an input{at}",
                    where=f"{source.label} {source.path}",
                    hint=f"give another {target.label}; --force does not replace an input either",
                    option=(target.option, source.option),
                )
    for one, other in combinations(written, 2):
        for target, kept in ((one, other), (other, one)):
            if kept.use != FILLS and not _is_device(kept.path) and _replaced(target, kept):
                raise ConflictError(
                    f"{one.label} {one.path} and {other.label} {other.path} would replace each "
                    "other",
                    hint="give one of them another name",
                    option=(one.option, other.option),
                )


def _read(path: NamedPath) -> Iterator[NamedPath]:
    """Yield what is read where a path names it: of a folder of ours, that which its record names.

    Other files may lie in such a folder.
    """
    if path.use == READS:
        yield path._replace(path=split_part(path.path)[0])
        return
    folder = Path(path.path)
    if not folder.is_dir():  # a table of a result, with the record beside it
        yield path
        folder = folder.parent
    patterns = ["run.json", "*.run.json"]  # those of results with a prefix too
    if path.path == str(folder):
        patterns += ["ranking.*", "*.ranking.*", *_PLAN_FILES]
    for name in patterns:
        for found in _matching(folder, name):
            yield path._replace(path=str(folder / found), use=READS)
    for text in _recorded(folder):
        yield path._replace(label=f"an input of {path.label}", path=text, use=READS)


def _recorded(folder: Path) -> Iterator[str]:
    """Yield the inputs that the record of a result, or the plan of shards, names."""
    records = ["run.json", *_matching(folder, "*.run.json")]
    # paths in a record are relative to its folder; what is no path leads to nothing
    for text in (text for name in records for text in _texts(_json(folder / name).get("config"))):
        named = split_part(os.path.join(folder, text))[0]  # noqa: PTH118
        if is_there(named) and text:
            yield named
    plan = _json(folder / "plan.json")
    inputs, home = plan.get("inputs"), str(plan.get("home", ""))
    for each in inputs if isinstance(inputs, list) else ():
        if isinstance(each, dict) and isinstance(each.get("path"), str):
            yield split_part(os.path.join(home, each["path"]))[0]  # noqa: PTH118


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one where there is none that can be read."""
    import json  # help needs none

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a configuration."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _replaced(target: NamedPath, source: NamedPath) -> Path | None:
    """Return where an output would replace what is read, or change a folder of that; else None."""
    folder = Path(target.path)
    places = [folder, folder.with_name(folder.name + _RECORD)] if folder.name else [folder]
    if target.use == FILLS:
        places = [folder / name for name in _filled(folder, target.prefix)]
    for place in places:
        if _same(place, source.path):
            return place
    if target.use == FILLS and source.use in (WRITES, REPLACES):  # which is not there yet
        other = Path(source.path)
        is_of_result = any(fnmatchcase(other.name, each) for each in _patterns(target.prefix))
        if is_of_result and _same(other.parent, folder):
            return folder / other.name
    is_folder = os.path.isdir  # False for what is no path, unlike the method of Path
    if source.use == READS and is_folder(source.path) and _is_below(target.path, source.path):
        return folder
    goes = target.use == REPLACES and is_folder(target.path)
    return folder if goes and _is_below(source.path, target.path) else None


def _filled(folder: Path, prefix: str | None) -> list[str]:
    """Return the names of the files in a folder that a result replaces, or removes."""
    names = [name for pattern in _patterns(prefix) for name in _matching(folder, pattern)]
    # what an earlier run has written goes too
    record = "run.json" if prefix is None else f"{prefix}.run.json"
    outputs = _json(folder / record).get("outputs")
    return names + list(outputs if isinstance(outputs, dict) else ())


def _patterns(prefix: str | None) -> list[str]:
    """Return patterns of the names of the files of a result."""
    begin = "" if prefix is None else f"{glob.escape(prefix)}."
    return [begin + pattern for pattern in RESULT_FILES]


def _matching(folder: Path, pattern: str) -> list[str]:
    try:
        return [found.name for found in folder.glob(pattern)]
    except (OSError, ValueError, NotImplementedError):  # the last one of a prefix that is a path
        return []


def _same(one: str | Path, other: str | Path) -> bool:
    """Tell whether two paths, which need not exist, are one."""
    try:
        return os.path.samestat(os.stat(one), os.stat(other))  # noqa: PTH116
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def _is_below(path: str, folder: str) -> bool:
    """Tell whether a path is in a folder, or is it, as it is written or where its links lead."""
    ways = (Path(path).absolute(), Path(os.path.realpath(path)))
    return any(_same(place, folder) for way in ways for place in (way, *way.parents))


def _is_device(path: str) -> bool:
    """Tell whether a path leads to neither a file nor a folder, such as ``/dev/stderr``."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
