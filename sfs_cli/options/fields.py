"""How an option is declared: once, as a field of a configuration.

    neighbors: int | None = option("Number of nearest neighbors.", least=1, metavar="K")

The flag of each command, the key of configuration files, the JSON Schema, the check of the value
and the line in the reference are all made from this declaration. The name of the field gives flag
and key (``id_map``: ``--id-map``), its annotation the type.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

from sfs_cli import catalog
from sfs_cli.errors import ConflictError, Options, UsageError, either, listed, nearest

Schema = dict[str, Any]

SECTIONS = (
    "Input",
    "Method",
    "Tests",
    "Sample graph",
    "Knowledge sources",
    "Aggregation",
    "Evaluation",
    "Selection",
    "Output",
    "Running",
)
"""The headings of help and reference, in their order."""
READ, ASKED, SURE, WRITTEN = "What is read", "What is asked", "How sure", "What is written"
QUESTIONS = (READ, ASKED, SURE, WRITTEN, "Running")
"""The headings of the options that help shows first (`Option.first`), in their order."""

# the commands that take an option of a ranking
WHOLE = ("rank", "shard init")
RANKING = (*WHOLE, "evaluate")
ON_SOURCE = (*RANKING, "fuse")
ON_MATRIX = (*ON_SOURCE, "compare")
READING = (*ON_MATRIX, "convert", "inspect")


# ---- values that are not single words ----------------------------------------------------------


class Form(NamedTuple):
    """A set of values that a list of words cannot hold."""

    meaning: str  # for messages
    pattern: str  # of its text, for JSON Schema too
    numbers: Schema | None = None  # JSON Schema of those that a file may write without quotes

    def admits(self, text: str) -> bool:
        """Tell whether a text is one; a number has a square that can be held."""
        number = numbers_of(text) if self.pattern == _ABOVE_ZERO else [1.0]
        within = all(SMALLEST <= each <= LARGEST for each in number)
        return re.fullmatch(self.pattern, text) is not None and within


SMALLEST, LARGEST = 1e-100, 1e100
"""The largest number of an option, and the smallest width or time, whose squares can be held."""
LARGEST_COUNT = 2**63 - 1
"""The largest whole number of an option: more does not fit into the integers of arrays."""
_NUMBER = r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"
_ABOVE_ZERO = r"(?!\s*(-|\+?0*\.?0*([eE]|\s*$)))" + _NUMBER
_COUNT = r"\s*\+?0*[1-9]\d*(\.0*)?\s*"


def numbers_of(text: str | None) -> list[float]:
    """Return the numbers of a list with commas; no number for any other text."""
    try:
        return [float(word) for word in text.split(",")] if text else []
    except ValueError:
        return []


def split_words(text: str | None) -> tuple[str, ...]:
    """Split a list of words at its commas."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


FORMS = {
    "NUMBER": Form("a positive number", _ABOVE_ZERO, {"type": "number", "exclusiveMinimum": 0}),
    "T": Form("T (T above 0)", _ABOVE_ZERO),
    "COUNT": Form("a whole number above zero", _COUNT, {"type": "integer", "minimum": 1}),
    "NUMBERS": Form(
        "numbers such as 2,1,1", f"{_NUMBER}(,{_NUMBER})*", {"type": "number", "minimum": 0}
    ),
    "ADDRESS": Form("tcp://HOST:PORT", r"(tcp|tls|ws|wss|ucx)://[^\s/]+"),
    "KEY": Form("KEY", ".+"),
    "PATH": Form("PATH", ".+"),
}
"""What words in capitals stand for, alone (``NUMBER``) or after a prefix (``heat:T``)."""


def split_word(word: str) -> tuple[str, Form | None]:
    """Return what a word begins with, and the form of the rest."""
    prefix, colon, form = word.rpartition(":")
    return (prefix + colon, FORMS[form]) if form in FORMS else (word, None)


