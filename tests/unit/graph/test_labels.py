from __future__ import annotations

import pickle

import numpy as np
import pytest

from sfs_cli.graph.kinds import label_similarity


def test_labels_are_a_projection() -> None:
    S = label_similarity(np.random.default_rng(0).integers(4, size=30)).to_dense()
    np.testing.assert_allclose(S @ S, S, atol=1e-15)


@pytest.mark.parametrize("classes", [4, 100])  # a dense factor, and a sparse one
def test_degrees_of_labels_are_equal_in_every_process(classes: int) -> None:
    S = label_similarity(np.random.default_rng(classes).integers(classes, size=5000))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(S)).degrees, 1.0)
    np.testing.assert_allclose(S.factor @ (S.factor.T @ np.ones(5000)), 1.0, rtol=1e-12)
