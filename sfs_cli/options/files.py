"""Configuration files: the options of a ranking under the names of its flags.

Paths in a file are relative to its folder, and so are those that ``run.json`` records.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfs_cli.errors import InputError, UsageError, nearest
from sfs_cli.options.documents import Node, kind_of, parse, place
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.options.fields import Option, keys_of, names_file, options_of
from sfs_cli.options.grammar import KEY, NAME, expanded, hosts, joined, key_of, parameters, typed
from sfs_cli.options.paths import is_copied, moved
from sfs_cli.options.rank import RankConfig
from sfs_cli.options.source import (
    KINDS,
    SOURCE_KEYS,
    SourceSpec,
    check_names,
    parse_source,
    source_of,
)

RANK_KEYS = keys_of(o for o in options_of(EvaluateConfig) if not o.of)
"""The options of a ranking, and of what judges it, by their keys: one file serves both."""
PARAMETERS = {host: parameters(RankConfig, host) for host in hosts(RankConfig)}
"""The options that have parameters, and these by their keys."""
_SOURCE_HINT = "write NAME: {kind: profile, path: mirna.csv}, or NAME: profile:mirna.csv"
_TEXT_HINT = "write a word or path; in quotes if it is true, or ends with a colon"
_SHOWN = {"format", "top"}
"""Options that change what is written of a ranking, and not the ranking."""

Lines = dict[str, int | None]
"""From options (source.NAME.OPTION in sources) to their lines, where these are known."""


@dataclass(frozen=True)
class ConfigFile:
    """The options of a file."""

    path: str = ""  # the file; empty where there is none
    # from attributes of `RankConfig` to values; paths are from the current directory
    options: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines = field(default_factory=dict)
    # of the run.json of a run: the digests of the files that it read, by their roles
    inputs: Mapping[str, str] = field(default_factory=dict)
    version: str = ""  # of the program that wrote it, if it is a run.json
    # of a run.json: what the run took for options that were left out, its defaults
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def merged(self, given: Mapping[str, Any], flags: Collection[str] = ()) -> dict[str, Any]:
        """Return the options of a run, where flags win over the file.

        All options that the command takes are in `given`, with their values or defaults; other
        options of the file are ignored. Those of `flags` were given as flags: a source among them
        replaces the source of the same name in the file.
        """
        own = {k: v for k, v in self.options.items() if k in given and k not in flags}
        if "source" in flags and "source" in self.options:
            check_names(given["source"])
            ours = {source.name: source for source in self.options["source"]}
            own["source"] = tuple((ours | {s.name: s for s in given["source"]}).values())
        return {**given, **self.pinned(given, flags), **own}

    def pinned(self, given: Iterable[str], flags: Collection[str] = ()) -> dict[str, Any]:
        """Return the defaults of the recorded run; none beside `flags` that make it another run.

        Those of another method, for example, would be without effect, or wrong.
        """
        if any(o.in_result for o in options_of(RankConfig) if o.name in {*flags} - _SHOWN):
            return {}
        return {name: value for name, value in self.defaults.items() if name in given}

    def checked(
        self, kind: type[RankConfig], merged: Mapping[str, Any], flags: Collection[str]
    ) -> RankConfig:
        """Return the configuration of options that were merged.

        Raises
        ------
        UsageError
            For options that contradict each other or need another; it names the line of the file
            that has one of them.
        """
        pinned = tuple(n for n in self.pinned(merged, flags) if n not in self.options)
        try:
            return kind(**merged, pinned=pinned)
        except UsageError as error:
            own = self.options.keys() & merged.keys()  # of the file, also sources beside flags
            own -= {*flags} - {"source"}
            about = [name for name in error.options if name.partition(".")[0] in own]
            if self.path and (about or not error.options):
                error.where = self.where(about[0] if about else "")
            raise

    def where(self, name: str) -> str:
        """Return the place of an option, or of the nearest option around it, for a message."""
        while name and name not in self.lines:
            name = name.rpartition(".")[0]
        return place(self.path, self.lines.get(name))


def load(path: str | Path) -> ConfigFile:
    """Read a configuration file, or the configuration in the ``run.json`` of an earlier run.

    Raises
    ------
    InputError
        When it is no YAML, TOML or JSON by its suffix, or cannot be read; for unknown keys, and for
        values of another type than the option.
    UsageError
        For a source or a parameter that is wrong, as on the command line.
    """
    name = str(path)
    root: dict[str, Node] = parse(Path(path)).value
    inputs: dict[str, str] = {}
    version, defaults = "", dict[str, Any]()
    if "config" in root and "versions" in root:  # the run.json of a run
        inputs = _recorded(root["inputs"]) if "inputs" in root else {}
        version = _plain(root["versions"], "versions", name).get("sfs", "")
        if "defaults" in root:
            defaults, _ = _options(_mapping_of(root["defaults"], "defaults", name), name)
        root = _mapping_of(root["config"], "config", name)
    options, lines = _options(root, name)
    return ConfigFile(name, options, lines, inputs, version, defaults)


def _options(root: dict[str, Node], name: str) -> tuple[dict[str, Any], Lines]:
    """Return the options of a file by their names, and their lines."""
    folder = os.path.dirname(name)  # noqa: PTH120
    options: dict[str, Any] = {}
    lines: Lines = {}
    value: Any
    for key, node in root.items():
        where = place(name, node.line)
        if key not in RANK_KEYS:
            part = next((o for o in options_of(RankConfig) if o.of and o.key == key), None)
            if part is None and _is_of_another_command(key):
                continue
            hint = nearest(key, RANK_KEYS)
            if part is not None:
                value = f"{part.word}PATH" if part.begins else f"NAME,{part.parameter}=VALUE"
                hint = f"it is a parameter now: {part.of.replace('_', '-')}: {value}"
            raise InputError(f"unknown option {key!r}", where=where, hint=hint)
        option = RANK_KEYS[key]
        lines[option.name] = node.line
        if option.name in PARAMETERS:
            _refuse_cut(node, key, where)
        if option.name == "source":
            value, places = _sources(node, name)
            lines |= places
        else:
            value = _value(_plain(node, key, name), option, key, where)
        with _located(where):
            given = expanded(RankConfig, {option.name: value})
        lines |= dict.fromkeys(given, node.line)
        for each in (o for o in options_of(EvaluateConfig) if o.name in given):
            options[each.name] = _from(folder, each, given[each.name])
    return options, lines


def _is_of_another_command(key: str) -> bool:
    """Tell whether a key is of a command that reads no file of options.

    A file for several commands may have some.
    """
    from sfs_cli.options.aggregate import AggregateConfig
    from sfs_cli.options.compare import CompareConfig
    from sfs_cli.options.report import ReportConfig
    from sfs_cli.options.select import SelectConfig

    return key in ("column", "key", "shards") or any(
        o.key == key and not (o.argument or o.of)
        for config in (CompareConfig, SelectConfig, ReportConfig, AggregateConfig)
        for o in options_of(config)
    )


def _refuse_cut(node: Node, what: str, where: str, of_sources: bool = False) -> None:
    """Refuse a text cut at its comma: ``[spec, ranking=phi3]`` or ``{spec,ranking=phi3}``."""
    inner = node.value if isinstance(node.value, dict | list) else ()
    items = (each if isinstance(each, str) else each.value for each in inner)
    for item in items:
        key, equals, rest = str(item).partition("=")
        begins = equals and (key in SOURCE_KEYS if of_sources else KEY.fullmatch(key))
        if begins and not (of_sources and rest.partition(":")[0] in KINDS):
            what = f"{what}: a list or mapping has cut the text at its comma, before {item}"
            hint = "write a block list or a mapping, or the text in quotes"
            raise InputError(what, where=where, hint=hint)


def _from(folder: str, option: Option, value: Any) -> Any:
    """Return a value with paths, which are relative to a folder, from the current directory."""
    if option.patterns:
        paths = [_joined(text, folder) for text in value]
        return tuple(path if names_file(path) else text for path, text in zip(paths, value))
    return moved(option, value, lambda _option, text, _what: _joined(text, folder))


def _recorded(node: Node) -> dict[str, str]:
    """Return the digests of the files that were read by their roles, where a record has them."""
    entries = (each.value for each in node.value)
    return {
        e["role"].value: e["sha256"].value for e in entries if "sha256" in e and e["sha256"].value
    }


def _mapping_of(
    node: Node, what: str, name: str, hint: str = "write name: value for each option"
) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        what = f"{what} is {kind_of(node.value)}, not options by name"
        raise InputError(what, where=place(name, node.line), hint=hint)
    return node.value


# ---- values --------------------------------------------------------------------------------------


def _plain(
    node: Node, what: str, file: str, line: int | None = None, refused: tuple[type, ...] = ()
) -> Any:
    """Return the data of a node without places; InputError for what is empty or refused in it."""
    line = node.line or line
    if isinstance(node.value, refused):
        what = f"{what}: {kind_of(node.value)} is not text"
        raise InputError(what, where=place(file, line), hint=_TEXT_HINT)
    if isinstance(node.value, dict | list):
        # a mapping has texts and lists; a list has texts, and one of members mappings, too
        of_members = (bool, list) if refused else (bool, list, dict)
        within = (bool, dict) if isinstance(node.value, dict) else of_members
        items = node.value.items() if isinstance(node.value, dict) else enumerate(node.value)
        found = dict[Any, Any]()
        for key, inner in items:
            of = f"{key} of {what}" if isinstance(key, str) else what
            _refuse_cut(inner, of, place(file, inner.line or line))
            is_default = key == NAME and inner.value is None  # in the record of a run
            found[key] = None if is_default else _plain(inner, of, file, line, within)
        return found if isinstance(node.value, dict) else list(found.values())
    if node.value is None or (isinstance(node.value, str) and not node.value.strip()):
        hint = "give it one, or leave the line out"
        raise InputError(f"{what} has no value", where=place(file, line), hint=hint)
    return node.value


def _value(value: Any, option: Option, what: str, where: str) -> Any:
    """Return the value of an option, as the type that the option has."""
    if isinstance(value, dict) and option.name in PARAMETERS:
        return value
    if option.type is bool:
        if isinstance(value, bool):
            return value
        hint = "write true or false, without quotes"
        raise InputError(f"{what}: {value!r} is not true or false", where=where, hint=hint)
    if option.items is not None and isinstance(value, list):
        if not value:
            raise InputError(f"{what} is an empty list", where=where, hint="leave it out")
        return tuple(map(str, value)) if option.parse else ",".join(map(str, value))
    if not isinstance(value, str):
        what = f"{what}: {kind_of(value)} is not text"
        raise InputError(what, where=where, hint=_TEXT_HINT)
    if option.parse is not None:
        return option.parse(value)
    try:
        return typed(option, value)
    except UsageError as error:
        raise InputError(error.what, where=where, hint=error.hint) from None


# ---- sources -------------------------------------------------------------------------------------


def _sources(node: Node, file: str) -> tuple[tuple[SourceSpec, ...], Lines]:
    """Return the sources, and the lines of each and of its options."""
    sources: list[SourceSpec] = []
    lines: Lines = {}
    if isinstance(node.value, list):
        _refuse_cut(node, "source", place(file, node.line), of_sources=True)
        items: Iterable[tuple[str, Node]] = (("", item) for item in node.value)
    else:
        items = _mapping_of(node, "source", file, _SOURCE_HINT).items()
    for key, inner in items:
        try:
            sources.append(_source(key, inner, file))
        except UsageError as error:
            where = place(file, _line_of(error, inner))
            error.where = f"{where} ({f'source {key}'.rstrip()})"
            raise
        at = f"source.{sources[-1].name}"
        lines[at] = inner.line
        for written, each in inner.value.items() if isinstance(inner.value, dict) else ():
            if each.line and written != NAME:
                lines[f"{at}.{SOURCE_KEYS[key_of(written)].name}"] = each.line
    with _located(f"{place(file, node.line)} (source)"):
        check_names(sources)
    return tuple(sources), lines


def _source(name: str, node: Node, file: str) -> SourceSpec:
    """Return a source; one of a list, without a name before it, has it inside."""
    where, what = place(file, node.line), f"source {name}".rstrip()
    if isinstance(node.value, dict) and not name and NAME not in node.value:
        hint = "write {name: mirna, kind: profile, path: mirna.csv}, or a text in quotes"
        if "=" in (first := next(iter(node.value), "")):
            hint = f"a text that ends in a colon is a mapping; put it in quotes: '{first}:'"
        raise InputError(f"{what}: a mapping in a list has no name", where=where, hint=hint)
    _refuse_cut(node, what, where)
    value = _plain(node, what, file)
    if isinstance(value, str):
        return parse_source(f"{name}={value}" if name else value)
    _mapping_of(node, what, file, _SOURCE_HINT)  # neither a list nor true
    return source_of(name or str(value.pop(NAME)), value.items())


def _line_of(error: UsageError, node: Node) -> int | None:
    """Return the line of the key of a source that an error is about, else that of the source."""
    about = {key_of(name.rpartition(".")[2]) for name in error.options}
    inner = node.value.items() if isinstance(node.value, dict) else ()
    return next((each.line for key, each in inner if key_of(key) in about), node.line)


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Add the place in the file to the error of a source."""
    try:
        yield
    except UsageError as error:
        error.where = where
        raise


