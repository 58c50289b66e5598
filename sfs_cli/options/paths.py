"""The paths that options name: what each is used for, and that no output replaces an input.

A declaration says what the path of an option is used for (``path=READS``). The paths of a command
line, of a configuration and of its sources are found by that alone.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from sfs_cli.errors import ConflictError, UsageError
from sfs_cli.options.fields import Option, names_file

READS = "an input"
OPENS = "a folder of ours that is read: the result of a ranking, or the plan of shards"
WRITES = "a file that is written"
FILLS = "a folder that gets the files of a result"
REPLACES = "a folder that is replaced as a whole, or a file"
SCRATCH = "a folder for temporary files"
"""What a path is used for."""
STANDARD_INPUT = "-"
DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""How the names of open files of this process begin."""
INSIDE = ("obs:", "obsp:", "obsm:")
"""What is read from the file of the matrix itself begins with one of these."""
_MAY_BE_INSIDE = ("labels", "sample_weights", "path", "coordinates", "adjust", "batch", "donors")
RESULT_FILES = (
    *("run.json", "report.html", "sfs_mqc.json", "ranking.*"),
    *("modules.tsv", "module_profiles.tsv", "module_edges.tsv"),
    *("evaluation.tsv", "folds.tsv", "enrichment.tsv", "curves.tsv", "overlap.tsv", "methods.tsv"),
    *("robustness.tsv", "example.tsv", "claims.tsv"),
    *("selected.txt", "selected.tsv", "curve.tsv"),
)
"""The files that results consist of, as patterns of names."""
_PLAN_FILES = ("plan.json", "store", "parts")
_RECORD = ".run.json"  # added to the name of a single file for its record


class NamedPath(NamedTuple):
    """A path that an option names."""

    option: str  # its attribute, for errors
    label: str  # how messages name it
    path: str
    use: str  # `READS` and so on
    prefix: str | None = None  # of the names of the files that fill a folder


Move = Callable[[Option, str, str], str]
"""Takes an option, a path that it names and what it names there (the option, for the path of a
source its kind), and returns the path to have in its place."""


def is_inside(option: str, text: str) -> bool:
    """Tell whether an option names a part of the file of the matrix."""
    return option in _MAY_BE_INSIDE and text.startswith(INSIDE)


def moved(option: Option, value: Any, move: Move) -> Any:
    """Return the value of an option with every path in it as `move` returns it."""
    if value is None or (not option.path and not option.patterns and option.parse is None):
        return value
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(moved(option, one, move) for one in value)
    if hasattr(value, "with_paths"):  # a source, a list or a ranking, which knows its own
        kind = getattr(value, "kind", option.name)
        return value.with_paths(lambda n, text: move(option, text, kind if n == "path" else n))
    named = names_file(value) if option.patterns else bool(option.path)
    return (
        move(option, value, option.name) if named and not is_inside(option.name, value) else value
    )


def paths_of(options: Iterable[Option], values: Mapping[str, Any]) -> list[NamedPath]:
    """Return all paths that the values of some options name."""
    found: list[NamedPath] = []

    def collect(option: Option, text: str, _: str) -> str:
        label = (option.metavar or option.name.upper()) if option.argument else option.flag
        use = option.path or READS
        prefix = values.get("prefix") if use == FILLS else None
        found.append(NamedPath(option.name, label, text, use, prefix))
        return text

    for option in options:
        moved(option, values.get(option.name), collect)
    return found


def is_there(text: str) -> bool:
    """Tell whether a path leads to something, be it a link that leads nowhere."""
    try:
        os.lstat(text)
    except (OSError, ValueError):
        return False
    return True


def split_part(text: str) -> tuple[str, str]:
    """Split ``FILE:COLUMN``, ``FILE.gmt:SET`` or ``FILE.h5mu:MODALITY`` into the file and the rest.

    The file is the longest beginning that exists; where none does, all is the file.
    """
    if text.partition(":")[0] == STANDARD_INPUT:
        return STANDARD_INPUT, text[1:]
    end = len(text)
    while end > 0:
        if is_there(text[:end]):
            return text[:end], text[end:]
        end = text.rfind(":", 0, end)
    return text, ""


def is_stream(text: str) -> bool:
    """Tell whether a path can be read once only: standard input, or a pipe with or without name."""
    file = split_part(text)[0]
    if file == STANDARD_INPUT or file.startswith(DESCRIPTORS):
        return True
    try:
        return stat.S_ISFIFO(os.stat(file).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


# ---- no output replaces an input -----------------------------------------------------------------


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
    if source.use == READS and _is_dir(source.path) and _is_below(target.path, source.path):
        return folder
    goes = target.use == REPLACES and _is_dir(target.path)
    return folder if goes and _is_below(source.path, target.path) else None


def _filled(folder: Path, prefix: str | None) -> list[str]:
    """Return the names of the files in a folder that a result replaces, or removes."""
    begin = "" if prefix is None else f"{prefix}."
    patterns = [f"{glob.escape(begin)}{pattern}" for pattern in RESULT_FILES]
    names = [name for pattern in patterns for name in _matching(folder, pattern)]
    # what an earlier run has written goes too
    outputs = _json(folder / f"{begin}run.json").get("outputs")
    return names + list(outputs if isinstance(outputs, dict) else ())


def _matching(folder: Path, pattern: str) -> list[str]:
    try:
        return [found.name for found in folder.glob(pattern)]
    except (OSError, ValueError):
        return []


def _same(one: str | Path, other: str | Path) -> bool:
    try:
        return os.path.samestat(os.stat(one), os.stat(other))  # noqa: PTH116
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def _is_below(path: str, folder: str) -> bool:
    """Tell whether a path is in a folder, or is it, as it is written or where its links lead."""
    ways = (Path(path).absolute(), Path(os.path.realpath(path)))
    return any(_same(place, folder) for way in ways for place in (way, *way.parents))


def _is_dir(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _is_device(path: str) -> bool:
    """Tell whether a path leads to neither a file nor a folder, such as ``/dev/stderr``."""
    try:
        found = Path(path)
        return found.exists() and not (found.is_file() or found.is_dir())
    except (OSError, ValueError):
        return False
