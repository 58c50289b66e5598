"""Path SPCA: the greedy path of sparse principal components on the plain covariance.

A. d'Aspremont, F. Bach and L. El Ghaoui, "Optimal solutions for sparse principal component
analysis", JMLR 9, 2008. ``gdcov-spca`` is the same path on another covariance.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import Span
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import centered_matrix
from sfs_cli.methods.gdcov.greedy import Covariance, solution


def solve(problem: Problem) -> Solution:
    """Select features by the greedy path on ``C = X'X / (n - 1)`` of centered features.

    Raises
    ------
    InputError
        If the variances of the features are too large or too small for floating point.
    """
    features = centered_matrix(problem.engine, "none", problem.memory)

    def variances(block: np.ndarray, _span: Span) -> np.ndarray:
        with np.errstate(over="ignore"):  # `solution` refuses it
            return np.vecdot(block, block) / (features.n - 1)

    diagonal = features.measure(variances)
    # so that w_i w_j f_i'f_j is the covariance
    weights = np.where(features.usable, (features.n - 1) ** -0.5, 0.0)
    return solution(Covariance(features, weights, diagonal, lambda rows: rows), problem, {})
