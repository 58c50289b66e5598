"""Configuration files: the options of a run under the names of the flags."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfs_cli.config.documents import Node, kind_of, parse
from sfs_cli.config.places import PATHS, joined, source_joined
from sfs_cli.config.rank import RankConfig
from sfs_cli.config.typed import OPTION_OF, RANK_TYPES, SOURCE_TYPES, source_keys, typed
from sfs_cli.errors import InputError, UsageError, nearest
from sfs_cli.sources.parsing import parse_source, source_from
from sfs_cli.sources.spec import KINDS, SourceSpec, check_names

_SOURCE_HINT = "write NAME: {kind: profile, path: mirna.csv}, or NAME: profile:mirna.csv"


@dataclass(frozen=True)
class ConfigFile:
    """The options that a file gives.

    Attributes
    ----------
    path : str
        The file; empty where there is none.
    options : mapping
        From attributes of `RankConfig` to values; paths are from the current directory.
    lines : mapping
        The line of each option, and of each source as ``source.NAME``, where that is known.
    """

    path: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int | None] = field(default_factory=dict)

    def config(self, given: Mapping[str, Any], flags: Collection[str] = ()) -> RankConfig:
        """Return the configuration of a run, where flags win over the file.

        Parameters
        ----------
        given : mapping
            Every option that the verb takes, with its value or default. Others that the file has
            are left aside.
        flags : collection of str
            The options that are really given. A source among them replaces that of the same name.

        Raises
        ------
        UsageError
            For options that contradict each other or lack a partner; it names the file where the
            file has one of them.
        """
        own = {k: v for k, v in self.options.items() if k in given and k not in flags}
        if "source" in flags and "source" in self.options:
            check_names(given["source"])
            own["source"] = _replaced(self.options["source"], given["source"])
        with self._said_of(own):
            return RankConfig(**{**given, **own})

    def where(self, name: str | None = None) -> str:
        """Return where an option is, for a message."""
        line = self.lines.get(name) if name else None
        return _place(self.path, line)

    @contextmanager
    def _said_of(self, own: Mapping[str, Any]) -> Iterator[None]:
        """Name the file in errors about options that it gives."""
        try:
            yield
        except UsageError as error:
            told = f"{error.where or ''} {error.what}"
            names = [OPTION_OF.get(key) for key in re.findall(r"--([a-z0-9-]+)", told)]
            ours = [name for name in names if name in own]
            if self.path and (ours or not any(names)):
                named = re.search(r"--source ([\w.+-]+)", told)
                source = f"source.{named[1]}" if named else ""
                error.where = self.where(source if source in self.lines else (ours or [None])[0])
            raise


def load(path: str | Path) -> ConfigFile:
    """Read a configuration file, or the configuration in the ``run.json`` of an earlier run.

    Parameters
    ----------
    path : str or Path
        YAML, TOML or JSON, by its suffix.

    Raises
    ------
    InputError
        When it cannot be read; for keys that are not known or there twice, and values of another
        type than the option has.
    UsageError
        For a source that cannot be meant.
    """
    name = str(path)
    root: dict[str, Node] = parse(Path(path)).value
    if "config" in root and "fingerprint" in root:  # the record of a run
        root = _expect_mapping(root["config"], "config", name)
    folder = os.path.dirname(name)  # noqa: PTH120
    options: dict[str, Any] = {}
    lines: dict[str, int | None] = {}
    for key, node in root.items():
        where = _place(name, node.line)
        _check_key(key, OPTION_OF, where)
        option = OPTION_OF[key]
        lines[option] = node.line
        if option == "source":
            sources, places = _sources(node, name)
            options[option] = tuple(source_joined(source, folder) for source in sources)
            lines |= {f"source.{source}": line for source, line in places.items()}
            continue
        value = typed(node, option, RANK_TYPES[option], key, where)
        options[option] = joined(option, value, folder) if option in PATHS else value
    return ConfigFile(name, options, lines)


def _place(name: str, line: int | None) -> str:
    return name if line is None else f"{name}, line {line}"


def _check_key(key: str, known: Iterable[str], where: str, of: str = "") -> None:
    if key not in known:
        raise InputError(
            f"the option {key!r}{of} is not known", where=where, hint=nearest(key, known)
        )


def _expect_mapping(node: Node, what: str, name: str, hint: str = "") -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise InputError(
            f"{what} is {kind_of(node)}, not options by name",
            where=_place(name, node.line),
            hint=hint or "write name: value for each option",
        )
    return node.value


def _sources(node: Node, name: str) -> tuple[list[SourceSpec], dict[str, int | None]]:
    """Return the sources, and the lines they are on."""
    found: list[tuple[SourceSpec, int | None]] = []
    if isinstance(node.value, list):
        for item in node.value:
            where = _place(name, item.line)
            text = typed(item, "source", str, "source", where)
            with _named("source", where):
                found.append((parse_source(text), item.line))
    else:
        for key, inner in _expect_mapping(node, "source", name, _SOURCE_HINT).items():
            found.append((_source(key, inner, name), inner.line))
    sources = [source for source, _ in found]
    with _named("source", _place(name, node.line)):
        check_names(sources)
    return sources, {source.name: line for source, line in found}


def _source(name: str, node: Node, file: str) -> SourceSpec:
    where, what = _place(file, node.line), f"source {name}"
    if isinstance(node.value, str) and node.value.strip():
        with _named(what, where):
            return parse_source(f"{name}={node.value}")
    inner = _expect_mapping(node, what, file, _SOURCE_HINT)
    kind = inner["kind"].value if "kind" in inner else None
    known = source_keys(kind if isinstance(kind, str) and kind in KINDS else None)
    every = source_keys(None)
    given: dict[str, Any] = {}
    for key, value in inner.items():
        place = _place(file, value.line or node.line)
        if key not in every:
            _check_key(key, known, place, f" of {what}")
        option = every[key]
        given[key] = typed(value, option, SOURCE_TYPES[option], f"{what}, {key}", place)
    with _named(what, where):
        return source_from(name, given)


@contextmanager
def _named(what: str, where: str) -> Iterator[None]:
    """Say where in the file a source is that is refused."""
    try:
        yield
    except UsageError as error:
        error.where = f"{where} ({what})"
        raise


def _replaced(ours: Iterable[SourceSpec], given: Iterable[SourceSpec]) -> tuple[SourceSpec, ...]:
    """Return sources, those of the same name replaced in their places and the others added."""
    sources = {source.name: source for source in ours}
    return tuple((sources | {source.name: source for source in given}).values())
