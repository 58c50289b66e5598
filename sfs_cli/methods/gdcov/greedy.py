"""Greedy sparse principal components, on a covariance that is never formed.

A. d'Aspremont, F. Bach and L. El Ghaoui, "Optimal solutions for sparse principal component
analysis", JMLR 9, 2008 (the approximate greedy search, Section 3.2): the covariance is
``C = B B'`` with rows ``b_i``; from the feature with the largest ``|b_i|^2`` on, the next one is
``argmax_i (x . b_i)^2`` with x the leading eigenvector of the sum of ``b_i b_i'`` over the set I.

Here ``b_i . b_j = w_i w_j f_i' M f_j``, and with v the leading eigenvector of the small matrix
``C_II``, ``x . b_i`` is ``w_i f_i . u`` where ``u = M F_I' (w_I v) / sqrt(mu)``. So neither a root
of M nor anything m x m is needed.

Most features enter without a pass over the matrix. A pass computes the products of every ``b_i``
with a few orthonormal reference vectors. Any later x is a known combination of these and something
orthogonal to them of known length, so that ``|x . b_i|`` lies below
``|sum_k c_k (x_k . b_i)| + |x_rest| sqrt(|b_i|^2 - sum_k (x_k . b_i)^2)``. A few candidates are
held and valued exactly; when no other feature can reach the best of them, it is the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.shared import set_aside_given, warn_of_fewer

WORKING = 256
"""At most so many candidates are held between passes."""
REFERENCES = 8
SLACK = 1e-7
"""Added to the length of what is left of x, against the rounding of the coefficients."""
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

    def leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues of C_II, descending, and their eigenvectors (s, r)."""
        s = self.size
        values, vectors = linalg.eigh(
            self.covariance[:s, :s], subset_by_index=(max(0, s - count), s - 1)
        )
        return values[::-1], vectors[:, ::-1]


