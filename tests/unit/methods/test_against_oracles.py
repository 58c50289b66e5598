"""Every ranking on every similarity, through a whole run, and with every gamma: the twins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sfs_cli.graph.similarity import DenseSimilarity
from tests.making import write_labels, write_parquet
from tests.oracles import similarities, spec
from tests.unit.methods.helpers import GAMMAS, gamma_options, in_input_order, run, run_scores, score

N, K = 36, 4


@dataclass
class Data:
    """A matrix in memory and on disk, and its graphs by name: options and dense twin."""

    X: np.ndarray
    codes: np.ndarray
    matrix: str
    labels: str
    graphs: dict[str, tuple[dict[str, Any], np.ndarray]]


def make_graphs(
    X: np.ndarray, codes: np.ndarray, labels: str, folder: Path
) -> dict[str, tuple[dict[str, Any], np.ndarray]]:
    """Every similarity of section 1, as the options that ask for it and as its twin."""
    half = 0.5 * similarities.median_distance(similarities.distances(X))
    given = similarities.knn(X, 6) + 0.25 * similarities.rbf(X, half)
    # negative entries, on which no bound of the eigenvalues is known before
    signed = similarities.knn(X, 6, "binary") - 0.3 * similarities.knn(X, 2, "binary")[::-1, ::-1]
    np.save(folder / "given.npy", given)
    sparse.save_npz(folder / "given.npz", sparse.csr_array(signed))
    k = {"neighbors": K}
    options: dict[str, tuple[dict[str, Any], np.ndarray]] = {
        "rbf": ({"similarity": "rbf"}, similarities.rbf(X)),
        "rbf number": (
            {"similarity": "rbf", "bandwidth": repr(half)},
            similarities.rbf(X, half),
        ),
        "rbf self-tuning": (
            {"similarity": "rbf", "bandwidth": "self-tuning"},
            similarities.rbf(X, "self-tuning"),
        ),
        "knn": ({"similarity": "knn"} | k, similarities.knn(X, K)),
        "knn binary": (
            {"similarity": "knn", "edge_weights": "binary"} | k,
            similarities.knn(X, K, "binary"),
        ),
        "knn-correlation": (
            {"similarity": "knn-correlation"},
            similarities.knn_correlation(X, 5),
        ),
        "knn-correlation binary": (
            {"similarity": "knn-correlation", "edge_weights": "binary"} | k,
            similarities.knn_correlation(X, K, "binary"),
        ),
        "knn self-tuning": (
            {"similarity": "knn", "bandwidth": "self-tuning"} | k,
            similarities.knn(X, K, bandwidth="self-tuning"),
        ),
        "geodesic": ({"similarity": "geodesic"} | k, similarities.geodesic(X, K)),
        "diffusion": (
            {"similarity": "diffusion", "beta": 0.7} | k,
            similarities.diffusion(X, K, 0.7),
        ),
        "label": ({"similarity": "label", "labels": labels}, similarities.label(codes)),
        "relieff": (
            {"similarity": "relieff", "labels": labels} | k,
            similarities.relieff(X, codes, K),
        ),
        "correlation": ({"similarity": "correlation"}, similarities.correlation(X)),
        "dense file": ({"similarity_file": str(folder / "given.npy")}, given),
        "sparse file": ({"similarity_file": str(folder / "given.npz")}, signed),
    }
    for name, (_, S) in options.items():
        assert np.all(S.sum(axis=1) > 0.05), name
    return options


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Three clusters, offsets that make samples correlate positively, a smooth last feature."""
    folder = tmp_path_factory.mktemp("random")
    rng = np.random.default_rng(1)
    codes = rng.permutation(np.repeat(np.arange(3), N // 3))
    X = rng.normal(size=(N, 11)) + 0.8 * rng.normal(size=(3, 11))[codes]
    X = np.column_stack([X, codes + 0.1 * rng.normal(size=N)]) + 6 * rng.normal(size=12)
    labels = write_labels(folder / "labels.tsv", codes)
    matrix = write_parquet(folder / "matrix.parquet", X.T)
    return Data(X, codes, matrix, labels, make_graphs(X, codes, labels, folder))


GRAPHS = (
    "rbf",
    "rbf self-tuning",
    "knn",
    "knn self-tuning",
    "knn-correlation",
    "geodesic",
    "diffusion",
    "label",
    "relieff",
    "correlation",
    "dense file",
    "sparse file",
)


@pytest.mark.parametrize(("ranking", "gamma"), [("phi1", "2"), ("phi2", "exp")])
@pytest.mark.parametrize("graph", GRAPHS)
def test_phi1_and_phi2(data: Data, graph: str, ranking: str, gamma: str) -> None:
    options, S = data.graphs[graph]
    found = run_scores(data.matrix, ranking=ranking, **gamma_options(gamma), **options)
    expected = getattr(spec, ranking)(data.X, S, GAMMAS[gamma])
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_gamma(data: Data, graph: str) -> None:
    """By a scorer alone, on the twin of the graph."""
    S = data.graphs[graph][1]
    similarity = DenseSimilarity(S)
    # phi3 is only defined where the spectrum is cut between different eigenvalues
    values, _ = spec.eigenpairs(S)
    k = next(k for k in range(3, 9) if values[k] - values[k - 1] > 1e-3)
    for gamma, function in GAMMAS.items():
        options = gamma_options(gamma)
        for ranking in ("phi1", "phi2"):
            found = score("spec", data.X, similarity, ranking=ranking, **options)
            expected = getattr(spec, ranking)(data.X, S, function)
            np.testing.assert_allclose(found, expected, rtol=1e-8, err_msg=f"{ranking} {gamma}")
        found = score("spec", data.X, similarity, ranking="phi3", clusters=k, **options)
        expected = spec.phi3(data.X, S, function, k)
        np.testing.assert_allclose(found, expected, rtol=1e-8, err_msg=f"phi3 {gamma}")


@pytest.mark.parametrize("graph", GRAPHS)
def test_phi3_by_the_eigengap(data: Data, graph: str) -> None:
    options, S = data.graphs[graph]
    k = spec.choose_clusters(S, 20)
    result = run(data.matrix, ranking="phi3", **options)
    assert result.facts["method"]["clusters"] == k
    np.testing.assert_allclose(
        in_input_order(result), spec.phi3(data.X, S, GAMMAS["1"], k), rtol=1e-8
    )


def test_fisher_score(data: Data) -> None:
    found = run_scores(data.matrix, method="fisher", labels=data.labels)
    np.testing.assert_allclose(found, spec.fisher_score(data.X, data.codes), rtol=1e-10)


def test_variance(data: Data) -> None:
    found = run_scores(data.matrix, method="variance")
    np.testing.assert_allclose(found, data.X.var(axis=0, ddof=1), rtol=1e-12)
