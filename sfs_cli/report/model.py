"""The contents of a report, for the page and the MultiQC file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Pairs = list[tuple[str, str]]
"""Names, and what is said of each."""


def as_pairs(facts: Mapping[str, Any]) -> Pairs:
    """Return facts as words: numbers are rounded or grouped, None is left out."""
    pairs = []
    for name, value in facts.items():
        if isinstance(value, float):
            value = f"{value:.6g}"
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, int):
            value = f"{value:,}"
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif isinstance(value, dict):
            value = ", ".join(f"{key}: {number:.3g}" for key, number in value.items())
        if value is not None:
            pairs.append((name.replace("_", " ").capitalize(), str(value)))
    return pairs


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table about the inputs of a ranking."""

    heading: str
    columns: Sequence[str]  # the first names the rows
    rows: Sequence[Sequence[object]]  # text, numbers, and NaN or None for what is missing
    note: str = ""  # how to read it
    digits: int = 6  # significant ones, of numbers that are not integers
    shade: float | None = None  # shade numbers by their size, completely at this value
    # whether it is about the best features, and not about what the ranking was made from
    of_best: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    """What the page says of an optional part of a run."""

    heading: str = ""
    pairs: Pairs = field(default_factory=list)
    tables: Sequence[Table] = ()
    sentences: Sequence[str] = ()  # said first
    input: Pairs = field(default_factory=list)  # for the section of the input
    how: str = ""  # how to read the scores, if not as those of the method
    reference: str = ""  # what to cite in place of the method
    files: Sequence[tuple[str, str]] = ()  # beside the page: name, description


def agreement_table(names: Sequence[str], taus: Sequence[Sequence[float]]) -> Table:
    """Return a table of how far rankings agree."""
    return Table(
        heading="Agreement of the rankings",
        columns=("ranking", *names),
        rows=[(name, *row) for name, row in zip(names, taus)],
        note="Kendall's tau-b: 1 for the same order, 0 for no relation, -1 for the reverse order.",
        digits=3,
        shade=1.0,
    )


@dataclass(frozen=True, kw_only=True)
class SampleNotes:
    """What labels say of the n samples: a class of each, an outcome, or nothing."""

    n: int
    classes: Sequence[str] = ()
    codes: np.ndarray | None = None  # (n,), indices of classes, -1 without one
    outcome: np.ndarray | None = None  # (n,), NaN where there is none
    used: bool = False  # whether the ranking was made with them


@dataclass(frozen=True, kw_only=True)
class Heatmap:
    """The best features in the samples, in an order of both."""

    features: Sequence[str]  # of each row
    ranks: Sequence[int]
    cells: np.ndarray  # (g, c): means of the samples of a column, each row of mean 0 and sd 1
    sizes: np.ndarray  # (c,): number of samples of each column
    codes: np.ndarray | None  # (c,): the class of most of its samples
    outcome: np.ndarray | None  # (c,): their mean outcome
    samples: Sequence[str] | None  # of each column, where it is one
    ordered: str  # how the columns are ordered
    by_class: bool  # first by class


@dataclass(frozen=True, kw_only=True)
class Plane:
    """The samples, or evenly spaced ones of many, as points."""

    points: np.ndarray  # (p, 2)
    codes: np.ndarray | None  # (p,), as in `SampleNotes`
    outcome: np.ndarray | None  # (p,)
    samples: Sequence[str] | None  # the names of few
    axes: tuple[str, str]
    where: str  # which plane it is
    drawn: str  # how many are drawn, where not all are
    # sizes of the groups that are apart here; None if the graph shows some, or no graph is known
    apart: Sequence[int] | None = None
    notes: SampleNotes | None = None  # the groups, where they are drawn for lack of labels


@dataclass(frozen=True, kw_only=True)
class Strip:
    """The values of a feature: of each class, against an outcome, or all of them."""

    feature: str
    rank: int
    groups: Sequence[tuple[np.ndarray, float]] = ()  # ascending values and their median
    pairs: np.ndarray | None = None  # (p, 2): outcome and value


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """What the pictures of the best features show."""

    notes: SampleNotes
    heatmap: Heatmap
    plane: Plane | None
    strips: Sequence[Strip]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Columns of the features with a score, best first, that have a picture."""

    p_values: np.ndarray | None = None  # (m,)
    changes: np.ndarray | None = None  # (m,): differences between the means of two classes
    change: str = ""  # which class less which
    log2: bool = False  # whether the changes are logarithms to base 2


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """The contents of a report."""

    title: str  # what was ranked, such as the name of the matrix
    sentences: Sequence[str] = ()  # of the first paragraph, after what was ranked and the best
    made_from: str = ""  # such as: on 72 samples (47 ALL, 25 AML)
    method: str  # its title
    how: str  # how to read a score, in a sentence or two
    larger_is_better: bool
    # from best to worst, without NaN: of all features with a score, or of those that pruning kept
    scores: np.ndarray
    n_features: int
    command: str  # the command line that reproduces this ranking
    version: str  # of the program
    n_unscored: int = 0  # number of features without a score
    n_left_out: int = 0  # number of those that took no part, not even in the graph
    reasons: Mapping[str, int] = field(default_factory=dict)  # why: status -> number of features
    reading: str = ""  # of the eigenvalues, in a sentence or two
    top: Sequence[Mapping[str, object]] = ()  # the best features: column -> value, in order
    meanings: Mapping[str, str] = field(default_factory=dict)  # of these columns
    gene_links: str | None = None  # the kind of ids, where the features are links to gene pages
    pictures: Pictures | None = None
    evidence: Evidence = Evidence()
    tables: Sequence[Table] = ()
    facts: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()  # heading, names and values
    warnings: Sequence[str] = ()
    reference: str = ""  # what to cite; a DOI in it becomes a link
    downloads: Sequence[tuple[str, str]] = ()  # files beside the page: name, description
