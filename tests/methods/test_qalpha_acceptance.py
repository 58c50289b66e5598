"""Q-alpha against the m x m matrix G that it never forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfs_cli.methods import qalpha
from sfs_cli.methods.base import Solution
from tests.methods.contexts import HELD, STREAMED, check_solution, make_context

Array = np.ndarray


def unit(X: Array) -> Array:
    """Rows m_i: features centred, of unit norm; m x n."""
    M = (X - X.mean(axis=0)).T
    return M / np.linalg.norm(M, axis=1, keepdims=True)


def leading(A: Array, k: int) -> Array:
    return np.linalg.eigh(A)[1][:, -k:]


def dense(X: Array, k: int) -> tuple[Array, list[float]]:
    """Definition 1 by turns between Q and alpha, with G in full; weights and objectives."""
    M = unit(X)
    C = M @ M.T
    alpha = np.full(len(M), len(M) ** -0.5)
    objective = []
    for _ in range(5000):
        A = M.T @ (alpha[:, None] * M)
        Q = leading(A, k)
        P = M @ Q
        G = C * (P @ P.T)
        new = leading(G, 1)[:, 0]
        new *= np.sign(new.sum())
        A = M.T @ (new[:, None] * M)
        objective.append(float((np.sort(np.linalg.eigvalsh(A) ** 2)[-k:]).sum()))
        moved = np.linalg.norm(new - alpha)
        alpha = new
        if moved < 1e-13:
            break
    return alpha, objective


def solve(X: Array, clusters: int, variant: str = "basic", **given: Any) -> Solution:
    options = {"variant": variant, "clusters": clusters, "power": None}
    return qalpha.solve(make_context(X, **(options | given)))


def real(shared_data: Path, features: int) -> Array:
    table = pq.read_table(shared_data / "allaml" / "expression.parquet")
    columns = table.drop_columns(["feature_id"]).columns
    return np.column_stack([c.to_numpy() for c in columns]).T[:, :features].astype(np.float64)


def simulated(seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 80))
    X[:, :15] += 2.5 * rng.normal(size=(3, 15))[rng.integers(0, 3, 30)]
    return X


def test_it_equals_the_dense_version_on_real_data_with_positive_weights(shared_data: Path) -> None:
    X = real(shared_data, 1500)
    alpha, _ = dense(X, 3)
    found = solve(X, 3)
    check_solution(found)
    assert found.converged
    np.testing.assert_allclose(found.score, alpha, atol=1e-8)
    assert found.score.min() >= -1e-10
    assert found.score.sum() > 0


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_dense_version(seed: int) -> None:
    X = simulated(seed)
    alpha, objective = dense(X, 3)
    found = solve(X, 3)
    np.testing.assert_allclose(found.score, alpha, atol=1e-8)
    assert found.objective[-1] == pytest.approx(objective[-1], rel=1e-9)


@pytest.mark.parametrize("variant", ["power", "ritz"])
def test_embedded_iterations_end_where_the_whole_ones_do(variant: str) -> None:
    X = simulated()
    np.testing.assert_allclose(solve(X, 3, variant).score, solve(X, 3).score, atol=1e-7)


@pytest.mark.parametrize("variant", ["basic", "power", "ritz", "supervised"])
def test_the_objective_does_not_fall(variant: str) -> None:
    for seed in range(3):
        codes = np.random.default_rng(seed).integers(0, 2, 30)
        objective = np.array(solve(simulated(seed), 2, variant, codes=codes).objective)
        assert (np.diff(objective) >= -1e-9 * objective[1:]).all()


@pytest.mark.parametrize("given", [{"memory": STREAMED}, {"block_size": 7}, {"workers": 2}])
def test_it_does_not_depend_on_how_the_matrix_is_read(given: dict[str, Any]) -> None:
    X = simulated()
    np.testing.assert_allclose(
        solve(X, 3, **({"memory": HELD} | given)).score, solve(X, 3).score, atol=1e-9
    )


def test_features_and_samples_may_be_permuted_shifted_and_scaled() -> None:
    X = simulated()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    plain = solve(X, 3).score
    moved = solve((X * rng.uniform(0.5, 2, X.shape[1]) + 7)[rows][:, columns], 3).score
    np.testing.assert_allclose(moved, plain[columns], atol=1e-8)


def test_informative_features_weigh_more_than_noise() -> None:
    found = solve(simulated(), 2)
    top = np.argsort(-found.score)[:10]
    assert (top < 15).mean() >= 0.9
