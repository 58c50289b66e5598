"""How far noise can change the scores of SPEC: the bounds of Theorems 5 and 6, mended.

Z. Zhao, dissertation, Arizona State University 2010, Section 2.4. The theorems bound the change of
``sum_j gamma(lambda_j) (f . xi_j)^2`` with ``gamma(lambda) = lambda^r``, where a Laplacian L
becomes ``L + E`` and a unit vector f another one at distance e: for each eigenpair j in the sum

    gamma(lambda_j) (s_j + 2 e + e^2) + change of gamma(lambda_j),

with s_j a bound of the sine of the angle between the eigenvectors j of L and of L + E. As printed
they need four repairs, which are made here:

- ``s_j = sin(arcsin(2 eps_j) / 2)`` with ``eps_j = |E| / gap_j`` follows from Theorem 4 only for
  ``eps_j < 1/2``. (Then the angle grows from 0 along the path from L + E to L without reaching 45
  degrees; Theorem 4 alone also allows angles near 90.) Else the arcsine does not exist, two
  eigenvectors may have changed places, and the bound is ``s_j = 1``.
- Eq. 2.15 replaces s_j by eps_j and says that the sum grows; it shrinks, because ``s_j = eps_j /
  cos(theta) >= eps_j`` (where Theorem 4 is an equality). So nothing follows from Eq. 2.14 for it.
- Theorem 6 assumes one rho with ``rho lambda_j >= lambda~_j - lambda_j`` for all j. There is none
  where an eigenvalue 0 grows: on graphs of several connected components, and for the trivial pair
  in the dissertation's own synthetic case, because ``(1 - a) L + a L_noise`` has no eigenvalue 0 if
  the degrees of the two graphs differ. By Weyl each j has its own, ``rho_j = |E| / lambda_j``, with
  which the term of the theorem is ``(lambda_j + |E|)^r - lambda_j^r``: also where lambda_j = 0.
- The printed proof bounds the rise of a score alone. The same steps bound its fall: ``|a~^2 - a^2|
  <= s + 2 e + e^2`` has both signs, and ``lambda^r - (lambda - x)^r <= (lambda + x)^r - lambda^r``.

The theorems are about phi1, and the remark after them says that the trivial eigenpair ``(0, xi_1)``
is constant. It is kept so here: E is a perturbation of the complement of xi_1. Then phi2 is such a
sum of its own, over j = 2..n, of the unit vector along the part of f outside of xi_1, which the
theorems bound without further steps. For phi3 the coefficients are ``gamma(2) - gamma(lambda_j)``
over j = 2..k: they change as far as gamma(lambda_j) does.

Beside this stands a sharp bound, which needs no angles: a score is f' G f with
``G = sum_j c_j xi_j xi_j'``, so that no unit vector changes its score by more than the largest
absolute eigenvalue of ``G~ - G`` (one does, if it may be any), plus the spread of the eigenvalues
of G times the sine of the angle between the vectors. It is never above that of the theorems.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TRIVIAL = -1.0
"""Where the eigenvalue of the trivial eigenvector is put, so that it is the first."""


@dataclass(frozen=True)
class Function:
    """What is scored: a ranking function, a spectral function, and the number of clusters.

    Attributes
    ----------
    ranking : str
        ``phi1``, ``phi2`` or ``phi3`` (Eq. 2.6-2.8).
    gamma : str
        ``power`` or ``exp``.
    power : int
        r of lambda^r.
    clusters : int
        k of phi3.
    """

    ranking: str
    gamma: str = "power"
    power: int = 1
    clusters: int = 2

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return gamma of eigenvalues."""
        return np.exp(values) if self.gamma == "exp" else values**self.power

    def spread(self, values: np.ndarray, size: float) -> np.ndarray:
        """Return how far gamma of eigenvalues, 0 or more, changes when they change by `size`."""
        # gamma and its slope grow: the change upwards is the larger one
        return self.of(values + size) - self.of(values)

    @property
    def larger_is_better(self) -> bool:
        """Whether larger scores are better."""
        return self.ranking == "phi3"

    def terms(self, values: np.ndarray) -> np.ndarray:
        """Return the coefficient c_j of each eigenvector, shape (n,); 0 for those not summed."""
        if self.ranking == "phi3":
            c = self.of(np.array([2.0])) - self.of(values)
            c[self.clusters :] = 0
        else:
            c = self.of(values)
        if self.ranking != "phi1":
            c[0] = 0
        return c

    @property
    def summed(self) -> slice:
        """The eigenpairs of the sum."""
        if self.ranking == "phi1":
            return slice(None)
        return slice(1, self.clusters if self.ranking == "phi3" else None)


@dataclass(frozen=True)
class System:
    """The eigenpairs of a Laplacian, the trivial one first, and the matrix that scores features."""

    values: np.ndarray  # (n,), ascending from 0
    vectors: np.ndarray  # (n, n), columns
    form: np.ndarray  # (n, n): a score is f' form f


