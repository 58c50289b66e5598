"""Inputs from standard input and from addresses: copied to a temporary file at first.

Readers need files: they look at the beginning, and read several times. Every message and record
names such an input as it was given.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sfs_cli.display import has_copies, name_copy, with_given
from sfs_cli.errors import (
    ConflictError,
    InputError,
    MissingExtraError,
    UsageError,
    is_full,
    need_extra,
    unwritable,
)
from sfs_cli.io.files.sniff import Kind, recognize
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
    copies: dict[str, str] = {}

    with tempfile.TemporaryDirectory(prefix="sfs-", ignore_cleanup_errors=True) as folder:

        def copy(option: Option, text: str, _what: str) -> str:
            if (option.path or READS) not in (READS, OPENS) or not is_copied(text):
                return text
            name, part = split_part(text)
            read: Callable[[str, Path, str, str], Path] = _from_address
            given = public(name)
            if not is_url(name):  # /dev/stdin is the same
                read, name, given = _from_standard_input, STANDARD_INPUT, _TITLE
            label = f"{'MATRIX' if option.argument else option.flag} {public(name)}"
            if name == STANDARD_INPUT and name in copies:
                raise ConflictError(
                    f"{label}: standard input can be read once only",
                    hint="write it to a file, and give that",
                    option=option.name,
                )
            if name not in copies:
                messages.phase(f"reading {given}")
                place = Path(folder, str(len(copies)))  # two may have the same name
                place.mkdir()
                if is_url(name):
                    name_copy(name, given)  # without what is secret
                try:
                    path = read(name, place, label, option.name)
                except OSError as error:
                    if is_full(error):
                        raise unwritable(folder, error, "TMPDIR") from None
                    raise
                # `--write-h5ad` knows AnnData by the suffix
                if not path.suffix and recognize(path).kind is Kind.HDF5:
                    path = path.rename(path.with_suffix(".h5ad"))
                copies[name] = str(path)
                name_copy(copies[name], given)
            return copies[name] + part

        yield {**values, **{o.name: moved(o, values[o.name], copy) for o in options}}


def as_given(config: C) -> C:
    """Return a configuration with what was given in place of the copies."""
    if not has_copies():
        return config

    def given(_option: Option, text: str, _what: str) -> str:
        name = with_given(text)  # a path, whatever its bytes
        return STANDARD_INPUT + name.removeprefix(_TITLE) if name.startswith(_TITLE) else name

    values = {o.name: moved(o, getattr(config, o.name), given) for o in options_of(type(config))}
    return replace(config, **values)  # type: ignore[type-var]


def _from_standard_input(_name: str, folder: Path, label: str, option: str) -> Path:
    """Copy what comes through standard input into a folder, and return the copy."""
    if os.isatty(0):
        raise UsageError(
            f"{label}: standard input is a terminal, so nothing comes through it",
            hint="pipe the content in (zcat FILE | sfs ...), or name the file",
            option=option,
        )
    path = folder / "stdin"
    with open(0, "rb", closefd=False) as source, path.open("wb") as file:
        shutil.copyfileobj(source, file)
    if not path.stat().st_size:
        raise InputError(
            f"{label}: nothing came through {_TITLE}",
            hint="did the command before the pipe fail? (set -o pipefail)",
            option=option,
        )
    return path


def _from_address(url: str, folder: Path, label: str, option: str) -> Path:
    """Copy a file from an address into a folder, and return the copy.

    Raises MissingExtraError without what fsspec needs for such an address.
    """
    need_extra("fsspec", "cloud", f"{label} needs fsspec")
    from fsspec.core import url_to_fs

    path = folder / Path(public(url)).name
    try:
        files, place = url_to_fs(url)
        files.get_file(place, str(path))
    except ImportError as error:
        hint = "pip install 'sfs-cli[cloud]', or copy the file to this machine"
        raise MissingExtraError(f"{label}: {error}", hint=hint) from None
    except Exception as error:  # each library has kinds of its own for the network
        if isinstance(error, OSError) and is_full(error):
            raise
        reason = public(str(error.__cause__ or error)) or type(error).__name__
        if isinstance(error, FileNotFoundError):
            reason = "there is no such file"
        raise InputError(
            f"{label} cannot be read: {reason}",
            hint="check the address, and the credentials that this machine has",
            option=option,
        ) from None
    if not path.is_file():
        hint = "give the address of a file, or copy the folder to this machine"
        raise InputError(f"{label} is a folder", hint=hint, option=option)
    return path
