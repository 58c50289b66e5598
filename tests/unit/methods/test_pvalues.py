"""p-values of graph scores: exact where a formula is known, uniform where nothing is there."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from sfs_cli.catalog import METHODS, WITH_PVALUES
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
)
from sfs_cli.methods.significance import judge, moments, permutation
from sfs_cli.methods.significance import tested as tested_scores
from sfs_cli.methods.significance.form import Form
from sfs_cli.methods.significance.moments import Powers, RatioMoments, sums_of, sums_of_factor
from sfs_cli.methods.significance.ratios import Ratio, ratio_of
from sfs_cli.options import RankConfig
from sfs_cli.parts.double_dipping import made_of_features
from tests.making import write_table
from tests.oracles import pvalues as twin
from tests.oracles import similarities
from tests.unit.methods.helpers import run
from tests.unit.methods.nulls import (
    asked,
    graph_of,
    measured_by,
    noise,
    p_values,
    problem,
    scored,
)

NULLS = ("moments", "permutation:60")
CODES = np.repeat([0, 1, 2], [9, 12, 6])


def _features() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    skewed = rng.gamma(2.0, size=(27, 8)) + 0.6 * rng.normal(size=(3, 8))[CODES] + 4.0
    few = np.where(rng.random((27, 8)) < 0.75, 0.0, rng.gamma(2.0, size=(27, 8)))
    few[:2, :] += 1.0
    return skewed, few


X, FEW = _features()
"""Samples x features: skewed ones, some of them with classes, and those of few values above 0."""

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
    score = measured_by(scorer, X)["score"]
    A, B = tested.numerator.dense(), tested.denominator.dense()
    np.testing.assert_allclose(A.sum(axis=0), 0, atol=1e-9 * np.abs(A).max())
    expected = [(x @ A @ x) / (x @ B @ x) for x in (X - X.mean(axis=0)).T]
    found = tested.statistic(score, *scorer._share_and_norm(X.T))
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
            M = moments.less(tested, t, mean)
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


# ---- moments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 6])
@pytest.mark.parametrize("name", ["phi2", "phi3", "hsic", "gdcov of L", "fisher"])
def test_moments_are_those_of_all_permutations(name: str, n: int) -> None:
    """Mean and second to fourth moment, of all 720 orders of 6 samples, and of fewer."""
    rng = np.random.default_rng(5)
    method, given = TESTED[name]
    given = given | ({"codes": np.array([0, 0, 0, 1, 1, 2])[:n]} if "codes" in given else {})
    S = DenseSimilarity(similarities.rbf(rng.normal(size=(n, 3))))
    tested = ratio(method, S, n=n, **given)
    found = RatioMoments.of(tested)
    for t in (found.a / found.b, -0.4, 0.9):
        M = tested.numerator.dense() - t * tested.denominator.dense()
        for _ in range(3):
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_features_of_any_size_and_offset(dtype: str) -> None:
    rng = np.random.default_rng(4)
    values = rng.gamma(0.5, size=(60, 100))
    values *= np.geomspace(1e-30, 1e30, 60)[:, None] if dtype == "float64" else 1
    values[::3] += 100 * values[::3].std(axis=1, keepdims=True)
    values[5] *= 1e-15
    values[6] *= 1e15
    stored = values.astype(dtype)
    x = stored.astype(np.float64) - stored.astype(np.float64).mean(axis=1, keepdims=True)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    expected = [(x**k).sum(axis=1) for k in (3, 4, 5, 6, 8)]
    np.testing.assert_allclose(Powers.of(judge.unit(stored)), expected, rtol=1e-9)


@pytest.mark.parametrize(("kind", "first"), [("normal", 9), ("skewed", 3), ("skewed", 6)])
def test_moments_are_near_all_orders_of_the_labels(kind: str, first: int) -> None:
    rng, n = np.random.default_rng(first), 18
    x = rng.normal(size=(20, n)) if kind == "normal" else rng.gamma(2.0, size=(20, n))
    x -= x.mean(axis=1, keepdims=True)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x = x[(x**4).sum(axis=1) < 1 / 6]
    places = np.array(list(combinations(range(n), first)))
    between = x[:, places].sum(axis=2) ** 2 * n / (first * (n - first))
    classes = np.repeat([0, 1], [first, n - first])
    Z = np.eye(2)[classes] / np.sqrt(np.bincount(classes))
    known = RatioMoments.of(ratio("spec", FactoredSimilarity(Z), n))
    powers = Powers.of(x)
    for level in (0.05, 0.01, 0.001):
        if level * len(places) < 5:
            continue
        share = np.quantile(between, 1 - level, axis=1, method="higher")
        exact = (between >= share[:, None] * (1 - 1e-12)).mean(axis=1)
        p, effect, _ = known.tested(1 - share, powers)
        near = p / exact
        assert 0.85 < np.median(near) < 1.15
        assert near.min() > (0.4 if first > 3 else 0.2)
        assert near.max() < 2
        assert (effect > 0).all()


WEIGHTED = np.random.default_rng(1).pareto(1.5, size=60) + 0.1
STAR = np.zeros((60, 60))
STAR[0, 1:] = STAR[1:, 0] = 1.0
HUB = np.maximum(similarities.knn(np.random.default_rng(2).normal(size=(60, 4)), 4), STAR)


@pytest.mark.parametrize("S", [STAR, HUB, np.outer(WEIGHTED, WEIGHTED)], ids=["star", "hub", "w"])
@pytest.mark.parametrize("kind", ["normal", "lognormal"])
def test_moments_promise_nothing_where_few_samples_have_the_weight(
    kind: str, S: np.ndarray
) -> None:
    values = np.random.default_rng(5).normal(size=(60, 2000))
    values = np.exp(values) if kind == "lognormal" else values
    _, columns = scored("spec", values, DenseSimilarity(S - np.diag(np.diag(S))), "moments")
    p = columns["p_value"]
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).mean() <= 1.1 * level + 2 * np.sqrt(level / len(p))
    assert not (columns["q_value"] <= 0.05).any()
    assert p[columns["effect"] < 0].min() > 0.01


@pytest.mark.parametrize("null", ["moments", "permutation"])
@pytest.mark.parametrize("value", [-1.0])
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


@pytest.mark.parametrize("null", NULLS)
def test_a_pvalue_does_not_depend_on_other_features(null: str) -> None:
    _, all_together = scored("spec", X, GRAPHS["knn"], null)
    for k in range(3):
        _, alone = scored("spec", X[:, [k]], GRAPHS["knn"], null)
        assert alone["p_value"][0] == pytest.approx(all_together["p_value"][k], rel=1e-9)


def test_a_graph_that_all_features_follow_alike_says_nothing() -> None:
    whole = DenseSimilarity(np.ones((15, 15)) - np.eye(15))
    _, columns = scored("spec", noise(15, 30, 0), whole, "moments")
    np.testing.assert_array_equal(columns["p_value"], 1.0)
    np.testing.assert_array_equal(columns["effect"], 0.0)


# ---- permutations ------------------------------------------------------------------------------


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
        good = np.flatnonzero(np.array(found) <= observed + 1e-12)
        if len(good) >= judge.ENOUGH:
            break
    p = (1 + len(good)) / (len(found) + 1)
    if end > rounds[0] and len(good) >= judge.ENOUGH:
        p = judge.ENOUGH / (good[judge.ENOUGH - 1] + 1)
    ratios = np.array(found)
    return [p, (ratios.mean() - observed) / ratios.std()]


@pytest.mark.parametrize("values", [X[:, :3], FEW[:, :3]], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("name", "graph"), [("phi2", "knn"), ("phi2", "label"), ("hsic", "knn"), ("fisher", "")]
)
def test_permutations_one_by_one(
    name: str, graph: str, values: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pairs of values and by whole features, in one round and in several."""
    method, given = TESTED[name]
    S = GRAPHS.get(graph)
    tested = ratio(method, S, **given)
    monkeypatch.setattr(permutation, "FIRST", 34)
    monkeypatch.setattr(permutation, "GROWTH", 3)
    monkeypatch.setattr(permutation, "LEFT", -1.0)  # the whole form
    for count, rounds in ((40, [40]), (320, [35, 106, 320])):
        expected = np.array([one_by_one(f, tested, rounds) for f in values.T]).T
        for patch in ({}, {"PAIRED": 27}, {"PAIRED": 1}, {"HELD": 2000, "KEPT": 9000}, SPARSE):
            with monkeypatch.context() as limits:
                for attribute, value in patch.items():
                    limits.setattr(permutation, attribute, value)
                _, columns = scored(method, values, S, f"permutation:{count}", **given)
            np.testing.assert_allclose(columns["p_value"], expected[0], rtol=1e-9)
            np.testing.assert_allclose(columns["effect"], expected[1], rtol=1e-8)


