"""Options with parameters: ``NAME,KEY=VALUE,...`` as text, or a mapping in files and in Python.

A comma begins a parameter only where ``KEY=`` follows, a word in lower case: every other comma, and
every later ``=``, belongs to what stands before. ``_`` in a key is ``-``. A configuration has its
parameters as options of their own, declared with the option that they belong to (`Option.of`).

Those of methods are made from the catalog: a configuration has one option for each name
(`MethodFields`). What it means, its values and default, and what goes together with it, are those
of the method that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Any

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, ON_SOURCES, Parameter
from sfs_cli.errors import UsageError, either, nearest
from sfs_cli.options.fields import (
    RANKING,
    Config,
    Option,
    flag,
    keys_of,
    option,
    option_fields,
    options_of,
    split_words,
    text_of_number,
)


def parameters_of(method: str) -> dict[str, Option]:
    """Return the parameters of a method by their names, `select` with them, as it declares them."""
    found = METHODS[method].parameters
    return {name: Option(name=name, **_facts(each)) for name, each in found.items()}


def _facts(parameter: Parameter) -> dict[str, Any]:
    listed = {"items": str, "parse": split_words} if parameter.type is tuple else {}
    return parameter._asdict() | listed | {"section": "Method", "verbs": RANKING}


def _field(name: str) -> tuple[str, str, Any]:
    """Return a name, its type, and the option for all methods that take it."""
    each = [m.parameters[name] for m in METHODS.values() if name in m.parameters]
    kinds = {one.type for one in each}
    kind = kinds.pop() if len(kinds) == 1 else str  # each method reads the text
    facts = _facts(Parameter("", kind, () if kind is tuple else None, word=each[0].word))
    return name, kind.__name__, option(**facts, takers=catalog.takers, taken_by="method")


if TYPE_CHECKING:

    @option_fields
    class MethodFields(Config):
        """The parameters of all methods; None stands for the default of the method.

        What is below `RankConfig` takes one as this, which has every attribute for type checkers.
        """

        def __getattr__(self, name: str) -> Any:
            """Return the value of a parameter."""

else:
    MethodFields = make_dataclass(
        "MethodFields",
        [_field(name) for name in catalog.OPTIONS if name != "select"],
        bases=(Config,),
        namespace={"__doc__": "The parameters of all methods."},  # without, Python makes a slow one
        frozen=True,
        kw_only=True,
        init=False,
        eq=False,
        repr=False,
    )


KEY = re.compile("[a-z][a-z0-9_-]*")
_BEGINS = re.compile(f",(?={KEY.pattern}=)")
NAME = "name"
"""The key of the name in a mapping."""


def split(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the name that a text begins with, and the keys and values of its parameters."""
    head, *words = _BEGINS.split(text)
    pairs = (word.partition("=") for word in words)
    return head, [(key_of(key), value) for key, _, value in pairs]


def name_of(value: Any) -> str | None:
    """Return the name that a text or a mapping gives, without its parameters."""
    if isinstance(value, Mapping):
        return value.get(NAME)
    return split(value)[0] if isinstance(value, str) else None


def names_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the names that texts and mappings give, without their parameters."""
    return tuple(map(name_of, values))


def parameter_called(config: type, key: str, values: Mapping[str, Any]) -> Option | None:
    """Return the parameter that a key stands for, of several that of a name among the values."""
    asked = key_of(key)
    found = [o for o in options_of(config) if o.of and asked in (o.key, o.parameter)]
    found.sort(key=lambda o: o.key != asked)
    taken = (o for o in found if o.takers and name_of(values.get(o.of)) in o.takers(o.name))
    return next(taken, found[0] if found else None)


def key_of(text: str) -> str:
    """Return a key as it is declared; that of Python's ``lambda_`` is lambda."""
    return text.rstrip("_").replace("_", "-")


def parameters(config: type, host: str) -> dict[str, Option]:
    """Return the parameters of an option of a configuration by their keys."""
    return {o.parameter: o for o in options_of(config) if o.of == host}


def hosts(config: type) -> list[str]:
    """Return the options of a configuration that have parameters."""
    return list(dict.fromkeys(o.of for o in options_of(config) if o.of))


