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


@given(SCORES, st.booleans())
def test_features_are_in_order_with_all_that_is_known_of_them(
    scores: list[float], larger_is_better: bool
) -> None:
    ranking = ranked(scores, larger_is_better=larger_is_better)
    sign = -1 if larger_is_better else 1
    keys = [(np.isnan(score), 0 if np.isnan(score) else sign * score) for score in scores]
    expected = sorted(range(len(scores)), key=keys.__getitem__)  # equal ones stay in order
    assert ranking.order.tolist() == expected
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
