"""The F-test, the t-test, the mutual information and SEPER."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.feature_selection import mutual_info_classif

from sfs_cli.errors import InputError
from sfs_cli.methods import classical, mutual_info, seper
from tests.making import make_problem
from tests.oracles import baselines as twin
from tests.unit.methods.helpers import score_all

SUPERVISED = {
    "f-test": classical.FTestScorer,
    "t-test": classical.TTestScorer,
    "mutual-info": mutual_info.MutualInfoScorer,
}
ALL = SUPERVISED | {"seper": seper.SeperScorer}


def scores(method: str, X: np.ndarray, codes: np.ndarray | None = None, **given: int) -> np.ndarray:
    context = make_problem(X, codes=codes, **given)
    return score_all(ALL[method](context), context)[0]


def make_data(sizes: tuple[int, ...], m: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Samples whose first features follow the classes, with offsets and unequal spreads."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(codes), m)) * (1 + codes[:, None])
    X[:, :5] += 2 * codes[:, None]
    return X + rng.normal(0, 50, m), codes


@pytest.mark.parametrize("sizes", [(10, 25), (8, 9, 20)])
def test_f_is_scipys(sizes: tuple[int, ...]) -> None:
    X, codes = make_data(sizes)
    groups = [X[codes == c] for c in range(len(sizes))]
    np.testing.assert_allclose(
        scores("f-test", X, codes), stats.f_oneway(*groups).statistic, rtol=1e-10
    )


def test_t_is_scipys() -> None:
    X, codes = make_data((10, 25))
    expected = stats.ttest_ind(X[codes == 0], X[codes == 1], equal_var=False).statistic
    np.testing.assert_allclose(scores("t-test", X, codes), np.abs(expected), rtol=1e-10)


def test_mutual_information_is_scikit_learns() -> None:
    X, codes = make_data((15, 20, 30))
    expected = mutual_info_classif(X, codes, discrete_features=False, random_state=3)
    found = scores("mutual-info", X, codes, seed=3)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("sizes", [(2, 3), (4, 4), (7, 9, 30), (25, 40)])
@pytest.mark.parametrize("ties", [False, True])
def test_mutual_information_equals_the_twin(sizes: tuple[int, ...], ties: bool) -> None:
    X, codes = make_data(sizes, m=12)
    if ties:
        X = np.round(X) + 1e-9 * np.random.default_rng(0).normal(size=X.shape)
    found = np.maximum(mutual_info.estimated(np.ascontiguousarray(X.T), codes), 0)
    expected = [twin.mutual_information(f, codes) for f in X.T]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_mutual_information_by_other_numbers_of_neighbors(k: int) -> None:
    X, codes = make_data((3, 5, 14), m=12)
    X[:, 6:] = np.round(X[:, 6:])
    found = mutual_info.estimated(np.ascontiguousarray(X.T), codes, k)
    expected = [twin.mutual_information(f, codes, k) for f in X.T]
    np.testing.assert_allclose(np.maximum(found, 0), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [7, 50, 400])
def test_values_within_a_radius_are_counted_with_ties(n: int) -> None:
    rng = np.random.default_rng(n)
    for values in (rng.poisson(0.3, (4, n)), rng.normal(size=(4, n)).round(1), np.zeros((4, n))):
        values = values.astype(np.float64)
        radius = mutual_info.kth_distances(values, 3)
        exact = (np.abs(values[:, :, None] - values[:, None]) <= radius[:, :, None]).sum(axis=2)
        np.testing.assert_array_equal(mutual_info.counts_within(values, radius), exact)


def test_seper_equals_the_twin() -> None:
    X, _ = make_data((10, 13), m=8)
    X[:, 7] = np.round(X[:, 7])  # samples at distance zero
    expected = [twin.seper(f) for f in X.T]
    np.testing.assert_allclose(scores("seper", X), expected, rtol=1e-11)


def test_seper_works_in_chunks() -> None:
    X = np.random.default_rng(1).normal(size=(60, 700))
    assert 8 * X.size > seper.CHUNK_BYTES
    expected = [twin.seper(f) for f in X.T[[0, 350, 699]]]
    np.testing.assert_allclose(scores("seper", X)[[0, 350, 699]], expected, rtol=1e-11)


@pytest.mark.parametrize("method", ["f-test", "t-test"])
def test_a_feature_that_separates_without_spread_is_infinitely_good(method: str) -> None:
    codes = np.repeat([0, 1], 6)
    X = np.column_stack([np.where(codes, 0.3, 0.1) + 1000, np.arange(12.0)])
    found = scores(method, X, codes)
    assert np.isinf(found[0])
    assert np.isfinite(found[1])


@pytest.mark.parametrize("method", SUPERVISED)
def test_classes_must_be_fit_for_the_method(method: str) -> None:
    X, _ = make_data((6, 6))
    with pytest.raises(InputError, match="at least two classes"):
        scores(method, X, np.zeros(12, int))
    with pytest.raises(InputError, match="samples"):
        scores(method, X, np.arange(12))


def test_the_t_test_takes_two_classes() -> None:
    X, codes = make_data((6, 6, 6))
    with pytest.raises(InputError, match="there are 3") as caught:
        scores("t-test", X, codes)
    assert "f-test" in str(caught.value)
    with pytest.raises(InputError, match="at least 2 samples in every class"):
        scores("t-test", X[:7], np.array([0] * 6 + [1]))


@pytest.mark.parametrize("classes", [2, 3])
def test_mutual_information_of_few_values_is_that_of_their_frequencies(classes: int) -> None:
    rng = np.random.default_rng(classes)
    codes = rng.integers(classes, size=3000)
    X = (codes[:, None] * [0, 1, 2] + rng.integers(4, size=(3000, 3))) * 0.1 + 7
    for found, x in zip(scores("mutual-info", X, codes), np.round(X.T * 10).astype(int)):
        joint = np.array(
            [[np.mean((x == a) & (codes == c)) for c in range(classes)] for a in set(x)]
        )
        alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        seen = joint > 0
        exact = (joint[seen] * np.log(joint[seen] / alone[seen])).sum()
        assert found == pytest.approx(exact, abs=0.01)
