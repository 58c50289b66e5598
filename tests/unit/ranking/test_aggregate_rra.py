"""Robust rank aggregation: what its p-values promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from sfs_cli.ranking.aggregate import aggregate, best_of, midranks


def random_lists(m: int, L: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(m) + 1.0 for _ in range(L)])


@pytest.mark.parametrize("L", [2, 10])
def test_p_values_of_random_lists_are_valid_and_not_wasteful(L: int) -> None:
    m = 20_000
    p = aggregate("rra", random_lists(m, L, seed=L)).extra["p_value"]
    for level in (0.01, 0.05, 0.1):
        share = np.mean(p <= level)
        error = np.sqrt(level * (1 - level) / m)
        assert share <= level + 4 * error
        assert share >= 0.5 * level


@pytest.mark.parametrize(("L", "levels"), [(6, 2), (8, 5)])
def test_p_values_of_random_lists_with_ties_are_valid(L: int, levels: int) -> None:
    m, rng = 4000, np.random.default_rng(L)
    values = rng.integers(0, levels, (m, L)).astype(float)
    ranks = np.column_stack([midranks(column, larger_is_better=True) for column in values.T])
    found = aggregate("rra", ranks).extra
    for level in (0.001, 0.01, 0.05):
        error = np.sqrt(level * (1 - level) / m)
        assert np.mean(found["p_value"] <= level) <= level + 4 * error
    assert found["q_value"].min() > 0.05


def test_p_value_is_the_bound_and_q_value_that_of_all_features() -> None:
    ranks = random_lists(100, 4, seed=3)
    ranks[:5] = np.arange(1, 6)[:, None]
    found = aggregate("rra", ranks)
    p = np.minimum(1, 4 * found.score)
    np.testing.assert_allclose(found.extra["p_value"], p)
    np.testing.assert_allclose(found.extra["q_value"], false_discovery_control(p))


def test_the_best_of_long_lists_keep_the_length_of_those() -> None:
    ranks = random_lists(1000, 4, seed=4)
    ranks[ranks <= 3] += 3
    ranks[0] = [1, 2, 3, 1]
    whole, cut = aggregate("rra", ranks), aggregate("rra", best_of(ranks, 50), total=1000)
    assert cut.extra["p_value"][0] == pytest.approx(whole.extra["p_value"][0])
    kept = ~np.isnan(cut.score)
    assert 50 <= kept.sum() < 1000
    assert np.all(cut.score[kept] >= whole.score[kept])
    padded = np.where(kept, cut.extra["p_value"], 1.0)
    np.testing.assert_allclose(cut.extra["q_value"][kept], false_discovery_control(padded)[kept])