def matches(value: str, words: Iterable[str]) -> bool:
    """Tell whether a value is one of some words or forms."""
    return any(
        value == start
        if form is None
        else value.startswith(start) and form.admits(value.removeprefix(start))
        for start, form in map(split_word, words)
    )


def spelled(words: Iterable[str]) -> list[str]:
    """Return words as messages name them: ``NUMBER`` as a positive number."""
    return [start + (form.meaning if form else "") for start, form in map(split_word, words)]


def texts_of(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the texts of an option, which may be repeated on the command line, or not be given."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def stated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name that are not None."""
    return {name: value for name, value in values.items() if value is not None}


# ---- options -----------------------------------------------------------------------------------


def names_file(text: str) -> bool:
    """Tell whether a text that is a file or a pattern is a file: whether there is one.

    So is ``FILE:SHEET``.
    """
    try:
        mode = os.stat(text).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return ":" in text and names_file(text.rpartition(":")[0])
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode)  # <(...) of a shell, which is refused


def flag(name: str) -> str:
    """Return the flag of an option; ``lambda_`` has its underscore because of Python."""
    return "--" + name.rstrip("_").replace("_", "-")


# A named tuple, as the rows of all tables that help reads: a frozen dataclass takes 1 ms to create,
# and a dozen of them were felt at each start.
class Option(NamedTuple):
    """All that is known of one option."""

    help: str  # one or two sentences; `full_help` adds its default and those that take it
    section: str = "Input"  # the heading that it is listed under, one of `SECTIONS`
    verbs: tuple[str, ...] = ()  # the commands that take it
    metavar: str = ""  # what help shows for the value, where it is not one of a few words
    words: tuple[str, ...] = ()  # the values that it takes, as words and `FORMS`; empty for any
    also: Mapping[str, str] = {}  # from what others call a value, in lower case, to the value
    least: float | None = None
    most: float | None = None
    above: float | None = None  # what a number must exceed
    below: float | None = None  # what must exceed a number
    default_text: str = ""  # what happens without it, where None depends on the data
    # from its name to the methods, graphs, ways of weighting or kinds that take it; None: all do
    takers: Callable[[str], Sequence[str]] | None = None
    taken_by: str = ""  # the option that names those, if nothing else decides: `Config.users`
    # what it has no effect without, one at least: options, or an option and its value, such as
    # "variant=kernel". Those that a command does not take do not count there, as in the next
    needs: tuple[str, ...] = ()
    excludes: Mapping[str, str] = {}  # what does not go with it, in the same form, and why
    # the options that name where its results go, one at least of which is given: `OutputFields`
    goes_to: tuple[str, ...] = ()
    items: type | None = None  # the type of its items, where a file may write a list
    parse: Callable[[Any], Any] | None = None  # of the text of a flag that is no number or text
    # whether it names columns of the samples: FILE:COLUMN, obs:KEY, or COLUMN (`beside_labels`)
    column: bool = False
    # how the names of parts of the matrix itself begin that it takes, besides those of columns
    inside: tuple[str, ...] = ()
    groups: str = ""  # what its column puts samples into, such as donor; "" for other columns
    argument: bool = False  # whether the command line takes it by position
    # the option that it is a parameter of, written OPTION NAME,KEY=VALUE (`options.grammar`), and
    # its key there, by default its own
    of: str = ""
    word: str = ""
    # what the file or folder that it names is used for (`options.paths`); "" where it names none.
    # In a file of options such paths are relative to its folder.
    path: str = ""
    # whether each of its texts is a file, where there is one of that name, else a pattern
    patterns: bool = False
    in_result: bool = True  # whether the result depends on it
    lead: bool = False  # whether it is listed before the others of its section
    # the one of `QUESTIONS` under which `--help` of a command of many options lists it; ""
    # where only `--help-all` does
    first: str = ""
    # from commands to what help says otherwise there, as facts by their names: `Option.as_in`
    by_verb: Mapping[str, Mapping[str, Any]] | None = None
    name: str = ""  # of the field that it is declared for, as the next two
    type: type = str
    default: Any = None

    @property
    def flag(self) -> str:
        """The flag on the command line; of a parameter what messages call it."""
        if self.begins:
            return f"{flag(self.of)} {self.word}"
        return f"{self.parameter}= of {flag(self.of)}" if self.of else flag(self.name)

    @property
    def key(self) -> str:
        """The key in configuration files."""
        return flag(self.name)[2:]

    @property
    def begins(self) -> bool:
        """Whether the name of the option that it belongs to begins with its word: ``file:PATH``."""
        return self.word.endswith(":")

    @property
    def parameter(self) -> str:
        """The key of a parameter in the text of the option that it belongs to."""
        return self.word or self.key

    @property
    def parts(self) -> tuple[str, ...]:
        """How the names of parts of the file of the matrix begin that it takes."""
        return ("obs:",) if self.column else self.inside

    def is_of(self, method: str) -> bool:
        """Tell whether a method takes it."""
        if self.takers is None or self.taken_by not in ("", "method"):
            return False
        return method in self.takers(self.name)

    def with_default(self, default: Any) -> Option:
        """Return the option as one of those that take it has it: with its own default, if any."""
        return self if default is None else self._replace(default=default, default_text="")

    def as_in(self, verb: str) -> Option:
        """Return the option as the help of a command describes it."""
        return self._replace(**(self.by_verb or {}).get(verb, {}))

    @property
    def joined(self) -> bool:
        """Whether flags may repeat it: the values are joined by commas."""
        return self.items is str and self.parse in (None, split_words)

    @property
    def repeated(self) -> bool:
        """Whether flags may repeat it."""
        return self.joined or self.parse is not None

    @property
    def names(self) -> str:
        """Those that take it, for a message; empty where all do."""
        return ", ".join(self.takers(self.name)) if self.takers else ""

    @property
    def plain_words(self) -> list[str]:
        """The values that it takes that are words, without those that have a form."""
        known = catalog.METHODS if self.flag == "--method" else self.words  # that of compare, too
        return [word for word in known if split_word(word)[1] is None]

    def label(self, value: object = None) -> str:
        """Return how messages name it, perhaps with a value."""
        if value is None:
            return self.flag
        if self.begins:
            return f"{self.flag}{value}"
        return self.flag.replace("=", f"={value}", 1) if self.of else f"{self.flag} {value}"

    def problem(self, value: Any, label: Callable[..., str]) -> tuple[str, str] | None:
        """Return what is wrong with a value and what to do about it; None if nothing is.

        The label is what messages call the option, also with a value.
        """
        if value is None:
            return None
        known = self.words
        values = value if isinstance(value, tuple) else (value,)
        if known and (wrong := [v for v in values if not matches(str(v), known)]):
            word = str(wrong[0]).lower().replace("_", "-")
            hint = nearest(word, spelled(known), self.also.get(word))
            if "=" in word:
                hint = f"names have no parameters here: leave out KEY=VALUE; {hint}"
            return f"unknown value {listed([repr(str(wrong[0]))])} of {label()}", hint
        if self.type not in (int, float):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{label(listed([repr(value)]))} is not a number", "give a number such as 1"
        if isinstance(value, float) and not math.isfinite(value):
            return f"{label(value)} is not a finite number", "give a number such as 1"
        if isinstance(value, float) and self.type is int:
            return f"{label(value)} is not a whole number", "give a number such as 1"
        shown = label(text_of_number(value))
        largest = LARGEST_COUNT if isinstance(value, int) else LARGEST
        most = largest if self.most is None else self.most
        if self.above is not None and value <= self.above:
            such = 1 if self.below is None else self.below / 2
            return f"{shown} is not a positive number", f"give a number such as {such:g}"
        if self.least is not None and value < self.least:
            return f"{shown} is too small", f"give {self.least:g} or more"
        if self.below is not None and value >= self.below:
            return f"{shown} is too large", f"give less than {self.below:g}"
        if value > most:
            return f"{shown} is too large", f"give {most:,} or less"
        return None

    def as_words(self, value: Any) -> list[str]:
        """Return the words of the command line that give the option a value, which is text."""
        if self.parse is not None and self.words:
            return [self.flag, ",".join(value)]
        if self.parse is not None:
            return [word for one in value for word in (self.flag, str(one))]
        return [self.flag] if value is True else [self.flag, text_of_number(value)]


