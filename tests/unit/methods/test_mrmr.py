from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.methods import mrmr
from sfs_cli.methods.base import Solution
from tests.making import HELD, STREAMED, make_problem
from tests.oracles import baselines as twin
from tests.unit.methods.helpers import check_solution


def solve(
    X: np.ndarray, codes: np.ndarray, select: int, variant: str = "difference", **given: int
) -> Solution:
    context = make_problem(X, codes=codes, select=select, variant=variant, **given)
    solution = mrmr.solve(context)
    check_solution(solution)
    return solution


def make_data(m: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, of which some follow three classes weakly."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(3), [9, 12, 15]))
    X = rng.normal(size=(36, m)) + rng.normal(size=(36, 3)) @ rng.normal(size=(3, m))
    X[:, :15] += 0.7 * codes[:, None]
    return X + rng.normal(0, 20, m), codes


@pytest.mark.parametrize("variant", ["difference", "quotient"])
@pytest.mark.parametrize("memory", [HELD, STREAMED])
def test_it_equals_the_twin(variant: str, memory: int) -> None:
    X, codes = make_data()
    solution = solve(X, codes, 10, variant, memory=memory, block_size=7)
    chosen, scores = twin.mrmr(X, codes, 10, variant)
    assert solution.order is not None
    assert solution.order[:10].tolist() == chosen
    np.testing.assert_allclose(solution.score[chosen], scores, rtol=1e-9)


@pytest.mark.parametrize("variant", ["difference", "quotient"])
def test_the_rest_follows_by_what_would_be_next(variant: str) -> None:
    X, codes = make_data()
    fewer, more = (solve(X, codes, count, variant).order for count in (5, 6))
    assert fewer is not None
    assert more is not None
    assert fewer[5] == more[5]
    assert sorted(fewer) == list(range(X.shape[1]))


@pytest.mark.parametrize("variant", ["difference", "quotient"])
def test_a_copy_is_less_wanted_than_a_new_feature(variant: str) -> None:
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1], 60)
    f = rng.normal(size=120) + codes
    g = np.concatenate([rng.permutation(f[:60]), rng.permutation(f[60:])])  # the same F statistic
    solution = solve(np.column_stack([f, f, g]), codes, 2, variant)
    assert solution.order is not None
    assert 2 in solution.order[:2]


def test_a_feature_without_any_correlation_has_a_quotient() -> None:
    codes = np.repeat([0, 1], 8)
    f = np.tile([1.0, -1.0], 8) + 4 * codes
    g = np.tile([1.0, 1.0, -1.0, -1.0], 4) + 0.0  # orthogonal to f, and the same in both classes
    h = np.random.default_rng(0).normal(size=16) + codes
    chosen, scores = twin.mrmr(np.column_stack([f, g, h]), codes, 3, "quotient")
    solution = solve(np.column_stack([f, g, h]), codes, 3, "quotient")
    assert np.isfinite(solution.score).all()
    np.testing.assert_allclose(solution.score[chosen], scores, rtol=1e-9, atol=1e-12)


def test_perfect_features_come_first_in_the_order_of_the_input() -> None:
    X, codes = make_data(m=6)
    X[:, [2, 5]] = codes[:, None] * [1.0, -2.0]
    solution = solve(X, codes, 3)
    assert solution.order is not None
    assert solution.order[:2].tolist() == [2, 5]
    assert np.isinf(solution.score[[2, 5]]).all()
