"""Rank aggregation: against slow twins, and by what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from sfs_cli.errors import UsageError
from sfs_cli.ranking.aggregate import aggregate, best_of, midranks
from tests.oracles import aggregate as twin

WEIGHTED = ("borda", "median", "geometric")
AGGREGATIONS = (*WEIGHTED, "rra")
KINDS = ("full", "ties", "partial")


def lists(kind: str, m: int = 30, L: int = 5, seed: int = 0) -> np.ndarray:
    """Ranks of lists that agree somewhat."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(m, 1)) + rng.normal(size=(m, L))
    if kind == "ties":
        values = values.round()
    if kind == "partial":
        values[rng.random((m, L)) < 0.4] = np.nan
        values[:, 0] = rng.normal(size=m)
    return np.column_stack([midranks(column, larger_is_better=True) for column in values.T])


def expected(how: str, ranks: np.ndarray, weights: np.ndarray, total: int) -> np.ndarray:
    if how == "rra":
        return np.array(twin.rho(ranks, total))
    return np.array(getattr(twin, how)(ranks, weights, total))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", AGGREGATIONS)
def test_scores_are_those_of_the_slow_twin(how: str, kind: str) -> None:
    ranks = lists(kind)
    weights = np.ones(5) if how == "rra" else np.array([3.0, 1, 2, 1, 1])
    found = aggregate(how, ranks, weights)
    np.testing.assert_allclose(found.score, expected(how, ranks, weights, 30), rtol=1e-8)


@pytest.mark.parametrize("how", WEIGHTED)
def test_only_ratios_of_weights_count_and_weight_zero_is_no_list(how: str) -> None:
    ranks, weights = lists("ties", seed=3), np.array([0.1, 0.2, 0.3, 0.0, 0.1])
    found = aggregate(how, ranks, weights)
    integers = aggregate(how, ranks[:, [0, 1, 2, 4]], np.array([1.0, 2, 3, 1]))
    np.testing.assert_allclose(found.score, integers.score, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", AGGREGATIONS)
def test_the_order_of_features_and_of_lists_does_not_matter(how: str, kind: str) -> None:
    ranks = lists(kind, seed=4)
    rows, columns = np.random.default_rng(5).permutation(30), [3, 1, 4, 0, 2]
    plain, moved = aggregate(how, ranks), aggregate(how, ranks[rows][:, columns])
    np.testing.assert_array_equal(plain.score[rows], moved.score)
    for name, column in plain.extra.items():
        np.testing.assert_allclose(column[rows], moved.extra[name], rtol=1e-12)


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_features_in_no_list_have_no_score_and_change_none(how: str) -> None:
    ranks = lists("partial", seed=8)
    found = aggregate(how, ranks)
    wider = aggregate(how, np.insert(ranks, 10, np.nan, axis=0))
    assert np.isnan(wider.score[10])
    assert wider.extra["n_lists"][10] == 0
    np.testing.assert_array_equal(np.delete(wider.score, 10), found.score)
    np.testing.assert_array_equal(found.extra["n_lists"], (~np.isnan(ranks)).sum(axis=1))


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_lists_that_rank_nothing_give_no_score(how: str) -> None:
    assert np.isnan(aggregate(how, np.full((3, 2), np.nan)).score).all()


def test_the_best_of_a_list_keeps_those_that_tie_with_the_last() -> None:
    ranks = np.array([[1.0, 1], [2.5, 2], [2.5, np.nan], [4, 3]])
    kept = best_of(ranks, 2)
    np.testing.assert_array_equal(kept, [[1, 1], [2.5, 2], [2.5, np.nan], [np.nan, np.nan]])


def test_midranks_are_those_of_scipy_and_leave_out_what_has_no_value() -> None:
    values = np.array([3.0, 1, np.nan, 3, np.inf])
    np.testing.assert_array_equal(midranks(values, larger_is_better=True), [2.5, 4, np.nan, 2.5, 1])
    finite = values[[0, 1, 3, 4]]
    np.testing.assert_array_equal(midranks(finite, larger_is_better=False), rankdata(finite))


@pytest.mark.parametrize(
    ("how", "weights", "words"),
    [
        ("rra", [1.0, 2], "rra needs equal weights"),
        ("borda", [1.0, -1], "-1 is not a number from 0"),
        ("geometric", [1.0, np.nan], "nan is not a number from 0"),
        ("median", [0.0, 0], "sum to zero"),
    ],
)
def test_weights_that_mean_nothing_are_refused(how: str, weights: list[float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        aggregate(how, lists("full", L=2), np.array(weights))
