"""Weights by what kernels agree on (STATIS)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.knowledge.weights.base import (
    FusionContext,
    Weighting,
    centered_products,
    cosines,
    informative,
)

_TIE, _NOTHING = 1e-12, 1e-9


def learn_statis(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Return the leading eigenvector of the cosines between centered kernels.

    So a kernel counts the more, the more the others agree with it (L'Hermier des Plantes 1976;
    Lavit et al. 1994, where the cosines are RV coefficients). The cosines of positive semi-definite
    kernels are not negative, nor is the eigenvector; with indefinite ones (such as a neighbor
    graph) an entry that is negative is taken for 0. Where the leading eigenvalue is multiple, the
    vector of its space that is nearest to equal weights is taken.

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices.
    context : FusionContext
        No option.

    Returns
    -------
    Weighting
        The eigenvector divided by its sum. The objective is the eigenvalue; facts are the cosines
        and the share of the eigenvalue in the sum of all.

    Raises
    ------
    InputError
        When all kernels are constant, or no entry of the eigenvector is positive, as for two
        kernels with a negative cosine.
    """
    kept = informative(kernels, context)
    C = cosines(centered_products(kept.kernels))
    values, vectors = np.linalg.eigh(C)
    space = vectors[:, values >= values[-1] * (1.0 - _TIE)]
    # the projection of (1, ..., 1), which does not depend on the basis and signs that LAPACK chose
    u = space @ space.sum(axis=0)
    if u.max() < _NOTHING:
        raise InputError(
            "--weights statis: the sources agree on nothing (their cosines are negative)",
            where=listed(kept.names),
            hint="check the sources, or give --weights uniform",
            option="weights",
        )
    negative = [name for name, entry in zip(kept.names, u) if entry < 0.0]
    if negative:
        kept.warnings.append(
            f"{listed(negative)} disagrees with what most sources agree on, and is given the "
            "weight 0"
        )
    cosines_of_all = np.eye(kept.count)  # a constant kernel agrees with none
    cosines_of_all[np.ix_(kept.indices, kept.indices)] = C
    facts = {"cosines": cosines_of_all.tolist(), "explained": float(values[-1] / len(C))}
    weights = np.maximum(u, 0.0)
    return kept.weighting(weights / weights.sum(), objective=float(values[-1]), facts=facts)
