"""Between which values a Rayleigh quotient of the normalized Laplacian lies."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from sfs_cli.errors import NotConvergedError
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.spectrum import DIRECT_LIMIT, leading


def attainable_interval(laplacian: NormalizedLaplacian) -> tuple[float, float]:
    """Return the second smallest and the largest eigenvalue of N: the range of SPEC's phi2.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        n x n, n at least 2.

    Raises
    ------
    NotConvergedError
        When Lanczos iterations do not find them.
    """
    n = laplacian.n
    if n > DIRECT_LIMIT:
        return float(leading(laplacian, 2).values[1]), _largest(laplacian)
    matrix = laplacian.smooth_matrix()
    # the trivial eigenvector, at 0 here, goes out of the way of the others, which are at 1 - lambda
    matrix += 4 * linalg.norm(matrix, np.inf) * np.outer(laplacian.trivial, laplacian.trivial)
    values = 1 - linalg.eigvalsh(matrix, overwrite_a=True)[: n - 1]
    return float(values[-1]), float(values[0])


def _largest(laplacian: NormalizedLaplacian) -> float:
    def multiply(vector: np.ndarray) -> np.ndarray:
        row = vector.reshape(1, -1)
        # the trivial eigenvector, at 1 here, goes to 0, below the largest of the others
        return (laplacian.apply(row) - (row @ laplacian.trivial) * laplacian.trivial).ravel()

    n = laplacian.n
    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    start = np.cos(np.arange(1, n + 1, dtype=np.float64))
    try:
        found = eigsh(operator, 1, v0=start, which="LA", tol=1e-12, return_eigenvectors=False)
    except ArpackNoConvergence:
        raise NotConvergedError(
            "the largest eigenvalue of the sample graph was not found",
            hint="take another similarity",
        ) from None
    return float(found[0])
