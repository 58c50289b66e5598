"""The contents of a report, for the page and the MultiQC file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table about what a ranking was made from.

    Attributes
    ----------
    heading : str
        Its title.
    columns : sequence of str
        Names of the columns; the first names the rows.
    rows : sequence of sequences
        The values of each row: text, numbers, and NaN or None for what is missing.
    note : str
        How to read it.
    digits : int
        Significant digits of numbers that are not integers.
    shade : float, optional
        Shade numbers by their size, fully at this value; negative ones in another color.
    """

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""
    digits: int = 6
    shade: float | None = None


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """The contents of a report.

    Attributes
    ----------
    title : str
        What was ranked, such as the name of the matrix.
    method : str
        Title of the method.
    how : str
        How to read a score, in a sentence or two.
    larger_is_better : bool
        Whether a large score is a good one.
    scores : ndarray, shape (n_scored,)
        The scores of the scored features, from best to worst, without NaN.
    n_features, n_unscored : int
        Number of features, and of those without a score.
    reasons : mapping of str to int
        Why features have no score: status -> number of features.
    elbow : int, optional
        Number of features before the elbow of the score curve.
    eigenvalues : ndarray, shape (k,), optional
        Leading eigenvalues of the normalized Laplacian, ascending, the first one 0.
    clusters : int, optional
        Number of clusters that was used; the gap after this eigenvalue is marked.
    top : sequence of mappings
        The best features, one mapping of column -> value each, columns in order.
    tables : sequence of Table
        What the ranking was made from, such as the lists of an aggregate.
    facts : sequence of (heading, pairs)
        Sections of names and values about the run.
    warnings : sequence of str
        Warnings of the run.
    command : str
        The command line that reproduces this ranking.
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
