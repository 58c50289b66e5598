"""``sfs config check``: what a configuration file asks for, and whether its files are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from sfs_cli.config import RankConfig
from sfs_cli.config.files import ConfigFile
from sfs_cli.config.typed import key_of
from sfs_cli.errors import CHECK_PATH, InputError
from sfs_cli.io.modality import split_modality
from sfs_cli.io.table import split_label_spec
from sfs_cli.jobs.source_files import source_files
from sfs_cli.sources.spec import SourceSpec

NO_MATRIX = "MATRIX"
"""Stands for the matrix of a file that leaves it to the command line."""


def describe(file: ConfigFile) -> str:
    """Check a configuration as a run would before it reads anything, and return a summary.

    Raises
    ------
    UsageError
        For options that contradict each other or lack a partner.
    InputError
        When a file that it names is not there.
    """
    config = file.config({f.name: f.default for f in fields(RankConfig)} | {"matrix": NO_MATRIX})
    for name, path in _files(config):
        if name == "matrix" and "matrix" not in file.options:
            continue
        if not path.exists():
            raise InputError(
                f"{name.replace('_', '-')} {path} is not there",
                where=file.where(name.rpartition(".")[0] or name),
                hint=f"{CHECK_PATH}; paths are relative to the folder of the configuration",
            )
    lines = [
        ("matrix", config.matrix if "matrix" in file.options else "to be given"),
        *_told(config),
    ]
    width = max(len(name) for name, _ in lines) + 2
    return "".join(f"{name:<{width}}{text}\n" for name, text in lines)


def _files(config: RankConfig) -> Iterator[tuple[str, Path]]:
    """Yield the files that a run reads, by the options that name them."""
    yield "matrix", split_modality(Path(config.matrix))[0]
    if config.labels is not None and not config.labels.startswith("obs:"):
        yield "labels", split_label_spec(config.labels)[0]
    if config.similarity_file is not None:
        yield "similarity_file", Path(config.similarity_file)
    for role, path, _ in source_files(config):
        yield role, path


def _told(config: RankConfig) -> Iterator[tuple[str, str]]:
    """Yield the options that differ from their defaults, and the method."""
    for f in fields(RankConfig):
        value = getattr(config, f.name)
        if f.name == "source":
            yield from ((f"source {source.name}", _source(source)) for source in value)
        elif f.name == "method" or (f.name != "matrix" and value != f.default):
            yield key_of(f.name), _shown(value)


def _source(source: SourceSpec) -> str:
    known = source.plain()
    words = [known.pop("kind"), known.pop("path", "")]
    words += [f"{name}={value}" for name, value in known.items()]
    return " ".join(word for word in words if word)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)
