"""Modules of the best features: groups that vary together, with what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Module:
    """Features that vary together.

    Attributes
    ----------
    members : list of str
        Ids, the best one first: the representative.
    opposite : ndarray of bool, shape (s,)
        Members that are negatively correlated with the representative.
    mean_correlation : float
        Mean absolute correlation of the pairs of members.
    profile : ndarray, shape (n,)
        Mean of the members over each sample, each with mean 0 and mean square 1, and with the sign
        of its correlation with the representative.
    eigengene : ndarray, shape (n,)
        First right singular vector of the members, each with mean 0 and norm 1, with the sign of
        its product with the profile: of norm 1 (P. Langfelder and S. Horvath, BMC Systems Biology
        1, 2007).
    explained : float
        Part of the variance of the members that it explains.
    """

    members: list[str]
    opposite: np.ndarray
    mean_correlation: float
    profile: np.ndarray
    eigengene: np.ndarray
    explained: float


@dataclass(frozen=True)
class Modules:
    """The modules of the first features of a ranking, the largest first.

    Attributes
    ----------
    modules : list of Module
        Those of two members or more; of equal size, the one of the best representative first.
    edges : list of (str, str, float, int or None)
        Pairs of features whose absolute correlation is above the bound: both ids, the better one
        first, their correlation, and the number of their module (from 1), None if they are not in
        the same one.
    samples : sequence of str, length n
        Ids of the samples.
    """

    modules: list[Module] = field(default_factory=list)
    edges: list[tuple[str, str, float, int | None]] = field(default_factory=list)
    samples: Sequence[str] = ()


def find_modules(
    rows: np.ndarray, names: Sequence[str], samples: Sequence[str], min_correlation: float
) -> Modules:
    """Group features by average linkage of ``1 - |r|``, cut at ``1 - min_correlation``.

    So the mean absolute correlation between any two groups that were joined is at least
    `min_correlation` (R. R. Sokal and C. D. Michener, University of Kansas Science Bulletin 38,
    1958). Unlike chains of correlated pairs, groups do not grow through a single feature between
    them.

    Parameters
    ----------
    rows : ndarray, shape (t, n)
        The features, centered and of unit norm, best first; a constant one is zero.
    names : sequence of str, length t
        Their ids.
    samples : sequence of str, length n
        Ids of the samples.
    min_correlation : float
        Between 0 and 1.
    """
    t, n = rows.shape
    if t < 2:
        return Modules(samples=samples)
    R = np.clip(rows @ rows.T, -1, 1)
    groups = _groups(np.abs(R), min_correlation)
    number = np.full(t, -1)
    modules = []
    for at, members in enumerate(groups):
        number[members] = at
        opposite = R[members[0], members] < 0
        signs = np.where(opposite, -1.0, 1.0)
        among = np.abs(R[np.ix_(members, members)])[np.triu_indices(len(members), 1)]
        profile = signs @ rows[members] * (np.sqrt(n) / len(members))
        ids = [names[i] for i in members.tolist()]
        eigengene, explained = _eigengene(rows[members])
        eigengene *= 1 if eigengene @ profile >= 0 else -1
        modules.append(Module(ids, opposite, float(among.mean()), profile, eigengene, explained))
    first, second = np.nonzero(np.triu(np.abs(R) > min_correlation, 1))
    edges = [
        (names[i], names[j], float(R[i, j]), int(number[i]) + 1 if together else None)
        for i, j, together in zip(
            first.tolist(),
            second.tolist(),
            ((number[first] == number[second]) & (number[first] >= 0)).tolist(),
        )
    ]
    return Modules(modules, edges, samples)


def _eigengene(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the first right singular vector of features (s, n), and the part that it explains."""
    from scipy.linalg import eigh

    few = len(rows) <= rows.shape[1]
    products = rows @ rows.T if few else rows.T @ rows
    last = len(products) - 1
    values, vectors = eigh(products, subset_by_index=[last, last])
    found = rows.T @ vectors[:, 0] if few else vectors[:, 0]
    return found / np.linalg.norm(found), float(values[0] / np.vdot(rows, rows))


def _groups(similar: np.ndarray, least: float) -> list[np.ndarray]:
    """Return the groups of two or more, each ascending, the largest first."""
    from scipy.cluster.hierarchy import fcluster, linkage

    distances = 1 - similar[np.triu_indices(len(similar), 1)]
    label = fcluster(linkage(distances, "average"), 1 - least, "distance")
    groups = [np.flatnonzero(label == each) for each in np.unique(label)]
    groups = [group for group in groups if len(group) > 1]
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))
