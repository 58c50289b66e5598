"""The contents of a report, for the page and the MultiQC file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table about what a ranking was made from."""

    heading: str
    columns: Sequence[str]  # the first names the rows
    rows: Sequence[Sequence[object]]  # text, numbers, and NaN or None for what is missing
    note: str = ""  # how to read it
    digits: int = 6  # significant ones, of numbers that are not integers
    shade: float | None = None  # shade numbers by their size, completely at this value


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """The contents of a report."""

    title: str  # what was ranked, such as the name of the matrix
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
    elbow: int | None = None  # features before the bend of the score curve, marked in its picture
    # (k,), leading eigenvalues of the normalized Laplacian, ascending, the first one 0
    eigenvalues: np.ndarray | None = None
    clusters: int | None = None  # that were used; the gap after this eigenvalue is marked
    top: Sequence[Mapping[str, object]] = ()  # the best features: column -> value, in order
    tables: Sequence[Table] = ()  # what the ranking was made from, as the lists of an aggregate
    facts: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()  # heading, names and values
    warnings: Sequence[str] = ()
    next_runs: Sequence[tuple[str, str]] = ()  # worth making: the command, and why
    reference: str = ""  # what to cite; a DOI in it becomes a link
    downloads: Sequence[tuple[str, str]] = ()  # files beside the page: name, description
