"""Paths of a configuration: from the folder of its file, and back."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from sfs_cli.config.rank import RankConfig
from sfs_cli.config.typed import key_of
from sfs_cli.sources.spec import SourceSpec

PATHS = (
    "matrix",
    "labels",
    "similarity_file",
    "id_map",
    "out",
    "write_h5ad",
    "weights_out",
    "scratch",
)
"""Options that name a file or a folder, some with a part of it: ``FILE:COLUMN``."""
SOURCE_PATHS = ("path", "seeds", "id_map")
INSIDE = ("obs:", "obsp:")
"""What is inside the matrix file."""


def joined(option: str, text: str, folder: str) -> str:
    """Return a path that is relative to a folder as one from the current directory."""
    if _is_inside(option, text):
        return text
    path = os.path.join(folder, text)  # noqa: PTH118
    if ".." not in text.split("/"):
        return path
    short = os.path.normpath(path)  # another place where a folder is a link
    return short if os.path.realpath(short) == os.path.realpath(path) else path


def source_joined(source: SourceSpec, folder: str) -> SourceSpec:
    """Return a source whose paths are relative to a folder as one from the current directory."""
    return _moved(source, lambda option, text: joined(option, text, folder))


def resolved(config: RankConfig, folder: str) -> dict[str, Any]:
    """Return a configuration as a file in a folder has it: complete, with paths from there.

    Options that have no effect on the result are left out, and those that depend on the data;
    defaults are there, so that the file means the same when they change.
    """
    sources = [
        _moved(source, lambda option, text: _relative(option, text, folder))
        for source in config.source
    ]
    options = replace(config, source=tuple(sources)).result_options()
    for option in PATHS:
        if options.get(option) is not None:
            options[option] = _relative(option, options[option], folder)
    return {key_of(k): v for k, v in options.items() if v is not None and v != () and v != {}}


def _moved(source: SourceSpec, move: Callable[[str, str], str]) -> SourceSpec:
    given = {option: asdict(source)[option] for option in SOURCE_PATHS}
    moved: dict[str, Any] = {k: move(k, v) for k, v in given.items() if v}
    return replace(source, **moved)


def _is_inside(option: str, text: str) -> bool:
    return option in ("labels", "path") and text.startswith(INSIDE)


def _relative(option: str, text: str, folder: str) -> str:
    """Return a path as it is from a folder; links are followed to folders alone.

    The name of a link to a file is kept, because its suffix may tell the format.
    """
    if _is_inside(option, text):
        return text
    file, colon, part = (text, "", "") if os.path.exists(text) else text.rpartition(":")  # noqa: PTH110
    if not colon:
        file, part = text, ""
    home, name = os.path.split(file.rstrip("/") or file)
    real = os.path.join(os.path.realpath(home), name)  # noqa: PTH118
    return os.path.relpath(real, os.path.realpath(folder)) + colon + part
