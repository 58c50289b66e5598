"""p-values beside covariates: nested models for classes, permuted residuals for sample graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfs_cli.catalog import METHODS
from sfs_cli.errors import SfsError
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, SparseSimilarity
from sfs_cli.methods.significance import permutation
from sfs_cli.methods.significance import tested as tested_scores
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import Permutations
from sfs_cli.methods.significance.ratios import Ratio, ratio_of
from sfs_cli.store.adjust import Adjustment, orthonormal
from tests.making import make_engine, names, problem_of, write_labels, write_parquet
from tests.oracles import covariates as twin
from tests.oracles import pvalues
from tests.oracles import similarities as graphs
from tests.unit.methods.helpers import run
from tests.unit.methods.nulls import asked, graph_of, measured_by, null_of

# ---- classes -----------------------------------------------------------------------------------


def nested(f: np.ndarray, D: np.ndarray, classes: np.ndarray) -> tuple[float, int, int]:
    """F of the models with and without classes, by least squares, and its degrees of freedom."""
    levels = np.unique(classes)
    full = np.column_stack([D, *(classes == level for level in levels[1:])]).astype(float)
    residual = [f - twin.fitted(f, each) for each in (D, full)]
    without, with_ = (float(r @ r) for r in residual)
    ranks = [np.linalg.matrix_rank(each) for each in (D, full)]
    q, within = int(ranks[1] - ranks[0]), len(f) - int(ranks[1])
    return (without - with_) / q / (with_ / within), q, within


def adjusted_means(f: np.ndarray, D: np.ndarray, classes: np.ndarray) -> list[float]:
    """What the full model expects of each class where covariates have their means."""
    levels = np.unique(classes)
    around = D[:, 1:] - D[:, 1:].mean(axis=0)
    full = np.column_stack([*(classes == level for level in levels), around]).astype(float)
    return np.linalg.lstsq(full, f, rcond=1e-10)[0][: len(levels)].tolist()


def study(n: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[str], np.ndarray]:
    """Features (m, n), classes, batches and ages; classes depend on the batch, features on all."""
    rng = np.random.default_rng(seed)
    batch = rng.integers(3, size=n)
    y = (batch + rng.integers(2, size=n) * rng.integers(classes, size=n)) % classes
    y[:classes] = np.arange(classes)
    age = rng.normal(50, 9, size=n)
    X = rng.normal(size=(40, n)) + 2 * batch + age / 5 + 1e3
    X[:10] += np.arange(10)[:, None] / 4 * y
    return X, y, [f"b{b}" for b in batch], age


def ranked(folder: Path, X: np.ndarray, y: Any, batch: Any, age: Any, **options: Any) -> Any:
    """A whole run on features (m, n), adjusted for both covariates; its columns by feature."""
    samples = names("s", X.shape[1])
    table = folder / "covariates.tsv"
    lines = [f"{s}\t{b}\t{a!r}" for s, b, a in zip(samples, batch, np.asarray(age).tolist())]
    table.write_text("\n".join(["sample\tbatch\tage", *lines]) + "\n")
    found = run(
        write_parquet(folder / "x.parquet", X),
        labels=write_labels(folder / "y.tsv", list(y)),
        adjust=(f"{table}:batch,age",),
        **options,
    )
    ranking, back = found.ranking, np.argsort(found.ranking.order)
    columns = {name: np.asarray(values)[back] for name, values in ranking.extra.items()}
    return columns | {"score": ranking.score[back]}


@pytest.mark.parametrize(
    ("method", "classes", "n"),
    [
        ("f-test", 2, 12),
        ("f-test", 2, 60),
        ("f-test", 4, 30),
        ("fisher", 2, 60),
        ("fisher", 4, 30),
        ("t-test", 2, 12),
        ("t-test", 2, 60),
    ],
)
def test_classes_beside_covariates_are_nested_models(
    tmp_path: Path, method: str, classes: int, n: int
) -> None:
    X, y, batch, age = study(n, classes, seed=n)
    plain = {} if method == "fisher" else {"moderate": "no"}
    found = ranked(tmp_path, X, y, batch, age, method=method, **plain)
    D = twin.design(batch, age.tolist())
    tested = [nested(f, D, y) for f in X]
    q, within = tested[0][1:]
    expected = np.array([F for F, *_ in tested])
    np.testing.assert_allclose(found["p_value"], stats.f.sf(expected, q, within), rtol=1e-8)
    scale = {"f-test": expected, "fisher": expected * q / within, "t-test": np.sqrt(expected)}
    np.testing.assert_allclose(found["score"], scale[method], rtol=1e-8)
    if classes == 2:
        means = np.array([adjusted_means(f, D, y) for f in X])
        np.testing.assert_allclose(found["mean_c0"], means[:, 0], rtol=1e-9)
        np.testing.assert_allclose(found["mean_c1"], means[:, 1], rtol=1e-9)
        np.testing.assert_allclose(
            found["mean_difference"], means[:, 1] - means[:, 0], rtol=1e-6, atol=1e-9
        )
    else:
        means = np.array([adjusted_means(f, D, y) for f in X])
        assert found["highest_class"].tolist() == [f"c{k}" for k in means.argmax(axis=1)]


def test_a_class_that_covariates_explain_takes_no_part(tmp_path: Path) -> None:
    """One of three classes is a batch: the other two are compared, and means are not known."""
    X, y, _, age = study(30, 3, seed=1)
    batch = np.where(y == 2, "b2", np.where(np.arange(30) % 2, "b0", "b1")).tolist()
    found = ranked(tmp_path, X, y, batch, age, method="f-test")
    F, q, within = nested(X[0], twin.design(batch, age.tolist()), y)
    assert q == 1
    assert found["p_value"][0] == pytest.approx(stats.f.sf(F, q, within), rel=1e-8)
    assert "highest_class" not in found


def test_too_few_samples_for_classes_and_covariates(tmp_path: Path) -> None:
    X, y = study(8, 4, seed=3)[0], np.repeat(np.arange(4), 2)
    batch = ["b0", "b1", "b2", "b3", "b1", "b2", "b3", "b0"]
    with pytest.raises(SfsError, match="degrees of freedom"):
        ranked(tmp_path, X, y, batch, np.arange(8) ** 2.0, method="f-test")


def test_null_features_of_confounded_batches_have_uniform_p_values(tmp_path: Path) -> None:
    """Four of five samples of a batch are of one class; without covariates most are significant.

    Of this draw, as a test of uniformity rejects one in 100.
    """
    rng = np.random.default_rng(0)
    n, m = 40, 4000
    batch = np.arange(n) % 2
    y = np.where(rng.random(n) < 0.8, batch, 1 - batch)
    X = rng.normal(size=(m, n)) + 1.5 * batch * rng.normal(size=(m, 1))
    p = ranked(tmp_path, X, y, batch.astype(str), rng.normal(size=n), method="f-test")["p_value"]
    assert stats.kstest(p, "uniform").pvalue > 0.01


# ---- sample graphs -----------------------------------------------------------------------------


def residual_ratio(method: str, S: Similarity | None, Q: np.ndarray, **given: Any) -> Ratio:
    """The ratio of a method beside a design (r, n)."""
    engine = make_engine(np.zeros((Q.shape[1], 2)))
    options = dict(METHODS[method].options)
    problem = problem_of(engine, S, design=Q, options=options, memory=1 << 30, **given)
    prepare = METHODS[method].load("prepare")
    assert prepare is not None
    return ratio_of(prepare(problem), problem)


def design_of(n: int, r: int, seed: int) -> np.ndarray:
    return orthonormal(np.random.default_rng(seed).normal(size=(r, n)))[0]


@pytest.mark.parametrize("method", ["spec", "hsic", "laplacian"])
def test_moments_are_those_of_all_permuted_residuals(method: str) -> None:
    """Freedman and Lane: the forms of the residuals of all 720 orders of a residual."""
    rng, n = np.random.default_rng(2), 6
    S = DenseSimilarity(graphs.rbf(rng.normal(size=(n, 3))))
    Q = design_of(n, 2, 3)
    away = np.eye(n) - Q.T @ Q
    whole = residual_ratio(method, S, np.empty((0, n)))
    found = RatioMoments.of(residual_ratio(method, S, Q))
    x = away @ rng.exponential(size=n)
    x -= x.mean()
    x /= np.linalg.norm(x)
    for t in (found.a / found.b, 0.7):
        M = whole.numerator.dense() - t * whole.denominator.dense()
        forms = pvalues.forms_of_all_permutations(away @ M @ away, x)
        at, powers, size = np.array([t]), Powers.of(x[None]), np.abs(forms).max()
        assert found.a - t * found.b == pytest.approx(forms.mean(), abs=1e-12 * size)
        for order in (2, 3, 4):
            expected = ((forms - forms.mean()) ** order).mean()
            moment = found.moment(order, at, powers)[0]
            assert moment == pytest.approx(expected, abs=1e-10 * size**order)


def test_permuted_ratios_are_those_of_residuals_of_permuted_residuals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, n = np.random.default_rng(4), 20
    S = DenseSimilarity(graphs.rbf(rng.normal(size=(n, 3))))
    Q = design_of(n, 3, 5)
    tested, whole = residual_ratio("spec", S, Q), residual_ratio("spec", S, np.empty((0, n)))
    x = rng.normal(size=(7, n))
    left = x - x @ Q.T @ Q
    A, B = whole.numerator.dense(), whole.denominator.dense()
    expected = np.vecdot(left @ A, left) / np.vecdot(left @ B, left)
    monkeypatch.setattr(permutation, "LEFT", -1.0)  # the whole form
    np.testing.assert_allclose(Permutations(tested, 100, 0).ratios(x), expected, rtol=1e-10)


def test_sparse_and_dense_graphs_beside_covariates_agree() -> None:
    S, Q = graph_of(60, 1), design_of(60, 2, 8)
    assert isinstance(S, SparseSimilarity)
    dense = DenseSimilarity(S.matrix.toarray())
    one, two = (residual_ratio("spec", each, Q) for each in (S, dense))
    np.testing.assert_allclose(one.numerator.dense(), two.numerator.dense(), atol=1e-12)
    at = np.array([0.9])
    x = np.random.default_rng(9).normal(size=(1, 60))
    powers = Powers.of(x / np.linalg.norm(x))
    found = [RatioMoments.of(each).tested(at, powers)[0][0] for each in (one, two)]
    assert found[0] == pytest.approx(found[1], rel=1e-8)


@pytest.mark.parametrize("null", ["moments", "permutation:400"])
@pytest.mark.parametrize("skewed", [False, True])
def test_null_features_on_a_graph_that_covariates_shape(null: str, skewed: bool) -> None:
    """The graph follows a batch, and so do the features: beside the batch nothing is left.

    Of this draw, as a test of uniformity rejects one in 200.
    """
    rng, n, m = np.random.default_rng(10), 50, 400
    batch = np.repeat([0.0, 1.0], n // 2)
    places = rng.normal(size=(n, 4)) + 2 * batch[:, None]
    S = DenseSimilarity(graphs.rbf(places / 2))
    noise = rng.exponential(size=(m, n)) if skewed else rng.normal(size=(m, n))
    X = noise + 3 * batch * rng.normal(size=(m, 1))
    Q = orthonormal(np.vstack([batch, rng.normal(size=n)]))[0]
    engine = make_engine(np.zeros((n, 2)))
    options = dict(METHODS["spec"].options)
    problem = problem_of(engine, S, design=Q, options=options, memory=1 << 30)
    prepare = METHODS["spec"].load("prepare")
    assert prepare is not None
    scorer = tested_scores.TestedScorer(prepare(problem), problem, *null_of(null))
    Adjustment(Q).residuals(X, 0.0)
    p = scorer.columns(measured_by(scorer, X.T))["p_value"]
    assert stats.kstest(p, "uniform").pvalue > 0.005
    assert (p < 0.01).mean() < 0.01 + 4 * np.sqrt(0.01 / m)


# ---- blocks ------------------------------------------------------------------------------------


def paired(tmp_path: Path, number: int, method: str, **options: Any) -> tuple[Any, np.ndarray]:
    """Twelve pairs, of large differences between pairs; five features differ within them."""
    rng = np.random.default_rng(number)
    n, m = 24, 200
    pair, y = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    X = rng.normal(size=(m, n)) + 4 * rng.normal(size=(m, 12)).repeat(2, axis=1)
    X[:5] += 3 * y
    found = run(
        write_parquet(tmp_path / "x.parquet", X),
        labels=write_labels(tmp_path / "y.tsv", y.tolist()),
        block=write_labels(tmp_path / "pair.tsv", pair.tolist(), column="pair") + ":pair",
        method=method,
        **options,
    )
    ranking, back = found.ranking, np.argsort(found.ranking.order)
    return {k: np.asarray(v)[back] for k, v in ranking.extra.items()}, X


@pytest.mark.parametrize("method", ["f-test", "t-test"])
def test_two_classes_in_pairs_are_the_paired_test(tmp_path: Path, method: str) -> None:
    found, X = paired(tmp_path, 1, method)
    expected = stats.ttest_rel(X[:, 1::2], X[:, ::2], axis=1)
    np.testing.assert_allclose(found["p_value"], expected.pvalue, rtol=1e-8)
    difference = (X[:, 1::2] - X[:, ::2]).mean(axis=1)
    np.testing.assert_allclose(found["mean_difference"], difference, rtol=1e-8)


def test_graphs_are_tested_by_permutations_within_pairs(tmp_path: Path) -> None:
    """On the graph of the labels that is a permutation test of the signs of the differences."""
    found, X = paired(tmp_path, 2, "hsic", similarity="label", **asked("permutation:4000"), seed=5)
    differences = X[:, 1::2] - X[:, ::2]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 12)).reshape(12, -1)
    size = np.abs(differences @ signs)
    exact = (size >= np.abs(differences.sum(axis=1))[:, None] - 1e-9).mean(axis=1)
    usual = exact > 0.01
    error = np.sqrt(exact * (1 - exact) / 4000)
    # a feature that is not significant stops early, with fewer permutations
    assert (np.abs(found["p_value"] - exact)[usual] < 0.002 + 5 * 6.4 * error[usual]).all()
    assert (found["p_value"][:5] < 0.01).all()
    null = found["p_value"][5:]
    assert stats.kstest(null, "uniform").pvalue > 0.005


def test_moments_are_not_within_blocks(tmp_path: Path) -> None:
    with pytest.raises(SfsError, match="within --block"):
        paired(tmp_path, 3, "hsic", similarity="label", pvalues="moments")
