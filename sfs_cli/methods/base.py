"""What a method is: what it needs, what its score means, and how it scores a block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol

import numpy as np

from sfs_cli.compute.context import Labels, RunContext
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike, LeftOut, NonZeros
from sfs_cli.graph.similarity import Similarity


class OnNonZeros(Protocol):
    """What scores blocks of a sparse matrix from their stored values."""

    dtype: np.dtype[Any]

    def score_block(self, block: NonZeros) -> Arrays:
        """Return ``score`` and ``status`` of a block, each (b,); overwrites it."""


class Status(IntEnum):
    """Why a feature has no score; ``OK`` where it has one."""

    OK = 0
    CONSTANT = 1
    ALL_ZERO = 2
    MISSING = LeftOut.MISSING
    NOT_SELECTED = 4
    EXCLUDED = LeftOut.EXCLUDED
    NOT_INCLUDED = LeftOut.NOT_INCLUDED
    FEW_SAMPLES = LeftOut.FEW_SAMPLES
    EXPLAINED = LeftOut.EXPLAINED
    GIVEN = 9
    LOW_COUNTS = LeftOut.LOW_COUNTS

    @property
    def text(self) -> str:
        """The status as it is written."""
        return _TEXTS[self]


_TEXTS = {
    Status.OK: "ok",
    Status.CONSTANT: "constant",
    Status.ALL_ZERO: "all zero",
    Status.MISSING: "missing values",
    Status.NOT_SELECTED: "not selected",
    Status.EXCLUDED: "excluded",
    Status.NOT_INCLUDED: "not included",
    Status.FEW_SAMPLES: "in too few samples",
    Status.EXPLAINED: "explained by covariates",
    Status.GIVEN: "given",
    Status.LOW_COUNTS: "counts too low",
}


@dataclass(frozen=True)
class Problem:
    """What a method is given: the run, a sample graph, and the options of the method."""

    context: RunContext  # the run's matrix, labels, memory, seed and log
    graph: Similarity | None = None  # the sample graph, for methods that need ``graph``
    # the method's own options, defaults filled in
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """Passes over the prepared matrix."""
        return self.context.engine

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return self.context.n

    @property
    def n_rows(self) -> int:
        """Number of rows that are scored: the features, on each subset of the samples."""
        return self.context.m * self.context.beside

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the dense arithmetic on blocks."""
        return self.context.dtype

    @property
    def lossless_dtype(self) -> np.dtype[Any]:
        """Shortest type in which blocks hold their values without rounding."""
        return self.context.matrix.lossless_dtype

    @property
    def similarity(self) -> Similarity:
        """The sample graph of a method that needs one."""
        assert self.graph is not None
        return self.graph

    @property
    def labels(self) -> Labels:
        """The labels of a method that needs some."""
        return self.context.required_labels

    @property
    def codes(self) -> np.ndarray:
        """Class of each sample, 0..c-1, shape (n,), for methods that need ``labels``.

        It is -1 where a sample has no label, for methods that need ``some-labels``.
        """
        return self.labels.codes

    @property
    def outcome(self) -> np.ndarray | None:
        """Number of each sample, shape (n,), where labels are numbers or ordered classes."""
        labels = self.context.labels
        return None if labels is None else labels.values

    @property
    def sample_weights(self) -> np.ndarray | None:
        """How many samples each one counts as, shape (n,), positive; None where that is 1."""
        return self.context.sample_weights

    @property
    def n_counted(self) -> float:
        """Number of samples, each as often as it counts: the sum of the weights."""
        return float(self.n_samples if self.sample_weights is None else self.sample_weights.sum())

    @property
    def memory(self) -> int:
        """Bytes that may be used."""
        return self.context.memory

    @property
    def tell(self) -> Callable[[str], None]:
        """Receives lines about the progress."""
        return self.context.log.step


class Scorer(ABC):
    """Scores blocks of features independently of each other.

    Attributes
    ----------
    dtype : dtype
        Type in which blocks are wanted.
    larger_is_better : bool
        Direction of the ranking.
    facts : dict
        Decisions and results for ``run.json``.
    warnings : list of str
        What the user should know.
    has_means : bool
        Whether `score_block` has ``class_means``, which are else measured beside it.
    """

    dtype: np.dtype[Any] = DOUBLE
    larger_is_better = True
    has_means = False

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []

    @abstractmethod
    def score_block(self, block: BlockLike) -> Arrays:
        """Return what is found of a block by name, a row for each feature.

        ``score`` (b,) is float64, NaN where there is none, and ``status`` (b,) is int8. `columns`
        may need more names. The block may be overwritten.
        """

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return more columns of the ranking, each (m,), from what `score_block` found of all.

        A column ``score`` takes the place of the score.
        """
        return {}

    def on_nonzeros(self) -> OnNonZeros | None:
        """Return the scorer of stored values alone, if the formula and the graph have one."""
        return None


@dataclass(frozen=True)
class Solution:
    """The result of a method."""

    score: np.ndarray  # (m,): the method's own number, NaN where there is none
    status: np.ndarray  # (m,): values of `Status`
    larger_is_better: bool = True  # direction of the scores
    # features from best to worst, for methods whose ranking is not that of the scores (the order of
    # entry into a path). Features that it leaves out follow in the order of the input
    order: np.ndarray | None = None
    extra: dict[str, np.ndarray] = field(default_factory=dict)  # more columns, each (m,)
    class_means: np.ndarray | None = None  # what `ClassMeans.measure` finds, of all features
    # the objective, an entry for each iteration
    objective: list[float] = field(default_factory=list)
    converged: bool = True  # whether the stop criterion was met
    stop: str = ""  # why the iterations ended, in words
    # features with non-zero coefficients, shape (s,), and their rows, shape (s, k)
    coefficients: tuple[np.ndarray, np.ndarray] | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # decisions and results for ``run.json``
    warnings: list[str] = field(default_factory=list)  # what the user should know
    notes: list[str] = field(default_factory=list)  # what was found beside the scores
    scorer: Scorer | None = None  # what has scored the features, each by itself

    @property
    def scored(self) -> np.ndarray:
        """The features that have a score, ascending."""
        return np.flatnonzero(~np.isnan(self.score))
