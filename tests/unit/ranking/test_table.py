"""The order of a ranking, ties and features without a score included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfs_cli.ranking.table import Ranking, rank_features

NAMES = ("ok", "constant", "all zero")
SCORES = st.lists(st.sampled_from([np.nan, -np.inf, -1.5, -0.0, 0.0, 1e-300, 2.0, np.inf]))


def ranked(scores: list[float], *, larger_is_better: bool = False) -> Ranking:
    values = np.array(scores, float)
    status = np.isnan(values).astype(int)
    features = [f"g{i}" for i in range(len(scores))]
    extra = {"position": np.arange(len(scores)) * 10}
    return rank_features(
        features, values, status, NAMES, larger_is_better=larger_is_better, extra=extra
    )


def better_or_equal(a: float, b: float, larger_is_better: bool) -> bool:
    if np.isnan(a) or np.isnan(b):
        return bool(np.isnan(b))
    return bool(a >= b if larger_is_better else a <= b)


@given(SCORES, st.booleans())
def test_every_feature_is_at_least_as_good_as_the_next(
    scores: list[float], larger_is_better: bool
) -> None:
    ranking = ranked(scores, larger_is_better=larger_is_better)
    for a, b in zip(ranking.score, ranking.score[1:]):
        assert better_or_equal(a, b, larger_is_better)


@given(SCORES, st.booleans())
def test_equal_scores_keep_the_order_of_the_input(
    scores: list[float], larger_is_better: bool
) -> None:
    ranking = ranked(scores, larger_is_better=larger_is_better)
    for i in range(len(scores) - 1):
        a, b = ranking.score[i], ranking.score[i + 1]
        if a == b or (np.isnan(a) and np.isnan(b)):
            assert ranking.order[i] < ranking.order[i + 1]


@given(SCORES, st.booleans())
def test_every_column_goes_with_its_feature(scores: list[float], larger_is_better: bool) -> None:
    ranking = ranked(scores, larger_is_better=larger_is_better)
    assert sorted(ranking.order.tolist()) == list(range(len(scores)))
    assert ranking.n_scored == np.count_nonzero(~np.isnan(scores))
    np.testing.assert_array_equal(ranking.score, np.array(scores, float)[ranking.order])
    assert ranking.feature == [f"g{i}" for i in ranking.order]
    assert ranking.status == [NAMES[int(np.isnan(scores[i]))] for i in ranking.order]
    np.testing.assert_array_equal(ranking.extra["position"], 10 * ranking.order)


def test_columns_are_written_in_order_with_a_rank_from_one() -> None:
    columns = ranked([2.0, 1.0]).columns()
    assert list(columns) == ["rank", "feature", "score", "status", "position"]
    np.testing.assert_array_equal(columns["rank"], [1, 2])
    assert columns["feature"] == ["g1", "g0"]


def test_reasons_for_having_no_score_are_counted() -> None:
    status = np.array([0, 1, 2, 1, 0])
    scores = np.where(status > 0, np.nan, 1.0)
    ranking = rank_features(list("abcde"), scores, status, NAMES, larger_is_better=True)
    assert ranking.unscored() == {"constant": 2, "all zero": 1}
    assert len(ranking) == 5
