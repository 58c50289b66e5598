"""GDCOV with sparse principal components: features that keep the variance together.

Z. Zhao and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis",
JMLR Workshop and Conference Proceedings 4, 2008 (Section 3.2.2); the path is that of
`sfs_cli.methods.gdcov.greedy`.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike
from sfs_cli.methods.base import Problem, Solution, Status
from sfs_cli.methods.centered_matrix import centered_matrix
from sfs_cli.methods.gdcov.covariance import GraphCovariance
from sfs_cli.methods.gdcov.greedy import Covariance, solution
from sfs_cli.methods.kernel import center


def solve(problem: Problem) -> Solution:
    """Select features by the greedy path on the geometry-dependent covariance.

    Gamma must be positive semidefinite: where ``one-minus`` has negative eigenvalues (a similarity
    with negative entries), they are set to 0.

    Raises
    ------
    InputError
        When Gamma is 0 or has no inverse, or no feature varies in it.
    OutOfMemoryError
        When the eigenvectors of the graph are needed and do not fit.
    """
    graph = GraphCovariance(problem, definite=True)
    features = centered_matrix(problem.engine, "none", problem.memory)

    def scales(block: BlockLike) -> Arrays:
        centered = center(block, graph.laplacian.degrees, rooted=graph.normalized)
        with np.errstate(all="ignore"):  # features that do not vary become 0 below
            form, norm = graph.function.form(centered.values), graph.norm(centered)
            variance = np.maximum(form, 0) / norm / (features.n - 1)
            weight = 1 / (np.sqrt(norm * (features.n - 1)) * centered.scale)
        return {"weight": weight, "variance": variance, "status": centered.status}

    features.passes += 1
    scaled = problem.engine.columns(scales, DOUBLE)
    weights, status = scaled["weight"], scaled["status"]
    # features of numbers so small that their scale has no inverse
    status[~np.isfinite(weights) & (status == Status.OK)] = Status.CONSTANT
    # in this covariance more features may vary by rounding alone
    np.copyto(features.status, status, where=features.usable)
    weights = np.where(features.usable, weights, 0)
    diagonal = np.where(features.usable, scaled["variance"], 0)
    found = solution(Covariance(features, weights, diagonal, graph.covary), problem, graph.facts)
    found.warnings.extend(graph.warnings)
    return found
