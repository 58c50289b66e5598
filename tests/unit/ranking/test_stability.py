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


def test_it_is_a_number_of_no_choice() -> None:
    for lists in ([np.arange(4)] * 3, [np.empty(0, int)] * 3):
        assert math.isnan(nogueira(lists, 4).value)


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
@pytest.mark.parametrize(("q", "p"), [(50, 5748), (80, 100)])
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
