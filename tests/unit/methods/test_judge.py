"""The judge of all tests: exact where all orders are known, right on nothing, and not blind."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from scipy.special import comb

from sfs_cli.catalog import METHODS
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import DenseSimilarity, Similarity
from sfs_cli.methods.significance import judge, permuted
from sfs_cli.methods.significance.judge import EXTRAPOLATION, MOMENTS, PERMUTATION, Judge
from sfs_cli.methods.significance.permuted import WelchJudge
from sfs_cli.methods.significance.ratios import Ratio, ratio_of
from sfs_cli.store.adjust import orthonormal
from tests.oracles import similarities
from tests.unit.methods.nulls import graph_of, noise, problem
from tests.unit.methods.test_covariates import residual_ratio


def ratio(S: Similarity, method: str = "spec") -> Ratio:
    made = problem(method, np.zeros((S.n, 2)), S)
    prepare = METHODS[method].load("prepare")
    assert prepare is not None
    return ratio_of(prepare(made), made)


def rbf(n: int, seed: int = 0) -> np.ndarray:
    return similarities.rbf(noise(n, 6, seed))


def beside_a_pair(n: int) -> DenseSimilarity:
    """A graph of which two samples hold nearly all."""
    S = rbf(n)
    S[0, 1] = S[1, 0] = 100.0 * n
    return DenseSimilarity(S)


def of_heavy_samples(n: int) -> DenseSimilarity:
    weight = np.random.default_rng(3).pareto(1.0, size=n) + 0.1
    return DenseSimilarity(rbf(n) * np.outer(weight, weight))


@pytest.mark.parametrize("kind", ["normal", "few values"])
@pytest.mark.parametrize("method", ["spec", "hsic"])
def test_permutations_are_near_all_orders(method: str, kind: str) -> None:
    n, rng = 7, np.random.default_rng(2)
    tested = ratio(DenseSimilarity(rbf(n)), method)
    x = rng.normal(size=(12, n)) if kind == "normal" else rng.integers(0, 3, (12, n)) + 0.0
    x[:, :2] += [1, 5]  # none is constant
    A, B = tested.numerator.dense(), tested.denominator.dense()
    orders = np.array(list(permutations(range(n))))
    found = Judge(tested, "permutation", 10_000, 0).test(x)
    for f, p, effect in zip(x - x.mean(axis=1, keepdims=True), found.p, found.effect):
        G = f[orders]
        ratios = np.vecdot(G @ A, G) / np.vecdot(G @ B, G)
        exact = (ratios <= ratios[0] + 1e-9).mean()
        # with 10 as good it stops: to a third of it
        assert abs(p - exact) < 5 * exact / np.sqrt(judge.ENOUGH) + 1e-3
        same = ratios.std() < 1e-12  # of one value beside the others HSIC does not vary
        expected = 0 if same else (ratios.mean() - ratios[0]) / ratios.std()
        assert effect == pytest.approx(expected, abs=0.5)


def test_extrapolated_p_values_are_near_all_orders_of_the_labels() -> None:
    n, rng = 20, np.random.default_rng(5)
    codes = np.repeat([0, 1], n // 2)
    x = rng.normal(size=(40, n)) + 1.9 * codes
    found = Judge(ratio(label_similarity(codes)), "moments", 10_000, 0).test(x)
    rows = np.flatnonzero(found.how == EXTRAPOLATION)
    assert len(rows) > 10
    places = np.array(list(combinations(range(n), n // 2)))
    for row in rows:
        away = np.abs(x[row][places].sum(axis=1) - x[row].sum() / 2)
        exact = (away >= away[0] - 1e-9).mean()
        assert found.p[row] < 1 / 1000
        assert 1 / 4 < found.p[row] / exact < 10


@pytest.mark.parametrize("graph", [beside_a_pair, of_heavy_samples], ids=["pair", "heavy"])
@pytest.mark.parametrize("kind", ["normal", "0/1/2"])
def test_few_samples_that_decide_are_permuted(graph: Any, kind: str) -> None:
    """Moments gave 7e-242 here."""
    n, rng = 60, np.random.default_rng(8)
    x = rng.normal(size=(800, n)) if kind == "normal" else rng.binomial(2, 0.1, (800, n)) + 0.0
    found = Judge(ratio(graph(n)), "moments", 10_000, 0).test(x)
    p = found.p[~np.isnan(found.p)]
    assert (found.how[found.p < 0.05] == PERMUTATION).all()
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).mean() <= 1.1 * level + 3 * np.sqrt(level / len(p))
    assert p.min() > 0.99 / 10_001


@pytest.mark.parametrize("n", [6, 14])
def test_all_orders_of_two_values_may_be_as_good(n: int) -> None:
    """Of an odd number of ones in balanced classes, as evenly as can be; moments said .1 of 6."""
    codes = np.repeat([0, 1], n // 2)
    x = np.array([[1, 1, 0] + [0] * (n - 4) + [1], [1] * 3 + [0] * (n - 3)])
    found = Judge(ratio(label_similarity(codes)), "moments", 10_000, 0).test(x)
    assert found.p[0] == 1
    assert found.p[1] < 0.5


def test_two_classes_are_equally_good() -> None:
    """The form of few samples is not cut to some eigenpairs, which told one from the other."""
    codes = np.repeat([0, 1], 3)
    x = np.array([codes, 1 - codes, [2, 2, 1, 0, 0, 0], [0, 0, 0, 2, 2, 1]])
    found = Judge(ratio(label_similarity(codes), "hsic"), "permutation", 10_000, 0).test(x)
    assert ((found.p > 0.07) & (found.p < 0.14)).all()  # 2 of 20 orders of the labels


def test_moments_that_find_nothing_screen_nothing() -> None:
    """On heavy samples, features that follow the graph are found as by permutations alone."""
    n, rng, S = 60, np.random.default_rng(4), of_heavy_samples(60)
    smooth = S.to_dense() / S.degrees[:, None] @ rng.normal(size=(n, 200))
    x = smooth.T / smooth.std(axis=0)[:, None] + 0.3 * rng.normal(size=(200, n))
    p = [Judge(ratio(S), null, 1000, 0).test(x).p for null in ("moments", "permutation")]
    found = [np.count_nonzero(each <= 0.01) for each in p]
    assert found[1] > 20
    assert found[0] > 0.9 * found[1]


def test_a_p_value_is_of_the_feature_alone() -> None:
    """In whatever blocks, with whatever beside it; moments say only that there is nothing."""
    x = noise(60, 150, 3).T.copy()
    x[:40] += 1.5 * np.linalg.eigh(graph_of(60, 2).to_dense())[1][:, -4] * np.sqrt(60)
    x[50] = 4.0
    whole = Judge(ratio(graph_of(60, 2)), "moments", 3000, 1).test(x)
    parts = [
        Judge(ratio(graph_of(60, 2)), "moments", 3000, 1).test(part) for part in (x[:7], x[7:])
    ]
    for name in ("p", "effect", "how"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_allclose(joined, getattr(whole, name), rtol=1e-9)
    assert np.isnan(whole.p[50])
    assert set(whole.how) == {MOMENTS, PERMUTATION, EXTRAPOLATION}
    assert whole.p[whole.how == MOMENTS][:1] > judge.SCREEN
    np.testing.assert_array_equal(np.maximum(whole.p, 0.2), _at_least(x, 0.2))


def _at_least(x: np.ndarray, least: float) -> np.ndarray:
    return Judge(ratio(graph_of(60, 2)), "moments", 3000, 1, least=least).test(x).p


@pytest.mark.parametrize(
    ("n", "covariates", "paired"), [(40, 1, False), (20, 4, False), (25, 8, False), (24, 1, True)]
)
def test_few_values_are_not_significant_because_covariates_spread_them(
    n: int, covariates: int, paired: bool
) -> None:
    """On a graph that follows covariates: of permuted residuals up to 20 times too many are."""
    rng, pair = np.random.default_rng(6), np.arange(n) // 2
    pairs = [(pair == each).astype(float) for each in range(1, n // 2)] if paired else []
    skewed, others = np.exp(1.5 * rng.normal(size=n)), rng.normal(size=(covariates - 1, n))
    Q, _ = orthonormal(np.vstack([*pairs, skewed, others]))
    places = np.column_stack([3 * Q.T * np.sqrt(n), rng.normal(size=(n, 3))])
    tested = residual_ratio("spec", DenseSimilarity(similarities.rbf(places)), Q)
    x = np.where(rng.random((1000, n)) < 0.25, np.exp(rng.normal(size=(1000, n))), 0)
    x -= x.mean(axis=1, keepdims=True)
    x -= x @ Q.T @ Q
    p = Judge(tested, "moments", 10_000, 0).test(x).p
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).mean() <= 1.1 * level + 3 * np.sqrt(level / len(p))


def test_features_of_a_few_values_are_found_as_they_were() -> None:
    rng, n = np.random.default_rng(1), 24
    Q, _ = orthonormal(rng.normal(size=(3, n)))
    x = np.zeros((30, n))
    for each in x:
        each[rng.choice(n, 4, replace=False)] = rng.exponential(size=4) + 0.5
    found = judge.sparsest(x - x.mean(axis=1, keepdims=True) - x @ Q.T @ Q, Q.T)
    expected = x / np.linalg.norm(x, axis=1)[:, None]
    assert np.mean(np.abs(found - expected).max(axis=1) < 1e-3) > 0.9


def test_a_value_of_one_sample_is_as_rare_as_the_sample() -> None:
    """The best place of n has p = 1 / n, as where no covariates are taken out."""
    rng, n = np.random.default_rng(1), 20
    Q, _ = orthonormal(rng.normal(size=(4, n)))
    places = np.column_stack([3 * Q.T * np.sqrt(n), rng.normal(size=(n, 3))])
    tested = residual_ratio("spec", DenseSimilarity(similarities.rbf(places)), Q)
    x = np.eye(n) - 1 / n - Q.T @ Q
    made = [Judge(tested, "permutation", 10_000, seed) for seed in range(10)]
    best = made[0].permutations.ratios(judge.unit(x)).argmin()
    p = [each.test(x[[best]]).p[0] for each in made]
    assert np.mean(p) == pytest.approx(1 / n, rel=0.3)


@pytest.mark.parametrize("others", [0, 1])
def test_blocks_alone_are_no_covariates(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders stay within them, so residuals are permuted as the features are."""
    rng, n, asked = np.random.default_rng(3), 24, []
    monkeypatch.setattr(Judge, "_permute_before", lambda *given: asked.append(given))
    pair = np.arange(n) // 2
    blocks = np.vstack([pair == each for each in range(1, n // 2)])
    Q, _ = orthonormal(np.vstack([blocks, rng.normal(size=(others, n))]))
    tested = residual_ratio("spec", graph_of(n, 0), Q)
    Judge(tested, "permutation", 20, 0, pair).test(rng.normal(size=(3, n)))
    assert len(asked) == others


def test_p_values_of_normal_features_are_those_of_permuted_residuals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, n = np.random.default_rng(2), 22
    Q, _ = orthonormal(rng.normal(size=(3, n)))
    x = rng.normal(size=(500, n)) + 1.5 * rng.normal(size=(500, 1)) * (np.arange(n) % 2)
    x -= x.mean(axis=1, keepdims=True)
    x -= x @ Q.T @ Q
    tested = Judge(residual_ratio("spec", graph_of(n, 0), Q), "permutation", 1000, 0)
    p = tested.test(x).p
    monkeypatch.setattr(tested, "_permute_before", lambda *_: None)
    residuals = tested.test(x).p
    assert (p >= residuals).all()
    assert np.mean(p == residuals) > 0.95


class Patterns:
    """Permutations whose ratios are as good, or not, as the features (b, n) say."""

    rounds, size = (4, 8, 12), 1.0

    def ratios(self, x: np.ndarray) -> np.ndarray:
        return np.full(len(x), 0.5)

    def shuffled(self, x: np.ndarray) -> np.ndarray:
        return x

    def permuted(self, x: np.ndarray, start: int, end: int) -> np.ndarray:
        return 1.0 - x[:, start:end]


def by_judge(patterns: np.ndarray, settled: float, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    monkeypatch.setattr(judge, "FEW", 1)
    monkeypatch.setattr(judge, "ENOUGH", 3)
    tested = Judge(ratio(graph_of(30, 0)), "moments", 12, 0)
    tested.permutations, tested.settled = Patterns(), settled  # type: ignore[assignment]
    monkeypatch.setattr(tested, "_extrapolated", lambda x, *_: np.ones(len(x)))
    b = len(patterns)
    found = judge.Judged(np.empty(b), np.empty(b), np.empty(b, np.int8))
    tested._permute(np.arange(b), patterns, np.ones(b, bool), found)
    return found.p


def by_welch(patterns: np.ndarray, drawn: int, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """F of so many orders at a time, which tell features by their places in `patterns`."""
    monkeypatch.setattr(permuted, "ENOUGH", 3)
    monkeypatch.setattr(permuted, "HELD", 1)
    tested = WelchJudge(None, np.array([0, 0, 1, 1]), 12, 0)  # type: ignore[arg-type]
    tested.rounds, place = [drawn, 12], 0

    def shares(x: np.ndarray, orders: np.ndarray) -> np.ndarray:
        nonlocal place
        if len(orders) == 1:
            return np.full((len(x), 1), 0.5)
        place += len(orders)
        return patterns[x[:, 0].astype(int), place - len(orders) : place]

    monkeypatch.setattr(tested, "_shares", shares)
    return tested._permuted(np.repeat(np.arange(len(patterns))[:, None], 4, axis=1) + 0.0)


@pytest.mark.parametrize(
    ("by", "given"), [(by_judge, 99), (by_judge, 8), (by_judge, 3), (by_welch, 4), (by_welch, 6)]
)
def test_sequential_p_values_are_valid(
    by: Any, given: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all ways in which permutations may be as good, with the probabilities of chance."""
    patterns = (np.arange(1 << 12)[:, None] >> np.arange(12)) % 2
    chance = 1 / (13 * comb(12, patterns.sum(axis=1)))  # of each place among all 13 alike
    p = by(patterns.astype(float), given, monkeypatch)
    levels = np.unique(p)
    reached = np.array([chance[p <= level].sum() for level in levels])
    assert (reached <= levels + 1e-12).all()
    # and no larger than they must be, but where the next possible one is smaller
    np.testing.assert_allclose(reached[0], 1 / 13)
    assert np.count_nonzero(np.isclose(reached, levels)) >= len(levels) - 1


def test_features_that_all_take_the_last_permutation_are_held_in_part() -> None:
    tested = Judge(ratio(DenseSimilarity(rbf(20))), "permutation", 10_000, 0)
    best = np.linalg.eigh(rbf(20))[1][:, -2]
    x = best + 0.05 * np.random.default_rng(4).normal(size=(500, 20))
    tracemalloc.start()
    found = tested.test(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.count_nonzero(found.p < 1e-3) > 450
    assert peak < 60 << 20  # 38 MiB; of all at once 94
