"""Greedy sparse principal components, on a covariance that is never formed.

A. d'Aspremont, F. Bach and L. El Ghaoui, "Optimal solutions for sparse principal component
analysis", JMLR 9, 2008 (the approximate greedy search, Section 3.2): the covariance is
``C = B B'`` with rows ``b_i``; from the feature with the largest ``|b_i|^2`` on, the next one is
``argmax_i (x . b_i)^2`` with x the leading eigenvector of the sum of ``b_i b_i'`` over the set I.

Here ``b_i . b_j = w_i w_j f_i' M f_j``, and with v the leading eigenvector of the small matrix
``C_II``, ``x . b_i`` is ``w_i f_i . u`` where ``u = M F_I' (w_I v) / sqrt(mu)``. So neither a root
of M nor anything m x m is needed.

So a step is one product of all features with one vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.shared import set_aside_given, warn_of_fewer

TIE = 1e-10
"""Values that agree to this part of the largest are equal; the first feature is taken."""


@dataclass(frozen=True)
class Covariance:
    """``C_ij = w_i w_j f_i' M f_j`` for the features of a matrix."""

    features: CenteredMatrix  # rows ``f_i``
    weights: np.ndarray  # (m,): ``w_i``; 0 where a feature cannot be scored
    diagonal: np.ndarray  # (m,): ``C_ii``; 0 where a feature cannot be scored
    # from rows (b, n) to rows times M, positive semidefinite
    metric: Callable[[np.ndarray], np.ndarray]


@dataclass
class Path:
    """Features in the order in which they entered, after those that were given."""

    order: list[int] = field(default_factory=list)  # selected features
    variance: list[float] = field(default_factory=list)  # largest eigenvalue of ``C_II`` after each
    of_given: float = 0.0  # the same of the given features alone
    # the features that can enter but did not, the next to enter first
    runners_up: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass
class _Selected:
    """The set I through ``C_II`` and its rows of ``w_i M f_i``."""

    images: np.ndarray
    covariance: np.ndarray
    size: int = 0

    def add(self, row: np.ndarray, image: np.ndarray) -> None:
        """Add a feature: ``w f`` (n,) and ``w M f`` (n,)."""
        s = self.size
        self.images[s] = image
        self.covariance[s, : s + 1] = self.images[: s + 1] @ row
        self.covariance[:s, s] = self.covariance[s, :s]
        self.size = s + 1

    def leading(self) -> tuple[float, np.ndarray]:
        """Return the largest eigenvalue of C_II, and the direction u (n,)."""
        s = self.size
        values, vectors = linalg.eigh(self.covariance[:s, :s], subset_by_index=(s - 1, s - 1))
        return float(values[0]), vectors[:, 0] / np.sqrt(values[0]) @ self.images[:s]


def greedy_path(
    covariance: Covariance,
    select: int,
    tell: Callable[[str], None],
    given: Sequence[int] = (),
) -> Path:
    """Run the path until `select` features have entered, or all that vary.

    The given features are in the set I from the start, and are none of those that enter.

    Parameters
    ----------
    covariance : Covariance
        At least one feature has a positive diagonal.
    select : int
        At least 1.
    tell : callable
        Receives lines about the progress.
    given : sequence of int
        Features that vary, but are not usable any more.
    """
    features, weights = covariance.features, covariance.weights
    select = min(select, int(features.usable.sum()))
    size = len(given) + select
    selected = _Selected(np.empty((size, features.n)), np.empty((size, size)))
    able, path = features.usable.copy(), Path()

    def enter(feature: int) -> None:
        row = weights[feature] * features.take(np.array([feature]))[0]
        selected.add(row, covariance.metric(row[None])[0])

    def pulls() -> tuple[float, np.ndarray]:
        """Return the variance of the set, and ``(x . b_i)^2`` of all features."""
        variance, direction = selected.leading()
        return variance, (features.project(direction[:, None])[:, 0] * weights) ** 2

    value = covariance.diagonal
    for feature in given:
        enter(feature)
    if len(given):
        path.of_given, value = pulls()
    while len(path.order) < select:
        entering = first_of(np.where(able, value, -1.0))
        enter(entering)
        able[entering] = False
        variance, value = pulls()
        path.order.append(entering)
        path.variance.append(variance)
        tell(f"{len(path.order)} of {select} features, {features.passes} passes over the matrix")
    rest = np.flatnonzero(able)
    path.runners_up = rest[np.argsort(-value[rest], kind="stable")]
    return path


def solution(covariance: Covariance, problem: Problem, facts: dict[str, Any]) -> Solution:
    """Run the path as a method.

    Parameters
    ----------
    covariance : Covariance
        Of the features.
    problem : Problem
        Its option ``select`` is the number of features.
    facts : dict
        Facts to which those of the path are added.

    Raises
    ------
    InputError
        When the variance of a feature, or of all, cannot be represented or is 0.
    """
    select, features = int(problem.options["select"]), covariance.features
    total = float(covariance.diagonal.sum())
    if not 0 < total < np.inf:
        raise InputError(
            f"the variances of the features add up to {total:g}",
            hint="bring the features to one scale, for example with --transform zscore",
        )
    given = set_aside_given(problem, features)
    given = given[covariance.diagonal[given] > 0]
    path = greedy_path(covariance, select, problem.tell, given.tolist())
    score, status = np.full(features.m, np.nan), features.status.copy()
    score[path.order] = path.variance
    status[path.runners_up] = Status.NOT_SELECTED
    if len(given):
        facts = facts | {"variance_kept_by_given": path.of_given / total}
    facts = facts | {
        "selected": len(path.order),
        "variance_kept": path.variance[-1] / total,
        "total_variance": total,
        "passes": features.passes,
    }
    return Solution(
        score,
        status,
        order=np.concatenate([np.array(path.order), path.runners_up]),
        extra={"variance_kept": score / total},
        objective=path.variance,
        stop=f"{len(path.order):,} features entered",
        facts=facts,
        warnings=warn_of_fewer(select, int(features.usable.sum())),
    )


def first_of(value: np.ndarray) -> int:
    """Return the first index of the largest value, to `TIE`."""
    return int(np.argmax(value >= value.max() * (1 - TIE)))
