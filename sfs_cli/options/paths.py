"""The paths that options name, and what each is used for.

A declaration says what the path of an option is used for (``path=READS``). The paths of a command
line, of a configuration and of its sources are found by that alone. Before anything is written,
`refuse_replaced` sees to it that no output replaces an input.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

from sfs_cli.errors import ConflictError, InputError, UsageError, either
from sfs_cli.options.fields import Option, flag, names_file
from sfs_cli.tables import FILES

READS = "an input"
OPENS = "a folder of ours that is read: the result of a ranking, or the plan of shards"
WRITES = "a file that is written"
FILLS = "a folder that gets the files of a result"
REPLACES = "a folder that is replaced as a whole, or a file"
"""What a path is used for."""
STANDARD_INPUT = "-"

TABLES = (".parquet", ".h5ad", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
"""Endings of names by which ``sfs convert`` writes a file in place of a store."""
_WRITTEN = {
    ("store", REPLACES): ("a store (a folder) or a table", *TABLES),
    ("out", WRITES): ("an HTML page", ".html", ".htm"),
}
"""What some options write, and the suffixes that such files have. Folders of results and plans may
have any name: scripts call them after the files that they read."""
_FORMATS = re.compile(
    r"\.(arrow|bed|bz2|cls|csv|db|docx?|eps|feather|gaf|gct|gif|gm[tx]|gz|h5|h5ad|h5mu|hdf5|html?|ipc"
    r"|ipynb|jpe?g|jsonl?|log|loom|md|mtx|np[yz]|obo|od[ts]|parquet|pdf|pickle|pkl|png|pptx|pq|ps"
    r"|rda|rdata|rds|rnk|rtf|sif|sqlite|svg|tab|tar|tgz|tiff?|toml|tsv|txt|xlsx?|xml|xz|ya?ml|zarr"
    r"|zip|zst)"
)
"""Suffixes by which programs, and people, take a file for one of a format."""


class NamedPath(NamedTuple):
    """A path that an option names."""

    option: str  # its attribute, for errors
    label: str  # how messages name it
    path: str
    use: str  # `READS` and so on


Move = Callable[[Option, str, str], str]
"""Takes an option, a path that it names and what it names there (the option, for the path of a
source its kind), and returns the path to have in its place."""


MovePart = Callable[[str, str], str]
"""The same for what has several paths, of the attribute that names one, and the path."""


def moved(option: Option, value: Any, move: Move) -> Any:
    """Return the value of an option with every path in it as `move` returns it."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(moved(option, one, move) for one in value)
    if hasattr(value, "with_paths"):  # a source, a list or a ranking, which knows its own
        kind = getattr(value, "kind", option.name)
        return value.with_paths(lambda n, text: move(option, text, kind if n == "path" else n))
    if value is None or not (option.path or option.patterns):
        return value
    named = names_file(value) if option.patterns else not value.startswith(option.parts)
    found = move(option, value, option.name) if named else value
    return value if option.column and option.name != "labels" and is_column(value, found) else found


def is_column(text: str, path: str) -> bool:
    """Tell whether a text is no file, which would have a path, but a column of that of --labels."""
    plain = not any(sign in text for sign in ":/\\<")  # an object of Python is named <labels>
    is_file = _FORMATS.fullmatch(Path(text).suffix.lower()) or names_file(path)
    return plain and not is_file


def beside_labels(text: str, labels: str) -> str:
    """Return columns as ``FILE:COLUMN`` or ``obs:KEY``: words alone are of the table of labels."""
    if not is_column(text, text):
        return text
    return f"{'obs' if labels.startswith('obs:') else split_part(labels)[0]}:{text}"


def paths_of(options: Iterable[Option], values: Mapping[str, Any]) -> list[NamedPath]:
    """Return all paths that the values of some options name."""
    found: list[NamedPath] = []

    def collect(option: Option, text: str, _: str) -> str:
        label = (option.metavar or option.name.upper()) if option.argument else option.flag
        found.append(NamedPath(option.name, label, text, option.path or READS))
        return text

    for option in options:
        moved(option, values.get(option.name), collect)
    return found


