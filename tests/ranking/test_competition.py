"""The cut of a ranking by artificial features: its twin, its promise, what it cannot promise."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.ranking.competition import compete
from tests.oracles import select as oracle


@pytest.mark.parametrize("copies", [1, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_its_twin(copies, seed):
    rng = np.random.default_rng(seed)
    level = rng.normal(size=(copies + 1, 80))
    level[0, :25] += rng.uniform(1, 5, 25)
    if seed % 2:  # ties within and between features, and features without a place
        level = np.round(level)
        level[:, ::9] = -np.inf
        level[0, 30] = -np.inf
    for bound in (0.05, 0.2, 0.5):
        found = compete(level, bound)
        assert found.selected.tolist() == oracle.compete(level, bound)
        if len(found.selected):
            wins = len(found.selected)
            assert found.share == pytest.approx((1 + found.beaten) / (copies * wins))
            assert found.share <= bound
        else:
            assert not found.share <= bound


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 5])
def test_the_mean_share_of_false_features_keeps_the_bound(copies):
    rng, shares, hits = np.random.default_rng(0), [], []
    for _ in range(1500):
        level = rng.normal(size=(copies + 1, 200))
        level[0, :20] += 3
        found = compete(level, 0.2).selected
        shares.append((found >= 20).sum() / max(1, len(found)))
        hits.append((found < 20).mean() if len(found) else 0)
    assert np.mean(shares) <= 0.2 + 2 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) > 0.1  # it is not kept by taking nothing


def test_ties_never_speak_for_a_feature():
    level = np.zeros((2, 50))
    assert len(compete(level, 0.9).selected) == 0
    level[0, :20] = 1  # all in one place: taken together, or not at all
    assert compete(level, 0.1).selected.tolist() == list(range(20))
    level[1, 20:23] = 1
    assert len(compete(level, 0.1).selected) == 0


def test_one_copy_needs_ten_features_at_a_tenth_and_five_need_two():
    level = np.full((2, 9), -np.inf)
    level[0] = 1
    assert len(compete(level, 0.1).selected) == 0
    assert compete(level, 0.1).share == pytest.approx(1 / 9)
    five = np.concatenate([level, np.full((4, 9), -np.inf)])
    assert len(compete(five, 0.1).selected) == 9
    assert len(compete(five[:, :2], 0.1).selected) == 2
    assert len(compete(five[:, :1], 0.1).selected) == 0
