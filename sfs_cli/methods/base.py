"""What a method is: what it needs, what its score means, and how it scores a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sfs_cli.compute.engine import BlockLike, Engine
from sfs_cli.graph.similarity import Similarity


class Status(IntEnum):
    """Why a feature has no score; ``OK`` where it has one."""

    OK = 0
    CONSTANT = 1
    ALL_ZERO = 2
    MISSING = 3
    NOT_SELECTED = 4

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
}


@dataclass(frozen=True)
class Context:
    """What is known when a method starts, besides the matrix.

    Attributes
    ----------
    n_samples : int
        Number of samples n.
    dtype : dtype
        Type of the dense arithmetic on blocks.
    similarity : Similarity, optional
        The sample graph, for methods that need ``graph``.
    codes : ndarray of int, shape (n,), optional
        Class of each sample, 0..c-1, for methods that need ``labels``; -1 where a sample has none,
        for methods that need some.
    class_names : sequence of str, length c
        What the classes are called.
    options : dict
        The method's own options, defaults filled in.
    engine : Engine, optional
        Passes over the matrix, for iterative methods.
    memory : int
        Bytes that may be used.
    seed : int
        Of anything random.
    exact : dtype
        Shortest type in which blocks hold their values without rounding.
    tell : callable
        Takes a line about the progress.
    """

    n_samples: int
    dtype: np.dtype[Any]
    similarity: Similarity | None = None
    codes: np.ndarray | None = None
    class_names: Sequence[str] = ()
    options: dict[str, Any] = field(default_factory=dict)
    engine: Engine | None = None
    memory: int = 1 << 30
    seed: int = 0
    exact: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    tell: Callable[[str], None] = lambda _line: None


@runtime_checkable
class InFile(Protocol):
    """A `BlockLike` that is still in a file: its `values` are read when they are asked for.

    Attributes
    ----------
    descriptor, offset : int
        Where the values of shape (b, n) are, one feature after the other.
    shape : (int, int)
        b and n.
    dtype : dtype
        float32 or float64, in the order of this machine.
    held : int
        Features of a block that is in memory, of which this one is several.
    """

    held: int
    descriptor: int
    offset: int
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some features, shape (len(rows), n)."""
        ...


class Scorer(Protocol):
    """Scores blocks of features independently of each other.

    Attributes
    ----------
    dtype : dtype
        Type in which blocks are wanted.
    larger_is_better : bool
        Direction of the ranking.
    facts : dict
        What was decided on the way (for ``run.json``).
    warnings : list of str
        What the user should know.
    """

    dtype: np.dtype[Any]
    larger_is_better: bool
    facts: dict[str, Any]
    warnings: list[str]

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return scores (b,) in float64, NaN where there is none, and statuses (b,) in int8."""
        ...


@dataclass(frozen=True)
class Solution:
    """What an iterative method found.

    Attributes
    ----------
    score : ndarray, shape (m,)
        The method's own number, NaN where there is none.
    status : ndarray of int8, shape (m,)
        Values of `Status`.
    larger_is_better : bool
        Direction of the scores.
    order : ndarray of int, optional
        Features from best to worst, for methods whose ranking is not that of the scores (the
        order of entry into a path). Features that it leaves out follow in the order of the input.
    extra : dict of ndarray, shape (m,)
        More columns of the ranking.
    objective : list of float
        The objective, an entry for each iteration.
    converged : bool
        Whether the stop criterion was met.
    stop : str
        Why the iterations ended, in words.
    coefficients : (indices, W), optional
        Features with non-zero coefficients, shape (s,), and their rows, shape (s, k).
    facts : dict
        What was decided on the way (for ``run.json``).
    warnings : list of str
        What the user should know.
    """

    score: np.ndarray
    status: np.ndarray
    larger_is_better: bool = True
    order: np.ndarray | None = None
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    objective: list[float] = field(default_factory=list)
    converged: bool = True
    stop: str = ""
    coefficients: tuple[np.ndarray, np.ndarray] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
