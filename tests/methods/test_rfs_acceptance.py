"""RFS against the paper's own iteration run to the end, with every matrix in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize

from sfs_cli.methods import rfs
from sfs_cli.methods.base import Solution
from tests.methods.contexts import STREAMED, check_solution, make_context

Array = np.ndarray


def extended(X: Array) -> Array:
    """z-scored samples x features, and the column of ones of the bias."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.column_stack([Z, np.ones(len(X))])


def objective(W: Array, Z: Array, Y: Array, gamma: float) -> float:
    residual = np.linalg.norm(Z @ W - Y, axis=1).sum()
    return float(residual + gamma * np.linalg.norm(W, axis=1).sum())


def reweighted(X: Array, y: Array, gamma: float, iterations: int = 4000) -> float:
    """Algorithm 1 of the paper with (m + n) x (m + n) matrices; the objective it ends at."""
    Z, Y = extended(X), np.eye(y.max() + 1)[y]
    A = np.hstack([Z, gamma * np.eye(len(Z))])
    d = np.ones(A.shape[1])
    for _ in range(iterations):
        DA = (A / d).T
        U = DA @ np.linalg.solve(A @ DA, Y)
        d = 0.5 / np.maximum(np.linalg.norm(U, axis=1), 1e-14)
    return objective(U[: Z.shape[1]], Z, Y, gamma)


def smoothed(X: Array, y: Array, gamma: float) -> float:
    """A quasi-Newton method on row norms smoothed less and less; the best true objective."""
    Z, Y = extended(X), np.eye(y.max() + 1)[y]
    shape = (Z.shape[1], Y.shape[1])

    def function(w: Array, eps: float) -> tuple[float, Array]:
        W = w.reshape(shape)
        R = Z @ W - Y
        r, s = np.sqrt((R**2).sum(1) + eps**2), np.sqrt((W**2).sum(1) + eps**2)
        slope = Z.T @ (R / r[:, None]) + gamma * W / s[:, None]
        return float(r.sum() + gamma * s.sum()), slope.ravel()

    w = np.zeros(shape).ravel()
    best = np.inf
    for eps in 10.0 ** -np.arange(1, 9):
        options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-12}
        w = minimize(function, w, (eps,), jac=True, method="L-BFGS-B", options=options).x
        best = min(best, objective(w.reshape(shape), Z, Y, gamma))
    return best


def case(seed: int, n: int = 24, m: int = 15, c: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.normal(size=(n, m))
    X[:, :4] += 1.5 * rng.normal(size=(c, 4))[y]
    return X, y


def solve(X: Array, y: Array, gamma: float, **given: Any) -> Solution:
    return rfs.solve(make_context(X, codes=y, **({"gamma": gamma} | given)))


@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("m", [8, 15, 60])
def test_the_objective_is_the_optimum_of_independent_solvers(m: int, gamma: float) -> None:
    X, y = case(m, m=m)
    found = solve(X, y, gamma)
    check_solution(found)
    assert found.converged
    best = min(reweighted(X, y, gamma), smoothed(X, y, gamma))
    assert found.objective[-1] <= best * (1 + 1e-6)
    assert found.objective[-1] >= best * (1 - 1e-5)  # theirs may stop short of it


def test_the_objective_does_not_rise() -> None:
    for seed in range(3):
        values = np.array(solve(*case(seed), 1.0).objective)
        assert (np.diff(values) <= 1e-9 * values[:-1]).all()


def test_it_does_not_depend_on_how_the_matrix_is_read() -> None:
    X, y = case(0, m=60)
    plain = solve(X, y, 1.0).score
    for given in ({"memory": STREAMED}, {"block_size": 7}, {"workers": 2}):
        np.testing.assert_allclose(solve(X, y, 1.0, **given).score, plain, atol=1e-6 * plain.max())


def test_samples_and_features_may_be_permuted_shifted_and_scaled() -> None:
    X, y = case(1)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    plain = solve(X, y, 1.0).score
    moved = solve((3 * X - 100)[rows][:, columns], y[rows], 1.0).score
    np.testing.assert_allclose(moved, plain[columns], atol=1e-5 * plain.max())


def test_real_data_is_solved_to_the_stated_gap(shared_data: Path) -> None:
    table = pq.read_table(shared_data / "allaml" / "expression.parquet")
    X = np.column_stack([c.to_numpy() for c in table.drop_columns(["feature_id"]).columns]).T
    labels = (shared_data / "allaml" / "labels.tsv").read_text().split()[3::2]
    y = np.unique(labels, return_inverse=True)[1]
    found = solve(X.astype(np.float64), y, 0.1)
    assert found.converged
    assert found.facts["relative_gap"] <= 1e-8
