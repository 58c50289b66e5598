"""The context of a run: what every stage from the sample graph to the scores works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli.compute.limits import LIMITS, Limits

if TYPE_CHECKING:
    from sfs_cli.compute.engine import Engine
    from sfs_cli.compute.matrix import MatrixView
    from sfs_cli.logs import Messages


class Survival(NamedTuple):
    """Times that may be censored."""

    time: np.ndarray  # (n,): of the event, or until which none was seen; 0 or more
    event: np.ndarray  # (n,) of bool: whether there was an event


@dataclass(frozen=True)
class Labels:
    """Classes of the samples, or an outcome: a number of each sample.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..c-1; -1 where there is no label, and for a continuous outcome.
    classes : list of str, length c
        Names of the classes, sorted, or in the order that is given.
    values : ndarray, shape (n,), optional
        The outcome, NaN where there is none: numbers, or the places 0..c-1 of ordered classes. None
        for classes without an order.
    survival : Survival, optional
        The times and events of which the outcome is the martingale residual.
    """

    codes: np.ndarray
    classes: list[str]
    values: np.ndarray | None = None
    survival: Survival | None = None

    @property
    def known(self) -> np.ndarray:
        """Which samples have a label, of bool, shape (n,)."""
        return self.codes >= 0 if self.values is None else np.isfinite(self.values)

    @property
    def numbers(self) -> np.ndarray:
        """The outcome, where there is one."""
        assert self.values is not None
        return self.values

    @property
    def target(self) -> np.ndarray:
        """The outcome where there is one, else the classes, shape (n,)."""
        return self.codes if self.values is None else self.values

    @property
    def n_classes(self) -> int:
        """The number of classes that samples have; 2 for an outcome, which has two directions."""
        return len(np.unique(self.codes[self.codes >= 0])) if self.values is None else 2

    def counts(self) -> dict[str, int]:
        """Return how many samples each class has."""
        sizes = np.bincount(self.codes[self.codes >= 0], minlength=len(self.classes))
        return dict(zip(self.classes, sizes.tolist()))

    def adjusted(self, basis: np.ndarray) -> Labels:
        """Return an outcome less what covariates explain of it; classes stay as they are.

        `basis`, shape (r, n), is orthonormal, and orthogonal to the mean, which is kept.
        """
        if self.values is None:
            return self
        return replace(self, values=self.values - (basis @ self.values) @ basis)

    def among(self, used: np.ndarray) -> Labels:
        """Return the labels without those of samples that are not used, of bool, shape (n,).

        Classes without an order are left out where none of their samples is used.
        """
        codes = np.where(used, self.codes, -1)
        if self.values is not None:
            return Labels(codes, self.classes, np.where(used, self.values, np.nan))
        left = np.unique(codes[codes >= 0])
        classes = [self.classes[code] for code in left.tolist()]
        return Labels(np.where(codes < 0, -1, np.searchsorted(left, codes)), classes)

    def range(self) -> dict[str, float]:
        """Return the smallest and the largest outcome."""
        known = self.numbers[self.known]
        return {"smallest": float(known.min()), "largest": float(known.max())}

    def of(self, samples: Sequence[str]) -> dict[str, str]:
        """Return the class of each sample that has one, by its id."""
        return {s: self.classes[c] for s, c in zip(samples, self.codes.tolist()) if c >= 0}

    def take(self, samples: np.ndarray | None) -> Labels:
        """Return the labels of some samples, given by index (None: all); the classes stay."""
        if samples is None:
            return self
        values = None if self.values is None else self.values[samples]
        survival = self.survival and Survival(*(each[samples] for each in self.survival))
        return Labels(self.codes[samples], self.classes, values, survival)


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
    scratch : Path or None
        Folder for temporary files; None where everything is to stay in memory.
    sample_weights : ndarray, shape (n,), optional
        How many samples each one counts as; positive. 1 by default.
    design : ndarray, shape (r, n), optional
        Orthonormal rows, each with the sum 0: what covariates say of the samples, which is taken
        out of the features. None without covariates.
    blocks : ndarray of int, shape (n,), optional
        Block of each sample, within which its values are permuted. None where all are one block.
    given : tuple of int
        The features that are already chosen, ascending.
    beside : int
        Number of subsets of the samples on which every feature is scored, this one included.
    """

    engine: Engine
    labels: Labels | None
    memory: int
    seed: int
    log: Messages
    where: str = ""
    limits: Limits = LIMITS
    scratch: Path | None = None
    sample_weights: np.ndarray | None = None
    design: np.ndarray | None = None
    blocks: np.ndarray | None = None
    given: tuple[int, ...] = ()
    beside: int = 1

    @property
    def covariates(self) -> int:
        """Number r of independent columns that are taken out of the features, beside the mean."""
        return len(self.basis)

    @property
    def required_labels(self) -> Labels:
        """The labels, for what cannot be asked for without any."""
        assert self.labels is not None
        return self.labels

    @property
    def basis(self) -> np.ndarray:
        """The design; without covariates it has no rows."""
        return np.empty((0, self.n)) if self.design is None else self.design

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
