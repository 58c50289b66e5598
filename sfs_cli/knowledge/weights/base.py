"""What learners of weights share: input, result, centered kernels, a small quadratic program.

Centered kernels are H K H with H = I - 11'/n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.errors import InputError, listed
from sfs_cli.graph.similarity import as_dense, row_panels
from sfs_cli.options.source import WEIGHTINGS

FLAT_LIMIT = 1e-12
"""A kernel is constant when its centered norm is at most this fraction of its norm."""


@dataclass(frozen=True)
class FusionContext:
    """What a learner receives besides the kernels."""

    codes: np.ndarray | None = None  # (n,): class of each sample, for learners that need labels
    # the options that the user gave, under the names of the learner
    options: Mapping[str, Any] = field(default_factory=dict)
    # length K: names of the sources; without them sources are numbered from 1
    names: Sequence[str] = ()

    def settings(self, learner: str) -> dict[str, Any]:
        """Return the options of a learner, defaults filled in."""
        return dict(WEIGHTINGS[learner].options) | dict(self.options)

    def name(self, k: int) -> str:
        """Return the name of source k."""
        return self.names[k] if self.names else f"source {k + 1}"


@dataclass(frozen=True)
class Weighting:
    """Weights of the sources."""

    weights: np.ndarray  # (K,): non-negative. Learned weights sum to 1
    objective: float | None = None  # final value of the objective
    facts: dict[str, Any] = field(default_factory=dict)  # numbers and words for ``run.json``
    # the objective at the start and after each iteration
    objectives: list[float] = field(default_factory=list)
    converged: bool = True  # whether the optimum was reached
    stop: str = ""  # why it stopped
    fused: np.ndarray | None = None  # (n, n): the global similarity, where it is not a weighted sum
    warnings: list[str] = field(default_factory=list)  # messages for the user


def dense_kernels(kernels: Sequence[Any]) -> list[np.ndarray]:
    """Return the kernels, all of one shape (n, n), as dense arrays."""
    assert len({kernel.shape for kernel in kernels}) == 1
    return list(map(as_dense, kernels))


@dataclass(frozen=True)
class Informative:
    """The kernels that weights are learned for; all others get weight 0."""

    kernels: list[np.ndarray]  # dense, not constant, each (n, n)
    indices: np.ndarray  # of their sources
    names: list[str]  # of these sources
    count: int  # number of all sources
    warnings: list[str]  # names the others; learners add to it

    def widen(self, values: np.ndarray) -> np.ndarray:
        """Return an array for all sources: `values` for those of the kernels, 0 for the others."""
        full = np.zeros(self.count)
        full[self.indices] = values
        return full

    def weighting(self, weights: np.ndarray, **found: Any) -> Weighting:
        """Return the weights of the kernels, and what else was found, as those of all sources."""
        return Weighting(self.widen(weights), warnings=self.warnings, **found)


def informative(kernels: Sequence[Any], context: FusionContext) -> Informative:
    """Find the kernels, shape (n, n) each, that are not constant: only those distinguish samples.

    Raises InputError when all are constant.
    """
    kernels = dense_kernels(kernels)
    norms = np.array([np.linalg.norm(K) for K in kernels])
    squares = np.array([centered_products([K])[0, 0] for K in kernels])
    kept = np.sqrt(squares) > FLAT_LIMIT * norms  # centering leaves rounding of a constant one
    names = [context.name(k) for k in range(len(kernels))]
    flat = listed([name for name, keep in zip(names, kept) if not keep])
    if not kept.any():
        raise InputError(
            "no source distinguishes samples: in each, all samples are equally similar",
            where=flat,
            hint="check the sources, or give --weights uniform",
        )
    warnings = [f"all samples are equally similar in {flat}: it gets weight 0"] if flat else []
    indices = np.flatnonzero(kept)
    chosen = [kernels[k] for k in indices], indices, [names[k] for k in indices]
    return Informative(*chosen, len(kernels), warnings)


def one_hot(codes: np.ndarray | None) -> np.ndarray:
    """Return the indicators of the classes, shape (n, number of classes).

    Raises InputError when all samples have the same class.
    """
    assert codes is not None, "the configuration asks for labels"
    classes, column = np.unique(codes, return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            "all samples have the same class: weights cannot be learned from it",
            where="--weights with labels",
            hint="give labels with two classes or more, or --weights uniform",
        )
    return np.eye(len(classes))[column]


def bounded_neighbors(context: FusionContext, learner: str, n: int) -> int:
    """Return the number of neighbors that a learner uses, less than n.

    The default is lowered to n - 1 when there are few samples; a number that the user gave is not.
    Raises InputError when that is too many.
    """
    count = int(context.settings(learner)["neighbors"])
    if count < n:
        return count
    if "neighbors" in context.options:
        raise InputError(
            f"neighbors={count} of --weights is too large for {n:,} samples",
            where=f"--weights {learner}",
            hint=f"give at most {n - 1}",
        )
    return n - 1


def centered(K: np.ndarray) -> np.ndarray:
    """Return H K H as a new array, shape (n, n), symmetric to the last bit where K is."""
    return _shifted(K, _half_means(K), slice(0, len(K)))


def centered_products(kernels: Sequence[np.ndarray]) -> np.ndarray:
    """Inner products of centered kernels, without a copy of any.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices.

    Returns
    -------
    ndarray, shape (K, K)
        M_kl = <H K_k H, H K_l H>, symmetric and positive semi-definite.
    """
    # by panels of rows, one product for all pairs: no centered kernel is ever held as a whole
    means = [_half_means(K) for K in kernels]
    M = np.zeros((len(kernels), len(kernels)))
    for rows in row_panels(len(kernels[0])):
        stack = np.stack([_shifted(K, m, rows).ravel() for K, m in zip(kernels, means)])
        M += stack @ stack.T
    return M


def cosines(M: np.ndarray) -> np.ndarray:
    """Return M_kl / sqrt(M_kk M_ll) of inner products with a positive diagonal, shape (K, K)."""
    norms = np.sqrt(M.diagonal())
    C = M / np.outer(norms, norms)
    np.fill_diagonal(C, 1.0)
    return C


def _half_means(K: np.ndarray) -> np.ndarray:
    """Return c with (H K H)_ij = k_ij - c_i - c_j."""
    means = K.mean(axis=1)
    return means - 0.5 * means.mean()


def _shifted(K: np.ndarray, half: np.ndarray, rows: slice) -> np.ndarray:
    return K[rows] - np.add.outer(half[rows], half)


TOLERANCE = 1e-9
"""A minimum is optimal if it violates the optimality conditions by at most this."""
_TIE = 1e-9
_VIOLATION = 1e-13


def certificate(violation: float) -> dict[str, Any]:
    """Return what a `Weighting` says of a minimum that violates the conditions by this much."""
    stop = f"optimality conditions hold to {violation:.1e}"
    return {"converged": violation <= TOLERANCE, "stop": stop}


def minimize(
    H: np.ndarray, b: np.ndarray, start: np.ndarray, keep_sum: bool = False
) -> tuple[np.ndarray, float]:
    """Minimize x'Hx/2 - b'x over x >= 0, with 1'x = 1'start if `keep_sum`.

    A primal active-set method that starts with every variable free and takes steps of least norm.
    Variables with equal rows of H are therefore treated equally: a source that is given twice
    shares its weight, whatever the order, and a singular H needs no special case.

    Parameters
    ----------
    H : ndarray, shape (K, K)
        Symmetric, positive semi-definite.
    b : ndarray, shape (K,)
        In the range of H but for a multiple of 1 where the sum is kept.
    start : ndarray, shape (K,)
        Feasible.
    keep_sum : bool
        Whether the sum of x stays that of `start`.

    Returns
    -------
    x : ndarray, shape (K,)
        The minimum.
    violation : float
        Largest violation of the optimality conditions, relative to the terms of the gradient.
    """
    diagonal = H.diagonal()
    # in units in which H has a unit diagonal, one tolerance fits all variables
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    program = _Program(H * np.outer(unit, unit), b * unit, unit if keep_sum else None)
    x = start / unit
    free = np.ones(len(x), bool)
    # each pass frees or fixes a variable; few are moved twice
    for _ in range(20 + 10 * len(x)):
        x, free, whole = program.move(x, free)
        slopes = program.slopes(x, free)
        entering = ~free & (slopes < -_VIOLATION * program.size(x))
        if not whole:
            continue
        if not entering.any():
            break
        # all of the steepest at once: one before the other would treat equal sources differently
        free |= entering & (slopes <= slopes[entering].min() * (1.0 - _TIE))
    violation = program.violation(x)
    x *= unit
    if keep_sum:
        x *= start.sum() / x.sum()  # rounding has moved it, in other units
    return x, violation


class _Program:
    """The program scaled to a unit diagonal of H; `c` holds the coefficients of the kept sum."""

    def __init__(self, H: np.ndarray, b: np.ndarray, c: np.ndarray | None) -> None:
        self.H, self.b, self.c = H, b, c

    def move(self, x: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Go to the minimum over the free variables, or as far as none becomes negative."""
        step = np.zeros(len(x))
        step[free] = self._newton(x, free)
        falling = step < 0.0
        ratios = np.full(len(x), np.inf)
        ratios[falling] = x[falling] / -step[falling]
        length = ratios.min(initial=np.inf)
        if length >= 1.0:
            return np.maximum(x + step, 0.0), free, True
        blocked = ratios <= length * (1.0 + _TIE)  # equal sources reach 0 together
        x = np.maximum(x + length * step, 0.0)
        x[blocked] = 0.0
        return x, free & ~blocked, False

    def slopes(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return the gradient, less that of the sum where it is kept."""
        gradient = self.H @ x - self.b
        if self.c is None:
            return gradient
        c = self.c[free]
        return gradient - (c @ gradient[free]) / (c @ c) * self.c

    def size(self, x: np.ndarray) -> float:
        """Return the size of the terms of the gradient, to which its rounding is relative."""
        return float(np.abs(self.b).max() + (np.abs(self.H) @ x).max())

    def violation(self, x: np.ndarray) -> float:
        """Return the largest violation of slopes >= 0, and of slopes = 0 where x > 0, relative."""
        size = self.size(x)
        if size == 0.0:
            return 0.0
        slopes = self.slopes(x, x > 0.0)
        return float(np.where(x > 0.0, np.abs(slopes), -slopes).max(initial=0.0)) / size

    def _newton(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        H, slopes = self.H[np.ix_(free, free)], self.slopes(x, free)[free]
        if self.c is not None:
            c = self.c[free] / np.linalg.norm(self.c[free])
            across = np.eye(len(c)) - np.outer(c, c)  # steps that keep the sum
            H = across @ H @ across
        values, vectors = np.linalg.eigh(H)
        curved = values > 8 * EPS * len(self.b)  # H has a unit diagonal: the rest is rounding
        # along flat directions there is no step: so equal variables stay equal
        vectors = vectors[:, curved]
        return -vectors @ ((vectors.T @ slopes) / values[curved])