def greedy_path(
    covariance: Covariance,
    select: int,
    memory: int,
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
    memory : int
        Bytes that may be used.
    tell : callable
        Receives lines about the progress.
    given : sequence of int
        Features that vary, but are not usable any more.
    """
    features = covariance.features
    select = min(select, int(features.usable.sum()))
    n, m = features.n, features.m
    working = min(WORKING, max(16, memory // (64 * n)))
    size = len(given) + select
    selected = _Selected(np.empty((size, n)), np.empty((size, size)))
    bounds = Bounds(covariance, working, memory // 8)
    path = Path()

    def enter(feature: int) -> None:
        row = covariance.weights[feature] * features.take(np.array([feature]))[0]
        selected.add(row, covariance.metric(row[None])[0])

    def references() -> tuple[float, np.ndarray, np.ndarray]:
        # the leading eigenvectors change slowly, so those of now span most of the next ones: they
        # are the references of the next pass
        values, vectors = selected.leading(bounds.references)
        keep = values > 1e-10 * values[0]
        coordinates = vectors[:, keep] / np.sqrt(values[keep])
        return float(values[0]), coordinates.T @ selected.images[: selected.size], coordinates

    for feature in given:
        enter(feature)
    if len(given):
        path.of_given, directions, coordinates = references()
        entering = bounds.renew(directions, coordinates)
    else:
        entering = first_of(np.arange(m), covariance.diagonal)
    while True:
        enter(entering)
        variance, directions, coordinates = references()
        path.order.append(entering)
        path.variance.append(variance)
        bounds.open[entering] = False
        tell(f"{len(path.order)} of {select} features, {features.passes} passes over the matrix")
        if len(path.order) == select:
            value = (features.project(directions[0][:, None])[:, 0] * covariance.weights) ** 2
            rest = np.flatnonzero(bounds.open)
            path.runners_up = rest[np.argsort(-value[rest], kind="stable")]
            return path
        found = bounds.settle(directions[0], coordinates[:, 0], selected.covariance)
        entering = bounds.renew(directions, coordinates) if found is None else found


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
    path = greedy_path(covariance, select, problem.memory, problem.tell, given.tolist())
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


class Bounds:
    """Upper bounds of ``(x . b_i)^2`` for all features, and exact values of a few.

    Parameters
    ----------
    covariance : Covariance
        With ``|b_i|^2`` as its diagonal, and ``x . b_i = w_i f_i . u``.
    working : int
        At most so many features are held.
    memory : int
        Bytes for the products with the reference vectors.

    Attributes
    ----------
    references : int
        How many reference vectors there are at most.
    open : ndarray of bool, shape (m,)
        The features that can still enter.
    """

    def __init__(self, covariance: Covariance, working: int, memory: int) -> None:
        features, diagonal = covariance.features, covariance.diagonal
        self.references = int(np.clip(memory // (8 * max(features.m, 1)), 1, REFERENCES))
        self._features, self._weights = features, covariance.weights
        self.open = features.usable.copy()
        self._rest = diagonal.copy()  # |b_i|^2 less its part in the span of the references
        self._diagonal = diagonal
        self._products = np.empty((0, features.m))
        self._coordinates = np.empty((0, 0))
        self._limit = working
        self._held = np.empty(0, np.int64)
        self._rows = np.empty((0, features.n))

    def settle(self, u: np.ndarray, coordinates: np.ndarray, C: np.ndarray) -> int | None:
        """Return the best candidate, or None where only a pass can tell.

        Parameters
        ----------
        u : ndarray, shape (n,)
            The direction now.
        coordinates : ndarray, shape (s,)
            x as a combination of the ``b_i`` that are selected.
        C : ndarray, shape (>= s, >= s)
            Their covariance.
        """
        if not len(self._products):
            return None
        # x is a known combination of the references, and a rest of known length
        # (both are combinations of the selected b_i, so C has their inner products)
        s, old = len(coordinates), len(self._coordinates)
        known = (coordinates @ C[:s, :old]) @ self._coordinates
        left = np.sqrt(max(0.0, 1 - float(known @ known))) + SLACK
        upper = (np.abs(known @ self._products) + left * np.sqrt(self._rest)) ** 2
        upper[~self.open] = -np.inf
        upper[self._held] = -np.inf
        value = self._value(u)
        best = value.max(initial=0.0)
        doubtful = np.flatnonzero(upper >= best * (1 - TIE))
        # to read a few features costs less than a pass; where they are many, the references are old
        if len(doubtful) > self._limit - len(self._held) or best == 0:
            return None
        if len(doubtful):
            self._hold(np.concatenate([self._held, doubtful]))
            value = self._value(u)
        return first_of(self._held, value)

    def renew(self, directions: np.ndarray, coordinates: np.ndarray) -> int:
        """Make a pass with new reference vectors, the first of them x; return the best candidate.

        Parameters
        ----------
        directions : ndarray, shape (r, n)
            u of each.
        coordinates : ndarray, shape (s, r)
            The reference vectors as combinations of the ``b_i`` that are selected.
        """
        operand, weights = np.ascontiguousarray(directions.T), self._weights

        def part(block: np.ndarray, span: Span) -> np.ndarray:
            return (block @ operand).T * weights[span.lo : span.hi]

        self._products = self._features.measure(part, len(directions))
        self._coordinates = coordinates
        explained = np.einsum("ki,ki->i", self._products, self._products)
        # never 0: a bound made too small by rounding would exclude the feature that is next
        self._rest = np.maximum(self._diagonal - explained, 0) + 1e-12 * self._diagonal
        value = np.where(self.open, self._products[0] ** 2, -1.0)
        keep = min(self._limit // 2, len(value))  # the other half is for those that become doubtful
        self._held, self._rows = np.empty(0, np.int64), self._rows[:0]
        self._hold(np.sort(np.argpartition(-value, keep - 1)[:keep]))
        return first_of(np.arange(len(value)), value)

    def _hold(self, features: np.ndarray) -> None:
        """Hold these features, of which the first are those already held."""
        features = features[self.open[features] | (np.arange(len(features)) < len(self._held))]
        more = features[len(self._held) :]
        rows = self._features.take(more) * self._weights[more, None]
        self._held, self._rows = features, np.concatenate([self._rows, rows])

    def _value(self, u: np.ndarray) -> np.ndarray:
        return np.where(self.open[self._held], (self._rows @ u) ** 2, -1.0)


def first_of(indices: np.ndarray, value: np.ndarray) -> int:
    """Return the smallest index among those of the largest value, to `TIE`."""
    return int(indices[value >= value.max() * (1 - TIE)].min())
