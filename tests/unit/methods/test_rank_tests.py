"""Rank tests: SciPy's, all orders of the labels, and what only the order of the values decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfs_cli.errors import InputError
from sfs_cli.methods import rank_tests
from sfs_cli.methods.base import Scorer
from sfs_cli.methods.rank_tests import RankSumScorer, SpearmanScorer
from tests.making import make_problem
from tests.oracles import ranks as twin

KINDS = ["continuous", "ties", "zeros"]


def made(sizes: tuple[int, ...], kind: str, m: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Features that differ by more and more, of values without and with ties, or mostly zeros."""
    rng = np.random.default_rng(sum(sizes))
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(codes), m)) + np.linspace(0, 6, m) * codes[:, None]
    if kind == "ties":
        X = np.round(X)
    if kind == "zeros":
        X = np.round(np.maximum(X - 1.2, 0), 1) * (rng.random(X.shape) < 0.5)
    return X[:, np.ptp(X, axis=0) > 0], codes


def found(
    scorer: Any, X: np.ndarray, block_size: int | None = 7, **labels: Any
) -> tuple[Scorer, dict[str, np.ndarray]]:
    """The scorer, its columns, and the scores and statuses among them."""
    problem = make_problem(X, block_size=block_size, **labels)
    test = scorer(problem)
    measured = problem.engine.columns(test.score_block, test.dtype)
    kept = {name: measured[name] for name in ("score", "status")}
    return test, kept | test.columns(measured)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_scipys(kind: str) -> None:
    X, _ = made((9, 14), kind)
    ranks = rank_tests.rank_rows(X.T.copy())
    expected = stats.rankdata(X.T, axis=1)
    np.testing.assert_array_equal(ranks.doubled, 2 * expected)
    np.testing.assert_array_equal(ranks.ordered, np.sort(2 * expected, axis=1))
    sizes = [np.unique(f, return_counts=True)[1] for f in X.T]
    np.testing.assert_array_equal(ranks.ties, [(t**3 - t).sum() for t in sizes])


def test_both_zeros_are_equal() -> None:
    ranks = rank_tests.rank_rows(np.array([[0.0, -0.0, 1.0]]))
    assert ranks.doubled.tolist() == [[3, 3, 6]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(10, 25), (2, 3), (1, 12), (60, 140)])
def test_two_classes_are_scipys(sizes: tuple[int, ...], kind: str) -> None:
    X, codes = made(sizes, kind, 50 if sum(sizes) < 100 else 6)
    test, columns = found(RankSumScorer, X, codes=codes)
    tied = np.array([len(np.unique(f)) < len(f) for f in X.T])
    common = np.array([np.unique(f, return_counts=True)[1].max() for f in X.T])
    for method in ("exact", "asymptotic") if min(sizes) <= 8 else ("asymptotic",):
        result = stats.mannwhitneyu(X[codes == 1], X[codes == 0], method=method)
        np.testing.assert_allclose(columns["auc"], result.statistic / np.prod(sizes), rtol=1e-14)
        chosen = tied if method == "asymptotic" else ~tied
        if min(sizes) > 8:  # the tests below are about values that many samples have
            chosen = common * rank_tests.COMMON < sum(sizes)
        elif method == "asymptotic":
            continue  # the tests of all orders are about these
        expected = np.maximum(result.pvalue, test.least)
        np.testing.assert_allclose(columns["p_value"][chosen], expected[chosen], rtol=1e-11)
    np.testing.assert_allclose(columns["auc"], [twin.auc(f, codes) for f in X.T], rtol=1e-13)
    # the square is the statistic of Kruskal and Wallis
    h = stats.kruskal(X[codes == 0], X[codes == 1]).statistic
    np.testing.assert_allclose(columns["score"] ** 2, h, rtol=1e-9, atol=1e-12)
    q = stats.false_discovery_control(columns["p_value"])
    np.testing.assert_allclose(columns["q_value"], q, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(4, 6), (5, 5), (1, 4), (3, 16)])
def test_p_is_the_share_of_the_orders_of_the_labels(sizes: tuple[int, ...], kind: str) -> None:
    X, codes = made(sizes, kind, 20)
    _, columns = found(RankSumScorer, X, codes=codes)
    expected = [twin.rank_sum_p(f, codes) for f in X.T]
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-12)


