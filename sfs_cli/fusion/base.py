"""What a learner of weights is given, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.fusion.catalog import WEIGHTINGS
from sfs_cli.fusion.centering import centred_norms
from sfs_cli.graph.labels import check_labelled

FLAT_LIMIT = 1e-12
"""A kernel whose centred norm is smaller than this part of its norm says nothing of samples."""


@dataclass(frozen=True)
class FusionContext:
    """What is known besides the kernels.

    Attributes
    ----------
    codes : ndarray of int, shape (n,), optional
        Class of each sample, for learners that need labels.
    options : mapping
        The learner's own options as far as given, by the names of its `Entry`.
    names : sequence of str, length K
        What the sources are called; they are numbered from 1 without.
    """

    codes: np.ndarray | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    names: Sequence[str] = ()

    def settings(self, learner: str) -> dict[str, Any]:
        """Return the options of a learner, defaults filled in."""
        return dict(WEIGHTINGS[learner].options) | dict(self.options)

    def name(self, k: int) -> str:
        """Return what source k is called."""
        return self.names[k] if self.names else f"source {k + 1}"


@dataclass(frozen=True)
class Weighting:
    """Weights of the sources.

    Attributes
    ----------
    weights : ndarray, shape (K,)
        Non-negative. Learned weights sum to one: what follows does not depend on their scale.
    objective : float, optional
        What was optimised, at the end.
    facts : dict
        What is worth telling, as numbers, words and lists of them.
    objectives : list of float
        The objective at the start and after each iteration.
    converged : bool
        Whether the optimum was reached.
    stop : str
        Why it stopped.
    fused : ndarray, shape (n, n), optional
        The global similarity, where it is not the weighted sum.
    warnings : list of str
        What the user should know.
    """

    weights: np.ndarray
    objective: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    objectives: list[float] = field(default_factory=list)
    converged: bool = True
    stop: str = ""
    fused: np.ndarray | None = None
    warnings: list[str] = field(default_factory=list)


def checked(kernels: Sequence[Any]) -> list[np.ndarray]:
    """Return kernels, (n, n) all, as arrays; sparse ones are filled."""
    assert len({kernel.shape for kernel in kernels}) == 1
    assert kernels[0].ndim == 2
    assert kernels[0].shape[0] == kernels[0].shape[1]
    return [K if isinstance(K, np.ndarray) else K.toarray() for K in kernels]


def telling(kernels: Sequence[np.ndarray], context: FusionContext) -> tuple[np.ndarray, list[str]]:
    """Find the kernels that tell samples apart: one that is constant has nothing to be weighed by.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        Of all sources.
    context : FusionContext
        Names them.

    Returns
    -------
    kept : ndarray of int
        Their positions. The others are to have the weight 0.
    warnings : list of str
        Names the others.

    Raises
    ------
    InputError
        When there is none.
    """
    told = np.array([np.sqrt(c) > FLAT_LIMIT * np.linalg.norm(K) for K, c in _with_norms(kernels)])
    flat = [context.name(int(k)) for k in np.flatnonzero(~told)]
    if not told.any():
        raise InputError(
            "no source tells samples apart: all similarities are the same",
            where=listed(flat),
            hint="check the sources, or give --weights uniform",
        )
    warnings = []
    if flat:
        warnings.append(
            f"all samples are equally similar in {listed(flat)}, which is given the weight 0"
        )
    return np.flatnonzero(told), warnings


def _with_norms(kernels: Sequence[np.ndarray]) -> list[tuple[np.ndarray, float]]:
    return [(K, float(c)) for K, c in zip(kernels, centred_norms(kernels))]


def spread(values: np.ndarray, kept: np.ndarray, count: int) -> np.ndarray:
    """Return an array of `count` values that are 0 but for those at `kept`."""
    full = np.zeros(count)
    full[kept] = values
    return full


def normalised(weights: np.ndarray) -> np.ndarray:
    """Return non-negative weights divided by their sum."""
    return weights / weights.sum()


def one_hot(codes: np.ndarray | None) -> np.ndarray:
    """Return the indicators of the classes, shape (n, number of classes).

    Raises
    ------
    InputError
        When a sample has no class, or all have the same.
    """
    assert codes is not None, "the configuration asks for labels"
    check_labelled(codes)
    classes, column = np.unique(codes, return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            "all samples are of one class: weights cannot be learned from it",
            where="--weights with labels",
            hint="give labels with two classes or more, or --weights uniform",
        )
    return np.eye(len(classes))[column]


def bounded_neighbors(context: FusionContext, learner: str, n: int, most: int) -> int:
    """Return the number of neighbours of a learner, at most `most`.

    The default is brought down to it where samples are few; a number that was asked for is not.

    Raises
    ------
    InputError
        When more were asked for.
    """
    count = int(context.settings(learner)["neighbors"])
    if count <= most:
        return count
    if "neighbors" in context.options:
        raise InputError(
            f"{count} neighbours are asked for among {n:,} samples",
            where=f"--weights {learner}",
            hint=f"give at most {most}",
        )
    return most
