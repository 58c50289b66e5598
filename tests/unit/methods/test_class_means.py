"""The means of classes, where rounding could show."""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.class_means import ClassMeans
from tests.making import make_problem


def test_the_mean_of_zeros_is_zero() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], (8, 9))
    X = np.where(codes[:, None] == 1, rng.gamma(2.0, size=(17, 200)), 0.0)
    made = ClassMeans.of(make_problem(X, codes=codes))
    assert made is not None
    means = made.measure(np.ascontiguousarray(X.T))
    np.testing.assert_array_equal(means[:, 0], 0)
    np.testing.assert_allclose(means[:, 1], X[8:].mean(axis=0), rtol=1e-12)