def test_few_values_are_placed_by_permutations() -> None:
    """Of two equal values: whether both are in one class, exactly; and it is said."""
    values = np.zeros((27, 3))
    values[:2, 0], values[[0, 12], 1], values[:, 2] = 1, 1, np.random.default_rng(1).normal(size=27)
    S, method = GRAPHS["label"], "spec"
    made = problem(method, values, S)
    prepare = METHODS[method].load("prepare")
    assert prepare is not None
    scorer = tested_scores.TestedScorer(prepare(made), made, "moments")
    columns = scorer.columns(measured_by(scorer, values))
    within = sum(n * (n - 1) for n in (9, 12, 6)) / (27 * 26)
    smallest = 6 * 5 / (27 * 26)  # both in the smallest class, where they are most of the class
    assert columns["p_value"][1] > within
    assert smallest - 0.01 < columns["p_value"][0] < within + 0.05
    assert scorer.facts["features_of_too_few_values"] == 2
    assert "2 features" in scorer.warnings[-1]


@pytest.mark.parametrize("name", ["phi2", "hsic", "fisher"])
def test_no_p_value_is_below_that_of_no_permutation_as_good(name: str) -> None:
    method, given = TESTED[name]
    S = None if method == "fisher" else GRAPHS["label"]
    values = X + 40 * np.repeat([0, 1, 3], [9, 12, 6])[:, None]  # as the labels are
    _, columns = scored(method, values, S, "permutation:200", **given)
    assert columns["p_value"].min() == pytest.approx(1 / 201)


