"""float32 storage and arithmetic against an all-float64 run on the same, rounded values."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sfs_cli.compute import matrix as matrix_of
from sfs_cli.compute.matrix import Block
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods import quadratic
from tests.making import write_labels, write_parquet
from tests.unit.methods.helpers import in_input_order, make_scorer, pair, run, run_scores, score

N, M = 150, 400
TOLERANCE = 1e-5


class Data(NamedTuple):
    X: np.ndarray
    matrix: str
    labels: str


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Features whose mean is 1000 times their standard deviation; some are pure clusters."""
    folder = tmp_path_factory.mktemp("float32")
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(N) % 3)
    strength = 3 * rng.exponential(size=M) ** 2
    X = rng.normal(size=(N, M)) + strength * rng.normal(size=(3, M))[codes]
    X *= np.exp(rng.normal(size=M)) / X.std(axis=0)
    X += 1000 * X.std(axis=0)
    X = X.astype(np.float32).astype(np.float64)
    matrix = write_parquet(folder / "matrix.parquet", X.T)
    return Data(X, matrix, write_labels(folder / "labels.tsv", codes))


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the plan choose float32 arithmetic for small matrices too."""
    monkeypatch.setattr(matrix_of, "FLOAT64_BELOW", 0)


GRAPHS: dict[str, dict[str, Any]] = {
    "rbf": {"similarity": "rbf"},
    "narrow rbf": {"similarity": "rbf", "bandwidth": "10"},
    "self-tuning rbf": {"similarity": "rbf", "bandwidth": "self-tuning"},
    "knn": {"similarity": "knn"},
    "geodesic": {"similarity": "geodesic"},
    "label": {"similarity": "label"},
    "correlation": {"similarity": "correlation"},
}
METHODS: dict[str, dict[str, Any]] = {
    "phi1": {"ranking": "phi1"},
    "phi1 cubed": {"ranking": "phi1", "gamma_power": 3},
    "phi2": {"ranking": "phi2"},
    "phi2 squared": {"ranking": "phi2", "gamma_power": 2},
    "phi2 cubed": {"ranking": "phi2", "gamma_power": 3},
    "phi2 exp": {"ranking": "phi2", "gamma": "exp"},
    "phi3": {"ranking": "phi3", "clusters": 3},
    "laplacian": {"method": "laplacian"},
}


PAIRS = [
    *((graph, "phi2 cubed") for graph in GRAPHS),
    *(("narrow rbf", method) for method in METHODS if method != "phi2 cubed"),
    ("geodesic", "phi3"),
    ("label", "phi1 cubed"),
]


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(("graph", "method"), PAIRS)
def test_float32_agrees_with_float64(data: Data, graph: str, method: str) -> None:
    options = GRAPHS[graph] | METHODS[method] | {"labels": data.labels}
    result = run(data.matrix, dtype="float32", **options)
    assert result.facts["plan"]["arithmetic"] == "float32"
    expected = run_scores(data.matrix, dtype="float64", **options)
    np.testing.assert_allclose(in_input_order(result), expected, rtol=TOLERANCE)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("options", [METHODS["phi2 cubed"]])
def test_a_second_look_in_float64_keeps_a_digit(
    data: Data, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = GRAPHS["narrow rbf"] | options
    expected = run_scores(data.matrix, dtype="float64", **options)

    def loss() -> float:
        found = run_scores(data.matrix, dtype="float32", **options)
        return float(np.max(np.abs(found / expected - 1)))

    assert loss() < 1e-6
    monkeypatch.setattr(quadratic, "WEAK_TRIANGULAR", 0)
    assert 2e-6 < loss() < TOLERANCE


@pytest.mark.parametrize("method", ["spec"])
def test_a_second_look_is_at_the_values_as_they_were_stored(method: str) -> None:
    """A smooth feature on a path, between two that are rough, with status and zeros in place."""
    n = 60
    S = 1e-7 + np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * 1.0)
    smooth = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    rough = np.random.default_rng(1).normal(size=(n, 2))
    X = np.column_stack([rough[:, 0], np.zeros(n), 1e3 + smooth, np.ones(n), rough[:, 1]])
    X = X.astype(np.float32)
    single = make_scorer(method, n, DenseSimilarity(S), dtype="float32", gamma_power=3)
    scores, status = pair(single.score_block(Block(X.T.copy())))
    options = {"gamma_power": 3} if method == "spec" else {}
    expected = score(method, X.astype(np.float64), DenseSimilarity(S), **options)
    np.testing.assert_allclose(scores, expected, rtol=TOLERANCE)
    np.testing.assert_allclose(scores[2], expected[2], rtol=1e-9)
    np.testing.assert_array_equal(status, [0, 2, 0, 1, 0])


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("similarity", ["knn", "geodesic"])
def test_float32_finds_the_same_neighbours(tmp_path: Path, similarity: str) -> None:
    """Pairs of samples mirrored in a third, whose distances to it differ by rounding alone."""
    rng = np.random.default_rng(4)
    middle = 4 * rng.normal(size=(15, 1, 200))
    sides = rng.normal(size=(15, 4, 200))
    X = np.concatenate([middle, middle + sides, middle - sides], axis=1).reshape(-1, 200)
    matrix = write_parquet(tmp_path / "matrix.parquet", X.astype(np.float32).astype(np.float64).T)
    options = {"similarity": similarity, "neighbors": 3}
    found = run_scores(matrix, dtype="float32", **options)
    np.testing.assert_allclose(found, run_scores(matrix, **options), rtol=TOLERANCE)


@pytest.mark.usefixtures("forced")
def test_float32_tells_near_duplicates_from_duplicates(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 300))
    X = np.concatenate([X, X[:5], X[5:] + 5e-4 * rng.normal(size=(15, 300))])
    matrix = write_parquet(tmp_path / "matrix.parquet", X.astype(np.float32).astype(np.float64).T)
    for options in (GRAPHS["rbf"], {"similarity": "rbf", "bandwidth": "3"}):
        found = run_scores(matrix, dtype="float32", **options)
        np.testing.assert_allclose(found, run_scores(matrix, **options), rtol=TOLERANCE)
