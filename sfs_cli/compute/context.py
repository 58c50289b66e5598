"""The context of a run: what every stage from the sample graph to the scores works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.limits import LIMITS, Limits

if TYPE_CHECKING:
    from sfs_cli.compute.engine import Engine
    from sfs_cli.compute.matrix import MatrixView
    from sfs_cli.logs import Messages


@dataclass(frozen=True)
class Labels:
    """Classes of the samples.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..c-1; -1 where there is no label.
    classes : list of str, length c
        Names of the classes, sorted.
    """

    codes: np.ndarray
    classes: list[str]

    def counts(self) -> dict[str, int]:
        """Return how many samples each class has."""
        sizes = np.bincount(self.codes[self.codes >= 0], minlength=len(self.classes))
        return dict(zip(self.classes, sizes.tolist()))

    def of(self, samples: Sequence[str]) -> dict[str, str]:
        """Return the class of each sample that has one, by its id."""
        return {s: self.classes[c] for s, c in zip(samples, self.codes.tolist()) if c >= 0}

    def take(self, samples: np.ndarray | None) -> Labels:
        """Return the labels of some samples, given by index (None: all); the classes stay."""
        return self if samples is None else Labels(self.codes[samples], self.classes)


@dataclass(frozen=True)
class RunContext:
    """What a run works with.

    Attributes
    ----------
    engine : Engine
        Passes over the prepared matrix, which is ``engine.source``.
    labels : Labels or None
        Classes of the samples of the matrix, where they are known.
    memory : int
        Bytes that may be used.
    seed : int
        Random seed.
    log : Messages
        Receives messages and progress.
    where : str
        The input, as error messages name it.
    limits : Limits
        Sizes at which the algorithms change.
    given : tuple of int
        The features that are already chosen, ascending.
    """

    engine: Engine
    labels: Labels | None
    memory: int
    seed: int
    log: Messages
    where: str = ""
    limits: Limits = LIMITS
    given: tuple[int, ...] = ()

    @property
    def matrix(self) -> MatrixView:
        """The prepared matrix."""
        return self.engine.source

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.engine.source.n_samples

    @property
    def m(self) -> int:
        """Number of features."""
        return self.engine.source.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the dense arithmetic."""
        return self.engine.dtype
