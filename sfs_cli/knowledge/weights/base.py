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
"""Variables are equal if their rows of the program differ by at most this, relative."""


def certificate(violation: float) -> dict[str, Any]:
    """Return what a `Weighting` says of a minimum that violates the conditions by this much."""
    stop = f"optimality conditions hold to {violation:.1e}"
    return {"converged": violation <= TOLERANCE, "stop": stop}


def minimize(H: np.ndarray, b: np.ndarray, total: float | None = None) -> tuple[np.ndarray, float]:
    """Minimize x'Hx/2 - b'x over x >= 0, with 1'x = total where it is given.

    By least squares with non-negative variables (C. L. Lawson and R. J. Hanson, "Solving least
    squares problems", 1974). The sum is kept by its multiplier, for which there is one equation:
    the sum does not fall as it grows. Variables whose rows of H and b are equal, in units in which
    H has a unit diagonal, get equal values: a source that is given twice shares its weight.

    Parameters
    ----------
    H : ndarray, shape (K, K)
        Symmetric, positive semi-definite.
    b : ndarray, shape (K,)
        In the range of H but for a multiple of 1 where the sum is kept.
    total : float, optional
        Positive.

    Returns
    -------
    x : ndarray, shape (K,)
        The minimum.
    violation : float
        Largest violation of the optimality conditions, relative to the terms of the gradient.
    """
    from scipy.optimize import brentq, nnls

    diagonal = H.diagonal()
    # in units in which H has a unit diagonal, one tolerance fits all variables
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    unit /= np.linalg.norm(unit)
    H, b = H * np.outer(unit, unit), b * unit  # and the sum is a product with `unit`
    bound = float(np.abs(H).max()) or 1.0
    # of a given sum the square changes no minimum, and gives a singular H one for each sum
    whole = H if total is None else H + bound * np.outer(unit, unit)
    values, vectors = np.linalg.eigh(whole)
    curved = values > 8 * EPS * len(b) * values[-1]
    roots, vectors = np.sqrt(values[curved]), vectors[:, curved]
    factor = (vectors * roots).T

    def lowest(multiplier: float) -> np.ndarray:
        return nnls(factor, vectors.T @ (b + multiplier * unit) / roots)[0]

    if total is None:
        x = lowest(0.0)
    else:
        least, most = np.sort(-b / unit)[[0, -1]]  # up to the least one x is 0
        x = lowest(
            brentq(
                lambda each: unit @ lowest(each) - total,
                least,
                most + bound * total * (2.0 + 1.0 / unit.min() ** 2),
                xtol=EPS * bound * total,
                maxiter=1000,
            )
        )
    rows = np.column_stack([H / bound, b / (np.abs(b).max() or 1.0), unit * (total is not None)])
    equal = np.abs(rows[:, None] - rows).max(axis=2) <= _TIE
    x = equal @ x / equal.sum(axis=1)
    slopes, size = H @ x - b, float(np.abs(b).max() + (np.abs(H) @ x).max())
    if total is not None:
        x *= total / (unit @ x)
        slopes -= slopes @ x / total * unit
    violation = float(np.where(x > 0.0, np.abs(slopes), -slopes).max(initial=0.0))
    return x * unit, violation / (size or 1.0)
