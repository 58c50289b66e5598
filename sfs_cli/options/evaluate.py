"""The configuration of ``sfs evaluate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sfs_cli.options.aggregate import TableFields
from sfs_cli.options.fields import (
    ASKED,
    SURE,
    Config,
    Idle,
    Option,
    option,
    option_fields,
    options_of,
    split_words,
)
from sfs_cli.options.paths import READS
from sfs_cli.options.rank import RankConfig

DEFAULT_LENGTHS = (10, 20, 50, 100, 200)
CURVE_LENGTHS = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160, 226)
"""Of a curve: each is 1.4 times the one before."""
DEFAULT_SPLITS, DEFAULT_REPEATS = 5, 5
LIST_ALONE = "with --list alone"

_how = partial(option, section="Evaluation", verbs=("evaluate", "compare"), first=ASKED)
_folds = partial(
    option,
    section="Evaluation",
    verbs=("evaluate", "compare", "select"),
    by_verb={"select": {"needs": ("cv",)}},
    first=SURE,
)


def says_how(o: Option) -> bool:
    """Tell whether an option says how features are ranked, and not what is read for all lists."""
    of_ranking = o.section in ("Method", "Tests", "Sample graph", "Knowledge sources")
    return of_ranking and "compare" not in o.verbs


@option_fields
class FoldFields(Config):
    """The options of every command that ranks in folds, and judges lists of some lengths."""

    lengths: str | None = _folds(
        "Lengths of the lists: so many of the best features.",
        metavar="K,K,...",
        default_text=f"{','.join(map(str, DEFAULT_LENGTHS))}, or of select --cv "
        f"{','.join(map(str, CURVE_LENGTHS))}; as far as there are features",
    )
    splits: int | None = _folds(
        "Number of folds that the samples are split into.",
        metavar="K",
        least=2,
        default_text=str(DEFAULT_SPLITS),
        needs=("labels",),
    )
    repeats: int | None = _folds(
        "Number of times that the samples are split anew.",
        metavar="R",
        least=1,
        default_text=str(DEFAULT_REPEATS),
        needs=("labels",),
    )

    @property
    def asked_lengths(self) -> tuple[int, ...]:
        """The lengths that are asked for, ascending; empty where the defaults are to be used."""
        if self.lengths is None:
            return ()
        words = split_words(self.lengths)
        if not words or not all(word.isdecimal() and int(word) > 0 for word in words):
            what = f"--lengths {self.lengths!r} is not a list of whole numbers above zero"
            raise self.error(what, "give lengths such as 10,50,100", "lengths")
        return tuple(sorted({int(word) for word in words}))

    @property
    def folds(self) -> int:
        """Number of folds of a split."""
        return DEFAULT_SPLITS if self.splits is None else self.splits

    @property
    def rounds(self) -> int:
        """Number of splits."""
        return DEFAULT_REPEATS if self.repeats is None else self.repeats


@dataclass(frozen=True, eq=False, repr=False)
class JudgeConfig(TableFields, FoldFields, RankConfig):
    """The options of every command that judges lists of features of a matrix."""

    leaky: bool = _how(
        "Show also the accuracy of the list that was ranked once on all samples, test samples "
        "included.",
        default=False,
        needs=("labels",),
        first="",
    )
    drivers: str | None = _how(
        "List of reference features: which share of them is among the first.",
        metavar="FILE",
        path=READS,
        first="",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked_lengths  # noqa: B018 - a list that is no list is refused here

    @property
    def rankings(self) -> Mapping[str, RankConfig]:
        """The rankings of a comparison, by their names."""
        return {}

    @property
    def given_lists(self) -> Sequence[tuple[str, str]]:
        """The lists that are there already: name and path; "" stands for the name of the file."""
        return ()


@dataclass(frozen=True, eq=False, repr=False)
class EvaluateConfig(JudgeConfig):
    """The options of `sfs evaluate`: those of a ranking, and how its worth is measured."""

    VERB: ClassVar[str] = "evaluate"

    list_: str | None = option(
        "Evaluate this ranking: a table with a column of features and one of ranks or scores, a "
        "list of ids with the best first, or an output folder of sfs rank; COLUMN ranks, by "
        "default the one called rank or score. With --method too, both are evaluated.",
        section="Evaluation",
        verbs=("evaluate",),
        metavar="FILE[:COLUMN]",
        path=READS,
        first=ASKED,
    )

    def without_effect(self) -> Iterator[Idle]:
        """Yield what has no effect, first what says how to rank where a list alone is judged."""
        for o in options_of(type(self)) if not self.ranks else ():
            if (says_how(o) or o.name == "leaky") and getattr(self, o.name) != o.default:
                yield o.of or o.name, LIST_ALONE
        yield from super().without_effect()

    @property
    def given_lists(self) -> Sequence[tuple[str, str]]:
        """The list that is evaluated, if there is one."""
        return () if self.list_ is None else (("", self.list_),)

    @property
    def ranks(self) -> bool:
        """Whether a method is evaluated, beside a list or without one."""
        return self.list_ is None or self.method is not None