def test_counts_with_and_without_ties_agree() -> None:
    for n_1, n_2 in [(1, 5), (3, 9), (8, 8), (6, 13)]:
        pairs, n = n_1 * n_2, n_1 + n_2
        u = np.arange(pairs // 2 + 1)
        away = pairs - 2 * u
        p = rank_tests.tied_p_values(2 * np.arange(1, n + 1), min(n_1, n_2), away)
        np.testing.assert_allclose(rank_tests.untied_p_values(n_1, n_2), p, rtol=1e-13)


def test_the_exact_tail_of_a_large_class_has_its_digits() -> None:
    p = rank_tests.untied_p_values(8, 2000)
    expected = [stats.mannwhitneyu(np.arange(8) - 0.5 + shift, np.arange(2000)).pvalue
                for shift in (0, 40, 300, 700)]  # fmt: skip
    u = [sum(range(8)) + 8 * shift for shift in (0, 40, 300, 700)]
    np.testing.assert_allclose(p[u], expected, rtol=1e-10)
    assert p[0] < 1e-20


def test_few_samples_that_are_not_zero_have_exact_p_values() -> None:
    """The normal distribution would say 1e-23: all three values are in a class of three."""
    X = np.zeros((103, 1))
    X[:3, 0] = [1, 2, 3]
    codes = np.repeat([0, 1], [3, 100])
    test, columns = found(RankSumScorer, X, codes=codes)
    expected = 1 / (103 * 102 * 101 / 6)
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-12)
    assert test.facts == {"test": "mann-whitney", "exact_p_values": 1, "tested_features": 1}


@pytest.mark.parametrize("inside", [2, 3])
def test_few_values_in_a_class_of_nine_have_exact_p_values(inside: int) -> None:
    """The normal distribution says 1e-8 where 2 of 5 values are in the class: they may be chance.

    All of them are above the zeros, so nothing but their number in the class is extreme.
    """
    X, codes = np.zeros((400, 1)), np.repeat([1, 0], [9, 391])
    X[:inside, 0] = X[9 : 14 - inside, 0] = 1
    test, columns = found(RankSumScorer, X, codes=codes)
    expected = stats.hypergeom.sf(inside - 1, 400, 5, 9)
    assert expected > (4e-3 if inside == 2 else 7e-5)
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-12)
    assert test.facts["exact_p_values"] == 1


@pytest.mark.parametrize("most", ["lowest", "middle", "highest"])
def test_few_samples_beside_a_common_value_have_exact_p_values(most: str) -> None:
    rng = np.random.default_rng(7)
    codes = np.repeat([0, 1], [5, 12])
    X = np.zeros((17, 40))
    for f in X.T:
        few = rng.choice(17, 4, replace=False)
        f[few] = {"lowest": 1, "highest": -1, "middle": rng.choice([-1, 1], 4)}[most]
        f[few] *= rng.integers(1, 4, 4)
    _, columns = found(RankSumScorer, X, codes=codes)
    expected = [twin.rank_sum_p(f, codes) for f in X.T]
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["untied", "counts", "two values"])
@pytest.mark.parametrize(("size", "few"), [(9, 13), (9, 24), (40, 30), (150, 60), (200, 20)])
def test_p_values_given_a_common_value_are_near_exact_ones(size: int, few: int, kind: str) -> None:
    n, rng = 400, np.random.default_rng(few)
    values = {
        "untied": np.arange(1, few + 1),
        "counts": 1 + rng.poisson(0.5, few),
        "two values": np.repeat([1, 2], [few - 1, 1]),
    }
    f = np.concatenate([values[kind], np.zeros(n - few)])
    ranks = rank_tests.rank_rows(f[None])
    away = np.unique([abs(rng.permutation(ranks.doubled[0])[:size].sum() - size * (n + 1))
                      for _ in range(5000)])  # fmt: skip
    exact = rank_tests.tied_p_values(ranks.ordered[0], size, away)
    many = rank_tests.Ranks(*(np.repeat(part, len(away), axis=0) for part in ranks))
    p = rank_tests.conditional_p_values(many, size, away)
    np.testing.assert_allclose(np.log(p), np.log(exact), atol=0.2 if kind == "untied" else 0.7)


