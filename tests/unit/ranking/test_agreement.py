"""Agreement of rankings, against definitions pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.ranking.agreement import agreement, compare_rankings, top_overlap


def tau_b(a: np.ndarray, b: np.ndarray) -> float:
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    signs = [(np.sign(a[i] - a[j]), np.sign(b[i] - b[j])) for i, j in pairs]
    agreed = sum(x * y for x, y in signs)
    return agreed / np.sqrt(sum(x * x for x, _ in signs) * sum(y * y for _, y in signs))


def some(seed: int = 0, m: int = 40) -> np.ndarray:
    rng = np.random.default_rng(seed)
    ranks = (rng.normal(size=(m, 1)) + rng.normal(size=(m, 3))).round(1)
    ranks[rng.random((m, 3)) < 0.2] = np.nan
    return ranks


def test_kendall_and_spearman_are_over_the_features_that_both_rank() -> None:
    ranks = some()
    found = agreement(ranks, tops=(5,))
    for i in range(3):
        for j in range(3):
            both = ~np.isnan(ranks[:, [i, j]]).any(axis=1)
            assert found.common[i, j] == both.sum()
            assert found.kendall[i, j] == pytest.approx(tau_b(*ranks[both][:, [i, j]].T))
            midrank = [
                np.array([(v < x).sum() + ((v == x).sum() + 1) / 2 for x in v])
                for v in ranks[both][:, [i, j]].T
            ]
            assert found.spearman[i, j] == pytest.approx(np.corrcoef(*midrank)[0, 1])
    pairs = [found.kendall[0, 1], found.kendall[0, 2], found.kendall[1, 2]]
    assert found.mean(found.kendall) == pytest.approx(np.mean(pairs))


def test_lists_that_are_equal_or_reversed_agree_wholly_or_not_at_all() -> None:
    up = np.arange(1.0, 31)
    found = agreement(np.column_stack([up, up, up[::-1]]), tops=(10, 20, 50))
    np.testing.assert_allclose(found.kendall, [[1, 1, -1], [1, 1, -1], [-1, -1, 1]])
    np.testing.assert_allclose(found.overlap[10][0], [1, 1, 0])
    np.testing.assert_allclose(found.overlap[20][0], [1, 1, 0.5])
    assert np.isnan(found.overlap[50]).all()


def test_what_cannot_be_compared_is_nan() -> None:
    ranks = np.array([[1.0, np.nan, 1], [2, np.nan, 1], [np.nan, 1, 1], [np.nan, 2, 1]])
    found = agreement(ranks, tops=(1,))
    assert np.isnan(found.kendall[0, 1])
    assert np.isnan(found.kendall[0, 2])
    assert found.common[0, 1] == 0
    assert np.isnan(found.mean(found.spearman))


def test_overlap_is_the_size_of_the_intersection() -> None:
    a, b = np.array([1.0, 2, 3, 4, np.nan]), np.array([3.0, 1, np.nan, 2, 4])
    assert top_overlap(a, b, 2) == 0.5
    assert top_overlap(a, b, 3) == pytest.approx(2 / 3)


def test_comparing_rankings_cuts_the_short_list_to_the_shorter_ranking() -> None:
    a, b = some(1).T[:2]
    rho, overlap = compare_rankings(a, b)
    found = agreement(np.column_stack([a, b]))
    assert rho == found.spearman[0, 1]
    known = min((~np.isnan(a)).sum(), (~np.isnan(b)).sum())
    assert overlap == top_overlap(a, b, known)
    assert compare_rankings(a, a) == (pytest.approx(1), 1)
    assert np.isnan(compare_rankings(a, np.full(40, np.nan))[1])
