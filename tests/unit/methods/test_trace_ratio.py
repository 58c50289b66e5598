"""Trace Ratio: the best of all sets, and not Fisher's top features by another name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.trace_ratio import maximize_ratio, solve
from tests.making import make_problem
from tests.oracles import covariance, similarities
from tests.unit.methods.helpers import check_solution

N, M = 24, 10


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(41)
    codes = rng.permutation(np.repeat(np.arange(3), N // 3))
    X = rng.normal(size=(N, M)) + rng.normal(size=(3, M))[codes]
    return codes, X * rng.uniform(0.2, 3, size=M) + 5


CODES, X = _data()
RBF = similarities.rbf(X)


def fisher(
    values: np.ndarray, select: int = 4, codes: np.ndarray = CODES, **given: Any
) -> Solution:
    found = solve(make_problem(values, codes=codes, variant="fisher", select=select, **given))
    check_solution(found)
    return found


def laplacian(values: np.ndarray, S: Any = RBF, select: int = 4, **given: Any) -> Solution:
    found = solve(make_problem(values, S=S, variant="laplacian", select=select, **given))
    check_solution(found)
    return found


def ratio_of(b: np.ndarray, w: np.ndarray, found: Solution, select: int) -> float:
    assert found.order is not None
    chosen = found.order[:select]
    return float(b[chosen].sum() / w[chosen].sum())


@pytest.mark.parametrize("select", [1, 2, M // 2, M])
def test_no_set_has_a_larger_ratio(select: int) -> None:
    for found, (b, w) in (
        (fisher(X, select), covariance.scatters(X, CODES)),
        (laplacian(X, select=select), covariance.graph_scatters(X, RBF)),
    ):
        best = covariance.best_ratio(b, w, select)
        np.testing.assert_allclose(ratio_of(b, w, found, select), best, rtol=1e-9)
        np.testing.assert_allclose(found.facts["ratio"], best, rtol=1e-9)
        scores = b - best * w
        np.testing.assert_allclose(found.score, scores, atol=1e-9 * np.abs(scores).max())
        np.testing.assert_array_equal(found.order, np.argsort(-found.score, kind="stable"))
        assert (np.diff(found.objective) > 0).all()
        assert found.facts["iterations"] == len(found.objective)


@pytest.mark.parametrize("seed", range(12))
def test_no_set_has_a_larger_ratio_on_scatters_of_all_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    b, w = 10 ** rng.uniform(-4, 4, size=(2, 9))
    b[rng.random(9) < 0.2] = 0
    for select in range(1, 10):
        found = maximize_ratio(b, w, select)
        best = covariance.best_ratio(b, w, select)
        np.testing.assert_allclose(found.ratios[-1], best, rtol=1e-12)
        chosen = found.order[:select]
        np.testing.assert_allclose(b[chosen].sum() / w[chosen].sum(), best, rtol=1e-12)


def test_a_weak_feature_on_a_small_scale_can_be_the_better_company() -> None:
    codes, spread, side = np.repeat([0, 1], 4), np.tile([-1.0, 1.0], 4), np.repeat([-1.0, 1.0], 4)
    values = np.column_stack([10 * side + spread, 8 * side + spread, 0.05 * side + 0.01 * spread])
    b, w = covariance.scatters(values, codes)
    assert np.argsort(-b / w).tolist() == [0, 1, 2]  # Fisher takes the first two
    found = fisher(values, 2, codes)
    assert found.order is not None
    assert found.order.tolist() == [0, 2, 1]
    assert found.facts["ratio"] > 1.2 * b[:2].sum() / w[:2].sum()


def test_it_is_seldom_the_top_of_fisher_and_never_worse() -> None:
    differs = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = (rng.normal(size=(N, 30)) + rng.normal(size=(3, 30))[CODES]) * 10 ** rng.uniform(
            -1, 1, size=30
        )
        b, w = covariance.scatters(values, CODES)
        top = np.argsort(-b / w)[:8]
        found = fisher(values, 8)
        own = ratio_of(b, w, found, 8)
        assert own >= b[top].sum() / w[top].sum()
        assert found.order is not None
        if set(found.order[:8].tolist()) != set(top.tolist()):
            assert own > b[top].sum() / w[top].sum()
            differs += 1
    assert differs >= 10


def test_features_without_scatter_within_come_first() -> None:
    values = np.column_stack([X[:, 0], 2.0 * CODES, X[:, 1], -1.0 * CODES + 7])
    one = fisher(values, 1)
    assert one.order is not None
    assert one.order[:2].tolist() == [1, 3]
    assert one.facts["ratio"] == np.inf
    assert (one.status == Status.OK).all()
    three = fisher(values, 3)
    assert three.order is not None
    assert np.isfinite(three.score).all()
    assert set(three.order[:3].tolist()) >= {1, 3}
    b, w = covariance.scatters(values, CODES)
    w = np.where([False, True, False, True], 0, w)
    np.testing.assert_allclose(three.facts["ratio"], covariance.best_ratio(b, w, 3), rtol=1e-9)


def test_shifts_change_nothing_and_a_common_scale_only_the_scores(
    rng: np.random.Generator,
) -> None:
    for run in (fisher, laplacian):
        expected = run(X)
        shifted = run(X + 1e5 * rng.normal(size=M))
        np.testing.assert_array_equal(shifted.order, expected.order)
        np.testing.assert_allclose(shifted.facts["ratio"], expected.facts["ratio"], rtol=1e-8)
        np.testing.assert_allclose(run(1e-20 * X).score, 1e-40 * expected.score, rtol=1e-8)


def test_equal_scatters_keep_the_order_of_the_input() -> None:
    # of scatters: those of equal columns may differ by the rounding of a product of many rows
    b, w = np.array([3.0, 1.0, 3.0, 2.0, 1.0]), np.array([1.0, 2.0, 1.0, 2.0, 2.0])
    assert maximize_ratio(b, w, 2).order.tolist() == [0, 2, 3, 1, 4]
    # and where the first features have no scatter within, so that the ratio has no end
    assert maximize_ratio(b, np.array([0, 2.0, 0, 2, 2]), 2).order.tolist() == [0, 2, 3, 1, 4]


@pytest.mark.parametrize("codes", [np.zeros(N, int), np.arange(N)])
def test_classes_that_tell_nothing_are_refused(codes: np.ndarray) -> None:
    with pytest.raises(InputError, match="needs two classes"):
        fisher(X, codes=codes)


def test_a_negative_scatter_within_and_squares_out_of_range_are_refused() -> None:
    signed = RBF.copy()
    signed[0, 1] = signed[1, 0] = -12
    signed[0, 0] = signed[1, 1] = 12
    wave = np.zeros((N, 1))
    wave[:2, 0] = 1, 2
    wave[2:, 0] = 1.5
    opposite = wave * 1.0
    opposite[:2, 0] = 3, 3
    with pytest.raises(InputError, match="negative scatter"):
        laplacian(np.column_stack([wave, opposite]), signed)
    for scale in (1e200, 1e-200):
        with pytest.raises(InputError, match="range of float64"):
            fisher(X * scale)


def test_two_samples_of_one_class_and_one_of_another() -> None:
    values = np.array([[1.0, 0.0], [2.0, 1.0], [6.0, 0.0]])
    found = fisher(values, 1, np.array([0, 0, 1]))
    assert found.order is not None
    assert found.order.tolist() == [0, 1]
