from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from sfs_cli.methods import arom_svm
from sfs_cli.methods.base import Solution, Status
from tests.making import HELD, make_problem
from tests.unit.methods.helpers import check_solution


def solve(X: np.ndarray, codes: np.ndarray, select: int, **given: int) -> Solution:
    solution = arom_svm.solve(make_problem(X, codes=codes, select=select, **given))
    check_solution(solution)
    assert solution.order is not None
    return solution


def planted(classes: int, m: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One feature for every class (but for two classes: two) among noise, at positions 10, 11..."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(25 * classes) % classes)
    X = rng.normal(size=(len(codes), m))
    for c in range(classes):
        X[:, 10 + c] += 4 * (codes == c)
    return X + rng.normal(0, 10, m), codes


def test_one_iteration_is_a_linear_svm() -> None:
    """The first factors are the absolute weights of scikit-learn's machine on the features."""
    X, codes = planted(2)
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    Z /= np.sqrt((Z * Z).sum() / len(Z))
    w = np.abs(SVC(kernel="linear", C=1.0, tol=1e-6).fit(Z, codes).coef_[0])
    features = arom_svm.centered_matrix(make_problem(X).engine, "unit", HELD)
    found = arom_svm._weights(features, np.ones(X.shape[1]), codes)
    np.testing.assert_allclose(found / found.max(), w / w.max(), atol=1e-6)


def test_an_svm_that_is_not_solved_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arom_svm, "MAX_STEPS", 3)
    X, codes = planted(2)
    solution = solve(X, codes, 3)
    assert not solution.converged
    assert "SVM was not solved in 3 steps" in str(solution.stop)


def test_few_remain_and_the_order_is_that_of_elimination() -> None:
    X, codes = planted(2)
    few, many = solve(X, codes, 3), solve(X, codes, 40)
    assert few.facts["remaining"][: len(many.facts["remaining"])] == many.facts["remaining"]
    assert np.all(np.diff(few.facts["remaining"]) <= 0)
    # what a shorter run eliminated, a longer one has in the same places at the end
    gone = many.facts["remaining"][-1]
    np.testing.assert_array_equal(few.order[gone:], many.order[gone:])
    assert sorted(few.order) == list(range(X.shape[1]))


def test_scores_are_of_the_selected_alone() -> None:
    X, codes = planted(3)
    solution = solve(X, codes, 5)
    chosen = solution.order[:5]
    assert np.isfinite(solution.score[chosen]).all()
    assert (solution.status == Status.NOT_SELECTED).sum() == X.shape[1] - 5
    assert solution.score[chosen[0]] == 1
