"""Reproduce Section 2.4 and Figure 2.3 of the dissertation: SPEC under noise, and its bounds.

usage: python noise.py [--samples N] [--seed N] [--out FILE.md]

Z. Zhao, dissertation, Arizona State University 2010. The synthetic case of Section 2.5: three
Gaussians of unit variance around (2, 0, 0), (0, 2, 0) and (0, 0, 2), 30 samples each, whose
coordinates F1 to F3 are the relevant features; F4 to F6 are uniform (here from 0 to 1; the
dissertation does not say). The Laplacian of F1 to F3 is mixed with that of F4 to F6, both of the
Gaussian kernel (Eq. 1.1). One table counts in how many samples each claim about the figure holds;
the other puts the change of the scores, under noise in the graph, in the features (of as many
standard deviations) and in both, beside two bounds.

Theorems 5 and 6 bound the change of ``sum_j gamma(lambda_j) (f . xi_j)^2`` with ``gamma(lambda) =
lambda^r``, where a Laplacian L becomes ``L + E`` and a unit vector f another one at distance e: for
each eigenpair j in the sum

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
sum of its own, over j = 2..n, of the unit vector along the part of f outside of xi_1. For phi3 the
coefficients are ``gamma(2) - gamma(lambda_j)`` over j = 2..k: they change as far as gamma does.

Beside this stands a sharp bound, which needs no angles: a score is f' G f with
``G = sum_j c_j xi_j xi_j'``, so that no unit vector changes its score by more than the largest
absolute eigenvalue of ``G~ - G`` (one does, if it may be any), plus the spread of the eigenvalues
of G times the sine of the angle between the vectors. It is never above that of the theorems.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

GROUPS, EACH, FEATURES = 3, 30, 6
POWERS = (1, 3)
"""The powers of the eigenvalues in the figure."""
LEVELS = tuple(round(0.05 * i, 2) for i in range(11))
SHOWN = (0.1, 0.3, 0.5)
"""Levels of noise of the table of bounds."""
LEADING, TAIL = (1, 2), (9, 14, 24, 29)
"""Eigenpairs that the figure shows, from 0: lambda_2, lambda_3, and lambda_10 to lambda_30."""
ALIKE = 0.1
"""Changes that differ by no more than this part are alike."""
ROUNDING = 64 * np.finfo(float).eps


# ---- scores, and how far they can change ---------------------------------------------------------


class Score(NamedTuple):
    """A ranking function (Eq. 2.6 to 2.8) with gamma(lambda) = lambda^power."""

    ranking: str
    power: int

    def terms(self, values: np.ndarray) -> np.ndarray:
        """Return the coefficient of each eigenvector, shape (n,); 0 for those not summed."""
        c = values**self.power
        if self.ranking == "phi3":
            c = 2.0**self.power - c
            c[GROUPS:] = 0
        if self.ranking != "phi1":
            c[0] = 0
        return c

    @property
    def summed(self) -> slice:
        """The eigenpairs of the sum."""
        return slice(0 if self.ranking == "phi1" else 1, GROUPS if self.ranking == "phi3" else None)

    def units(self, features: np.ndarray, degrees: np.ndarray) -> np.ndarray:
        """Return the unit vector of each feature, shape (b, n)."""
        F = features - features @ degrees[:, None] / degrees.sum() * (self.ranking == "phi2")
        F = F * np.sqrt(degrees)
        return F / np.linalg.norm(F, axis=1, keepdims=True)


class System(NamedTuple):
    """The eigenpairs of a Laplacian, the trivial one first."""

    values: np.ndarray  # (n,), ascending from 0
    vectors: np.ndarray  # (n, n), columns

    def form(self, score: Score) -> np.ndarray:
        """Return G, shape (n, n): a score is f' G f."""
        return (self.vectors * score.terms(self.values)) @ self.vectors.T


class Laplacians(NamedTuple):
    """Of a sample: without noise, and of noise alone, both without their trivial pair."""

    plain: np.ndarray
    noise: np.ndarray
    degrees: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray) -> Laplacians:
        """Return those of features, shape (6, n): the second half is noise."""
        (plain, degrees), (noise, _) = (normalized(kernel(f)) for f in np.split(features, 2))
        trivial = np.sqrt(degrees / degrees.sum())
        P = np.eye(len(plain)) - np.outer(trivial, trivial)
        return cls(P @ plain @ P, P @ noise @ P, degrees)

    def at(self, level: float) -> System:
        """Return the eigenpairs of the mixture; the trivial pair is kept."""
        trivial = np.sqrt(self.degrees / self.degrees.sum())
        mixed = (1 - level) * self.plain + level * self.noise - np.outer(trivial, trivial)
        values, vectors = np.linalg.eigh((mixed + mixed.T) / 2)
        values[0], vectors[:, 0] = 0, trivial
        return System(np.maximum(values, 0), vectors)


