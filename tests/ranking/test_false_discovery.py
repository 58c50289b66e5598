"""q-values by three methods: SciPy's, their definitions, and the rate that they control."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfs_cli.ranking.false_discovery import (
    null_share,
    q_values,
    q_values_under_dependence,
    storey_q_values,
)
from tests.oracles import multiple as twin


def made(m: int, seed: int, nulls: float = 0.7) -> np.ndarray:
    """p-values, a share of them uniform; some of them equal."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(m) < nulls, rng.random(m), rng.random(m) ** 6)
    return np.where(rng.random(m) < 0.2, np.round(p, 2), p)


@pytest.mark.parametrize("m", [1, 2, 17, 200])
@pytest.mark.parametrize("seed", range(3))
def test_they_are_their_twins(m: int, seed: int) -> None:
    p = made(m, seed)
    np.testing.assert_allclose(q_values(p), stats.false_discovery_control(p), rtol=1e-13)
    found = q_values_under_dependence(p)
    expected = stats.false_discovery_control(p, method="by")  # as statsmodels' fdr_by
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(found, twin.benjamini_yekutieli(p.tolist()), rtol=1e-13)
    if m > 10:
        assert null_share(p) == pytest.approx(twin.storey_pi0(p.tolist()), rel=1e-12)
        np.testing.assert_allclose(storey_q_values(p), twin.storey(p.tolist()), rtol=1e-12)


def test_a_share_by_hand() -> None:
    """Of 400 p-values, 200 are 0.001 and 200 are 1/400, 3/400, ..: at every level W is half of it.

    All levels say ``W / (m (1 - lambda)) = 1/2``, so that the variance decides. It is
    ``(1 + lambda) / (4 m (1 - lambda))``, which is the smallest at 0.05: W is 190 there.
    """
    p = np.concatenate([np.full(200, 0.001), (2 * np.arange(200) + 1) / 400])
    assert null_share(p) == pytest.approx(191 / (400 * 0.95), rel=1e-12)
    np.testing.assert_allclose(storey_q_values(p, 0.5), q_values(p) / 2)


def test_missing_p_values_stay_missing() -> None:
    p = made(50, 5)
    more = np.insert(p, [3, 20, 50], np.nan)
    for method in (q_values, q_values_under_dependence, storey_q_values):
        found = method(more)
        np.testing.assert_array_equal(found[~np.isnan(more)], method(p))
        assert np.isnan(found[np.isnan(more)]).all()
        assert method(np.full(2, np.nan)).shape == (2,)
        assert method(np.empty(0)).shape == (0,)
    assert null_share(np.full(2, np.nan)) == 1


def test_the_share_of_null_features_is_never_none_and_never_above_all() -> None:
    assert null_share(np.full(40, 1e-9)) == pytest.approx(1 / (40 * 0.95))
    assert null_share(np.ones(40)) == 1


@pytest.mark.parametrize(("m", "bound"), [(10, 0.09), (300, 0.06)])
def test_null_features_alone_are_rarely_discoveries(m: int, bound: float) -> None:
    p = np.random.default_rng(3).random((5000, m))
    assert np.mean([storey_q_values(row).min() <= 0.05 for row in p]) < bound


@pytest.mark.parametrize("nulls", [0.2, 0.5, 0.9, 1.0])
def test_the_share_of_null_features_is_found(nulls: float) -> None:
    rng = np.random.default_rng(0)
    p = np.where(rng.random(20_000) < nulls, rng.random(20_000), rng.random(20_000) ** 40)
    assert null_share(p) == pytest.approx(nulls, abs=0.04)


def test_the_false_discovery_rate_is_kept() -> None:
    rng = np.random.default_rng(1)
    shares: dict[str, list[float]] = {"bh": [], "by": [], "storey": []}
    methods = (q_values, q_values_under_dependence, storey_q_values)
    for _ in range(300):
        z = rng.normal(size=400)
        z[:120] += 3
        p = stats.norm.sf(z)
        for name, method in zip(shares, methods):
            taken = method(p) <= 0.1
            shares[name].append(taken[120:].sum() / max(1, taken.sum()))
    mean = {name: np.mean(values) for name, values in shares.items()}
    assert mean["by"] < mean["bh"] < mean["storey"] < 0.11
    assert mean["bh"] == pytest.approx(0.07, abs=0.01)


def test_equal_p_values_have_one_q_value_and_the_order_does_not_matter() -> None:
    p = np.round(made(100, 9), 1)
    order = np.random.default_rng(0).permutation(100)
    for method in (q_values, q_values_under_dependence, storey_q_values):
        q = method(p)
        np.testing.assert_array_equal(method(p[order]), q[order])
        for value in np.unique(p):
            assert len(np.unique(q[p == value])) == 1
        assert (np.diff(q[np.argsort(p)]) >= 0).all()
        assert (q <= 1).all()
