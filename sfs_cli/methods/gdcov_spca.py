"""GDCOV with sparse principal components: a set of features that keeps the variance together.

Z. Zhao and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis",
JMLR Workshop and Conference Proceedings 4, 2008 (Section 3.2.2); the path is that of
`sfs_cli.methods.greedy_spca`.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.base import BlockLike, Context, Solution, Status
from sfs_cli.methods.features import Features, centred_features
from sfs_cli.methods.geometry import Geometry
from sfs_cli.methods.greedy_spca import Covariance, solution


def solve(context: Context) -> Solution:
    """Select features by the greedy path on the geometry-dependent covariance.

    Gamma must be positive semidefinite: where ``one-minus`` has negative eigenvalues (a similarity
    that is not), they are set to 0.

    Raises
    ------
    InputError
        When Gamma is 0 or has no inverse, or no feature varies in it.
    OutOfMemoryError
        When the eigenvectors of the graph are needed and do not fit.
    """
    assert context.engine is not None
    geometry = Geometry(context, definite=True)
    features = centred_features(context.engine, "none", context.memory)
    weights, diagonal = _scales(geometry, features)
    covariance = Covariance(features, weights, diagonal, geometry.covary)
    found = solution(covariance, context, geometry.facts)
    found.warnings.extend(geometry.warnings)
    return found


def _scales(geometry: Geometry, features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Find ``w_i`` and ``C_ii`` by a pass; what varies only to rounding is marked unusable."""
    weights, diagonal = np.zeros(features.m), np.zeros(features.m)

    def part(block: BlockLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = geometry.measure(block)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            variance = np.maximum(found.form, 0) / found.norm / (features.n - 1)
            weight = 1 / (np.sqrt(found.norm * (features.n - 1)) * found.scale)
        return weight, variance, found.status

    features.passes += 1
    for span, (weight, variance, status) in features.engine.run(part, np.dtype(np.float64)):
        here = slice(span.lo, span.hi)
        known = features.status[here]
        known[known == Status.OK] = status[known == Status.OK]
        usable = known == Status.OK
        weights[here] = np.where(usable, weight, 0)
        diagonal[here] = np.where(usable, variance, 0)
    return weights, diagonal
