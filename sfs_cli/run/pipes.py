"""Inputs from standard input and from addresses: copied to a temporary file at first.

Readers need files: they look at the beginning, and read several times. Every message and record
names such an input as it was given.
"""

from __future__ import annotations

import os
import shutil
import tempfile
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
    is_full,
    need_extra,
    reason_of,
    unwritable,
)
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.files.text import PACKED, first_lines
from sfs_cli.logs import Messages
from sfs_cli.options.fields import Config, Option, options_of
from sfs_cli.options.paths import (
    OPENS,
    READS,
    STANDARD_INPUT,
    is_copied,
    is_url,
    moved,
    public,
    split_part,
)

C = TypeVar("C", bound=Config)

_TITLE = "standard input"
_SUFFIXES = {
    Kind.PARQUET: ".parquet",
    Kind.ARROW: ".feather",
    Kind.GCT: ".gct",
    Kind.SERIES: ".txt",
    Kind.ZIP: ".npz",
    Kind.R_DATA: ".rds",
    Kind.WORKBOOK: ".xlsx",
    Kind.HDF5: ".h5ad",
}


@contextmanager
def spooled(
    options: Iterable[Option], values: Mapping[str, Any], messages: Messages
) -> Iterator[dict[str, Any]]:
    """Give the values of options with the path of a copy in place of ``-`` and of addresses.

    The copies go at the end.

    Raises
    ------
    UsageError
        When standard input is to be read twice, or is a terminal.
    InputError
        When nothing comes, or it cannot be read.
    """
    copies: dict[str, Path] = {}
    secret: list[str] = []

    with tempfile.TemporaryDirectory(prefix="sfs-", ignore_cleanup_errors=True) as folder:

        def copy(option: Option, text: str, _what: str) -> str:
            if (option.path or READS) not in (READS, OPENS) or not is_copied(text):
                return text
            name, part = split_part(text)
            label = "MATRIX" if option.argument else option.flag
            if not is_url(name):
                if STANDARD_INPUT in copies:
                    raise ConflictError(
                        f"{label} {name}: standard input can be read once only",
                        hint="write it to a file, and give that",
                        option=option.name,
                    )
                name = STANDARD_INPUT
            if name not in copies:
                place = Path(folder) / str(len(copies))  # two may have the same name
                place.mkdir()
                if name == STANDARD_INPUT:
                    copies[name] = _from_standard_input(place, label, option.name, messages)
                else:
                    if (given := public(name)) != name:
                        secret.append(name)
                        name_copy(name, given)
                    copies[name] = _from_address(name, place, label, option.name, messages)
            return str(copies[name]) + part

        try:
            yield {**values, **{o.name: moved(o, values[o.name], copy) for o in options}}
        except SfsError as error:  # it is shown when the names of the copies are forgotten
            error.what = shown(error.what)
            error.where, error.hint = (t and shown(t) for t in (error.where, error.hint))
            raise
        finally:
            for path in (*map(str, copies.values()), *secret):
                forget_copy(path)


def as_given(config: C) -> C:
    """Return a configuration with what was given in place of the copies."""
    if not has_copies():
        return config
    given = {o.name: moved(o, getattr(config, o.name), _as_given) for o in options_of(type(config))}
    return replace(config, **given)  # type: ignore[type-var]


def _as_given(_option: Option, text: str, _what: str) -> str:
    name = shown(text)
    return STANDARD_INPUT + name.removeprefix(_TITLE) if name.startswith(_TITLE) else name


def _from_standard_input(folder: Path, label: str, option: str, messages: Messages) -> Path:
    """Copy what comes through standard input into a folder, and return the copy."""
    if os.isatty(0):
        raise UsageError(
            f"{label} -: standard input is a terminal, so nothing comes through it",
            hint="pipe the content in (zcat FILE | sfs ...), or name the file",
            option=option,
        )
    messages.phase(f"reading {_TITLE}")
    path = folder / "stdin"
    try:
        with open(0, "rb", closefd=False) as source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
    except OSError as error:
        if is_full(error):
            raise unwritable(folder.parent, error, "TMPDIR") from None
        what = f"{label} -: {_TITLE} cannot be read: {reason_of(error)}"
        raise InputError(what, hint="name the file", option=option) from None
    if not path.stat().st_size:
        raise InputError(
            f"{label} -: nothing came through {_TITLE}",
            hint="did the command before the pipe fail? (set -o pipefail)",
            option=option,
        )
    path = path.rename(path.with_name(path.name + _suffix(path)))
    name_copy(str(path), _TITLE)
    return path


def _from_address(url: str, folder: Path, label: str, option: str, messages: Messages) -> Path:
    """Copy a file from an address into a folder, and return the copy.

    Raises MissingExtraError without what fsspec needs for such an address.
    """
    named = public(url)
    path = folder / Path(named).name
    need_extra("fsspec", "cloud", f"{label} {named} needs fsspec")
    from fsspec.core import url_to_fs

    messages.phase(f"reading {named}")
    try:
        files, place = url_to_fs(url)
        files.get_file(place, str(path))
    except ImportError as error:
        hint = "pip install 'sfs-cli[cloud]', or copy the file to this machine"
        raise MissingExtraError(f"{label} {named}: {error}", hint=hint) from None
    except Exception as error:  # each library has kinds of its own for the network
        if isinstance(error, OSError) and is_full(error):
            raise unwritable(folder.parent, error, "TMPDIR") from None
        reason = public(str(error.__cause__ or error)) or type(error).__name__
        if isinstance(error, FileNotFoundError):
            reason = "there is no such file"
        raise InputError(
            f"{label} {named} cannot be read: {reason}",
            hint="check the address, and the credentials that this machine has",
            option=option,
        ) from None
    if not path.is_file():
        what = f"{label} {named} is a folder"
        hint = "give the address of a file, or copy the folder to this machine"
        raise InputError(what, hint=hint, option=option)
    with path.open("rb") as file:
        if file.read(512).lstrip().lower().startswith((b"<!doctype html", b"<html")):
            what = f"{label} {named} is a web page"
            hint = "give the address of the file itself, as its download link has it"
            raise InputError(what, hint=hint, option=option)
    if not path.suffix:
        path = path.rename(path.with_name(path.name + _suffix(path)))
    name_copy(str(path), named)
    return path


def _suffix(path: Path) -> str:
    """Return the ending that the name of such a file usually has, by which readers choose."""
    content = recognize(path)
    if content.kind is not Kind.TEXT:
        return _SUFFIXES.get(content.kind, "")
    line = next((text for _, text in first_lines(path, 5) if not text.startswith("#")), "")
    return (".csv" if "," in line and "\t" not in line else ".tsv") + PACKED[content.compression]
