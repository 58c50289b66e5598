"""p-values of graph scores: exact where a formula is known, uniform where nothing is there."""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from sfs_cli.catalog import METHODS, WITH_PVALUES
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.features.significance.graph import made_of_features
from sfs_cli.features.significance.step import not_normal
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)
from sfs_cli.methods.significance import gaussian, moments, normality, permutation, rational
from sfs_cli.methods.significance import tested as tested_scores
from sfs_cli.methods.significance.form import Form
from sfs_cli.methods.significance.moments import Powers, RatioMoments, sums_of
from sfs_cli.methods.significance.ratios import Ratio, ratio_of
from sfs_cli.options import RankConfig
from sfs_cli.options.guards import GUARDS
from tests.cli.running import run_here
from tests.making import write_labels, write_table
from tests.methods.helpers import run
from tests.methods.nulls import (
    LEVELS,
    counts,
    graph_of,
    measured_by,
    noise,
    p_values,
    problem,
    scored,
)
from tests.oracles import pvalues as twin
from tests.oracles import ratio_values, similarities
from tools.benchmarks import calibration

NULLS = ("gaussian", "moments", "permutation:60")
CODES = np.repeat([0, 1, 2], [9, 12, 6])
RNG = np.random.default_rng(3)
X = RNG.gamma(2.0, size=(27, 8)) + 0.6 * RNG.normal(size=(3, 8))[CODES] + 4.0
"""Skewed features, some of them with classes; samples x features."""

KNN = similarities.knn(X, 4)
GRAPHS: dict[str, Similarity] = {
    "rbf": DenseSimilarity(similarities.rbf(X)),
    "knn": SparseSimilarity(csr_array(KNN)),
    "label": FactoredSimilarity(np.eye(3)[CODES] / np.sqrt(np.bincount(CODES))),
}


def ratio(method: str, S: Similarity | None, n: int = 27, **given: Any) -> Ratio:
    made = problem(method, np.zeros((n, 2 * n)), S, **given)
    prepare = METHODS[method].load("prepare")
    assert prepare is not None
    return ratio_of(prepare(made), made)


# ---- what is tested ----------------------------------------------------------------------------

TESTED = {
    "phi1": ("spec", {"ranking": "phi1"}),
    "phi1 exp": ("spec", {"ranking": "phi1", "gamma": "exp"}),
    "phi2": ("spec", {}),
    "phi2 of power 3": ("spec", {"gamma_power": 3}),
    "phi3": ("spec", {"ranking": "phi3", "clusters": 3}),
    "laplacian": ("laplacian", {}),
    "hsic": ("hsic", {}),
    "gdcov": ("gdcov", {}),
    "gdcov of L": ("gdcov", {"definition": 1, "gamma": "heat:1"}),
    "fisher": ("fisher", {"codes": CODES}),
}


def test_every_method_with_pvalues_is_tested() -> None:
    assert {method for method, _ in TESTED.values()} == set(WITH_PVALUES)


@pytest.mark.parametrize("name", TESTED)
@pytest.mark.parametrize("graph", ["rbf", "knn"])
def test_ratios_of_scores_are_those_of_the_matrices(name: str, graph: str) -> None:
    """What a score is turned into is the ratio of the two quadratic forms."""
    method, given = TESTED[name]
    S = GRAPHS[graph]
    tested = ratio(method, S, **given)
    made = problem(method, X, S, **given)
    prepare = METHODS[method].load("prepare")
    assert prepare is not None
    scorer = tested_scores.TestedScorer(prepare(made), made, "moments")
    score, measured = measured_by(scorer, X)
    A, B = tested.numerator.dense(), tested.denominator.dense()
    np.testing.assert_allclose(A.sum(axis=0), 0, atol=1e-9 * np.abs(A).max())
    expected = [(x @ A @ x) / (x @ B @ x) for x in (X - X.mean(axis=0)).T]
    found = tested.statistic(score, measured[0], measured[1])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("name", "power"), [("phi2", 1), ("phi2 of power 3", 3)])
def test_matrices_of_phi2_are_those_of_its_definition(graph: str, name: str, power: int) -> None:
    method, given = TESTED[name]
    S = GRAPHS[graph].to_dense()
    tested = ratio(method, GRAPHS[graph], **given)
    A = twin.numerator(S, lambda values: values**power)
    np.testing.assert_allclose(tested.numerator.dense(), A, atol=1e-12)
    B = twin.denominator(S.sum(axis=1))
    np.testing.assert_allclose(tested.denominator.dense(), B, atol=1e-12)


@pytest.mark.parametrize("name", TESTED)
def test_sums_of_a_sparse_graph_are_those_of_the_dense_matrix(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "ROWS", 10)
    method, given = TESTED[name]
    for graph in ("knn", "label"):
        if name == "gdcov" and graph == "label":
            continue  # 0 on classes
        tested = ratio(method, GRAPHS[graph], **given)
        for t in (0.3, 1.1):
            mean = (tested.numerator.trace - t * tested.denominator.trace) / 26
            M = moments._less(tested, t, mean)
            none = np.empty((27, 0))
            whole = Form(M.dense(), none, np.empty((0, 0)))
            scale = np.abs(whole.core).max() ** 4 * 27**2
            expected = sums_of(whole)
            np.testing.assert_allclose(sums_of(M), expected, rtol=1e-9, atol=1e-12 * scale)
            with monkeypatch.context() as patch:
                patch.setattr(moments, "COLUMNS", 0)
                np.testing.assert_allclose(sums_of(M), expected, rtol=1e-9, atol=1e-12 * scale)
                patch.setattr(moments, "DENSE_SAMPLES", 0)
                found = sums_of(M)
            if not isinstance(M.core, np.ndarray):
                np.testing.assert_allclose(found[:7], expected[:7], rtol=1e-9, atol=1e-12 * scale)
                assert np.isnan(found[7:]).any()


