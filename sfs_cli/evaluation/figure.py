"""The synthetic case of Figure 2.3, and what is claimed of it.

Z. Zhao, dissertation, Arizona State University 2010, Section 2.5: three Gaussians of unit variance
around (2, 0, 0), (0, 2, 0) and (0, 0, 2), 30 samples each, whose coordinates F1 to F3 are the
relevant features; F4 to F6 are uniform (here from 0 to 1; the dissertation does not say). The
Laplacian of F1 to F3 is mixed with that of F4 to F6, both of the Gaussian kernel (Eq. 1.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfs_cli.evaluation.robustness import (
    Function,
    complement,
    normalized,
    scores,
    system_of,
    units,
)

GROUPS, EACH, FEATURES = 3, 30, 6
POWERS = (1, 3)
"""The powers of the eigenvalues in the figure."""
LEVELS = tuple(round(0.05 * i, 2) for i in range(11))
LEADING, TAIL = (1, 2), (9, 14, 24, 29)
"""Eigenpairs that the figure shows, from 0: lambda_2, lambda_3, and lambda_10 to lambda_30."""
ALIKE = 0.1
"""Changes that differ by no more than this part are alike."""


class Measured(NamedTuple):
    """One sample at some levels of noise."""

    values: np.ndarray  # (a, n): eigenvalues
    sines: np.ndarray  # (a, n): of the angles of the eigenvectors with those without noise
    scores: np.ndarray  # (a, 3, 2, 6): by level, ranking function, power and feature


def sample(seed: Sequence[int]) -> np.ndarray:
    """Draw the features, shape (6, 90)."""
    rng = np.random.default_rng(seed)
    centers = np.repeat(2 * np.eye(GROUPS), EACH, axis=0)
    relevant = centers + rng.normal(size=centers.shape)
    return np.hstack([relevant, rng.uniform(size=centers.shape)]).T


def similarity(features: np.ndarray) -> np.ndarray:
    """Return the Gaussian kernel of samples (Eq. 1.1); delta is their median distance."""
    n = features.shape[1]
    squares = ((features[:, :, None] - features[:, None, :]) ** 2).sum(axis=0)
    delta = np.median(np.sqrt(squares[np.triu_indices(n, 1)]))
    return np.exp(-squares / (2 * delta**2))


def measure(features: np.ndarray, levels: Sequence[float]) -> Measured:
    """Return eigenvalues, angles and scores at some levels; the first is without noise."""
    L, degrees = normalized(similarity(features[:3]))
    noise, _ = normalized(similarity(features[3:]))
    trivial = np.sqrt(degrees / degrees.sum())
    L, noise = complement(L, trivial), complement(noise, trivial)
    functions = [
        Function(f"phi{i}", power=power, clusters=GROUPS) for i in (1, 2, 3) for power in POWERS
    ]
    values: list[np.ndarray] = []
    sines: list[np.ndarray] = []
    found: list[np.ndarray] = []
    first = np.empty(0)
    for level in levels:
        mixed = (1 - level) * L + level * noise
        of_level = []
        for function in functions:
            system = system_of(mixed, trivial, function)
            of_level.append(scores(units(features, degrees, function), system))
        first = system.vectors if not values else first
        cosines = np.abs(np.vecdot(first.T, system.vectors.T))
        values.append(system.values)
        sines.append(np.sqrt(np.maximum(0, 1 - cosines**2)))
        found.append(np.reshape(of_level, (3, len(POWERS), FEATURES)))
    return Measured(np.array(values), np.array(sines), np.array(found))


def claims(measured: Sequence[Measured]) -> dict[str, float]:
    """Return what Section 2.5 claims of the figure, and the part of the samples it holds for.

    Levels ascend; the last is the strongest noise.
    """
    held: dict[str, list[bool]] = {}
    for m in measured:
        gap = m.values[:, TAIL[0]] - m.values[:, LEADING[-1]]
        turned = m.sines[1:].mean(axis=0)
        change = np.abs(m.scores[-1] / m.scores[0] - 1)[:, :, :3].mean(axis=2)  # (3, 2)
        phi1, phi2, phi3 = change
        apart = _apart(m.scores)  # (a, 3, 2)
        mixed = ~apart[-1, :, 0]
        until = np.cumprod(apart, axis=0).sum(axis=0)  # levels until features mix
        found = {
            "the leading eigenvalues grow": (m.values[-1, LEADING] > m.values[0, LEADING]).all(),
            "the gap between leading and tail eigenvalues shrinks": gap[-1] < gap[0],
            "the leading eigenvectors turn less than those of the tail": (
                turned[list(LEADING)].max() < turned[list(TAIL)].min()
            ),
            "phi3 changes less than phi1 and phi2, with lambda": phi3[0] < min(phi1[0], phi2[0]),
            "phi3 changes less than phi1 and phi2, with lambda^3": phi3[1] < min(phi1[1], phi2[1]),
            "phi1 and phi2 change alike": (
                np.abs(phi1 - phi2) <= ALIKE * np.maximum(phi1, phi2)
            ).all(),
            "phi1 and phi2 change more with lambda^3": phi1[1] > phi1[0] and phi2[1] > phi2[0],
            "phi3 changes less with lambda^3": phi3[1] < phi3[0],
            "phi1 mixes relevant and irrelevant features at the last level": mixed[0],
            "phi2 mixes relevant and irrelevant features at the last level": mixed[1],
            "phi3 keeps them apart there": not mixed[2],
            "phi2 keeps them apart longer than phi1": until[1, 0] > until[0, 0],
            "phi1 keeps them apart longer with lambda^3": until[0, 1] > until[0, 0],
        }
        for text, holds in found.items():
            held.setdefault(text, []).append(bool(holds))
    return {text: float(np.mean(each)) for text, each in held.items()}


def _apart(found: np.ndarray) -> np.ndarray:
    """Tell where every relevant feature is better than every irrelevant one, shape (a, 3, 2)."""
    signed = found * np.array([1, 1, -1])[None, :, None, None]
    return signed[..., :3].max(axis=-1) < signed[..., 3:].min(axis=-1)