def normalized(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normalized Laplacian of a similarity, shape (n, n), and its degrees."""
    degrees = S.sum(axis=1)
    root = np.sqrt(degrees)
    L = -S / root[:, None] / root
    L[np.diag_indices(len(S))] += 1
    return L, degrees


def complement(L: np.ndarray, trivial: np.ndarray) -> np.ndarray:
    """Return ``P L P`` with ``P = I - xi_1 xi_1'``: what is left when the trivial pair is kept."""
    product = L @ trivial
    made = L - np.outer(product, trivial) - np.outer(trivial, product)
    made += (trivial @ product) * np.outer(trivial, trivial)
    return (made + made.T) / 2


def system_of(L: np.ndarray, trivial: np.ndarray, function: Function) -> System:
    """Return the eigenpairs of a Laplacian without its trivial pair, which is put first."""
    values, vectors = np.linalg.eigh(L + TRIVIAL * np.outer(trivial, trivial))
    values[0], vectors[:, 0] = 0, trivial
    values = np.maximum(values, 0)  # those of 0, but for rounding
    summed = function.summed
    columns = vectors[:, summed]
    return System(values, vectors, (columns * function.terms(values)[summed]) @ columns.T)


def units(values: np.ndarray, degrees: np.ndarray, function: Function) -> np.ndarray:
    """Return the unit vector of each feature, (b, n); zero for a feature that has none.

    ``D^1/2 f`` for phi1 and phi3; for phi2 the part of it outside of xi_1, found from the feature
    less its D-weighted mean.
    """
    G = values.astype(np.float64, copy=True)
    size = np.abs(G).max(axis=1, keepdims=True, initial=0)
    G /= np.where(size > 0, size, 1)  # squares would over- or underflow
    if function.ranking == "phi2":
        G -= G[:, :1].copy()  # so that rounding is relative to the spread
        G -= (G @ degrees / degrees.sum())[:, None]
        constant = np.abs(G).max(axis=1, initial=0) <= 8 * np.finfo(np.float64).eps
        G[constant] = 0  # but for rounding
        spread = np.abs(G).max(axis=1, keepdims=True, initial=0)
        G /= np.where(spread > 0, spread, 1)
    G *= np.sqrt(degrees)
    norms = np.sqrt(np.vecdot(G, G))
    return G / np.where(norms > 0, norms, 1)[:, None]


def scores(units: np.ndarray, system: System) -> np.ndarray:
    """Return the score of each unit vector, shape (b,)."""
    return np.vecdot(units @ system.form, units)


def sines(size: float, values: np.ndarray) -> np.ndarray:
    """Return a bound of the sine of the angle by which each eigenvector turns (Theorem 4).

    Parameters
    ----------
    size : float
        Spectral norm of the perturbation.
    values : ndarray, shape (n,)
        The eigenvalues of the perturbed matrix, the trivial one first: that does not turn.
    """
    gaps = np.full(len(values), np.inf)
    steps = np.diff(values[1:])
    gaps[1:-1] = steps
    gaps[2:] = np.minimum(gaps[2:], steps)
    found = np.ones(len(values))
    found[0] = 0
    known = 2 * size < gaps
    known[0] = False
    found[known] = np.sin(np.arcsin(2 * size / gaps[known]) / 2)
    return found


@dataclass(frozen=True)
class Bounds:
    """Bounds of the change of a score, as functions of how far its feature moved.

    With ``e`` the distance between the unit vectors, that of the theorem is ``fixed + slope (2 e +
    e^2)``, and the sharp one ``norm + spread sin``, where sin is that of the angle between them.
    """

    fixed: float
    slope: float
    norm: float
    spread: float
    resolved: int  # eigenvectors of the sum with a bound of their angle

    def theorem(self, distance: np.ndarray) -> np.ndarray:
        """Return the bound of the theorem for each feature."""
        return self.fixed + self.slope * (2 * distance + distance**2)

    def sharp(self, distance: np.ndarray) -> np.ndarray:
        """Return the sharp bound for each feature."""
        # between unit vectors at distance e the angle has sin = e sqrt(1 - e^2 / 4), up to 1
        half = np.minimum(distance / 2, np.sqrt(0.5))
        return self.norm + self.spread * 2 * half * np.sqrt(1 - half**2)


def bounds(before: System, after: System, size: float, function: Function) -> Bounds:
    """Return the bounds of the change of a score.

    Parameters
    ----------
    before, after : System
        Of the Laplacian and the perturbed one.
    size : float
        Spectral norm of their difference.
    """
    summed = function.summed
    c = function.terms(before.values)
    turned = sines(size, after.values)[summed]
    change = function.spread(before.values, size)
    change[0] = 0  # the trivial pair is kept
    # outside of the sum the quadratic form is 0; phi2 is of vectors inside of the complement
    inside = c[1:] if function.ranking == "phi2" else c
    difference = np.linalg.eigvalsh(after.form - before.form) if size else np.zeros(1)
    return Bounds(
        fixed=float(c[summed] @ turned + change[summed].sum()),
        slope=float(c[summed].sum()),
        norm=float(np.abs(difference).max()),
        spread=float(inside.max() - inside.min()),
        resolved=int(np.count_nonzero(turned < 1)),
    )


def norm(E: np.ndarray) -> float:
    """Return the spectral norm of a symmetric matrix."""
    return float(np.abs(np.linalg.eigvalsh(E)).max())
