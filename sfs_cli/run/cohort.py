"""The samples that a ranking compares: what columns say of them, and how they are compared.

Optional parts of a ranking may divide the samples into parts that are ranked one by one, and take
the effect of covariates out of the features (`sfs_cli.run.compared`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Ids
from sfs_cli.errors import InputError, UsageError, counted, listed, within
from sfs_cli.io.files.text import repeated
from sfs_cli.io.knowledge.sample_columns import (
    CENSORED,
    EVENTS,
    WEIGHTS,
    Covariate,
    is_inside,
    read_column,
    read_covariates,
    refuse_opposite,
)
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import Option, options_of, texts_of
from sfs_cli.options.paths import is_column
from sfs_cli.run.sources import Coverage, coverage_of
from sfs_cli.store.adjust import Adjustment, orthonormal

SMALL_BLOCK = 4
"""Samples of a block, in the mean, up to which subsets take whole blocks."""

# ---- columns of the samples ----------------------------------------------------------------------


class SampleColumns(dict[str, list[Covariate]]):
    """The columns that options name, by option; labels are read by themselves."""

    @property
    def all(self) -> list[Covariate]:
        """All of them."""
        return [each for columns in self.values() for each in columns]

    @property
    def covariates(self) -> list[Covariate]:
        """Those that are taken out of the features."""
        return self.get("adjust", []) + self.get("block", [])

    @property
    def donors(self) -> Covariate | None:
        """The donor of each sample, or its block if blocks are small, such as pairs.

        Subsets and folds take whole ones.
        """
        found = next(iter(self.get("donors") or self.get("block") or ()), None)
        if found is None or found.option == "donors":
            return found
        small = SMALL_BLOCK * len(set(found.values.values())) >= len(found.values)
        return found if small else None

    def of(self, option: str, samples: Sequence[str]) -> np.ndarray | None:
        """Return the values of samples in the one column of an option, (n,); None without it."""
        column = next(iter(self.get(option, ())), None)
        return None if column is None else np.array([column.values[each] for each in samples])

    def idle(self, samples: Sequence[str]) -> np.ndarray:
        """Return which samples take no part, shape (n,): those of weight 0."""
        weights = [each.values for each in self.get("sample_weights", ())]
        return np.array([any(values.get(s) == 0 for values in weights) for s in samples], bool)

    def coverages(self, samples: Sequence[str]) -> list[Coverage]:
        """Return which samples have a value of each column; a column without is an InputError.

        Traits of modules need one of them that has a value of a sample, no more: a sample without
        one is left out of its test.
        """
        if traits := self.get(TRAITS):
            first, known = traits[0], [sample for each in traits for sample in each.values]
            coverage_of(known, samples, f"value of {first.name}", first.where, TRAITS)
        return [
            coverage_of(each.values, samples, f"value of {each.name}", each.where, each.option)
            for name, columns in self.items()
            for each in columns
            if name != TRAITS
        ]


TRAITS = "module_traits"
"""The option whose columns no sample needs, and all of a table are taken without names."""
_NUMBERS = {"sample_weights": WEIGHTS, "event": EVENTS, "censored": CENSORED}
_OPTIONS = [o for o in options_of(RankConfig) if o.column and o.name != "labels"]


def _named(config: RankConfig) -> Iterator[tuple[Option, str]]:
    """Yield the option and the text of everything that names columns."""
    for option in _OPTIONS:
        for spec in texts_of(getattr(config, option.name)):
            yield option, spec


def _read(option: Option, spec: str, matrix: str = "", ids: Ids | None = None) -> list[Covariate]:
    if is_column(spec, spec):
        raise InputError(
            "there is no such file",
            where=spec,
            hint=f"name the table of a column, too, such as {option.flag} labels.tsv:{spec}",
            option=option.name,
        )
    if (wanted := _NUMBERS.get(option.name)) is not None:
        column = read_column(spec, wanted, matrix, ids)
        if wanted is EVENTS:
            refuse_opposite(column)
        return [Covariate(column, option.name, "numeric")]
    every = option.name == TRAITS
    return read_covariates(spec, option.key, matrix, ids, option.groups, every=every)


def read_files(config: RankConfig) -> dict[tuple[str, str], list[Covariate]]:
    """Read the columns of files before the matrix, by their option and what it says."""
    named = _named(config)
    return {(o.name, spec): _read(o, spec) for o, spec in named if not is_inside(spec)}


def columns_of(
    config: RankConfig, files: dict[tuple[str, str], list[Covariate]], ids: Ids
) -> SampleColumns:
    """Return the columns that a configuration names, those of the matrix included.

    Raises InputError for an annotation that is not there, UsageError for columns that are named
    twice or too many.
    """
    found = SampleColumns()
    for option, spec in _named(config):
        columns = files.get((option.name, spec)) or _read(option, spec, config.matrix, ids)
        for each in columns:
            each.values.settle(ids.samples)
        if option.groups and len(columns) > 1:
            raise UsageError(
                f"{option.flag} {spec} names {len(columns)} columns",
                hint="name one",
                option=option.name,
            )
        own = found.setdefault("event" if option.name == "censored" else option.name, [])
        own += columns
        if twice := repeated([each.where for each in own]):
            raise UsageError(
                f"{option.flag} names {listed(twice)} twice",
                hint="name it once",
                option=option.name,
            )
    return found


# ---- how the samples are compared ----------------------------------------------------------------


@dataclass(frozen=True)
class Design:
    """What covariates say of some samples, beside the mean."""

    basis: np.ndarray  # (r, n): orthonormal, in the order of the samples
    columns: list[dict[str, Any]] = field(default_factory=list)  # facts of each covariate
    blocks: np.ndarray | None = None  # (n,): block of each sample, which permutations stay in

    @property
    def rank(self) -> int:
        """The rank of the design matrix, its intercept included."""
        return len(self.basis) + 1


SHOWN = 6
"""Levels of a categorical covariate that are shown."""


def taken_as(columns: Sequence[dict[str, Any]]) -> str:
    """Return how covariates are taken, by their facts."""
    words = []
    for column in columns:
        text, levels = column["taken_as"], column["levels"]
        if levels is not None:
            text = f"{text}, {counted(len(levels), 'level')}: {listed(levels, SHOWN)}"
        words.append(f"{column['name']} ({text})")
    return ", ".join(dict.fromkeys(words))


@dataclass(frozen=True)
class Part:
    """A part of the samples that is ranked by itself."""

    name: str
    title: str  # what it is, and its name
    samples: np.ndarray  # indices among the samples that are used, ascending
    labels: Labels | None = None  # where they are used
    design: Design | None = None  # of its own samples

    @contextmanager
    def located(self, log: Messages) -> Iterator[None]:
        """Add the part to the messages, and to the place of an error."""
        with within(self.title), log.about(self.title):
            yield


@dataclass(frozen=True)
class Cohort:
    """The samples that a ranking compares.

    Attributes
    ----------
    columns : SampleColumns
        What is known of them.
    samples : sequence of str, length n
        Their ids; empty where there are no columns, as ids may be read later.
    labels : Labels, optional
        Their labels, where those are used, less what covariates explain of an outcome.
    weights : ndarray, shape (n,), optional
        Their weights, where they do not count alike.
    kept : ndarray of int, optional
        Which of the samples that there were they are, ascending; None for all.
    parts : list of Part
        Those that are ranked one by one, of which every sample is in one.
    left_out : dict
        Why other parts are not ranked, by their names.
    design : Design, optional
        What is taken out of the features, where there are no parts.
    whole : bool
        Whether they are all samples of a run, and not a subset of them.
    """

    columns: SampleColumns
    samples: Sequence[str] = ()
    labels: Labels | None = None
    weights: np.ndarray | None = None
    kept: np.ndarray | None = None
    parts: list[Part] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    design: Design | None = None
    whole: bool = True

    @property
    def sizes(self) -> dict[str, int]:
        """The number of samples of each part, by its title."""
        return {part.title: len(part.samples) for part in self.parts}

    @property
    def between(self) -> np.ndarray:
        """Orthonormal basis of the means of the P parts, beside that of all, shape (P - 1, n)."""
        columns = np.zeros((len(self.parts), len(self.samples)))
        for row, part in zip(columns, self.parts):
            row[part.samples] = 1
        return orthonormal(columns[1:])[0]

    @property
    def within(self) -> np.ndarray:
        """Orthonormal basis of the covariates, within each part, shape (r, n)."""
        if self.design is not None:
            return self.design.basis
        rows = [np.empty((0, len(self.samples)))]
        for part in self.parts:
            if part.design is not None:
                wide = np.zeros((len(part.design.basis), len(self.samples)))
                wide[:, part.samples] = part.design.basis
                rows.append(wide)
        return np.concatenate(rows)

    @property
    def covariates(self) -> list[dict[str, Any]]:
        """The facts of each covariate, with the part that it was taken out of."""
        if self.design is not None:
            return self.design.columns
        designs = [(part.name, part.design) for part in self.parts if part.design is not None]
        return [{"batch": name} | column for name, design in designs for column in design.columns]

    @property
    def freedom(self) -> int | None:
        """Residual degrees of freedom of a linear model of labels and covariates; None without."""
        if self.labels is None:
            return None
        terms = self.labels.n_classes - 1
        rank = 1 if self.design is None else self.design.rank
        return int(np.count_nonzero(self.labels.known)) - terms - rank

    @property
    def adjustment(self) -> Adjustment | None:
        """What is taken out of the features of all samples: the means of parts, and covariates."""
        if not self.parts and self.design is None:
            return None
        basis = np.concatenate([self.between, self.within])
        return Adjustment(basis) if len(basis) else None

    def subset(self, samples: np.ndarray, labels: Labels | None) -> Cohort:
        """Return some of the samples, shape (l,), given by index, before any covariates.

        The parts stay, and `labels` are theirs.
        """
        parts = []
        for part in self.parts:
            own = np.flatnonzero(np.isin(samples, part.samples))
            classes = None if labels is None or part.labels is None else compressed(labels, own)
            parts.append(Part(part.name, part.title, own, classes))
        ids = [self.samples[i] for i in samples.tolist()] if self.samples else ()
        return Cohort(self.columns, ids, labels, parts=parts, whole=False)


def compressed(labels: Labels, samples: np.ndarray) -> Labels:
    """Return the labels of some samples, with the classes that these have."""
    own = labels.take(samples)
    return own if own.values is not None else own.among(own.known)
