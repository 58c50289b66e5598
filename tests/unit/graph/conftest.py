"""Matrices that the tests of sample graphs share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(params=range(3))
def random(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """Samples x features with clusters and an offset per feature, and class codes."""
    rng = np.random.default_rng(request.param)
    codes = rng.permutation(np.repeat(np.arange(3), 13))
    X = rng.normal(size=(39, 25)) + 1.5 * rng.normal(size=(3, 25))[codes]
    return X + 100.0 * rng.normal(size=25), codes
