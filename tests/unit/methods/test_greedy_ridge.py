"""Greedy ridge: against the twin, and what does not change it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.methods import greedy_ridge
from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.centered_matrix import centered_matrix
from tests.making import HELD, make_problem
from tests.oracles import greedy_ridge as twin
from tests.oracles import similarities
from tests.unit.methods.helpers import check_solution


def simulated(n: int = 30, m: int = 90, seed: int = 0) -> np.ndarray:
    """Samples x features: three modules of 10 features each, the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(8, 1, size=(n, m)) * rng.uniform(0.5, 2, m)
    for module in range(3):
        X[:, 10 * module : 10 * (module + 1)] += 1.5 * rng.choice([-1, 1], n)[:, None]
    return X


def solved(X: np.ndarray, select: int | None = 12, **given: int) -> Solution:
    S = similarities.knn_correlation(X, 5)
    found = greedy_ridge.solve(make_problem(X, S=S, select=select, **given))
    check_solution(found)
    return found


@pytest.mark.parametrize("most", [4000, 50])
@pytest.mark.parametrize("memory", [HELD, 8 * (90 * 30 + 12 * 30 + 4 * 30**2)])  # or read again
def test_it_equals_the_twin(memory: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy_ridge, "CANDIDATES", most)
    X = simulated()
    found = solved(X, memory=memory, block_size=16)
    expected, scores = twin.greedy_ridge(X, similarities.knn_correlation(X, 5), 12, most)
    assert found.order is not None
    assert found.order[:12].tolist() == expected
    np.testing.assert_allclose(found.score, scores, rtol=1e-9)
    assert (np.diff(found.score[found.order]) <= 0).all()


def test_neither_the_scale_of_features_nor_the_order_of_samples_matters() -> None:
    X, rng = simulated(), np.random.default_rng(1)
    S = similarities.knn_correlation(X, 5)
    order = rng.permutation(len(X))
    changed = (X * rng.uniform(0.01, 100, X.shape[1]) - 5)[order]
    problem = make_problem(changed, S=S[np.ix_(order, order)], select=12)
    np.testing.assert_allclose(greedy_ridge.solve(problem).score, solved(X).score, rtol=1e-9)


def test_a_longer_list_begins_with_the_shorter_one() -> None:
    fewer, more = (solved(simulated(), count).order for count in (5, 20))
    assert fewer is not None
    assert more is not None
    assert more[:5].tolist() == fewer[:5].tolist()


def test_copies_come_in_the_order_of_their_ids() -> None:
    X = simulated()
    X[:, [50, 51]] = X[:, [5, 5]]
    order = solved(X).order
    assert order is not None
    assert [j for j in order if j in (5, 50, 51)] == [5, 50, 51]


def test_of_few_features_half_are_selected_and_all_on_demand() -> None:
    assert solved(simulated(m=31), None).facts["selected"] == 16
    found = solved(simulated(m=31), 40)
    assert found.facts["selected"] == 31
    assert "only 31 features vary" in found.warnings[0]


def test_constant_features_have_no_score() -> None:
    X = simulated()
    X[:, 3] = 7
    found = solved(X, 89)
    assert found.status[3] == Status.CONSTANT
    assert np.isnan(found.score).nonzero()[0].tolist() == [3]


def test_values_below_zero_by_rounding_are_as_good_as_zero() -> None:
    H = linalg.hadamard(8)[:, 1:].astype(float)  # orthogonal features, of which Y has one
    problem = make_problem(H, select=7)
    features = centered_matrix(problem.engine, "unit", problem.memory)
    value = np.array([-2e-17, -1e-17, -3e-17, 1e-17, 8, -1e-17, -4e-17])
    picked = greedy_ridge.Candidates(problem, features, value, 7).by_residual(H[:, [4]])
    assert picked.tolist() == [4, 0, 1, 2, 3, 5, 6]


@pytest.mark.parametrize(("n", "m"), [(2, 9), (9, 2)])
def test_a_second_graph_needs_three_samples_and_features(n: int, m: int) -> None:
    X = simulated(30, 90)[:n, :m]
    with pytest.raises(InputError, match=f"at least 3 samples.*there are {n} and {m}"):
        greedy_ridge.solve(make_problem(X, S=np.eye(n), select=2))
    assert solved(simulated()[:, :3], None).facts["selected"] == 3


def test_a_second_graph_of_samples_that_are_alike_is_refused() -> None:
    X = np.repeat(np.arange(10) % 2.0, 8).reshape(10, 8)
    with pytest.raises(InputError, match=r"the 4 features.*second graph") as told:
        greedy_ridge.solve(make_problem(X, S=X @ X.T, select=2))
    assert "bandwidth" not in str(told.value)


def test_the_memory_of_a_long_list_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy_ridge, "CANDIDATES", 10)
    for select, rows in ((5, 10 + 5), (40, 40 + 40), (500, 90 + 90)):
        needed = 8 * (rows * 30 + 4 * 30**2)
        assert solved(simulated(), select, memory=needed).order is not None
        with pytest.raises(OutOfMemoryError, match="candidates"):
            solved(simulated(), select, memory=needed - 1)


def test_a_graph_that_no_feature_follows_is_refused() -> None:
    with pytest.raises(InputError, match="no feature follows"):
        greedy_ridge.solve(make_problem(simulated(), S=np.ones((30, 30)), select=5))