def expanded(config: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options, with parameters as options of their own.

    Raises UsageError for an unknown key, a key twice, an empty value, or one of another type.
    """
    found = dict(values)
    for host in hosts(config):
        value = values.get(host)
        if isinstance(value, str | Mapping):
            name, given = read(config, host, value)
            found |= {host: name, **given}
            for key, o in parameters(config, host).items():
                if o.begins and str(name).startswith(key):
                    found |= {host: None, o.name: typed(o, name.removeprefix(key))}
    return found


def read(config: type, host: str, value: str | Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the name that a value gives, and the parameters by the names of their options."""
    known, options = parameters(config, host), keys_of(options_of(config))
    asked = next(o for o in options.values() if o.name == host)
    if isinstance(value, str):
        name, pairs = split(value)
    else:
        name = value.get(NAME, "")  # None: the default
        pairs = [(key_of(str(key)), each) for key, each in value.items() if key != NAME]
    if name == "":
        hint = f"write {{{NAME}: NAME, KEY: VALUE}}, or NAME,KEY=VALUE"
        raise UsageError(f"{asked.flag}: the name is missing", hint=hint, option=host)
    unknown = asked.problem(name, asked.label)
    if unknown is not None and ("=" in str(name) or str(name).split(",")[0] in asked.words):
        hint = "write NAME,KEY=VALUE without blanks, the key in lower case"
        raise UsageError(unknown[0], hint=hint, option=host)
    found = dict[str, Any]()
    taken = _taken(asked, name, dict(pairs), known)
    for key, text in pairs:
        if key not in taken:
            if unknown is not None:
                raise UsageError(unknown[0], hint=unknown[1], option=host)
            what = f"unknown parameter {key!r} of {asked.flag} {name}"
            hint = nearest(key, taken) if taken else "leave it out: it takes none"
            owners = [f"{flag(o.of)} {o.names}" for o in options.values() if o.parameter == key]
            hint += f"; {key}= is of {either(owners, 'and').rstrip()}" if owners else ""
            if key in options and not options[key].of:
                hint = f"it is an option of its own: {options[key].flag}"
            raise UsageError(what, hint=hint, option=host)
        option = known[key]
        if option.name in found:
            raise UsageError(f"{option.flag} is given twice", hint="leave one out", option=host)
        found[option.name] = typed(option, text)
        if option.type is tuple:
            found[option.name] = tuple(text_of(_member(config, m)) for m in found[option.name])
    return name, found


def _member(config: type, method: Any) -> Any:
    """Return a method, given as a text or as a mapping: its name, or a mapping."""
    return joined(config, expanded(config, {"method": method}))["method"]


def _taken(
    host: Option, name: Any, given: Mapping[str, Any], known: Mapping[str, Option]
) -> list[str]:
    """Return the parameters of a name by their keys; all where it is none that is declared."""
    names: tuple[Any, ...] = (name,)
    if host.name == "method" and name in ON_SOURCES:  # with those of the methods that it names
        members = given.get("members") or ()
        members = split_words(members) if isinstance(members, str) else members
        names += names_of(members) or (given.get("then", METHODS[name].options["then"]),)
    any_name = name not in host.words
    return [
        key
        for key, o in known.items()
        if not o.begins
        and (any_name or o.takers is None or any(each in o.takers(o.name) for each in names))
    ]


def typed(option: Option, value: Any) -> Any:
    """Return the value of a parameter as the type that its option has."""
    if isinstance(value, str) and not value.strip():
        hint = "give it one, or leave it out"
        raise UsageError(f"{option.flag} has no value", hint=hint, option=option.name)
    if option.type is tuple:  # of methods
        return split_words(value) if isinstance(value, str) else tuple(value or ())
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    if option.type not in (int, float) or not isinstance(value, str):
        return value
    try:
        number = float(value)
        if option.type is int and number % 1:
            raise ValueError
        return int(number) if option.type is int else number
    except (ValueError, OverflowError):
        meaning = "a whole number" if option.type is int else "a number"
        what = f"{option.label(repr(value))} is not {meaning}"
        raise UsageError(what, hint=f"give {meaning}", option=option.name) from None


def joined(config: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with those of parameters in mappings, which `expanded` takes apart again."""
    found = dict(values)
    for host in hosts(config):
        known = parameters(config, host)
        taken = {key: found.pop(o.name, None) for key, o in known.items()}
        given = {key: value for key, value in taken.items() if value not in (None, ())}
        for key in [key for key in given if known[key].type is tuple]:
            given[key] = [_member(config, each) for each in given[key]]
        for key in [key for key in given if known[key].begins]:
            found[host] = f"{key}{given.pop(key)}"
        name = found.get(host)
        if given or (isinstance(name, str) and split(name)[1]):
            found[host] = {NAME: name, **given}
    return found


def command(config: Config) -> list[str]:
    """Return the command line that asks for the same result; none where a value has no text."""
    declared = options_of(type(config))
    values = {o.name: getattr(config, o.name) for o in declared}
    values = joined(type(config), values)
    words = ["sfs", config.VERB]
    for o in declared:
        value = values.get(o.name, o.default)
        if o.argument:
            words += value if isinstance(value, tuple) else [value]
        elif o.in_result and value != o.default:
            if isinstance(value, Mapping):  # parameters alone are those of the default one
                value = {**value, NAME: value[NAME] or config.users(o.name)[0]}
            if not _has_text(type(config), o, value):
                return []
            words += o.as_words(text_of(value) if isinstance(value, Mapping) else value)
    return words


def _has_text(config: type, option: Option, value: Any) -> bool:
    """Tell whether the text of a value means the value.

    A name or a path with a parameter in it, as ``a,b=c.csv``, is another one as text.
    """
    try:
        if isinstance(value, Mapping):
            texts, given = ({option.name: each} for each in (text_of(value), value))
            return expanded(config, texts) == expanded(config, given)
        if option.parse is None or option.words:
            return True
        return bool(option.parse([str(each) for each in value]) == value)
    except UsageError:
        return False


def method_text(config: MethodFields, name: str) -> str:
    """Return a method with the parameters that are given with it, as text."""
    given = {o.name: getattr(config, o.name) for o in parameters(type(config), "method").values()}
    asked = {key: value for key, value in given.items() if key not in config.pinned}
    return text_of(joined(type(config), {"method": name, **asked})["method"])


def text_of(value: Any) -> str:
    """Return a value, or a name with its parameters, as text.

    Members with parameters of their own have no text: what is returned is that of a file.
    """
    if isinstance(value, Mapping):
        listed = [one for each in value.values() if isinstance(each, list) for one in each]
        if any(isinstance(one, Mapping) for one in listed):
            return _in_file(value)
        pairs = (f"{key}={text_of(each)}" for key, each in value.items() if key != NAME)
        return ",".join([str(value[NAME]), *pairs])
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return text_of_number(value)


def _in_file(value: Any) -> str:
    """Return a mapping as a file of options has it, in a line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_in_file(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(_in_file, value))}]" if isinstance(value, list) else text_of(value)
