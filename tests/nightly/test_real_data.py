"""Real matrices against the twins: raw intensities, tumours, and images some of which are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.making import write_labels, write_parquet
from tests.oracles import similarities, spec
from tests.unit.methods.helpers import GAMMAS, gamma_options, run_scores

FEATURES = 400
K = 7


class Data(NamedTuple):
    X: np.ndarray
    codes: np.ndarray
    matrix: str
    labels: str


def load(folder: Path, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Every so many samples, the first features; samples x features, and class codes."""
    table = pq.read_table(folder / "expression.parquet").drop_columns(["feature_id"])
    X = np.array([column.to_numpy() for column in table.columns], np.float64)
    lines = (folder / "labels.tsv").read_text().splitlines()[1:]
    label_of = dict(line.split("\t") for line in lines)
    _, codes = np.unique([label_of[name] for name in table.column_names], return_inverse=True)
    return X[::every, :FEATURES], codes[::every]


@pytest.fixture(scope="module", params=["colon", "tox171", "pix10p"])
def data(
    request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Data:
    X, codes = load(shared_data / request.param, 2 if request.param == "tox171" else 1)
    folder = tmp_path_factory.mktemp(request.param)
    matrix = write_parquet(folder / "matrix.parquet", X.T)
    return Data(X, codes, matrix, write_labels(folder / "labels.tsv", codes))


@pytest.fixture(scope="module", params=["rbf", "knn", "geodesic", "diffusion", "label"])
def graph(request: pytest.FixtureRequest, data: Data) -> tuple[dict[str, Any], np.ndarray]:
    """The options that ask for a graph, and its twin."""
    options: dict[str, Any] = {"similarity": request.param}
    if request.param == "label":
        return options | {"labels": data.labels}, similarities.label(data.codes)
    if request.param == "rbf":
        return options, similarities.rbf(data.X)
    return options | {"neighbors": K}, getattr(similarities, request.param)(data.X, K)


def test_pix10p_has_identical_samples(shared_data: Path) -> None:
    X, _ = load(shared_data / "pix10p", 1)
    assert len(np.unique(X, axis=0)) < len(X)


@pytest.mark.parametrize("gamma", ["2", "exp"])
def test_phi1_and_phi2(data: Data, graph: tuple[dict[str, Any], np.ndarray], gamma: str) -> None:
    options, S = graph
    for ranking in ("phi1", "phi2"):
        found = run_scores(data.matrix, ranking=ranking, **gamma_options(gamma), **options)
        expected = getattr(spec, ranking)(data.X, S, GAMMAS[gamma])
        np.testing.assert_allclose(found, expected, rtol=1e-8, err_msg=ranking)


def test_phi3(data: Data, graph: tuple[dict[str, Any], np.ndarray]) -> None:
    options, S = graph
    values, _ = spec.eigenpairs(S)
    k = next(k for k in range(2, 20) if values[k] - values[k - 1] > 1e-3)
    found = run_scores(data.matrix, ranking="phi3", clusters=k, **options)
    np.testing.assert_allclose(found, spec.phi3(data.X, S, GAMMAS["1"], k), rtol=1e-8)


def test_laplacian_score(data: Data, graph: tuple[dict[str, Any], np.ndarray]) -> None:
    options, S = graph
    found = run_scores(data.matrix, method="laplacian", **options)
    np.testing.assert_allclose(found, spec.laplacian_score(data.X, S), rtol=1e-8)


def test_fisher_score_and_variance(data: Data) -> None:
    fisher = run_scores(data.matrix, method="fisher", labels=data.labels)
    np.testing.assert_allclose(fisher, spec.fisher_score(data.X, data.codes), rtol=1e-8)
    variance = run_scores(data.matrix, method="variance")
    expected = data.X.var(axis=0, ddof=1)
    np.testing.assert_allclose(variance, np.where(expected > 0, expected, np.nan), rtol=1e-10)
