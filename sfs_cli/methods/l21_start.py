"""What the path and the solver at one penalty have in common: their start and their certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Context, Status
from sfs_cli.methods.features import Features, centred_features
from sfs_cli.methods.l21_active import Point
from sfs_cli.methods.l21_gap import Optimality, optimality
from sfs_cli.methods.l21_screen import Screen
from sfs_cli.methods.responses import make_response

FLOOR = 1e-6
"""Penalties end at this share of lambda_max: there, the response is reproduced."""
GAP = 1e-6
"""The relative duality gap that counts as optimal."""
_FEWEST, _MOST = 500, 4096


@dataclass
class Problem:
    """The features, the response and the screen between them.

    Attributes
    ----------
    features : Features
        Centred, of unit norm.
    screen : Screen
        With nothing active at first.
    lam_max : float
        The smallest penalty for which W is zero.
    facts : dict
        What was decided about the response.
    """

    features: Features
    screen: Screen
    lam_max: float
    facts: dict[str, Any]

    @property
    def floor(self) -> float:
        """The smallest penalty that is gone to."""
        return FLOOR * self.lam_max

    def certify(self, point: Point, lam: float) -> Optimality:
        """Make a pass at a solution; return its optimality by all features."""
        residual = self.screen.active.residual(point.W)
        self.screen.look(residual, point, lam)
        return optimality(residual, point, lam, float(self.screen.correlation.max()))

    def coefficients(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return the features with non-zero rows and those rows, in the columns of Y."""
        active = self.screen.active
        W = point.W @ active.V[:, : point.W.shape[1]].T
        kept = point.d > 0
        return np.array(active.index, int)[kept], W[kept]

    def row_norms(self, point: Point) -> np.ndarray:
        """Return ``|w^i|`` for every feature, shape (m,); NaN for those that cannot be scored."""
        norms = np.zeros(self.features.m)
        norms[self.screen.active.index] = point.d * point.norms
        norms[~self.features.usable] = np.nan
        return norms


def make_problem(context: Context, select: int) -> Problem:
    """Make the passes that every solver starts with.

    Parameters
    ----------
    context : Context
        With the options ``response`` and ``rank``.
    select : int
        About how many features will be active.

    Raises
    ------
    InputError
        When no feature can be scored, or none is related to the response.
    """
    assert context.engine is not None
    features = centred_features(context.engine, "unit", context.memory)
    if not features.usable.any():
        counts = {status: int((features.status == status).sum()) for status in Status}
        found = ", ".join(f"{count:,} {s.text}" for s, count in counts.items() if count)
        raise InputError(
            "no feature can be selected", where=found, hint="features must vary between samples"
        )
    response = make_response(context, features)
    width = _width(features, response.Y.shape[1], select, context.memory)
    screen = Screen(features, response.Y, width)
    lam_max = float(screen.correlation.max())
    if lam_max <= 1e-12 * np.linalg.norm(response.Y):
        raise InputError(
            "no feature is correlated with the response",
            hint="check that the labels or the similarity belong to these samples",
        )
    return Problem(features, screen, lam_max, response.facts)


def _width(features: Features, r: int, select: int, memory: int) -> int:
    """Return how many candidates to look at: enough that passes are rare, few enough to fit."""
    each = 8 * (features.n + r + 4 * select)
    wanted = min(max(_FEWEST, features.m // 16), _MOST)
    return max(64, min(wanted, memory // 8 // each))
