"""What a report shows: everything the page and the MultiQC file are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table on what went into a ranking.

    Attributes
    ----------
    heading : str
        What it is about.
    columns : sequence of str
        Names of the columns; the first names the rows.
    rows : sequence of sequences
        The values of each row: text, numbers, and NaN or None for what is missing.
    note : str
        What a reader must know to read it.
    digits : int
        Significant digits of numbers that are no integers.
    shade : float, optional
        Numbers are shaded by their size, fully at this one; negative ones in another colour.
    """

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""
    digits: int = 6
    shade: float | None = None


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """The contents of a report, ready to be shown.

    Attributes
    ----------
    title : str
        What was ranked, such as the name of the matrix.
    method : str
        Title of the method.
    how : str
        One sentence that says what a good score means.
    larger_is_better : bool
        Whether a large score is a good one.
    scores : ndarray, shape (n_scored,)
        The scores of the scored features, from best to worst, without NaN.
    n_features, n_unscored : int
        How many features there are, and how many of them have no score.
    reasons : mapping of str to int
        Why features have no score: status -> number of features.
    elbow : int, optional
        Number of features before the elbow of the score curve.
    eigenvalues : ndarray, shape (k,), optional
        Leading eigenvalues of the normalized Laplacian, ascending, the first one 0.
    clusters : int, optional
        The number of clusters that was used; the gap after this eigenvalue is marked.
    top : sequence of mappings
        The best features, one mapping of column -> value each, columns in order.
    tables : sequence of Table
        What went into the ranking, such as the lists of an aggregate.
    facts : sequence of (heading, pairs)
        Sections of name and value pairs on what was read and how.
    warnings : sequence of str
        What a reader must know before using the ranking.
    command : str
        The command line that makes this ranking again.
    version : str
        Version of the program.
    reference : str
        What to cite; a DOI in it becomes a link.
    downloads : sequence of (file name, description)
        Files beside the page, as relative links.
    """

    title: str
    method: str
    how: str
    larger_is_better: bool
    scores: np.ndarray
    n_features: int
    command: str
    version: str
    n_unscored: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    elbow: int | None = None
    eigenvalues: np.ndarray | None = None
    clusters: int | None = None
    top: Sequence[Mapping[str, object]] = ()
    tables: Sequence[Table] = ()
    facts: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    warnings: Sequence[str] = ()
    reference: str = ""
    downloads: Sequence[tuple[str, str]] = ()
