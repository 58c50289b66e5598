"""How often intervals and tests are wrong, of many draws."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.evaluation.classify import folds_of
from sfs_cli.evaluation.verdict import corrected_interval
from tests.unit.ranking.test_stability import coverage


def test_identical_classifiers_on_noise_rarely_differ():
    """Two nearest-centroid classifiers, each with its own 5 features of noise, 5 x 5 folds.

    By symmetry neither is better. The corrected interval leaves out 0 in 5 to 8% of the data
    sets, the one that takes splits for independent in far more.
    """
    n, each, sets = 40, 5, 2000
    codes = np.arange(n) % 2
    X = np.random.default_rng(7).normal(size=(2, sets, n, each))
    differences, accuracies = [], []
    for fold in folds_of(codes, 5, 5, 0):
        known, asked = X[:, :, fold.train], X[:, :, fold.test]
        centers = [known[:, :, codes[fold.train] == c].mean(axis=2, keepdims=True) for c in (0, 1)]
        far = [((asked - center) ** 2).sum(axis=-1) for center in centers]
        right = ((far[1] < far[0]) == codes[fold.test]).mean(axis=-1)
        differences.append(right[0] - right[1])
        accuracies.append(right[0])
    wrong = {}
    for name, values, expected in (("pair", differences, 0), ("one", accuracies, 0.5)):
        found = np.array(values).T
        for kind, ratio in (("corrected", 1 / 4), ("naive", 0)):
            intervals = [corrected_interval(of - expected, ratio) for of in found]
            assert all((i.low > 0 or i.high < 0) == (i.p_value < 0.05) for i in intervals)
            wrong[name, kind] = np.mean([i.p_value < 0.05 for i in intervals])
    for name in ("pair", "one"):
        assert 0.02 < wrong[name, "corrected"] < 0.09
        assert wrong[name, "naive"] > 0.3


@pytest.mark.parametrize("count", [100, 400])
@pytest.mark.parametrize("shape", ["stable", "middle", "poor"])
def test_the_interval_covers_the_true_value(shape: str, count: int) -> None:
    ends = {"stable": (0.9, 0.03), "middle": (0.6, 0.05), "poor": (0.3, 0.1)}
    high, low = ends[shape]
    p = np.where(np.arange(100) < 20, high, low)
    assert 0.93 <= coverage(p, count, 2000, 7) <= 0.97
