"""The configuration of ``sfs compare``: several rankings of one matrix, and given lists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from sfs_cli.errors import UsageError, nearest, within
from sfs_cli.options.evaluate import LIST_ALONE, JudgeConfig, says_how
from sfs_cli.options.fields import (
    ASKED,
    Idle,
    Option,
    flag,
    given_twice,
    keys_of,
    option,
    options_of,
)
from sfs_cli.options.grammar import expanded, typed
from sfs_cli.options.paths import READS, MovePart, moved
from sfs_cli.options.rank import RankConfig, texts_of
from sfs_cli.options.source import NAME

VARIABLE, RANDOM, ALL = "most variable genes", "random genes", "all genes"
CONTROLS = (RANDOM, VARIABLE, ALL)
"""What stands beside every list."""
RANKING_FORM = 'write NAME=OPTIONS, such as --ranking-of "rbf=--method spec --similarity rbf"'
LIST_FORM = "write FILE[:COLUMN], with NAME= before it or not, such as --list d=deseq2.csv:padj"

_how = partial(option, section="Evaluation", verbs=("compare",), default=(), first=ASKED)


@dataclass(frozen=True)
class RankingSpec:
    """A ranking with options of its own."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)  # by the attributes of `RankConfig`
    text: str = ""  # as it was written

    def __str__(self) -> str:
        return f"{self.name}={self.text}"

    def with_paths(self, move: MovePart) -> RankingSpec:
        """Return the ranking with other paths, by a function of option and path."""
        by_name = {o.name: o for o in options_of(RankConfig)}
        found = {
            name: moved(by_name[name], value, lambda o, text, what: move(what, text))
            for name, value in self.options.items()
        }
        return replace(self, options=found)


class ListSpec(NamedTuple):
    """A ranking that is there already; without a name it gets that of its file."""

    name: str
    path: str

    def __str__(self) -> str:
        return f"{self.name}={self.path}" if self.name else self.path

    def with_paths(self, move: MovePart) -> ListSpec:
        """Return the list with another path, by a function of option and path."""
        return self._replace(path=move("path", self.path))


# ---- NAME=OPTIONS and NAME=FILE ------------------------------------------------------------------


def ranking_options() -> dict[str, Option]:
    """Return the options that a ranking of its own takes, by their flags."""
    taken = [o for o in options_of(RankConfig) if says_how(o) and "rank" in o.verbs and not o.of]
    return {f"--{key}": o for key, o in keys_of(o for o in taken if "evaluate" in o.verbs).items()}


def parse_rankings(texts: str | Sequence[str]) -> tuple[RankingSpec, ...]:
    """Return the rankings that ``--ranking-of`` describes."""
    return tuple(parse_ranking(text) for text in texts_of(texts))


def parse_ranking(text: str) -> RankingSpec:
    """Parse ``NAME=OPTIONS``, the options as on the command line of `sfs rank`."""
    name, equals, rest = text.partition("=")
    if not equals or not re.fullmatch(NAME, name):
        raise UsageError(
            f"--ranking-of {text!r} cannot be read", hint=RANKING_FORM, option="ranking_of"
        )
    with within(f"ranking {name}"):
        try:
            words = shlex.split(rest)
        except ValueError as error:  # a quote that is not closed
            what = f"the options {rest!r} cannot be read: {str(error).lower()}"
            raise UsageError(what, hint=RANKING_FORM, option="ranking_of") from None
        return RankingSpec(name, _options(words), rest)


def _options(words: Sequence[str]) -> dict[str, Any]:
    """Return the values of options on a command line, by their attributes."""
    known, texts = ranking_options(), dict[str, list[str]]()
    rest = list(words)
    found: dict[str, Any] = {}
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word not in known:
            raise _unknown(word, known)
        o = known[word]
        if o.type is bool:
            found[o.name] = True
            continue
        if not equals:
            if not rest:
                hint = f"write {o.flag} {o.metavar or 'VALUE'}"
                raise UsageError(f"{o.flag} has no value", hint=hint, option="ranking_of")
            value = rest.pop(0)
        texts.setdefault(o.name, []).append(value)
    by_name = {o.name: o for o in known.values()}
    found |= {name: _value(by_name[name], given) for name, given in texts.items()}
    return expanded(RankConfig, found)


def _unknown(word: str, known: dict[str, Option]) -> UsageError:
    of_run = [o for o in options_of(CompareConfig) if "compare" in o.verbs]
    if any(o.flag == word for o in of_run):
        what = f"{word} is the same for all rankings"
        hint = "give it to sfs compare itself, outside of --ranking-of"
        return UsageError(what, hint=hint, option="ranking_of")
    what = f"{word} is no option" if word.startswith("-") else f"{word!r} belongs to no option"
    return UsageError(what, hint=nearest(word, known), option="ranking_of")


