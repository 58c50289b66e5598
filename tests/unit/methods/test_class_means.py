"""The means of classes, where rounding could show."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.compute.matrix import Block
from sfs_cli.methods.classical import FisherScorer
from tests.making import make_problem


@pytest.mark.parametrize("projected", [True, False])
def test_the_mean_of_zeros_is_zero(projected: bool) -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], (8, 9))
    X = np.where(codes[:, None] == 1, rng.gamma(2.0, size=(17, 200)), 0.0)
    scorer = FisherScorer(make_problem(X, codes=codes))
    block = Block(np.ascontiguousarray(X.T))
    if projected:
        means = scorer.score_block(block)["class_means"]
    else:
        assert scorer.class_means is not None
        means = scorer.class_means.measure(block.values)
    np.testing.assert_array_equal(means[:, 0], 0)
    np.testing.assert_allclose(means[:, 1], X[8:].mean(axis=0), rtol=1e-12)
