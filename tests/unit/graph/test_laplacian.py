from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.graph.laplacian import NormalizedLaplacian, UnnormalizedLaplacian
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)

N = 17


def _factor() -> np.ndarray:
    rng = np.random.default_rng(0)
    factor = np.where(rng.random((N, 4)) < 0.6, rng.random((N, 4)), 0.0)
    factor[:, 0] += 0.1
    return factor


FACTOR = _factor()
S = FACTOR @ FACTOR.T
KINDS: dict[str, Similarity] = {
    "dense": DenseSimilarity(S),
    "sparse": SparseSimilarity(csr_array(S)),
    "factor": FactoredSimilarity(FACTOR),
    "sparse factor": FactoredSimilarity(csr_array(FACTOR)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("laplacian_of", [NormalizedLaplacian, UnnormalizedLaplacian])
def test_products_and_forms_are_those_of_the_dense_matrix(
    laplacian_of: type[NormalizedLaplacian], kind: str, rng: np.random.Generator
) -> None:
    degrees = S.sum(axis=1)
    L = np.diag(degrees) - S
    if laplacian_of is NormalizedLaplacian:
        L /= np.sqrt(np.outer(degrees, degrees))
    laplacian = laplacian_of(KINDS[kind])
    np.testing.assert_allclose(laplacian.trivial @ L, 0, atol=1e-14)
    G = rng.normal(size=(5, N))
    G -= np.outer(G @ laplacian.trivial, laplacian.trivial)
    np.testing.assert_allclose(laplacian.apply(G), G @ L, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(laplacian.smooth(G), G - G @ L, rtol=1e-9, atol=1e-12)
    for power in range(6):
        expected = np.vecdot(G @ np.linalg.matrix_power(L, power), G)
        np.testing.assert_allclose(laplacian.form(G, power), expected, rtol=1e-9)