def text_of_number(value: Any) -> str:
    """Return a value as text, a whole number without its point."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def given_twice(name: str, values: Sequence[Any], *, option: Options, **facts: Any) -> UsageError:
    """Return the error of an option that has several values, of which none is better."""
    what = f"{name} is given twice: {values[0]!r} and {values[1]!r}"
    return UsageError(what, hint="leave one out", option=option, **facts)


def option(help: str, *, default: Any = None, **facts: Any) -> Any:
    """Declare an option: return a field of a dataclass; the facts are those of `Option`.

    ``...`` as the default stands for a field that has to be given.
    """
    metadata = {"option": Option(help=help, **facts)}
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


Declared = TypeVar("Declared", bound="Config")


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False)
def option_fields(config: type[Declared]) -> type[Declared]:
    """Declare options that configurations inherit: a dataclass that none is made of by itself."""
    return dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)(config)


_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "tuple": tuple}
_DECLARED: dict[Any, tuple[Option, ...]] = {}


def options_of(config: type) -> tuple[Option, ...]:
    """Return the options that a configuration declares, by section."""
    if config not in _DECLARED:
        declared = [
            f.metadata["option"]._replace(
                name=f.name,
                type=_TYPES[re.split(r" \||\[", str(f.type))[0]],
                default=None if f.default is MISSING else f.default,
            )
            for f in fields(config)
            if "option" in f.metadata
        ]
        declared.sort(key=lambda o: (SECTIONS.index(o.section), not o.lead))
        _DECLARED[config] = tuple(declared)
    return _DECLARED[config]


def keys_of(options: Iterable[Option]) -> dict[str, Option]:
    """Return options by their keys."""
    return {option.key: option for option in options}


Refusal = tuple[str, str, tuple[str, ...]]
"""What is wrong, what to do, and the options it is about, the one to change first."""
Idle = tuple[str, str]
"""An option that has no effect, and why, to stand after these words: with --method f-test."""


def reason(why: str, ignored: Mapping[str, str]) -> str:
    """Return why an option has no effect: of one without another that was given, why that has none.

    `ignored` are the options that were left out before, and why.
    """
    missing = why.split() if why.startswith("without ") else []
    return next((ignored[word] for word in missing if word in ignored), why)


class Config:
    """A configuration whose fields are options: what every one can do with them.

    An option that has no effect with the others is put back to its default: the same options go
    through a loop over methods. `ignored` says why, by its flag, and `left_out` warns of all.

    Its subclasses are frozen dataclasses with ``eq=False, repr=False``: those that Python would
    make take a third of the time in which a class of a hundred fields is made, at each start.
    """

    VERB: ClassVar[str] = "rank"
    ignored: dict[str, str]

    def __repr__(self) -> str:
        """Return how it is made, without what is as by default."""
        values = ((f, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        given = (f"{f.name}={value!r}" for f, value in values if value != f.default)
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        """Tell whether another one has the same values."""
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        """Return one number for equal configurations."""
        return hash(self._values())

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]

    def unset(self, *names: str) -> dict[str, Any]:
        """Return the defaults of some options and of their parameters, to take their place."""
        own = (o for o in options_of(type(self)) if o.name in names or o.of in names)
        return {o.name: o.default for o in own}

    def check_each(self) -> None:
        """Check each value by itself. A `UsageError` names the first wrong one."""
        for o in (o.as_in(self.VERB) for o in options_of(type(self))):
            value = getattr(self, o.name)
            # Python callers may write components=20 or neighbors=5.0
            if o.type is str and isinstance(value, int | float):
                object.__setattr__(self, o.name, str(value))
            elif o.type is int and isinstance(value, float) and value.is_integer():
                object.__setattr__(self, o.name, value := int(value))
            if (found := o.problem(value, partial(self.label, o.name))) is not None:
                raise self.error(*found, o.name)

    def check_values(self) -> None:
        """Check each value by itself, leave out what has no effect, and check the rest together.

        A parameter without effect is wrong, too: it was written in one text with what does not
        take it.
        """
        self.check_each()
        vars(self)["ignored"] = {}
        while idle := next(self.without_effect(), None):  # others may be without effect then
            name, why = idle
            o = next(o for o in options_of(type(self)) if o.name == name)
            written = self.written(o, getattr(self, name))
            if o.of or not o.verbs:  # a parameter, as all options of a source are
                what = f"{written} has no effect {why}"
                hint = f"leave it out{o.names and f'; it has an effect with {o.names}'}"
                if why.startswith("without "):
                    hint = f"leave it out, or give {why.removeprefix('without ')}"
                raise self.error(what, hint, name, o.of or name, kind=ConflictError)
            self.ignored[written] = reason(why, self.ignored)
            vars(self).update(self.unset(name))
        for what, hint, names in self.refusals():
            raise self.error(what, hint, *names, kind=ConflictError)

    @property
    def left_out(self) -> str:
        """What to warn of: the options that have no effect, and why; "" where all have one."""
        by_why = dict[str, list[str]]()
        for written, why in self.ignored.items():
            by_why.setdefault(why, []).append(written)
        parts = [
            f"{either(names, 'and')} {'has' if len(names) == 1 else 'have'} no effect {why}"
            for why, names in by_why.items()
        ]
        rest = "it is" if len(self.ignored) == 1 else "they are"
        return f"{'; '.join(parts)}: {rest} left out" if parts else ""

    def error(
        self, what: str, hint: str, *names: str, kind: type[UsageError] = UsageError
    ) -> UsageError:
        """Return an error about options of this configuration."""
        return kind(what, hint=hint, option=names)

    def _taken(self) -> dict[str, Option]:
        """Return the options that the command takes, by name."""
        return {o.name: o for o in self.declared() if not o.verbs or self.VERB in o.verbs}

    def without_effect(self) -> Iterator[Idle]:
        """Yield what has no effect by the declarations: ``needs`` and takers."""
        taken = self._taken()
        for o in sorted(taken.values(), key=lambda o: o.of):  # parameters go with their option
            if getattr(self, o.name) == o.default:
                continue
            needs = [each for each in o.needs if each.partition("=")[0] in taken]
            if needs and not any(map(self.has, needs)):
                may = [each for each in needs if self._goes(taken[each.partition("=")[0]])] or needs
                yield o.name, f"without {either([self._beside(o, each) for each in may])}"
            if not self._goes(o):
                yield o.name, f"with {self.using(o.taken_by)}"

    def _goes(self, option: Option) -> bool:
        """Tell whether what would take an option does so."""
        users = self.users(option.taken_by)
        return option.takers is None or not users or bool({*users} & {*option.takers(option.name)})

    def refusals(self) -> Iterator[Refusal]:
        """Yield what contradicts by the declarations: ``excludes``."""
        taken = self._taken()
        for o in taken.values():
            value = getattr(self, o.name)
            for each, why in o.excludes.items() if value != o.default else ():
                other = each.partition("=")[0]
                if other in taken and self.has(each):
                    label = self._beside(o, each)
                    what = f"{self.written(o, value)} does not go with {label}: {why}"
                    yield what, "leave one of them out", (o.name, other)

    def _beside(self, option: Option, each: str) -> str:
        """Return how messages name what an option needs or excludes, after the option itself."""
        name, _, value = each.partition("=")
        return self.label(name, value or None).removesuffix(f" of {flag(option.of)}")

    def declared(self) -> list[Option]:
        """Return the options as the command has them, once their values are of the right types."""
        return [o.as_in(self.VERB) for o in options_of(type(self))]

    def users(self, option: str) -> tuple[str, ...]:
        """Return what an option names that takes other options; nothing where anything may."""
        return ()

    def using(self, option: str) -> str:
        """Return how messages name what takes other options (`users`)."""
        return self.label(option, ", ".join(dict.fromkeys(self.users(option))))

    def chosen(self, name: str) -> Any:
        """Return the value of an option, its default filled in if it is known."""
        return getattr(self, name)

    def has(self, each: str) -> bool:
        """Tell whether an option is given, or has a value: ``variant=kernel``."""
        name, equals, value = each.partition("=")
        return self.chosen(name) == value if equals else bool(self.given(name))

    def written(self, option: Option, value: Any) -> str:
        """Return how messages name an option with a value: the value too, if it has a default."""
        return self.label(option.name, value if isinstance(option.default, str) else None)

    def given(self, *names: str) -> list[str]:
        """Return those of some options that are given."""
        values = [(name, getattr(self, name)) for name in names]
        return [name for name, v in values if v is not None and v is not False and v != ()]

    def label(self, name: str, value: Any = None) -> str:
        """Return how messages name an option, perhaps with a value."""
        own = next((o for o in options_of(type(self)) if o.name == name and o.of), None)
        if own is not None:
            return own.label(value)
        return flag(name) if value is None else f"{flag(name)} {value}"

    def result_options(self) -> dict[str, Any]:
        """Return the options that the result depends on."""
        return {o.name: getattr(self, o.name) for o in options_of(type(self)) if o.in_result}


# ---- text for people ---------------------------------------------------------------------------


def full_help(option: Option) -> str:
    """Return the help of an option: who takes it, what it does, its values and its default."""
    text = option.help
    if option.names:
        start = text[0].lower() if text[1:2].islower() else text[0]
        text = f"{option.names}: {start}{text[1:]}"
    default = default_of(option)
    return f"{text}  [default: {default}]" if default else text


def short_help(option: Option) -> str:
    """Return the first sentence of the help of an option, and its default."""
    first = option.help.split(". ")[0].rstrip(".")
    return full_help(option._replace(help=f"{first}.", takers=None))


def parameter_help(option: Option) -> str:
    """Return what a parameter of a method means, its bounds and its default."""
    bounds = values_of(option) if option.type in (int, float) and not option.words else ""
    default = default_of(option)
    notes = "; ".join(filter(None, (bounds, default and f"default: {default}")))
    return f"{option.help}  [{notes}]" if notes else option.help


def default_of(option: Option) -> str:
    """Return the default of an option as text; empty where it is to do nothing."""
    if option.default_text:
        return option.default_text
    if option.type is bool or option.default in (None, (), ...):
        return ""
    return f"{option.default:g}" if option.type is float else str(option.default)


def values_of(option: Option) -> str:
    """Return the values that an option takes as text: its words, or its bounds."""
    if option.words:
        return ", ".join(spelled(option.words))
    if option.type not in (int, float):
        return "yes or no" if option.type is bool else option.metavar
    kind = "a whole number" if option.type is int else "a number"
    least, most = option.least, option.most
    if option.above is None and least is not None and most is not None:
        return f"{kind} from {least:,.12g} to {most:,.12g}"
    bounds = {"above {}": option.above, "below {}": option.below, "at most {}": most}
    if option.above is None:
        bounds = {"of {} or more": least} | bounds
    told = [text.format(f"{bound:,.12g}") for text, bound in bounds.items() if bound is not None]
    return " ".join([kind, " and ".join(told)]).rstrip()


def metavar_of(option: Option) -> str | None:
    """Return what help shows for the value of an option; None for a flag."""
    if option.type is bool:
        return None
    if option.metavar:
        return option.metavar
    words = "|".join(option.plain_words)
    return f"[{words}]" if words else {int: "N", float: "NUMBER"}.get(option.type, "TEXT")
