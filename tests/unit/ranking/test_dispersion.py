"""Dispersions: against the slow twin, against scanpy, and from blocks of any kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.ranking.dispersion import Moments, dispersions, moments
from tests.oracles import dispersion as oracle

COUNTS = np.random.default_rng(2).negative_binomial(2, 0.3, (40, 300))
COUNTS *= np.random.default_rng(3).random(300) < 0.7
COUNTS[:, 5] = 0


def found_of(X: np.ndarray, step: int, by_feature: bool = False, sparse: bool = False) -> Moments:
    whole = X.T if by_feature else X
    blocks = (whole[start : start + step] for start in range(0, len(whole), step))
    return moments(map(csr_array, blocks) if sparse else blocks, of_samples=not by_feature)


@pytest.mark.parametrize("by_feature", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("step", [1, 7])
def test_moments_from_blocks_are_those_of_the_matrix(by_feature, sparse, step):
    X = COUNTS + (0 if sparse else 1e6)
    found = found_of(X, step, by_feature, sparse)
    np.testing.assert_allclose(found.means, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.variances, X.var(axis=0, ddof=1), rtol=1e-10, atol=1e-12)
    assert (found.smallest < 0) == (X.min() < 0)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_value_below_zero_is_seen(sparse):
    X = COUNTS.astype(float)
    X[3, 4] = -1
    assert found_of(X, 5, sparse=sparse).smallest == -1


def test_dispersions_are_those_of_the_definition():
    found = found_of(COUNTS, 9)
    means, plain, normalized = oracle.dispersions(COUNTS)
    np.testing.assert_allclose(found.means, means, rtol=1e-12)
    made = dispersions(found.means, found.variances)
    np.testing.assert_allclose(made[0], plain, rtol=1e-10)
    np.testing.assert_allclose(made[1], normalized, rtol=1e-9, atol=1e-12)
    assert np.isnan(made[0][5])
