"""The greedy path of sparse principal components, on a covariance that is never formed.

A. d'Aspremont, F. Bach and L. El Ghaoui, "Optimal solutions for sparse principal component
analysis", JMLR 9, 2008 (the approximate greedy search, Section 3.2): the covariance is
``C = B B'`` with rows ``b_i``; from the feature with the largest ``|b_i|^2`` on, the next one is
``argmax_i (x . b_i)^2`` with x the leading eigenvector of the sum of ``b_i b_i'`` over the set I.

Here ``b_i . b_j = w_i w_j f_i' M f_j``, and with v the leading eigenvector of the small matrix
``C_II``, ``x . b_i`` is ``w_i f_i . u`` where ``u = M F_I' (w_I v) / sqrt(mu)``. So neither a root
of M nor anything m x m is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Context, Solution, Status
from sfs_cli.methods.features import Features
from sfs_cli.methods.greedy_bounds import Bounds, first_of

WORKING = 256
"""At most so many candidates are held between passes."""


@dataclass(frozen=True)
class Covariance:
    """``C_ij = w_i w_j f_i' M f_j`` for the features of a matrix.

    Attributes
    ----------
    features : Features
        Rows ``f_i``.
    weights : ndarray, shape (m,)
        ``w_i``; 0 where a feature cannot be scored.
    diagonal : ndarray, shape (m,)
        ``C_ii``; 0 where a feature cannot be scored.
    metric : callable
        From rows (b, n) to rows times M, positive semidefinite.
    """

    features: Features
    weights: np.ndarray
    diagonal: np.ndarray
    metric: Callable[[np.ndarray], np.ndarray]


@dataclass
class Path:
    """Features in the order in which they entered.

    Attributes
    ----------
    order : list of int
        Selected features.
    variance : list of float
        Largest eigenvalue of ``C_II`` after each.
    runners_up : ndarray of int
        The features that can enter but did not, the next to enter first.
    """

    order: list[int] = field(default_factory=list)
    variance: list[float] = field(default_factory=list)
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

    def leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues of C_II, descending, and their eigenvectors (s, r)."""
        s = self.size
        values, vectors = linalg.eigh(
            self.covariance[:s, :s], subset_by_index=(max(0, s - count), s - 1)
        )
        return values[::-1], vectors[:, ::-1]

    def directions(self, coordinates: np.ndarray) -> np.ndarray:
        """Return u (r, n) of the combinations (s, r) of the ``b_i`` in I."""
        return coordinates.T @ self.images[: self.size]


def greedy_path(
    covariance: Covariance, select: int, memory: int, tell: Callable[[str], None]
) -> Path:
    """Run the path until `select` features have entered, or all that vary.

    Parameters
    ----------
    covariance : Covariance
        At least one feature has a positive diagonal.
    select : int
        At least 1.
    memory : int
        Bytes that may be used.
    tell : callable
        Takes a line about the progress.
    """
    features = covariance.features
    select = min(select, int(features.usable.sum()))
    n, m = features.n, features.m
    working = min(WORKING, max(16, memory // (64 * n)))
    selected = _Selected(np.empty((select, n)), np.empty((select, select)))
    bounds = Bounds(covariance.diagonal, covariance.weights, features, working, memory // 8)
    path = Path()
    entering = first_of(np.arange(m), covariance.diagonal)
    while True:
        row = covariance.weights[entering] * features.take(np.array([entering]))[0]
        selected.add(row, covariance.metric(row[None])[0])
        values, vectors = selected.leading(bounds.references)
        path.order.append(entering)
        path.variance.append(float(values[0]))
        bounds.leave(entering)
        tell(f"{len(path.order)} of {select} features, {features.passes} passes over the matrix")
        keep = values > 1e-10 * values[0]
        coordinates = vectors[:, keep] / np.sqrt(values[keep])
        directions = selected.directions(coordinates)
        if len(path.order) == select:
            path.runners_up = _runners_up(covariance, directions[0], path.order)
            return path
        found = bounds.settle(directions[0], coordinates[:, 0], selected.covariance)
        entering = bounds.renew(directions, coordinates) if found is None else found


def _runners_up(covariance: Covariance, u: np.ndarray, order: list[int]) -> np.ndarray:
    features = covariance.features
    value = (features.project(u[:, None])[:, 0] * covariance.weights) ** 2
    rest = features.usable.copy()
    rest[order] = False
    candidates = np.flatnonzero(rest)
    return candidates[np.argsort(-value[candidates], kind="stable")]


def solution(covariance: Covariance, context: Context, facts: dict[str, Any]) -> Solution:
    """Run the path as a method and return what it found.

    Parameters
    ----------
    covariance : Covariance
        Of the features.
    context : Context
        Its option ``select`` is the number of features.
    facts : dict
        What else was decided.

    Raises
    ------
    InputError
        When the variance of a feature, or of all, cannot be represented or is 0.
    """
    select, features = int(context.options["select"]), covariance.features
    total = float(covariance.diagonal.sum())
    if not 0 < total < np.inf:
        raise InputError(
            f"the variances of the features add up to {total:g}",
            hint="bring the features to one scale, for example with --transform zscore",
        )
    usable = int(features.usable.sum())
    path = greedy_path(covariance, select, context.memory, context.tell)
    score, status = np.full(features.m, np.nan), features.status.copy()
    score[path.order] = path.variance
    status[path.runners_up] = Status.NOT_SELECTED
    kept = score / total
    facts = facts | {
        "selected": len(path.order),
        "variance_kept": path.variance[-1] / total,
        "total_variance": total,
        "passes": features.passes,
    }
    warnings = []
    if select > usable:
        warnings.append(f"{select:,} features were asked for and only {usable:,} vary: all entered")
    return Solution(
        score,
        status,
        order=np.concatenate([np.array(path.order), path.runners_up]),
        extra={"variance_kept": kept},
        objective=path.variance,
        stop=f"{len(path.order):,} features entered",
        facts=facts,
        warnings=warnings,
    )
