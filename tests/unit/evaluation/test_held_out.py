"""Ridge regression on held-out samples: leave-one-out by refits, scikit-learn, and its measures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import r2_score

from sfs_cli.evaluation.classify import standardized
from sfs_cli.evaluation.held_out import PENALTIES, fit_of, ridge

N, TRAIN, TEST = 30, np.arange(0, 20), np.arange(20, 30)


def data(k: int, signal: float = 1.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Standardized samples (n, k), and an outcome of the training samples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(3, 2, (N, k))
    y = 5 + signal * X[:, 0] + rng.normal(size=N)
    return standardized(X.T, TRAIN).T, y[TRAIN]


@pytest.mark.parametrize(("k", "signal"), [(1, 2.0), (19, 0.0), (60, 2.0)])
def test_it_is_ridge_with_the_penalty_of_the_best_refits(k: int, signal: float) -> None:
    Z, y = data(k, signal)
    known, total = Z[TRAIN], float((Z[TRAIN] ** 2).sum())

    def error(penalty: float) -> float:
        left = 0.0
        for i in range(len(TRAIN)):
            rest = np.delete(np.arange(len(TRAIN)), i)
            model = Ridge(alpha=penalty, solver="svd").fit(known[rest], y[rest])
            left += float(y[i] - model.predict(known[i : i + 1])[0]) ** 2
        return left

    best = min((total * part for part in PENALTIES), key=error)
    expected = Ridge(alpha=best, solver="svd").fit(known, y).predict(Z[TEST])
    by_products = ridge(Z @ Z.T, y, TRAIN, TEST, products=True)
    for found in (ridge(Z, y, TRAIN, TEST), by_products):
        np.testing.assert_allclose(found, expected, rtol=1e-7)
    twin = RidgeCV(alphas=total * PENALTIES).fit(known, y).predict(Z[TEST])
    np.testing.assert_allclose(by_products, twin, rtol=1e-7)


def test_what_does_not_vary_predicts_the_mean() -> None:
    y = np.arange(20.0)
    for samples in (np.zeros((N, 3)), np.zeros((N, 40))):
        np.testing.assert_array_equal(ridge(samples, y, TRAIN, TEST), np.full(10, 9.5))
    np.testing.assert_array_equal(
        ridge(np.zeros((N, N)), y, TRAIN, TEST, products=True), np.full(10, 9.5)
    )


def test_measures_are_those_of_scipy_and_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    truth, guess = np.round(rng.normal(size=12), 1), np.round(rng.normal(size=12), 1)
    spearman, r2 = fit_of(truth, guess, float(truth.mean()))
    assert spearman == pytest.approx(spearmanr(truth, guess).statistic, rel=1e-12)
    assert r2 == pytest.approx(r2_score(truth, guess), rel=1e-12)
    _, worse = fit_of(truth, guess, 10.0)
    assert worse == pytest.approx(1 - ((truth - guess) ** 2).sum() / ((truth - 10) ** 2).sum())
    assert fit_of(truth, np.full(12, 0.5), 0.5).tolist() == [0, 0]
