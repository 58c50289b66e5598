"""How far coefficients are from the optimum: the duality gap of the l2,1 penalized problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.methods.l21_active import Point


@dataclass(frozen=True)
class Optimality:
    """The objective and a certificate.

    Attributes
    ----------
    objective : float
        ``1/2 |R|_F^2 + lambda |W|_{2,1}``.
    gap : float
        Objective minus that of a dual feasible point, divided by the objective.
    """

    objective: float
    gap: float


def optimality(R: np.ndarray, point: Point, lam: float, largest: float) -> Optimality:
    """Return the objective and the relative duality gap.

    The dual is ``max 1/2 |Y|^2 - 1/2 |Y - Q|^2`` over Q with ``|f_j' Q| <= lambda`` for every
    feature; ``Q = s R`` with s at most 1 is feasible. Written out, the difference is
    ``(1 - s)^2 / 2 |R|^2 + sum_i d_i |e_i| (lambda - s |e_i|)`` with ``e_i = f_i' R``: nothing of
    the size of Y cancels.

    Parameters
    ----------
    R : ndarray, shape (n, r)
        The residual.
    point : Point
        Of the active set.
    lam : float
        The penalty.
    largest : float
        Largest ``|f_j' R|`` over all features, or a bound on it.
    """
    square = float(np.vdot(R, R))
    rows = point.d * point.norms
    objective = square / 2 + lam * float(rows.sum())
    s = min(1.0, lam / largest) if largest > 0 else 1.0
    gap = (1 - s) ** 2 / 2 * square + float(rows @ (lam - s * point.norms))
    return Optimality(objective, max(gap, 0.0) / objective if objective > 0 else 0.0)
