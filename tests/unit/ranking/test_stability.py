"""Nogueira's stability and Shah and Samworth's bounds: definitions, closed forms, simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from sfs_cli.ranking.stability import (
    NORMAL_95,
    false_selections,
    frequencies,
    nogueira,
    tail_bound,
)
from tests.oracles import stability as slow


def random_lists(count: int, d: int, seed: int, *, varied: bool = True) -> list[np.ndarray]:
    """Draw lists in which some features are more frequent than others."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(d, 0.3))
    lengths = rng.integers(1, d // 2, count) if varied else np.full(count, d // 4)
    p = 0.5 * p + 0.5 / d
    return [rng.choice(d, k, replace=False, p=p) for k in lengths]


# ---- Nogueira's measure --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_stability_is_that_of_the_paper(seed: int) -> None:
    lists, d = random_lists(5 + 9 * seed, 30, seed), 30
    Z, found = slow.selections([each.tolist() for each in lists], d), nogueira(lists, d)
    assert found.value == pytest.approx(slow.phi(Z), rel=1e-12, abs=1e-14)
    assert found.variance == pytest.approx(slow.phi_variance(Z), rel=1e-11)
    quantile = NORMAL_95 if len(lists) >= 30 else student.ppf(0.975, len(lists) - 1)
    half = quantile * math.sqrt(slow.phi_variance(Z))
    assert found.interval[0] == pytest.approx(slow.phi(Z) - half)
    np.testing.assert_allclose(frequencies(lists, d), Z.mean(axis=0))


@pytest.mark.parametrize("seed", range(1))
def test_of_lists_of_one_length_it_is_kunchevas_index(seed: int) -> None:
    lists = random_lists(12, 40, seed, varied=False)
    wanted = slow.kuncheva([each.tolist() for each in lists], 40)
    assert nogueira(lists, 40).value == pytest.approx(wanted, rel=1e-12)


def test_equal_lists_are_stable() -> None:
    found = nogueira([np.array([3, 1, 7])] * 10, 20)
    assert found.value == pytest.approx(1)
    assert found.variance == pytest.approx(0, abs=1e-30)
    assert found.interval == (pytest.approx(1), pytest.approx(1))


def test_two_lists_without_a_common_feature_reach_the_smallest_value() -> None:
    # of two lists of half the features each: p = 1/2 everywhere, so 1 - 2 (1/4) / (1/4)
    assert nogueira([np.arange(5), np.arange(5, 10)], 10).value == pytest.approx(-1)
    # of M lists the smallest value is -1 / (M - 1)
    lists = [np.arange(i, i + 2) for i in range(0, 10, 2)]
    assert nogueira(lists, 10).value == pytest.approx(-1 / 4)


def test_it_is_a_number_of_no_choice() -> None:
    for lists in ([np.arange(4)] * 3, [np.empty(0, int)] * 3):
        assert math.isnan(nogueira(lists, 4).value)


def test_random_lists_have_no_stability() -> None:
    rng = np.random.default_rng(0)
    found = [
        nogueira([rng.choice(200, 20, replace=False) for _ in range(50)], 200).value
        for _ in range(200)
    ]
    assert abs(np.mean(found)) < 4 * np.std(found) / math.sqrt(len(found))
    assert max(map(abs, found)) < 0.02


def coverage(p: np.ndarray, count: int, runs: int, seed: int) -> float:
    """Return how often the interval has the stability of features drawn with chances p.

    Each is in a list independently; the population's value puts p in the place of frequencies.
    """
    k = p.mean()
    true = 1 - (p * (1 - p)).mean() / (k * (1 - k))
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(runs):
        Z = rng.random((count, len(p))) < p
        low, high = nogueira([np.flatnonzero(z) for z in Z], len(p)).interval
        covered += low <= true <= high
    return covered / runs


def test_the_interval_of_few_lists_is_wider() -> None:
    p = np.where(np.arange(100) < 20, 0.6, 0.05)
    assert 0.88 <= coverage(p, 10, 400, 7) <= 0.98


# ---- false selections ----------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [1, 25])
@pytest.mark.parametrize("threshold", [0.6, 0.75, 1.0])
@pytest.mark.parametrize(("q", "p"), [(50, 5748), (30, 60), (80, 100)])
def test_bounds_are_those_of_the_theorems(pairs, threshold, q, p) -> None:
    reached = math.ceil(threshold * 2 * pairs - 1e-9) / (2 * pairs)
    found = false_selections(q, p, threshold, pairs)
    assert found.any == pytest.approx(slow.worst_case(q, p, reached), rel=1e-12)
    wanted = slow.unimodal(q, p, reached, pairs)
    assert found.unimodal == (None if wanted is None else pytest.approx(wanted, rel=1e-12))
    assert 0 < found.r_concave <= found.any
    if found.unimodal is not None:  # r-concave distributions are unimodal
        assert found.r_concave <= found.unimodal * (1 + 1e-9)


@pytest.mark.parametrize(
    ("mean", "t", "B", "r"),
    [(0.1, 4, 6, -0.5), (0.15, 5, 8, -0.25)],
)
def test_the_tail_is_the_largest_that_a_general_solver_finds(mean, t, B, r) -> None:
    assert tail_bound(mean, t, B, r) == pytest.approx(slow.largest_tail(mean, t, B, r), rel=1e-6)


def test_no_r_concave_distribution_has_a_larger_tail() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        B, r = int(rng.integers(6, 40)), float(rng.choice([-0.5, -0.25]))
        # f^r is a maximum of lines, which is convex
        lines = rng.normal(size=(4, 1)) * np.arange(B + 1) + rng.normal(3, 3, (4, 1))
        h = np.maximum(lines.max(axis=0), 0.05)
        f = h ** (1 / r)
        f /= f.sum()
        mean = float(f @ np.arange(B + 1)) / B
        t = int(rng.integers(1, B + 1))
        if mean < 0.45:
            assert f[t:].sum() <= tail_bound(mean, t, B, r) * (1 + 1e-9)


def test_features_of_no_merit_stay_below_the_bounds() -> None:
    """Lists of 10 of 100 features at random, in each half of a pair independently."""
    rng = np.random.default_rng(5)
    q, p, pairs = 10, 100, 10
    found = dict.fromkeys((0.55, 0.6, 0.75), 0.0)
    runs = 400
    for _ in range(runs):
        lists = [rng.choice(p, q, replace=False) for _ in range(2 * pairs)]
        often = frequencies(lists, p)
        for threshold in found:
            found[threshold] += np.count_nonzero(often >= threshold - 1e-9) / runs
    for threshold, mean in found.items():
        bounds = false_selections(q, p, threshold, pairs)
        assert mean <= min(bounds.any, bounds.r_concave)
        assert bounds.unimodal is None or mean <= bounds.unimodal
