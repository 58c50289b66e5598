"""Inputs that come through a pipe or from elsewhere: copied into the scratch folder at first.

Readers need files: they look at the beginning, read several times, or from several processes. So
what ``-``, ``/dev/stdin``, ``<(...)`` of a shell or a named pipe gives is copied before anything
else is done, and every message and record names it as it was given. So is a file at an address.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sfs_cli.display import forget_copy, has_copies, name_copy, shown
from sfs_cli.errors import (
    ConflictError,
    InputError,
    MissingExtraError,
    SfsError,
    UsageError,
    need_extra,
    unwritable,
)
from sfs_cli.io.files.scratch import made, scratch_folder
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.files.table import is_number
from sfs_cli.io.files.text import PACKED, first_lines
from sfs_cli.logs import Messages
from sfs_cli.options.fields import Config, Option, options_of
from sfs_cli.options.paths import (
    OPENS,
    READS,
    STANDARD_INPUT,
    is_stream,
    is_url,
    moved,
    public,
    split_part,
)

C = TypeVar("C", bound=Config)

WAIT_SECONDS = 5.0
"""After so long without a byte a message says what is waited for."""
STEP = 1 << 20
"""Bytes that are copied at a time."""
PAUSES = (1.0, 2.0, 4.0, 0.0)
"""Seconds after which an address is tried again; 0 for no more."""
_FINAL = (FileNotFoundError, PermissionError, ValueError)
SPARE = 1 << 30
SPARE_PART = 20
"""So many bytes of the disk, or one part in so many where that is less, stay free."""
_STANDARD = (STANDARD_INPUT, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_TITLE = "standard input"
_HEAD = 512
_NPY = b"\x93NUMPY"
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_SUFFIXES = {
    Kind.PARQUET: ".parquet",
    Kind.ARROW: ".feather",
    Kind.GCT: ".gct",
    Kind.SERIES: ".txt",
    Kind.ZIP: ".npz",
    Kind.R_DATA: ".rds",
    Kind.WORKBOOK: ".xlsx",
}
_REFUSED = {
    Kind.MATRIX_MARKET: "which needs the files of the ids beside it: give the folder",
    Kind.BINARY: "give delimited text, Parquet, Feather or HDF5; unpack archives on the way",
}
_SETS = ("genes", "terms", "sets")  # options and kinds of sources that read sets of genes


@contextmanager
def spooled(
    options: Iterable[Option], values: Mapping[str, Any], messages: Messages
) -> Iterator[dict[str, Any]]:
    """Give the values of options with the path of a copy for each pipe; the copies go at the end.

    Raises
    ------
    UsageError
        When one pipe is to be read twice, or standard input is a terminal.
    InputError
        When nothing comes, it cannot be read, or what comes needs a file by its format.
    """
    with scratch_folder(values.get("scratch")) as folder:
        read: dict[object, str] = {}
        copies: list[str] = []

        def copy(option: Option, text: str, what: str) -> str:
            if (option.path or READS) not in (READS, OPENS) or not is_stream(text):
                return text
            name, part = split_part(text)
            label = "MATRIX" if option.argument else option.flag
            key = _identity(name)
            if key in read and not is_url(name):
                raise ConflictError(
                    f"{_title(name)} can be read once only, and is given as {read[key]} and as "
                    f"{label}",
                    hint="write it to a file, and give that",
                    option=option.name,
                )
            read[key] = label
            given = public(name) if is_url(name) else name
            if given != name:
                copies.append(name)
                name_copy(name, given)
            place = made(folder) / str(len(copies))  # so that two have different names
            place.mkdir()
            raw = place / _stem(name)
            (_fetch if is_url(name) else _copy)(name, label, option.name, raw, messages)
            copies.append(str(raw))
            name_copy(str(raw), given)  # for errors that are found on the way
            named = is_url(name) and raw.suffix  # else the content says in which format it is
            path = raw if named else raw.rename(raw.with_name(raw.name + _suffix(raw, what)))
            forget_copy(str(raw))
            copies.append(str(path))
            name_copy(str(path), given)
            return str(path) + part

        try:
            yield {**values, **{o.name: moved(o, values[o.name], copy) for o in options}}
        except SfsError as error:  # it is shown when the names of the copies are forgotten
            error.what = shown(error.what)
            error.where, error.hint = (t and shown(t) for t in (error.where, error.hint))
            raise
        finally:
            for path in copies:
                forget_copy(path)


def as_given(config: C) -> C:
    """Return a configuration with pipes in place of their copies."""
    if not has_copies():
        return config
    given = {o.name: moved(o, getattr(config, o.name), _name_of) for o in options_of(type(config))}
    return replace(config, **given)  # type: ignore[type-var]


def _name_of(_option: Option, text: str, _what: str) -> str:
    return shown(text)


def _title(name: str) -> str:
    return _TITLE if name in _STANDARD else name


def _stem(name: str) -> str:
    """Return the name of a copy, which titles of reports and names of lists are made of."""
    if name in _STANDARD:
        return "stdin"
    name = public(name) if is_url(name) else name
    return f"fd{Path(name).name}" if Path(name).parent.name == "fd" else Path(name).name


def _identity(name: str) -> object:
    """Return what two names of one pipe have in common."""
    if name in _STANDARD:
        return _TITLE
    try:
        found = os.stat(name)  # noqa: PTH116
    except OSError:
        return name
    return found.st_dev, found.st_ino


def _open(name: str, label: str, option: str) -> int:
    """Return a descriptor to read from; a pipe that nobody writes to is no reason to wait here."""
    try:
        if name in _STANDARD:
            if os.isatty(0):
                raise UsageError(
                    f"{label} {name}: standard input is a terminal, so nothing comes through it",
                    hint="pipe the content in (zcat FILE | sfs ...), or name the file",
                    option=option,
                )
            return os.dup(0)
        if Path(name).parent.name == "fd":
            return os.dup(int(Path(name).name))
        return os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{label} {name} cannot be read: {reason.lower()}",
            hint="is it still open? a shell closes <(...) at the end of the command",
            option=option,
        ) from None


def _copy(name: str, label: str, option: str, target: Path, messages: Messages) -> None:
    """Copy what comes through a pipe to a file, until its last writer closes it."""
    source = _open(name, label, option)
    checked = told = False
    size = 0
    began = time.monotonic()
    messages.phase(f"reading {_title(name)}")
    try:
        poll = select.poll()
        poll.register(source, select.POLLIN | select.POLLHUP | select.POLLERR)
        with target.open("wb") as file:
            while True:
                if not poll.poll(1000 * WAIT_SECONDS):
                    if not told and not size:
                        seconds = time.monotonic() - began
                        messages.note(
                            f"{label} {name}: nothing has come through this pipe for "
                            f"{seconds:.0f} s; waiting (Ctrl-C ends it)"
                        )
                        told = True
                    continue
                try:
                    data = os.read(source, STEP)
                except BlockingIOError:
                    continue
                if not data:
                    break
                if size // (64 * STEP) != (size + len(data)) // (64 * STEP) or not size:
                    _check_room(target)
                size += len(data)
                file.write(data)
                if size >= _HEAD and not checked and not data.startswith(_PACKED):
                    file.flush()
                    _check_kind(target, label, name, option)  # before more than this is copied
                checked = checked or size >= _HEAD
    except OSError as error:
        raise unwritable(target.parent, error, "--scratch") from None
    finally:
        os.close(source)
    if not size:
        raise InputError(
            f"{label} {name}: nothing came through {_title(name)}",
            hint="did the command before the pipe fail? (set -o pipefail)",
            option=option,
        )
    _check_kind(target, label, name, option)


def _fetch(url: str, label: str, option: str, target: Path, messages: Messages) -> None:
    """Copy a file from an address, going on where a connection has ended.

    Raises MissingExtraError without what fsspec needs for such an address.
    """
    named, known, step = public(url), None, 8 * STEP
    need_extra("fsspec", "cloud", f"{label} {named} needs fsspec")
    import fsspec

    messages.phase(f"reading {named}")
    for pause in PAUSES:
        try:
            with fsspec.open(url, "rb", block_size=step) as source, target.open("ab") as file:
                size = getattr(source, "size", None)
                if size is None or size != known:  # sent as a whole only, or replaced meanwhile
                    file.truncate(0)
                else:
                    source.seek(file.tell())
                known = size
                while data := source.read(8 * STEP):
                    _check_room(target)
                    file.write(data)
                if size not in (None, file.tell()):
                    raise OSError(f"{file.tell():,} bytes of {size:,} came")
                break
        except ImportError as error:
            hint = "pip install 'sfs-cli[cloud]', or copy the file to this machine"
            raise MissingExtraError(f"{label} {named}: {error}", hint=hint) from None
        except InputError:
            raise
        except Exception as error:  # each library has kinds of its own for the network
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise unwritable(target.parent, error, "--scratch") from None
            reason = public(str(error.__cause__ or error)) or type(error).__name__
            whole = isinstance(error, ValueError) and step  # such as a server without ranges
            if not pause or (isinstance(error, _FINAL) and not whole):
                what = f"{label} {named} cannot be read: {reason}"
                hint = "check the address, and the credentials that this machine has"
                raise InputError(what, hint=hint, option=option) from None
            step = 0 if whole else step  # as a whole
            messages.note(f"{named}: {reason}; trying again")
            time.sleep(pause)
    with target.open("rb") as file:
        if file.read(_HEAD).lstrip().lower().startswith((b"<!doctype html", b"<html")):
            what = f"{label} {named} is a web page"
            hint = "give the address of the file itself, as its download link has it"
            raise InputError(what, hint=hint, option=option)


def _check_room(target: Path) -> None:
    """Refuse to fill the disk."""
    room = shutil.disk_usage(target.parent)
    if room.free < min(SPARE, room.total // SPARE_PART):
        raise InputError(
            "there is hardly any space left on the disk for the copy of an input",
            where=str(target.parent),
            hint="free some space, or give another --scratch",
            option="scratch",
        )


def _check_kind(path: Path, label: str, name: str, option: str) -> None:
    """Refuse what no reader can take from a pipe."""
    kind = recognize(path).kind
    if kind in _REFUSED and not _is_npy(path):
        what = f"{label} {name}: {kind.value} cannot be read from a pipe"
        raise InputError(what, hint=_REFUSED[kind], option=option)


def _is_npy(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_NPY)) == _NPY


def _suffix(path: Path, what: str) -> str:
    """Return the ending that the name of such a file usually has, by which readers choose.

    `what` it is for decides where text may be several things: an option, or a kind of source.
    """
    content = recognize(path)
    if content.kind in _SUFFIXES:
        return _SUFFIXES[content.kind]
    if content.kind is Kind.HDF5:
        return _hdf5_suffix(path)
    if content.kind is not Kind.TEXT:
        return ".npy" if _is_npy(path) else ""
    packed = PACKED[content.compression]
    lines = [text for _, text in first_lines(path, 5)]
    if what in _SETS and lines[0].startswith("!"):
        return f".gaf{packed}"
    if what in _SETS and _is_gmt(lines, sure=what == "sets"):
        return f".gmt{packed}"
    rows = [line for line in lines if not line.startswith("#")] or lines
    return (".csv" if "," in rows[0] and "\t" not in rows[0] else ".tsv") + packed


def _is_gmt(lines: list[str], *, sure: bool) -> bool:
    """Tell whether lines are gene sets: of different lengths, or with a description or an address.

    A list of genes may have further columns, and a table of terms has numbers.
    """
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    if not rows or min(map(len, rows)) < 3:
        return sure
    told = all(row[1].startswith("http") or row[1] in ("", "na", "NA", row[0]) for row in rows)
    values = any(is_number(row[2]) for row in rows[1:])
    return sure or (not values and (told or len(set(map(len, rows))) > 1))


def _hdf5_suffix(path: Path) -> str:
    """Return the ending of the HDF5 formats that are read without a further name."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            keys = set(file)
    except (OSError, RuntimeError):
        return ".h5ad"  # whose reader says what is wrong
    if "mod" in keys:
        raise InputError(
            "MuData cannot be read from a pipe: a modality has to be named",
            where=shown(str(path)),
            hint="write it to a file, and give FILE.h5mu:MODALITY",
        )
    return ".h5" if "obs" not in keys and "var" not in keys else ".h5ad"