def refuse_suffixes(paths: Iterable[NamedPath]) -> None:
    """Raise a `UsageError` for an output whose name says another format than what is written.

    Those whose format follows from the input are checked where it is known, by `check_suffix`. The
    name ``-`` says standard output, to which none of them can go.
    """
    for each in paths:
        if each.path == STANDARD_INPUT and each.use in (WRITES, FILLS, REPLACES):
            raise UsageError(
                f"{each.label} -: this is written to {each.use.partition(' that')[0]}, not to "
                "standard output",
                hint="give a name (./- is one); without --out, a table is printed",
                option=each.option,
            )
        if found := _WRITTEN.get((each.option, each.use)):
            check_suffix(each.option, each.label, each.path, *found)


def check_suffix(option: str, label: str, path: str, what: str, *own: str) -> None:
    """Raise a `UsageError` for a path that ends in the suffix of a format other than `own`.

    `label` names the option in messages, and `what` is what it writes; without `own` that is a
    folder, which may have any name if it is there.
    """
    suffix, is_own = Path(path).suffix.lower(), path.lower().endswith(own)
    if not _FORMATS.fullmatch(suffix) or is_own or (not own and os.path.isdir(path)):  # noqa: PTH112
        return
    hint = f"give a name that ends in {either(own)}" if own else "give a name without it"
    raise UsageError(
        f"{label} {path}: {suffix} is the suffix of another format, and {what} is written",
        hint=hint,
        option=option,
    )


def is_there(text: str) -> bool:
    """Tell whether a path leads to something, be it a link that leads nowhere."""
    try:
        os.lstat(text)
    except (OSError, ValueError):
        return False
    return True


def is_url(text: str) -> bool:
    """Tell whether a path is an address, as ``s3://BUCKET/FILE`` or ``https://HOST/FILE``."""
    return re.match("[a-z][a-z0-9+]*://", text) is not None


def public(text: str) -> str:
    """Return addresses without what may be secret: user, password, and what follows a ``?``."""
    return re.sub(r"(?<=://)[^/@\s]*@|[?#]\S*", "", text)


def split_part(text: str) -> tuple[str, str]:
    """Split ``FILE:COLUMN``, ``FILE.gmt:SET`` or ``FILE.h5mu:MODALITY`` into the file and the rest.

    The file is the longest beginning that exists; where none does, all is the file. The rest of an
    address has no slash.
    """
    if is_url(text):
        found = re.fullmatch("(.*/.*?)((?::[^/:&=?]*)?)", text)
        return (found[1], found[2]) if found else (text, "")
    if text.partition(":")[0] == STANDARD_INPUT:
        return STANDARD_INPUT, text[1:]
    end = len(text)
    while end > 0:
        if is_there(text[:end]):
            return text[:end], text[end:]
        end = text.rfind(":", 0, end)
    return text, ""


def is_copied(text: str) -> bool:
    """Tell whether a path has to be copied to a file: standard input, and a file at an address."""
    file = split_part(text)[0]
    return file in (STANDARD_INPUT, "/dev/stdin") or is_url(file)


def refuse_pipes(paths: Iterable[NamedPath]) -> None:
    """Raise an `InputError` for an input that is a named pipe, as ``<(...)`` of a shell is."""
    for each in paths:
        if each.use not in (READS, OPENS) or is_copied(each.path):
            continue
        try:
            is_pipe = stat.S_ISFIFO(os.stat(split_part(each.path)[0]).st_mode)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        if is_pipe:
            hint = "give -, and pipe the content in (zcat FILE | sfs ...), or give a file"
            if each.option == "config_file":
                hint = "write the options to a file: paths in it are relative to its folder"
            raise InputError(
                f"{each.label} {each.path} is a pipe",
                hint=hint,
                option=each.option,
            )


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
        for path in _read(source):
            if not _would_replace(target, path):
                continue
            is_folder = os.path.isdir(path)  # noqa: PTH112
            outside = f" outside of the folder {path}" * is_folder
            raise ConflictError(
                f"{target.label} {target.path} would {'change' if is_folder else 'replace'} an "
                "input",
                where=f"{source.label} {source.path}",
                hint=f"give another {target.label}{outside}; --force does not replace an input "
                "either",
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
    """Yield what is read where a path names it; of a folder of ours its own files.

    Other pages in it, which `sfs report` has drawn there, nothing reads.
    """
    if source.use not in (READS, OPENS):
        return
    path = split_part(source.path)[0]
    if source.use == READS or not os.path.isdir(path):  # noqa: PTH112
        yield path
    else:
        yield from (str(p) for p in Path(path).iterdir() if p.suffix != ".html" or p.name in FILES)


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
