"""Iterative methods on real matrices: scikit-learn's solution, the twins, the theory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.oracles import qalpha as oracle
from tests.unit.methods.test_mrsf_acceptance import check_against_sklearn, path, rbf
from tests.unit.methods.test_qalpha import solve

Array = np.ndarray


def every_ninth(shared_data: Path, name: str) -> Array:
    table = pq.read_table(shared_data / name / "expression.parquet").drop_columns(["feature_id"])
    return np.column_stack([c.to_numpy() for c in table.columns]).T[:, ::9].astype(np.float64)


@pytest.mark.parametrize("name", ["colon", "tox171", "allaml"])
def test_last_breakpoint_is_scikit_learns_solution_on_real_data(
    shared_data: Path, name: str
) -> None:
    X = every_ninth(shared_data, name)
    S = rbf(X)
    found = path(X, S, 20)
    assert found.facts["largest_relative_gap"] <= 1e-6
    check_against_sklearn(X, S, found)


def real(shared_data: Path, name: str, features: int | None = None) -> tuple[Array, Array]:
    table = pq.read_table(shared_data / name / "expression.parquet")
    columns = table.drop_columns(["feature_id"]).columns
    X = np.column_stack([c.to_numpy() for c in columns]).T.astype(np.float64)
    labels = (shared_data / name / "labels.tsv").read_text().split()[3::2]
    return X[:, :features], np.unique(labels, return_inverse=True)[1]


def test_supervised_equals_its_twin_on_real_data_where_turning_settles(
    shared_data: Path,
) -> None:
    X, y = real(shared_data, "colon", 300)
    alphas = oracle.supervised(X, y, 2, 400)
    assert np.linalg.norm(alphas[-1] - alphas[-2]) < 1e-12
    found = solve(X, "supervised", None, codes=y)
    assert found.converged
    np.testing.assert_allclose(found.score, alphas[-1], atol=1e-8)


def test_supervised_stands_still_where_the_papers_turning_goes_back_and_forth(
    shared_data: Path,
) -> None:
    X, y = real(shared_data, "allaml", 1500)
    parts = oracle.classes(X, y)
    values = [oracle.supervised_value(parts, a, 2) for a in oracle.supervised(X, y, 2, 12)[1:]]
    assert min(np.diff(values)) < -1
    found = solve(X, "supervised", None, codes=y)
    assert found.converged
    assert found.score.min() >= -1e-10
    G = oracle.supervised_g(parts, oracle.projections(parts, found.score, 2))
    np.testing.assert_allclose(oracle.largest(G), found.score, atol=1e-8)
    value = oracle.supervised_value(parts, found.score, 2)
    assert value == pytest.approx(found.objective[-1], rel=1e-10)
    assert value > max(values)


@pytest.mark.parametrize("name", ["allaml", "medulloblastoma"])
def test_weights_of_expression_data_come_out_positive(shared_data: Path, name: str) -> None:
    found = solve(real(shared_data, name)[0], clusters=6)
    assert found.score.min() >= -1e-10
    assert found.facts["share_negative"] == 0
    assert found.facts["passes"] < 40