# ---- paths ---------------------------------------------------------------------------------------


def _joined(text: str, folder: str) -> str:
    """Return a path that is relative to a folder as one from the current directory."""
    if is_copied(text):
        return text
    path = os.path.join(folder, text)  # noqa: PTH118
    if ".." not in text.split("/"):
        return path
    short = os.path.normpath(path)  # leads elsewhere where a folder is a link
    return short if os.path.realpath(short) == os.path.realpath(path) else path


def resolved(
    config: RankConfig,
    folder: str,
    without: Collection[str] = (),
    is_object: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Return a configuration as a file in a folder has it: complete, with paths from there.

    Options without effect on the result are left out, and so are those that are not set, and those
    of `without`. Defaults are written, so that the file means the same when a later version has
    others. The name of what `is_object` finds, an object of Python, is no path.
    """

    def move(_option: Option, text: str, _what: str) -> str:
        return text if is_object(text) is not None else _relative(text, folder)

    options = [o for o in options_of(type(config)) if config.VERB in o.verbs]
    source = moved(RANK_KEYS["source"], config.source, move)
    found = replace(config, source=source).result_options()
    values = {o.name: moved(o, found.get(o.name), move) for o in options}
    return written({name: value for name, value in values.items() if name not in without})


def written(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by their keys, those that are set, with their parameters in mappings."""
    found = joined(RankConfig, values)
    keys = {o.name: o.key for o in options_of(EvaluateConfig)}
    return {keys[k]: value for k, value in found.items() if value not in (None, (), {})}


def _relative(text: str, folder: str) -> str:
    """Return a path as it is from a folder; only links to folders are resolved.

    The name of a link to a file is kept, because its suffix may name the format.
    """
    if is_copied(text):
        return text
    file, colon, part = text.rpartition(":")
    if not colon or os.path.exists(text):  # noqa: PTH110
        file, colon, part = text, "", ""
    home, name = os.path.split(file.rstrip("/") or file)
    real = os.path.join(os.path.realpath(home), name)  # noqa: PTH118
    return os.path.relpath(real, os.path.realpath(folder)) + colon + part