def sample(seed: Sequence[int]) -> np.ndarray:
    """Draw the features, shape (6, 90)."""
    rng = np.random.default_rng(seed)
    centers = np.repeat(2 * np.eye(GROUPS), EACH, axis=0)
    relevant = centers + rng.normal(size=centers.shape)
    return np.hstack([relevant, rng.uniform(size=centers.shape)]).T


def kernel(features: np.ndarray) -> np.ndarray:
    """Return the Gaussian kernel of samples (Eq. 1.1); delta is their median distance."""
    squares = ((features[:, :, None] - features[:, None, :]) ** 2).sum(axis=0)
    delta = np.median(np.sqrt(squares[np.triu_indices(len(squares), 1)]))
    return np.exp(-squares / (2 * delta**2))


def normalized(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normalized Laplacian of a similarity, shape (n, n), and its degrees."""
    degrees = S.sum(axis=1)
    root = np.sqrt(degrees)
    return np.eye(len(S)) - S / root[:, None] / root, degrees


def sines(size: float, values: np.ndarray) -> np.ndarray:
    """Return a bound of the sine of the angle by which each eigenvector turns (Theorem 4).

    `size` is the spectral norm of the perturbation, `values` the eigenvalues of the perturbed
    matrix, the trivial one first: that does not turn.
    """
    gaps = np.full(len(values), np.inf)
    steps = np.diff(values[1:])
    gaps[1:-1] = steps
    gaps[2:] = np.minimum(gaps[2:], steps)
    found = np.where(2 * size < gaps, np.sin(np.arcsin(np.minimum(1, 2 * size / gaps)) / 2), 1)
    found[0] = 0
    return found


def bounds(
    before: System, after: System, size: float, score: Score, distance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of the theorems and the sharp ones of features that moved by `distance`."""
    c, summed = score.terms(before.values), score.summed
    rise = (before.values + size) ** score.power - before.values**score.power
    rise[0] = 0  # the trivial pair is kept
    fixed = c[summed] @ sines(size, after.values)[summed] + rise[summed].sum()
    theorem = fixed + c.sum() * (2 * distance + distance**2)
    change = np.abs(np.linalg.eigvalsh(after.form(score) - before.form(score))).max()
    inside = c[1:] if score.ranking == "phi2" else c  # phi2 is of vectors outside of xi_1
    # between unit vectors at distance e the angle has sin = e sqrt(1 - e^2 / 4), up to 1
    half = np.minimum(distance / 2, np.sqrt(0.5))
    return theorem, change + np.ptp(inside) * 2 * half * np.sqrt(1 - half**2)


class Change(NamedTuple):
    """How far noise of one kind moved the scores of a sample, and how far it might have."""

    score: Score
    kind: str
    level: float
    most: float
    theorem: float  # the median bound
    of_theorem: float  # the largest part of its bound that a change is
    of_sharp: float
    within: bool


def changes(features: np.ndarray, seed: Sequence[int]) -> Iterator[Change]:
    """Yield what noise does to a sample, beside both bounds."""
    laplacians = Laplacians.of(features)
    added = np.random.default_rng(seed).normal(size=features.shape)
    added *= features.std(axis=1, keepdims=True)
    before = laplacians.at(0)
    size = float(np.linalg.norm(laplacians.noise - laplacians.plain, 2))
    for score in (Score(f"phi{i}", power) for i in (1, 2, 3) for power in POWERS):
        U = score.units(features, laplacians.degrees)
        was = np.vecdot(U @ before.form(score), U)
        for level in SHOWN:
            V = score.units(features + level * added, laplacians.degrees)
            moved, noisy = np.linalg.norm(V - U, axis=1), laplacians.at(level)
            for kind, f, after, norm, distance in (
                ("graph", U, noisy, level * size, 0 * moved),
                ("features", V, before, 0.0, moved),
                ("both", V, noisy, level * size, moved),
            ):
                change = np.abs(np.vecdot(f @ after.form(score), f) - was)
                theorem, sharp = bounds(before, after, norm, score, distance)
                yield Change(
                    *(score, kind, level, change.max(), np.median(theorem)),
                    *((change / theorem).max(), (change / sharp).max()),
                    bool((change <= np.minimum(theorem, sharp) + 2**score.power * ROUNDING).all()),
                )


# ---- Figure 2.3 ----------------------------------------------------------------------------------


class Measured(NamedTuple):
    """One sample at the levels of noise."""

    values: np.ndarray  # (a, n): eigenvalues
    sines: np.ndarray  # (a, n): of the angles of the eigenvectors with those without noise
    scores: np.ndarray  # (a, 3, 2, 6): by level, ranking function, power and feature


def measure(features: np.ndarray) -> Measured:
    """Return eigenvalues, angles and scores at all levels; the first is without noise."""
    laplacians = Laplacians.of(features)
    systems = [laplacians.at(level) for level in LEVELS]
    found = np.empty((len(LEVELS), 3, len(POWERS), FEATURES))
    for i, p in np.ndindex(3, len(POWERS)):
        score = Score(f"phi{i + 1}", POWERS[p])
        U = score.units(features, laplacians.degrees)
        found[:, i, p] = [np.vecdot(U @ each.form(score), U) for each in systems]
    first = systems[0].vectors.T
    cosines = np.array([np.vecdot(first, each.vectors.T) for each in systems])
    turned = np.sqrt(np.maximum(0, 1 - cosines**2))
    return Measured(np.array([each.values for each in systems]), turned, found)


def claims(m: Measured) -> dict[str, bool]:
    """Return what Section 2.5 claims of the figure, and whether it holds for a sample."""
    gap = m.values[:, TAIL[0]] - m.values[:, LEADING[-1]]
    turned = m.sines[1:].mean(axis=0)
    phi1, phi2, phi3 = np.abs(m.scores[-1] / m.scores[0] - 1)[:, :, :3].mean(axis=2)  # (3, 2)
    signed = m.scores * np.array([1, 1, -1])[None, :, None, None]
    apart = signed[..., :3].max(axis=-1) < signed[..., 3:].min(axis=-1)  # (a, 3, 2)
    mixed = ~apart[-1, :, 0]
    until = np.cumprod(apart, axis=0).sum(axis=0)  # levels until features mix
    return {
        "the leading eigenvalues grow": bool((m.values[-1] > m.values[0])[list(LEADING)].all()),
        "the gap between leading and tail eigenvalues shrinks": gap[-1] < gap[0],
        "the leading eigenvectors turn less than those of the tail": (
            turned[list(LEADING)].max() < turned[list(TAIL)].min()
        ),
        "phi3 changes less than phi1 and phi2, with lambda": phi3[0] < min(phi1[0], phi2[0]),
        "phi3 changes less than phi1 and phi2, with lambda^3": phi3[1] < min(phi1[1], phi2[1]),
        "phi1 and phi2 change alike": bool(
            (np.abs(phi1 - phi2) <= ALIKE * np.maximum(phi1, phi2)).all()
        ),
        "phi1 and phi2 change more with lambda^3": phi1[1] > phi1[0] and phi2[1] > phi2[0],
        "phi3 changes less with lambda^3": phi3[1] < phi3[0],
        "phi1 mixes relevant and irrelevant features at the last level": mixed[0],
        "phi2 mixes relevant and irrelevant features at the last level": mixed[1],
        "phi3 keeps them apart there": not mixed[2],
        "phi2 keeps them apart longer than phi1": until[1, 0] > until[0, 0],
        "phi1 keeps them apart longer with lambda^3": until[0, 1] > until[0, 0],
    }


# ---- the command line ----------------------------------------------------------------------------


def report(samples: Sequence[np.ndarray], seed: int) -> Iterator[str]:
    """Yield the lines of the two tables."""
    held = [claims(measure(each)) for each in samples]
    yield f"| claim of Figure 2.3 | part of {len(samples)} samples in which it holds |"
    yield "|---|---:|"
    for text in held[0]:
        yield f"| {text} | {np.mean([each[text] for each in held]):.2f} |"
    found = [c for i, each in enumerate(samples) for c in changes(each, [seed, i, 1])]
    yield ""
    yield (
        "| score | noise in | level | largest change | bound of the theorems, median "
        "| largest part of it | of the sharp one | within both |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for key in dict.fromkeys(c[:3] for c in found):
        own = [c for c in found if c[:3] == key]
        (ranking, power), kind, level = key
        yield (
            f"| {ranking}, lambda^{power} | {kind} | {level} | {max(c.most for c in own):.3g} "
            f"| {np.median([c.theorem for c in own]):.3g} | {max(c.of_theorem for c in own):.2%} "
            f"| {max(c.of_sharp for c in own):.0%} | {np.mean([c.within for c in own]):.0%} |"
        )


def main(arguments: list[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=100, metavar="N", help="drawn samples (100)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="where the tables go")
    given = parser.parse_args(arguments)
    if given.samples < 1:
        parser.error("--samples is below 1")
    text = "\n".join(report([sample([given.seed, i]) for i in range(given.samples)], given.seed))
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