LABELS = {
    "classes, one small": np.repeat([0, 1, 2], [9, 191, 200]),
    "many classes": np.repeat(np.arange(6), [9, 9, 9, 9, 9, 355]),
    "two classes": np.repeat([0, 1], [9, 391]),
    "few levels": np.repeat([0.0, 1, 2], [371, 20, 9]),
    "mostly one number": np.append(np.zeros(380), np.arange(1.0, 21)),
}


@pytest.mark.parametrize("labels", LABELS)
def test_features_of_nothing_have_few_small_p_values(labels: str) -> None:
    """The asymptotic laws give 10 to 160 times as many below 1e-4 (classes: of a common middle)."""
    rng, m, y = np.random.default_rng(5), 20_000, LABELS[labels]
    values = (
        rng.choice([-1.0, 1], (m, 400)) if labels == "two classes" else rng.gamma(2, 1, (m, 400))
    )
    X = np.where(rng.random((m, 400)) < 0.04, values, 0)
    X = X[np.count_nonzero(X, axis=1) > 2].T
    if y.dtype == np.int64:
        _, columns = found(RankSumScorer, X, 2048, codes=y)
    else:
        _, columns = found(SpearmanScorer, X, 2048, outcome=y)
    for level in (1e-2, 1e-3, 1e-4):
        expected, seen = 1.3 * level * X.shape[1], np.count_nonzero(columns["p_value"] <= level)
        assert seen <= expected + 4 * np.sqrt(expected)
    assert np.count_nonzero(columns["p_value"] <= 1e-2) > 0.5 * 1e-2 * X.shape[1]


@pytest.mark.parametrize("labels", ["classes, one small", "few levels", "mostly one number"])
def test_p_values_of_sparse_features_are_near_those_of_permutations(labels: str) -> None:
    y, rng = LABELS[labels], np.random.default_rng(8)
    X = np.zeros((400, 6))
    for j, few in enumerate((20, 25, 30, 40, 50, 60)):
        # some of these are among the last samples, whose label is rare
        X[[*range(2 + j), *rng.choice(np.arange(200, 396), few), *range(396 - j % 2, 400)], j] = (
            rng.gamma(2, size=6 + j + few + j % 2)
        )
    scorer, named = (RankSumScorer, "codes") if y.dtype == np.int64 else (SpearmanScorer, "outcome")
    _, columns = found(scorer, X, **{named: y})
    expected = np.array([twin.permuted_p(f, y, 20_000) for f in X.T])
    assert (columns["p_value"] < 2.5 * expected + 1e-3).all()
    assert (columns["p_value"] > expected / 2.5 - 1e-3).all()


def test_features_without_a_common_value_have_the_normal_p_value() -> None:
    X, codes = made((12, 40), "continuous")
    X[:12] = np.round(X[:12], 1)
    _, columns = found(RankSumScorer, X, codes=codes)
    expected = stats.mannwhitneyu(X[codes == 1], X[codes == 0], method="asymptotic").pvalue
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-11)


def test_a_feature_of_two_values_has_the_hypergeometric_p_value() -> None:
    X = (np.arange(4000) < 30).astype(float)[:, None]
    codes = (np.arange(4000) >= 10).astype(int)
    test, columns = found(RankSumScorer, X, codes=codes)
    expected = stats.hypergeom.pmf(10, 4000, 30, 10)
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-8)
    assert columns["p_value"][0] > test.least > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(8, 9, 20), (1, 1, 3), (40, 30, 60, 50)])
def test_more_classes_are_scipys(sizes: tuple[int, ...], kind: str) -> None:
    X, codes = made(sizes, kind)
    test, columns = found(RankSumScorer, X, codes=codes)
    result = stats.kruskal(*(X[codes == c] for c in range(len(sizes))))
    np.testing.assert_allclose(columns["score"], result.statistic, rtol=1e-9, atol=1e-12)
    expected = np.maximum(result.pvalue, test.least)
    common = np.array([np.unique(f, return_counts=True)[1].max() for f in X.T])
    many = common * rank_tests.COMMON < sum(sizes)  # different values; of others p may be larger
    np.testing.assert_allclose(columns["p_value"][many], expected[many], rtol=1e-8)
    assert (columns["p_value"] >= expected * (1 - 1e-8)).all()
    assert set(columns) == {"score", "status", "p_value", "q_value"}


