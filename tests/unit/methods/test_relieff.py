from __future__ import annotations

import json

import numpy as np
import pytest

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.methods import relieff
from tests.making import make_problem
from tests.oracles import relieff as twin
from tests.oracles.rebate_values import NEIGHBORS, SIZES, VALUES
from tests.unit.methods.helpers import check_solution

Data = tuple[np.ndarray, np.ndarray]


def scores(X: np.ndarray, codes: np.ndarray, k: int = 5, **context: object) -> np.ndarray:
    solution = relieff.solve(make_problem(X, codes=codes, relieff_neighbors=k, **context))
    check_solution(solution)
    return solution.score


@pytest.fixture(params=[(20, 20), (12, 28), (15, 15, 15), (9, 14, 25)], ids=str)
def data(request: pytest.FixtureRequest) -> Data:
    """Classes of these sizes, and ten features that follow them."""
    rng = np.random.default_rng(7)
    codes = rng.permutation(np.repeat(np.arange(len(request.param)), request.param))
    X = rng.normal(5, 2, (len(codes), 150))
    X[:, :10] += codes[:, None]
    return X, codes


@pytest.mark.parametrize("k", [1, 8])
def test_it_equals_the_twin(data: Data, k: int) -> None:
    X, codes = data
    np.testing.assert_allclose(
        scores(X, codes, k), twin.relieff(X, codes, k), rtol=1e-9, atol=1e-13
    )


@pytest.mark.parametrize("case", range(len(SIZES)))
def test_it_equals_scikit_rebate(case: int) -> None:
    stored = json.loads(VALUES.read_text())[case]
    found = scores(np.array(stored["X"]), np.array(stored["codes"]), NEIGHBORS)
    np.testing.assert_allclose(found, stored["scores"], rtol=1e-9, atol=1e-13)


def test_priors_multiply_and_do_not_divide() -> None:
    """With k as large as it can be for class 0, Eq. 3.15 by hand on one feature."""
    f = np.array([0.0, 0.25, 0.5, 1.0, 0.125, 0.75])
    codes = np.array([0, 0, 1, 1, 2, 2])
    total = 0.0
    for i, v in enumerate(f):
        for c in range(3):
            near = min((abs(v - f[j]), j) for j in range(6) if codes[j] == c and j != i)[0]
            total += -near if c == codes[i] else (1 / 3) / (1 - 1 / 3) * near
    assert scores(f[:, None], codes, 1)[0] == pytest.approx(total / 6, rel=1e-14)


def test_a_common_class_counts_more_than_a_rare_one() -> None:
    """A feature that sets the common class apart beats one that sets the rare class apart."""
    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1, 2], [10, 40, 40])
    X = rng.random((90, 40)) * 0.2
    X[:, 0] += codes == 0
    X[:, 1] += codes == 1
    found = scores(X, codes)
    assert found[1] > found[0] > found[2:].max()


def test_duplicate_samples_are_neighbours_at_distance_zero() -> None:
    X = np.repeat(np.random.default_rng(5).random((6, 20)), 2, axis=0)
    codes = np.repeat([0, 1, 0, 1, 0, 1], 2)
    np.testing.assert_allclose(scores(X, codes, 1), twin.relieff(X, codes, 1), rtol=1e-10)


def test_a_small_class_gives_fewer_neighbors_and_a_warning() -> None:
    codes = np.array([0] * 17 + [1] * 5 + [2] * 2)
    X = np.random.default_rng(0).random((24, 9))
    for k, words in ((2, "('2')"), (5, "('1', '2')"), (9, "than 9 neighbors")):
        solution = relieff.solve(make_problem(X, codes=codes, relieff_neighbors=k))
        np.testing.assert_allclose(solution.score, twin.relieff(X, codes, k), rtol=1e-9, atol=1e-13)
        assert words in solution.warnings[0]
        assert "neighbors=1 " in solution.warnings[0]
    assert not relieff.solve(make_problem(X, codes=codes, relieff_neighbors=1)).warnings


def test_a_class_of_one_sample_is_named() -> None:
    X, codes = np.random.default_rng(0).random((12, 4)), np.array([0] * 11 + [1])
    with pytest.raises(InputError, match="class '1' has one sample"):
        scores(X, codes, 5)


def test_distances_that_do_not_fit_are_refused() -> None:
    X = np.random.default_rng(0).random((40, 4))
    with pytest.raises(OutOfMemoryError, match="distances between 40 samples"):
        scores(X, np.arange(40) % 2, memory=1000)
