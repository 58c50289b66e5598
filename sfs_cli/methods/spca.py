"""Path SPCA: the greedy path of sparse principal components on the plain covariance.

A. d'Aspremont, F. Bach and L. El Ghaoui, "Optimal solutions for sparse principal component
analysis", JMLR 9, 2008. It is GDCOV's path without a geometry.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.spans import Span
from sfs_cli.methods.base import Context, Solution
from sfs_cli.methods.features import centred_features
from sfs_cli.methods.greedy_spca import Covariance, solution


def solve(context: Context) -> Solution:
    """Select features by the greedy path on ``C = X'X / (n - 1)`` of centred features.

    Raises
    ------
    InputError
        When the variances of the features are too large or too small to be represented.
    """
    assert context.engine is not None
    features = centred_features(context.engine, "none", context.memory)
    diagonal = np.empty(features.m)

    def variances(block: np.ndarray, _span: Span) -> np.ndarray:
        with np.errstate(over="ignore"):  # refused below
            return np.vecdot(block, block) / (features.n - 1)

    for span, part in features.map(variances):
        diagonal[span.lo : span.hi] = part
    weights = np.where(features.usable, (features.n - 1) ** -0.5, 0.0)
    return solution(Covariance(features, weights, diagonal, lambda rows: rows), context, {})