@pytest.mark.parametrize("sizes", [(5, 7), (30, 45), (9, 10, 11)])
def test_only_the_order_of_the_values_matters(sizes: tuple[int, ...]) -> None:
    X, codes = made(sizes, "ties")
    _, columns = found(RankSumScorer, X, codes=codes)
    for other in (np.exp(X), X**3, np.arctan(X) * 1e-9):
        _, again = found(RankSumScorer, other, block_size=3, codes=codes)
        for name, values in columns.items():
            np.testing.assert_array_equal(again[name], values)
    # the opposite order, and the classes swapped
    for X_, y in ((-X, codes), (X, codes.max() - codes)):
        _, again = found(RankSumScorer, X_, codes=y)
        for name in ("score", "p_value"):
            np.testing.assert_allclose(again[name], columns[name], rtol=1e-13)
        if len(sizes) == 2:
            np.testing.assert_allclose(again["auc"], 1 - columns["auc"], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [12, 300])
def test_spearman_is_scipys(n: int, kind: str) -> None:
    X, codes = made((n // 2, n - n // 2), kind)
    y = np.round(np.random.default_rng(1).normal(size=n) + codes, 1)
    test, columns = found(SpearmanScorer, X, outcome=y)
    for j, f in enumerate(X.T):
        result = stats.spearmanr(f, y)
        np.testing.assert_allclose(columns["rho"][j], result.statistic, rtol=1e-12, atol=1e-15)
        expected = max(result.pvalue, test.least)
        np.testing.assert_allclose(columns["p_value"][j], expected, rtol=1e-9)
    np.testing.assert_array_equal(columns["score"], np.abs(columns["rho"]))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n", [3, 6])
def test_spearmans_p_of_few_samples_is_exact(n: int, tied: bool) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 8))
    y = np.floor(rng.normal(size=n) * 2) if tied else rng.normal(size=n)
    X[:, 0] = y
    if tied:
        X[:, 1:] = np.floor(X[:, 1:])
    X = X[:, np.ptp(X, axis=0) > 0]
    _, columns = found(SpearmanScorer, X, outcome=y)
    np.testing.assert_allclose(columns["p_value"], [twin.spearman_p(f, y) for f in X.T], rtol=1e-12)
    assert columns["score"][0] == pytest.approx(1)


@pytest.mark.parametrize("n", [8, 40])
def test_spearman_sees_the_order_alone(n: int) -> None:
    rng = np.random.default_rng(2)
    X, y = np.round(rng.normal(size=(n, 30)), 1), rng.normal(size=n)
    _, columns = found(SpearmanScorer, X, outcome=y)
    _, again = found(SpearmanScorer, np.exp(X), outcome=y**3)
    for name, values in columns.items():
        np.testing.assert_array_equal(again[name], values)
    _, other = found(SpearmanScorer, X, outcome=-y)
    np.testing.assert_allclose(other["rho"], -columns["rho"], rtol=1e-14)
    np.testing.assert_allclose(other["p_value"], columns["p_value"], rtol=1e-12)


def test_a_perfect_order_has_the_least_p_value() -> None:
    y = np.arange(15.0)
    test, columns = found(SpearmanScorer, np.stack([np.exp(y), -y], axis=1), outcome=y)
    np.testing.assert_array_equal(columns["rho"], [1, -1])
    np.testing.assert_array_equal(columns["p_value"], test.least)


def test_wrong_labels_are_refused() -> None:
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(InputError, match="at least two classes"):
        RankSumScorer(make_problem(X, codes=np.zeros(6, int)))
    with pytest.raises(InputError, match="numbers"):
        SpearmanScorer(make_problem(X, codes=np.arange(6) % 2))
    with pytest.raises(InputError, match="labels that differ"):
        SpearmanScorer(make_problem(X, outcome=np.ones(6)))