def _value(o: Option, texts: Sequence[str]) -> Any:
    """Return the value of an option that was given once, or more often where that means a list."""
    if not o.repeated and len(texts) > 1:
        raise given_twice(o.flag, texts, option="ranking_of")
    given = ",".join(texts) if o.joined else texts
    if o.repeated:
        return given if o.parse is None else o.parse(given)
    return typed(o, texts[0])


def parse_lists(texts: str | Sequence[str]) -> tuple[ListSpec, ...]:
    """Return the lists of the command line."""
    return tuple(map(parse_list, texts_of(texts)))


def parse_list(text: str) -> ListSpec:
    """Parse ``FILE`` or ``NAME=FILE``."""
    name, equals, path = text.partition("=")
    if not equals or not re.fullmatch(NAME, name):
        return ListSpec("", text)  # an = that belongs to the path
    if not path:
        raise UsageError(f"--list {text!r} names no file", hint=LIST_FORM, option="list_")
    return ListSpec(name, path)


# ---- the configuration ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class CompareConfig(JudgeConfig):
    """The options of `sfs compare`.

    Those of `RankConfig` that say how features are ranked stay at their defaults: each ranking has
    its own, in `rankings`.
    """

    VERB: ClassVar[str] = "compare"

    # the underscore keeps it apart from the method of a single ranking
    method_: tuple[str, ...] = _how(
        "Compare the ranking of this method (repeatable). `sfs methods` describes the methods.",
        metavar="NAME[,KEY=VALUE...]",
        parse=texts_of,
    )
    ranking_of: tuple[RankingSpec, ...] = _how(
        "Compare the ranking that `sfs rank` makes with these options of method, graph and "
        'sources (repeatable): "rbf=--method spec --similarity rbf".',
        metavar="NAME=OPTIONS",
        parse=parse_rankings,
    )
    list_: tuple[ListSpec, ...] = _how(
        "Compare this ranking (repeatable): a table with a column of features and one of ranks or "
        "scores, a list of ids with the best first, or an output folder of sfs rank; COLUMN ranks, "
        "by default the one called rank or score. Its name is by default that of the file.",
        metavar="[NAME=]FILE[:COLUMN]",
        path=READS,
        parse=parse_lists,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.method_ or self.ranking_of or self.list_):
            what = "nothing to compare: there is no ranking"
            hint = "give two or more of --method NAME, --ranking-of NAME=OPTIONS and --list FILE"
            raise self.error(what, hint, "method_", "ranking_of", "list_")
        named = [each.name for each in self.list_ if each.name]
        check_different([*self.method_, *(each.name for each in self.ranking_of), *named])
        for name, ranking in self.rankings.items():  # each checks its options
            for written, why in ranking.ignored.items():
                if written.split()[0] not in self._of_sources:
                    self.ignored[f"{written} of ranking {name}"] = why

    def without_effect(self) -> Iterator[Idle]:
        """Yield what has no effect, first what is about rankings where there are lists alone."""
        if self.leaky and not (self.method_ or self.ranking_of):
            yield "leaky", LIST_ALONE
        for name, why in super().without_effect():
            if flag(name) not in self._of_sources:
                yield name, why

    @property
    def _of_sources(self) -> tuple[str, ...]:
        """The options that are for the sources and graphs of rankings, where there are some."""
        asked = {name for spec in self.ranking_of for name in spec.options}
        lacking = asked & {"source", "similarity_file", "coordinates"}
        return ("--id-map",) * ("source" in asked) + ("--samples",) * bool(lacking)

    @property
    def given_lists(self) -> Sequence[tuple[str, str]]:
        """The lists that are compared."""
        return self.list_

    @property
    def rankings(self) -> dict[str, RankConfig]:
        """The rankings that are made, by their names."""
        common = {
            o.name: getattr(self, o.name)
            for o in options_of(RankConfig)
            if "compare" in o.verbs and o.name not in ("out", "force")
        }
        found = {}
        for text in self.method_:
            with within(f"ranking {text}"):
                found[text] = RankConfig(**common, **expanded(RankConfig, {"method": text}))
        for spec in self.ranking_of:
            with within(f"ranking {spec.name}"):
                found[spec.name] = RankConfig(**common, **spec.options)
        return found

    def result_options(self) -> dict[str, Any]:
        """Return the options that the result depends on; files are known by their digests."""
        named = {spec.name: spec.text for spec in self.ranking_of}
        return super().result_options() | {
            "ranking_of": named,
            "list_": [str(spec) for spec in self.list_],
        }


def check_different(names: Sequence[str]) -> None:
    """Refuse two lists of one name with a UsageError."""
    if twice := [name for name in names if [*names, VARIABLE, RANDOM, ALL].count(name) > 1]:
        raise UsageError(
            f"two lists are named {twice[0]!r}",
            hint="give each its own name: --ranking-of NAME=OPTIONS, --list NAME=FILE; in evaluate "
            "a list has the name of its file: rename the file",
            option=("method_", "ranking_of", "list_"),
        )