def test_tied_values_count_as_equal() -> None:
    """A feature of few values has the same ratio in many orders, but for rounding."""
    values = np.zeros((27, 1))
    values[:2] = 0.1
    _, columns = scored("spec", values, GRAPHS["label"], "permutation:500")
    as_good = sum(n * (n - 1) for n in (9, 6)) / (27 * 26)  # both samples in a class as small
    assert columns["p_value"][0] == pytest.approx(as_good, abs=0.06)


# ---- calibration -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [30, 300])
def test_pvalues_of_noise_are_uniform(n: int) -> None:
    """Of these seeds; of others, one in 100 fails."""
    for seed in range(4):
        p = p_values(noise(n, 1000, seed), graph_of(n, 100 + seed), "moments")
        assert stats.kstest(p, "uniform").pvalue > 0.01


# ---- whole runs --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 features of 27 samples, one of them constant."""
    folder = tmp_path_factory.mktemp("pvalues")
    rng = np.random.default_rng(4)
    values = rng.normal(8, 1, size=(20, 27)) + 0.5 * rng.normal(size=(20, 3))[:, CODES]
    values[7] = 3.0
    write_table(folder / "m.csv", values)
    return folder


@pytest.mark.parametrize("null", NULLS)
def test_features_without_a_score_have_no_pvalue(null: str, table: Path) -> None:
    result = run(str(table / "m.csv"), method="gdcov", **asked(null))
    extra, facts = result.ranking.extra, result.facts["method"]
    assert list(extra) == ["p_value", "q_value", "effect", "p_value_by"]
    none = np.isnan(result.ranking.score)
    for name in ("p_value", "q_value", "effect"):
        np.testing.assert_array_equal(np.isnan(extra[name]), none)
    how = np.array(extra["p_value_by"])
    np.testing.assert_array_equal(how == "", none)
    assert facts["p_values_by"] == {name: np.count_nonzero(how == name) for name in judge.HOW}
    assert facts["tested_features"] == 19
    assert facts["q_value_at_most_0.05"] == np.count_nonzero(extra["q_value"] <= 0.05)


@pytest.mark.parametrize("null", NULLS)
def test_units_and_offsets_do_not_matter(null: str) -> None:
    moved = np.column_stack([X[:, 0], 1e3 * X[:, 0], X[:, 0] + 100, 1e-170 * X[:, 0]])
    for name in ("phi2", "phi3", "hsic", "gdcov", "gdcov of L"):
        method, given = TESTED[name]
        _, columns = scored(method, moved, GRAPHS["knn"], null, **given)
        for column in (columns[each] for each in ("p_value", "q_value", "effect")):
            size = 3 if name == "hsic" or name == "gdcov of L" else 4  # squares of units underflow
            np.testing.assert_allclose(column[:size], column[0], rtol=1e-6)


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


@pytest.mark.parametrize("kind", ["heavy", "sparse"])
def test_a_score_past_the_end_of_the_fitted_distribution_is_counted(kind: str) -> None:
    """The distribution ends, the scores of these features of nothing do not: p is no 1/n!."""
    rng, n, m = np.random.default_rng(1), 140, 4000
    rng.normal(size=(n, m))
    X = rng.standard_t(3, size=(n, m))
    if kind == "sparse":
        X = np.where(rng.random(X.shape) < 0.25, np.exp(rng.normal(size=X.shape)), 0)
    codes = (np.arange(n) > 0).astype(int)
    score, columns = scored("fisher", X, None, "moments", codes=codes)
    p = columns["p_value"]
    assert p.min() >= 1 / (tested_scores.MOST_PERMUTATIONS + 1)
    best = np.argmax(score)
    counted = scored("fisher", X[:, [best]], None, "permutation:16000", codes=codes)[1]
    assert p[best] == pytest.approx(counted["p_value"][0], rel=0.5)
    assert p[best] > 1e-3  # it is the one sample of 140 that the class is


@pytest.mark.parametrize("panel", [10, 1_000_000])
@pytest.mark.parametrize("kind", ["classes", "an outcome"])
def test_sums_of_few_columns_are_those_of_their_matrix(
    kind: str, panel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal rows count together, and a column of many different numbers needs no rows."""
    monkeypatch.setattr(moments, "PANEL", panel)
    n, rng = 30, np.random.default_rng(1)
    Y = rng.normal(size=(n, 1))
    if kind == "classes":
        Y = np.eye(4)[np.repeat(np.arange(4), [2, 5, 5, 18])] / [1, 2, 3, 1]
    Y -= Y.mean(axis=0)
    mean = np.square(Y).sum() / (n - 1)
    M = Y @ Y.T - mean * (np.eye(n) - 1 / n)
    np.testing.assert_allclose(sums_of_factor(Y, mean), sums_of(Form.of(M)), rtol=1e-9, atol=1e-9)
