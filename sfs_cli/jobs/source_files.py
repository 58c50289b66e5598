"""The files that the sources of a run are read from, and which part of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sfs_cli.config import RankConfig
from sfs_cli.io.gmt import split_set_spec
from sfs_cli.io.table import split_label_spec
from sfs_cli.sources.spec import SourceSpec

File = tuple[str, Path, str | None]
"""Role (the option that names it), path, and the part of it that is read."""


def source_files(config: RankConfig) -> Iterator[File]:
    """Yield every file that the sources of a configuration name."""
    if config.id_map is not None:
        yield "id_map", Path(config.id_map), None
    for spec in config.source:
        yield from _files_of(spec)


def _files_of(spec: SourceSpec) -> Iterator[File]:
    role = f"source.{spec.name}"
    if spec.path and not spec.path.startswith(("obs:", "obsp:")):
        yield f"{role}.path", *_split(spec)
    if spec.seeds is not None:
        path, sets = split_set_spec(spec.seeds)
        yield f"{role}.seeds", path, ",".join(sets) or None
    if spec.id_map is not None:
        yield f"{role}.id-map", Path(spec.id_map), None


def _split(spec: SourceSpec) -> tuple[Path, str | None]:
    if spec.kind in ("labels", "hierarchy"):
        return split_label_spec(spec.path)
    if spec.kind in ("genes", "terms"):
        path, sets = split_set_spec(spec.path)
        return path, ",".join(sets) or None
    return Path(spec.path), None