# ---- gaussian ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["spec", "laplacian", "fisher"])
def test_on_labels_it_is_the_analysis_of_variance(method: str) -> None:
    """Down to 1e-12 and far below."""
    rng = np.random.default_rng(8)
    strength = np.geomspace(0.01, 300, 60)
    values = rng.normal(size=(27, 60)) + strength * rng.normal(size=(3, 60))[CODES]
    S, codes = (None, CODES) if method == "fisher" else (GRAPHS["label"], None)
    score, columns = scored(method, values, S, "gaussian", codes=codes)
    expected = stats.f_oneway(*(values[c == CODES] for c in range(3))).pvalue
    assert expected.min() < 1e-40
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-6)
    q = stats.false_discovery_control(columns["p_value"])
    np.testing.assert_allclose(columns["q_value"], q, rtol=1e-12)
    better = score if method == "fisher" else -score
    assert stats.spearmanr(columns["effect"], better).statistic == pytest.approx(1)


@pytest.mark.slow
def test_the_distribution_is_that_of_imhofs_quadrature() -> None:
    """On random graphs of equal and unequal degrees, to 1e-8."""
    rng = np.random.default_rng(21)
    compared = 0
    for seed in range(5):
        n = int(rng.integers(6, 40))
        S = graph_of(n, seed, neighbors=min(5, n // 2))
        for name in ("phi2", "hsic"):
            tested = ratio(*_method(name), n=n, S=S) if n > 3 else None
            assert tested is not None
            found = gaussian.RatioDistribution(tested, 1 << 30)
            low, high = found.ends
            A, B = tested.numerator.dense(), tested.denominator.dense()
            for t in rng.uniform(low, high, 4).tolist():
                values = np.linalg.eigvalsh(A - t * B)
                values = np.delete(values, np.argmin(np.abs(values)))
                expected = twin.imhof(values)
                one = np.array([t])
                assert np.exp(found.log_probability(one))[0] == pytest.approx(expected, abs=1e-8)
                assert found.interpolated(one)[0] == pytest.approx(expected, abs=1e-6)
                compared += 1
    assert compared == 40


@pytest.mark.slow
def test_stored_probabilities_to_the_far_tails() -> None:
    """220 values of quadrature with 30 digits; eight digits are right, however small they are."""
    rows, stored = ratio_values.rows(), ratio_values.stored()
    assert len(rows) == 220
    assert [row[:2] for row in rows] == [row[:2] for row in stored]
    assert min(probability for *_, probability in stored) < 1e-40
    for (name, _, values, times), (*_, expected) in zip(rows, stored):
        assert min(values) < 0 < max(values)  # the form has both signs
        found = gaussian.log_below_zero(np.array([values]), np.array(times, float))[0]
        assert np.exp(found) == pytest.approx(expected, rel=1e-8), name
        if all(count % 2 == 0 for count in times):  # then a sum of rational numbers
            exact = ratio_values.by_residues(values, times)
            assert expected == pytest.approx(float(exact), rel=1e-12)


def _method(name: str) -> tuple[str]:
    return (TESTED[name][0],)


STEPS = np.linspace(-3, 2, 60)


def by_logits(found: gaussian.RatioDistribution, farthest: float, count: int) -> np.ndarray:
    """Thresholds from one end of the ratio to the other."""
    low, high = found.ends
    return low + (high - low) / (1 + np.exp(-np.linspace(-farthest, farthest, count)))


@pytest.mark.parametrize("graph", GRAPHS)
def test_interpolated_probabilities_are_those_at_each_threshold(graph: str) -> None:
    """Eight digits from one end to the other, by any number of threads."""
    found = gaussian.RatioDistribution(ratio("spec", GRAPHS[graph]), 1 << 30)
    t = by_logits(found, 9, 61)
    expected = np.exp(found.log_probability(t))
    assert expected.min() < 1e-12
    interpolated = found.interpolated(t)
    np.testing.assert_allclose(interpolated, expected, rtol=1e-8)
    np.testing.assert_array_equal(found.interpolated(t, ThreadExecutor(3)), interpolated)
    np.testing.assert_array_equal(found.interpolated(t[::7]), interpolated[::7])


def test_interpolated_probabilities_where_groups_bend_the_curve() -> None:
    """Few thresholds are computed, although a few large eigenvalues meet a bulk of small ones."""
    rng = np.random.default_rng(4)
    centers = 3 * rng.normal(size=(4, 40))
    S = DenseSimilarity(similarities.rbf(np.repeat(centers, 30, 0) + rng.normal(size=(120, 40))))
    found = gaussian.RatioDistribution(ratio("spec", S, n=120), 1 << 30)
    t = np.sort(np.concatenate([by_logits(found, 5, 60), found.mean + found.deviation * STEPS]))
    expected = np.exp(found.log_probability(t))
    computed: list[int] = []
    compute = found.log_probability

    def counted(t: np.ndarray, sign: int) -> np.ndarray:
        computed.append(len(t))
        return compute(t, sign)

    found.log_probability = counted  # type: ignore[method-assign]
    interpolated = found.interpolated(t)
    assert sum(computed) < 130
    assert (np.diff(interpolated) >= 0).all()
    seen = expected > 1e-100
    np.testing.assert_allclose(interpolated[seen], expected[seen], rtol=2e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [3, 4, 5, 6, 8, 13])
def test_interpolated_probabilities_of_few_samples(n: int) -> None:
    """The curve is not smooth at the eigenvalues, which shows where there are few."""
    S = DenseSimilarity(similarities.rbf(np.random.default_rng(n).normal(size=(n, 20))))
    found = gaussian.RatioDistribution(ratio("spec", S, n=n), 1 << 30)
    t = by_logits(found, 9, 201)
    np.testing.assert_allclose(found.interpolated(t), np.exp(found.log_probability(t)), rtol=1e-7)


def test_interpolated_probabilities_with_samples_of_nearly_no_degree() -> None:
    """Samples that are far from all others hardly count, whatever rounding makes of them."""
    S = similarities.rbf(np.random.default_rng(8).normal(size=(40, 12)))
    far = np.r_[np.full(3, 1e-30), np.ones(37)]
    S = S * np.outer(far, far)
    found = gaussian.RatioDistribution(ratio("spec", DenseSimilarity(S), n=40), 1 << 30)
    t = found.mean + found.deviation * np.linspace(-12, 6, 91)
    t = t[(t > found.ends[0]) & (t < found.ends[1])]
    expected = np.exp(found.log_probability(t))
    assert expected.min() < 1e-15
    np.testing.assert_allclose(found.interpolated(t), expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("function", "most", "error"),
    [
        (lambda x: x, 40, 1e-9),
        (lambda x: np.log1p(np.exp(40 * x)), 90, 1e-8),
        (lambda x: x + np.arctan(x / 1e-3), 150, 1e-8),
        (lambda x: x + np.maximum(x, 0) ** 1.5, 500, 1e-7),
    ],
    ids=["line", "bend", "step", "kink"],
)
def test_functions_from_few_values(function: Any, most: int, error: float) -> None:
    computed: list[float] = []

    def counted(x: np.ndarray) -> np.ndarray:
        computed.extend(x.tolist())
        return function(x)

    first = np.linspace(-1, 1, 9)
    pieces = rational.Fit(counted, lambda x, f: 1 + 0 * x, 1e-9).pieces(first, function(first))
    assert len(computed) < most
    starts = np.array([start for start, _ in pieces])
    assert starts[0] == -1
    assert (np.diff(starts) > 0).all()
    x = np.sort(np.concatenate([np.linspace(-1, 1, 5000), computed, starts]))
    piece = np.searchsorted(starts[1:], x, side="right")
    found = np.concatenate([pieces[k][1](x[piece == k]) for k in range(len(pieces))])
    np.testing.assert_allclose(found, function(x), rtol=0, atol=error)


def test_tails_keep_their_digits() -> None:
    """Of a ratio that has a beta distribution, far out on both sides."""
    counts = np.array([4.0, 30.0])
    t = np.concatenate([np.geomspace(1e-12, 0.5, 40), 1 - np.geomspace(1e-6, 0.4, 20)])
    found = gaussian.log_below_zero(np.array([0.0, 1.0]) - t[:, None], counts)
    expected = stats.beta.logcdf(t, 15, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_thresholds_beyond_the_ends() -> None:
    found = gaussian.RatioDistribution(ratio("spec", GRAPHS["knn"]), 1 << 30)
    low, high = found.ends
    t = np.array([low - 1, high + 1, np.nan])
    np.testing.assert_array_equal(found.interpolated(t), [0, 1, np.nan])


@pytest.mark.parametrize(
    "S", [np.eye(2) + 1, np.ones((9, 9)) + 1e-15 * np.outer(X[:9, 0], X[:9, 0])]
)
def test_one_ratio_for_all_features_is_never_significant(S: np.ndarray) -> None:
    found = gaussian.RatioDistribution(ratio("spec", DenseSimilarity(S), n=len(S)), 1 << 30)
    t = found.mean * (1 + 1e-15 * np.arange(-8, 9))
    np.testing.assert_array_equal(found.interpolated(np.append(t, np.nan)), [1.0] * 17 + [np.nan])


def test_a_pvalue_does_not_depend_on_other_features() -> None:
    _, all_together = scored("spec", X, GRAPHS["knn"], "gaussian")
    for k in range(3):
        _, alone = scored("spec", X[:, [k]], GRAPHS["knn"], "gaussian")
        assert alone["p_value"][0] == pytest.approx(all_together["p_value"][k], rel=1e-9)


def test_large_graphs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tested = ratio("spec", GRAPHS["knn"])
    with pytest.raises(OutOfMemoryError):
        gaussian.RatioDistribution(tested, 1000)
    monkeypatch.setattr(gaussian, "MOST_SAMPLES", 20)
    with pytest.raises(InputError, match="up to 20 samples") as refused:
        gaussian.RatioDistribution(tested, 1 << 30)
    assert "moments" in refused.value.hint


def test_who_waits_for_a_large_graph_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    uneven, even = ratio("spec", GRAPHS["knn"]), ratio("spec", GRAPHS["label"])
    assert gaussian.RatioDistribution(uneven, 1 << 30).slow is None
    monkeypatch.setattr(gaussian, "SLOW_SAMPLES", uneven.n / 2)
    assert "about 8 minutes" in str(gaussian.RatioDistribution(uneven, 1 << 30).slow)
    assert gaussian.RatioDistribution(even, 1 << 30).slow is None  # decomposed once


# ---- moments -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 7])
@pytest.mark.parametrize("name", ["phi2", "phi3", "hsic", "gdcov of L", "fisher"])
def test_moments_are_those_of_all_permutations(name: str, n: int) -> None:
    """Mean and second to fourth moment, of all 5,040 orders of 7 samples, and of fewer."""
    rng = np.random.default_rng(5)
    method, given = TESTED[name]
    given = given | ({"codes": np.array([0, 0, 0, 1, 1, 2, 2])[:n]} if "codes" in given else {})
    S = DenseSimilarity(similarities.rbf(rng.normal(size=(n, 3))))
    tested = ratio(method, S, n=n, **given)
    found = RatioMoments.of(tested)
    for t in (found.a / found.b, -0.4, 0.9):
        M = tested.numerator.dense() - t * tested.denominator.dense()
        for _ in range(5):
            x = rng.exponential(size=n)
            x -= x.mean()
            x /= np.linalg.norm(x)
            powers = Powers.of(x[None])
            forms = twin.forms_of_all_permutations(M, x)
            size = np.abs(forms).max()
            at, mean = np.array([t]), forms.mean()
            assert found.a - t * found.b == pytest.approx(mean, abs=1e-12 * size)
            variance = found.variance(at, powers)[0]
            assert variance == pytest.approx(forms.var(), abs=1e-12 * size**2)
            for order in (3, 4):
                moment = found.moment(order, at, powers)[0]
                expected = ((forms - mean) ** order).mean()
                assert moment == pytest.approx(expected, abs=1e-10 * size**order)


def of_sums(values: np.ndarray, dtype: str) -> np.ndarray:
    """Powers of features (b, n) as a run in some arithmetic measures them."""
    made = problem("spec", np.zeros((values.shape[1], 2)), graph_of(values.shape[1], 0))
    prepare = METHODS["spec"].load("prepare")
    assert prepare is not None
    scorer = tested_scores.TestedScorer(prepare(made), made, "moments")
    scorer.arithmetic = np.dtype(dtype)
    return scorer._measure(values)[2][:, :5]


@pytest.mark.parametrize(("dtype", "digits"), [("float32", 2e-5), ("float64", 1e-9)])
def test_powers_of_features_of_any_size_and_offset(dtype: str, digits: float) -> None:
    rng = np.random.default_rng(4)
    values = rng.gamma(0.5, size=(60, 100))
    values *= np.geomspace(1e-30, 1e30, 60)[:, None] if dtype == "float64" else 1
    values[::3] += 100 * values[::3].std(axis=1, keepdims=True)
    values[5] *= 1e-15
    values[6] *= 1e15
    stored = values.astype(dtype)
    x = stored.astype(np.float64) - stored.astype(np.float64).mean(axis=1, keepdims=True)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    expected = np.column_stack([(x**k).sum(axis=1) for k in (3, 4, 5, 6, 8)])
    found = of_sums(stored, dtype)
    np.testing.assert_allclose(found, expected, rtol=digits)
    # each feature by itself, and from float64 blocks of the same values
    alone = np.concatenate([of_sums(stored[[k]], dtype) for k in range(60)])
    np.testing.assert_array_equal(alone, found)
    np.testing.assert_allclose(of_sums(stored.astype(np.float64), dtype), found, rtol=digits)


@pytest.mark.parametrize("n", [10, 40, 300])
def test_features_of_few_values_have_large_fourth_powers(n: int) -> None:
    """So that all others need not be counted."""
    rng = np.random.default_rng(6)
    for count in range(1, min(n - 1, tested_scores.FEW_VALUES) + 1):
        values = np.zeros((6, n))
        values[:3, :count] = 1 + rng.gamma(2.0, size=(3, count)) * [[0], [0.1], [1]]
        values[3:, :count] = 1 + 1e-3 * rng.random((3, count))
        x = values - values.mean(axis=1, keepdims=True)
        fourth = (x**4).sum(axis=1) / (x**2).sum(axis=1) ** 2
        assert (fourth >= tested_scores._least_fourth(n)).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [20, 21])
@pytest.mark.parametrize("first", [3, 6, 10])
@pytest.mark.parametrize("kind", ["normal", "skewed"])
def test_moments_are_near_all_orders_of_the_labels(kind: str, first: int, n: int) -> None:
    rng = np.random.default_rng([n, first])
    x = rng.normal(size=(20, n)) if kind == "normal" else rng.gamma(2.0, size=(20, n))
    x -= x.mean(axis=1, keepdims=True)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x = x[(x**4).sum(axis=1) < 1 / tested_scores.FEW_MATTER]
    places = np.array(list(combinations(range(n), first)))
    between = x[:, places].sum(axis=2) ** 2 * n / (first * (n - first))
    classes = np.repeat([0, 1], [first, n - first])
    Z = np.eye(2)[classes] / np.sqrt(np.bincount(classes))
    known = RatioMoments.of(ratio("laplacian", FactoredSimilarity(Z), n))
    powers = Powers.of(x)
    for level in (0.05, 0.01, 0.001):
        if level * len(places) < 5:
            continue
        share = np.quantile(between, 1 - level, axis=1, method="higher")
        exact = (between >= share[:, None] * (1 - 1e-12)).mean(axis=1)
        p, effect = known.tested(1 - share, powers)
        near = p / exact
        assert 0.85 < np.median(near) < 1.15
        assert near.min() > (0.4 if first > 3 else 0.2)
        assert near.max() < 2
        assert (effect > 0).all()


WEIGHTED = np.random.default_rng(1).pareto(1.5, size=60) + 0.1
STAR = np.zeros((60, 60))
STAR[0, 1:] = STAR[1:, 0] = 1.0
HUB = np.maximum(similarities.knn(np.random.default_rng(2).normal(size=(60, 4)), 4), STAR)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("S", [STAR, HUB, np.outer(WEIGHTED, WEIGHTED)], ids=["star", "hub", "w"])
@pytest.mark.parametrize("kind", ["normal", "lognormal"])
def test_moments_promise_nothing_where_few_samples_have_the_weight(
    kind: str, S: np.ndarray
) -> None:
    values = np.random.default_rng(5).normal(size=(60, 4000))
    values = np.exp(values) if kind == "lognormal" else values
    _, columns = scored("spec", values, DenseSimilarity(S - np.diag(np.diag(S))), "moments")
    p = columns["p_value"]
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).mean() <= 1.1 * level + 2 * np.sqrt(level / len(p))
    assert not (columns["q_value"] <= 0.05).any()
    assert p[columns["effect"] < 0].min() > 0.01


@pytest.mark.parametrize("null", ["moments", "permutation"])
@pytest.mark.parametrize("value", [1.0, -1.0])
@pytest.mark.parametrize("graph", ["label", "pairs"])
def test_what_no_order_changes_is_not_significant(graph: str, value: float, null: str) -> None:
    one = np.full((24, 40), 3.0)
    one[np.arange(40) % 24, np.arange(40)] += value * np.arange(1, 41)
    codes = np.repeat([0, 1], 12)
    made: Similarity = FactoredSimilarity(np.eye(2)[codes] / np.sqrt(12))
    if graph == "pairs":
        made = DenseSimilarity(np.kron(np.eye(12), np.array([[0.0, 1.0], [1.0, 0.0]])))
    for method in ("hsic", "spec"):
        _, columns = scored(method, one, made, null)
        np.testing.assert_array_equal(columns["p_value"], 1.0)
        np.testing.assert_array_equal(columns["effect"], 0.0)


def test_a_graph_that_all_features_follow_alike_says_nothing() -> None:
    whole = DenseSimilarity(np.ones((15, 15)) - np.eye(15))
    _, columns = scored("spec", noise(15, 30, 0), whole, "moments")
    np.testing.assert_array_equal(columns["p_value"], 1.0)
    np.testing.assert_array_equal(columns["effect"], 0.0)


# ---- permutations ------------------------------------------------------------------------------


FEW = np.where(RNG.random((27, 8)) < 0.75, 0.0, RNG.gamma(2.0, size=(27, 8)))
FEW[:2, :] += 1.0
"""Features of few values above 0."""
SPARSE = {"FULL": 2.0, "DENSE_ENTRIES": 0, "PAIRED": 5}


def one_by_one(f: np.ndarray, tested: Ratio, rounds: list[int]) -> list[float]:
    """p-value and effect of one feature, each permutation by itself."""
    A, B = tested.numerator.dense(), tested.denominator.dense()
    observed, n = (f @ A @ f) / (f @ B @ f), len(f)
    marks = np.random.default_rng(0).integers(1 << 40, size=n)
    shuffle = np.random.default_rng((0, int(marks[f > f.mean()].sum()))).permutation(n)
    found: list[float] = []
    for end in rounds:
        while len(found) < end:
            number, place = divmod(len(found), permutation.DRAWN)
            rng = np.random.default_rng((0, number))
            orders = rng.permuted(np.tile(np.arange(n, dtype=np.int32), (250, 1)), axis=1)
            x = np.empty(n)
            x[orders[place][shuffle]] = f
            found.append((x @ A @ x) / (x @ B @ x))
        better = np.count_nonzero(np.array(found) <= observed + 1e-12)
        if better >= permutation.ENOUGH:
            break
    ratios = np.array(found)
    return [(1 + better) / (len(found) + 1), (ratios.mean() - observed) / ratios.std()]


@pytest.mark.slow
@pytest.mark.parametrize("values", [X, FEW], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["phi2", "phi3", "hsic", "fisher"])
def test_permutations_one_by_one(
    name: str, values: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pairs of values and by whole features, in one round and in several."""
    method, given = TESTED[name]
    S = None if method == "fisher" else GRAPHS["knn"]
    tested = ratio(method, S, **given)
    monkeypatch.setattr(permutation, "TAILED", 10_000)
    for count, rounds in ((60, [60]), (900, [112, 900])):
        expected = np.array([one_by_one(f, tested, rounds) for f in values.T]).T
        for patch in ({}, {"PAIRED": 27}, {"PAIRED": 1}, {"HELD": 2000, "KEPT": 9000}, SPARSE):
            for attribute, value in patch.items():
                monkeypatch.setattr(permutation, attribute, value)
            _, columns = scored(method, values, S, f"permutation:{count}", **given)
            np.testing.assert_allclose(columns["p_value"], expected[0], rtol=1e-9)
            np.testing.assert_allclose(columns["effect"], expected[1], rtol=1e-8)
            monkeypatch.undo()
            monkeypatch.setattr(permutation, "TAILED", 10_000)


def test_entries_of_a_sparse_form() -> None:
    tested = ratio("hsic", GRAPHS["label"]).numerator
    rows, columns = np.random.default_rng(1).integers(27, size=(2, 4, 5))
    found = tested.entries(rows, columns)
    np.testing.assert_allclose(found, tested.dense()[rows, columns], atol=1e-12)


def test_few_values_are_placed_by_permutations() -> None:
    """Of two equal values: whether both are in one class, exactly; and it is said."""
    values = np.zeros((27, 3))
    values[:2, 0], values[[0, 12], 1], values[:, 2] = 1, 1, np.random.default_rng(1).normal(size=27)
    S, method = GRAPHS["label"], "laplacian"
    made = problem(method, values, S)
    prepare = METHODS[method].load("prepare")
    assert prepare is not None
    scorer = tested_scores.TestedScorer(prepare(made), made, "moments")
    score, measured = measured_by(scorer, values)
    columns = scorer.columns(score, *measured)
    within = sum(n * (n - 1) for n in (9, 12, 6)) / (27 * 26)
    smallest = 6 * 5 / (27 * 26)  # both in the smallest class, where they are most of the class
    assert columns["p_value"][1] > within
    assert smallest - 0.01 < columns["p_value"][0] < within + 0.05
    assert scorer.facts["features_of_too_few_values"] == 2
    assert "2 features" in scorer.warnings[-1]


def test_the_tail_is_near_the_truth() -> None:
    """Of normal values, where the probability is known: too large, and in order."""
    values = np.random.default_rng(2).normal(size=(50, 2000))
    for z in (-3.0, -4.0, -4.5):
        found = permutation.tail(values, np.full(50, z), 250)
        error = np.log10(found / stats.norm.cdf(z))
        assert 0 <= np.median(error) < 2
    y = np.linspace(-20, -2, 60)
    for row in values[:5]:
        p = permutation.tail(np.repeat(row[None], 60, axis=0), y, 250)
        assert (np.diff(p) > 0).all()


@pytest.mark.one_in(10)
@pytest.mark.parametrize(
    "law",
    [stats.norm(), stats.expon(), stats.chi2(1), stats.chi2(3), stats.beta(0.5, 49)],
    ids=["normal", "exponential", "chi2 of 1", "chi2 of 3", "beta"],
)
@pytest.mark.parametrize("count", [1000, 10_000])
def test_small_p_values_of_a_tail_are_not_too_frequent(law: Any, count: int) -> None:
    """The probability of what has a p-value of 1e-3 to 1e-5 by a tail, where that is known."""
    rng = np.random.default_rng(6)
    values = -law.rvs(size=(300, count), random_state=rng)
    best, spread = values.min(axis=1), values.std(axis=1)
    for level in (5e-4, 1e-4, 1e-5):
        low, high = best - 100 * spread, best
        for _ in range(30):
            middle = (low + high) / 2
            small = permutation.tail(values, middle, permutation.TAIL) <= level
            low, high = np.where(small, middle, low), np.where(small, high, middle)
        rates = law.sf(-low)
        error = rates.std() / np.sqrt(len(rates))
        assert rates.mean() <= 1.1 * level + 2 * error


@pytest.mark.parametrize("count", [200, 999])
@pytest.mark.parametrize("name", ["phi2", "hsic", "fisher"])
def test_there_is_no_tail_of_few_permutations(name: str, count: int) -> None:
    method, given = TESTED[name]
    S = None if method == "fisher" else GRAPHS["label"]
    values = X + 40 * np.repeat([0, 1, 3], [9, 12, 6])[:, None]  # as the labels are
    _, columns = scored(method, values, S, f"permutation:{count}", **given)
    assert columns["p_value"].min() == pytest.approx(1 / (count + 1))
    _, columns = scored(method, values, S, "permutation:1000", **given)
    assert columns["p_value"].min() < 1e-4


def test_tied_values_count_as_equal() -> None:
    """A feature of few values has the same ratio in many orders, but for rounding."""
    values = np.zeros((27, 1))
    values[:2] = 0.1
    _, columns = scored("spec", values, GRAPHS["label"], "permutation:500")
    as_good = sum(n * (n - 1) for n in (9, 6)) / (27 * 26)  # both samples in a class as small
    assert columns["p_value"][0] == pytest.approx(as_good, abs=0.06)


def test_features_that_few_samples_share_are_permuted_far_out() -> None:
    """Four moments made their p-values up to ten times too small, where weights are skewed."""
    seed = calibration.Cell("moments", "skewed", "nb-50").seed(38)
    S = calibration.GRAPHS["skewed"](seed.generator("skewed")).similarity
    values = calibration.DATA["nb-50"](seed.generator("nb-50 100"), (100, 2000))
    values = values[:, [772, 1129, 0, 1]]
    _, columns = scored("spec", values, S, "moments")
    _, permuted = scored("spec", values, S, "permutation:20000")
    assert permuted["p_value"][:2].max() < 2e-3
    np.testing.assert_allclose(columns["p_value"][:2], permuted["p_value"][:2], rtol=0.7)


# ---- calibration -------------------------------------------------------------------------------

MADE = {"noise": noise, "counts": counts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("null", "n"),
    [("gaussian", 30), ("gaussian", 100), ("moments", 30), ("moments", 100), ("moments", 500)],
)
def test_pvalues_of_noise_are_uniform(null: str, n: int) -> None:
    passed = 0
    for seed in range(20):
        p = p_values(noise(n, 1000, seed), graph_of(n, 100 + seed), null)
        passed += stats.kstest(p, "uniform").pvalue > 0.01
    assert passed >= 19


@pytest.mark.slow
@pytest.mark.parametrize(
    ("null", "features"),
    [("moments", "counts"), ("permutation", "counts"), ("permutation", "noise")],
)
@pytest.mark.parametrize("n", [30, 100])
def test_pvalues_of_counts_are_uniform(null: str, features: str, n: int) -> None:
    """Nine of ten counts are zero."""
    passed, rates = 0, np.zeros(len(LEVELS))
    for seed in range(20):
        p = p_values(MADE[features](n, 1000, seed), graph_of(n, 100 + seed), null)
        passed += stats.kstest(p, "uniform").pvalue > 0.01
        rates += [(p <= level).mean() / 20 for level in LEVELS]
    assert passed >= 19
    for rate, level in zip(rates, LEVELS):
        error = np.sqrt(level * (1 - level) / 20_000)
        assert rate - level < 3 * error
        assert rate - level > -3 * error or n == 30


@pytest.mark.slow
def test_normal_noise_is_no_null_of_counts() -> None:
    """And the moments are one."""
    X, S = counts(100, 20_000, 0), graph_of(100, 1)
    assert 0.88 < (X == 0).mean() < 0.93
    of_noise, of_moments = (
        (p_values(X, S, null) <= 0.001).mean() / 0.001 for null in ("gaussian", "moments")
    )
    assert of_noise > 1.7
    assert of_moments < 1.7


# ---- whole runs --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 features of 27 samples, one of them constant, and labels beside them."""
    folder = tmp_path_factory.mktemp("pvalues")
    values = RNG.normal(8, 1, size=(60, 27)) + 0.5 * RNG.normal(size=(60, 3))[:, CODES]
    values[7] = 3.0
    write_table(folder / "m.csv", values)
    write_labels(folder / "labels.tsv", [f"c{c}" for c in CODES], [f"s{i}" for i in range(27)])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("null", NULLS)
def test_the_same_bytes_over_threads_and_the_same_values_over_blocks(
    null: str, table: Path
) -> None:
    def columns(**running: Any) -> np.ndarray:
        given = {"method": "spec", "ranking": "phi1", "pvalues": null, "seed": 4} | running
        extra = run(str(table / "m.csv"), **given).ranking.extra
        return np.array([extra[name] for name in ("p_value", "q_value", "effect")])

    whole = columns(threads=1)
    blocks = columns(threads=1, block_size=9)
    np.testing.assert_array_equal(columns(threads=2, block_size=9), blocks)
    # as scores, which --block-size rounds; where gaussian interpolates, that may decide
    np.testing.assert_allclose(blocks, whole, rtol=1e-8 if null == "gaussian" else 1e-10)
    changed = not np.array_equal(columns(threads=1, seed=5), whole, equal_nan=True)
    if null != "moments":  # which permutes those of the features that need it
        assert changed == null.startswith("permutation")


@pytest.mark.parametrize("null", NULLS)
def test_features_without_a_score_have_no_pvalue(null: str, table: Path) -> None:
    result = run(str(table / "m.csv"), method="gdcov", pvalues=null)
    extra, facts = result.ranking.extra, result.facts["method"]
    assert list(extra) == ["p_value", "q_value", "effect"]
    for column in extra.values():
        np.testing.assert_array_equal(np.isnan(column), np.isnan(result.ranking.score))
    assert facts["tested_features"] == 59
    assert facts["q_value_at_most_0.05"] == np.count_nonzero(extra["q_value"] <= 0.05)


@pytest.mark.parametrize("null", NULLS)
def test_units_and_offsets_do_not_matter(null: str) -> None:
    moved = np.column_stack([X[:, 0], 1e3 * X[:, 0], X[:, 0] + 100, 1e-170 * X[:, 0]])
    for name in ("phi2", "phi3", "hsic", "gdcov", "gdcov of L"):
        method, given = TESTED[name]
        _, columns = scored(method, moved, GRAPHS["knn"], null, **given)
        for column in columns.values():
            size = 3 if name == "hsic" or name == "gdcov of L" else 4  # squares of units underflow
            np.testing.assert_allclose(column[:size], column[0], rtol=1e-6)


def test_options_of_the_default_method(table: Path) -> None:
    """With p-values asked for, the default is a method that has some."""
    result = run(str(table / "m.csv"), pvalues="gaussian")
    assert result.config.method == "spec"


def warned(
    table: Path, out: Path, capfd: pytest.CaptureFixture[str], *more: str
) -> tuple[bool, bool]:
    words = ["rank", str(table / "m.csv"), "--method", "spec", "--pvalues", "gaussian", *more]
    done = run_here([*words, "--out", str(out), "--force"], capfd)
    assert done.code == 0, done.err
    record = json.loads((out / "run.json").read_text())
    told = any("p-values are too small" in line for line in record["warnings"])
    assert told == ("p-values are too small" in done.err)
    assert told == ("p-values are too small" in (out / "report.html").read_text())
    return told, record["graph"]["of_tested_features"]


@pytest.mark.slow
def test_a_graph_of_the_tested_features_is_told(
    table: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "tested-graph" in GUARDS
    told = partial(warned, table, tmp_path / "out", capfd)
    assert told() == (True, True)
    assert told("--accept", "tested-graph") == (False, True)
    labels = ("--labels", str(table / "labels.tsv"))
    assert told("--similarity", "label", *labels) == (False, False)
    assert told("--similarity", "rbf", "--ranking", "phi1") == (True, True)


def scorer_on(S: Similarity, n: int) -> Any:
    made = problem("spec", np.zeros((n, 2)), S)
    prepare = METHODS["spec"].load("prepare")
    assert prepare is not None
    return tested_scores.TestedScorer(prepare(made), made, "gaussian")


def centered(X: np.ndarray) -> np.ndarray:
    return X.T - X.T.mean(axis=1, keepdims=True)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dense", [False, True])
def test_how_often_features_are_said_to_get_small_p_values_is_how_often_they_do(
    dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By permutations, and by moments where these would take too long."""
    if dense:
        monkeypatch.setattr(normality, "LOOKING", 0)
    levels = np.array([0.05, 0.01, 0.001])
    for values in (np.exp(noise(100, 100, 2)), counts(100, 300, 1)):
        S = graph_of(len(values), 1)
        scorer, x = scorer_on(S, len(values)), centered(values)
        times, chance = normality.more_often(scorer.distribution, scorer.ratio, x, levels)
        permuted = np.random.default_rng(3).permuted(np.repeat(x, 200, axis=0), axis=1)
        p = p_values(permuted.T, S, "gaussian")
        expected = [(p <= level).mean() / level for level in levels]
        np.testing.assert_allclose(times, expected, rtol=0.25)
        assert (chance < 1).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("graph", "values", "told"),
    [
        ("star", lambda: noise(100, 400, 3), False),
        ("hub", lambda: noise(100, 400, 3), False),
        ("labels-5-95", lambda: noise(100, 400, 3), False),
        ("hub", lambda: counts(100, 400, 1), True),
        ("star", lambda: counts(100, 1000, 1), False),
        ("labels-10-90", lambda: np.random.default_rng(1).exponential(size=(100, 400)), True),
    ],
)
def test_both_tails_are_looked_at_for_features_that_are_not_normal(
    graph: str, values: Any, told: bool
) -> None:
    """On graphs on which the distribution is far from that of Pearson's system, too."""
    S = calibration.GRAPHS[graph](np.random.default_rng(1)).similarity
    text = not_normal(scorer_on(S, 100), centered(values()))
    assert (text is not None) == told
    assert text is None or "times the nominal rate" in text
    assert not_normal(scorer_on(S, 100), np.zeros((2, 100))) is None


@pytest.mark.slow
def test_features_far_from_normal_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By how many times as often normal noise promises too small a p-value."""
    skewed = np.exp(1.5 * np.random.default_rng(2).normal(size=(100, 100)))
    write_table(tmp_path / "counts.csv", skewed)
    for more, told in (((), True), (("--accept", "not-normal,tested-graph,raw-values"), False)):
        words = ["rank", str(tmp_path / "counts.csv"), "--method", "spec", "--similarity", "knn"]
        done = run_here([*words, "--pvalues", "gaussian", *more], capfd)
        assert done.code == 0, done.err
        assert ("assumes normal values" in done.err) == told


@pytest.mark.parametrize(
    ("own", "options"),
    [
        (True, {"similarity": "knn"}),
        (True, {"coordinates": "obsm:X_pca"}),
        (False, {"coordinates": "obsm:spatial"}),
        (None, {"coordinates": "places.tsv"}),
        (True, {"similarity": "obsp:connectivities"}),
        (False, {"similarity": "obsp:spatial_connectivities"}),
        (None, {"similarity_file": "S.npz"}),
        (False, {"similarity": "outcome", "labels": "y.tsv", "label_type": "continuous"}),
    ],
)
def test_which_graphs_are_of_the_features(own: bool | None, options: dict[str, str]) -> None:
    config = RankConfig(matrix="x.h5ad", method="spec", **options)
    assert made_of_features(config, 100) == own
