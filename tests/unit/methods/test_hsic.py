"""HSIC: equal to the textbook estimator, whatever the mean, the graph's form and the precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sfs_cli.compute.matrix import Block
from sfs_cli.errors import InputError
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import DenseSimilarity, FactoredSimilarity, SparseSimilarity
from sfs_cli.methods.base import Scorer, Status
from tests.oracles import covariance, similarities
from tests.unit.methods.helpers import make_scorer, pair

N, M = 31, 12


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(31)
    codes = rng.integers(0, 3, size=N)
    X = rng.normal(size=(N, M)) + 0.5 * rng.normal(size=(3, M))[codes] + rng.normal(size=M)
    return codes, X


CODES, X = _data()
GRAPHS = {
    "rbf": similarities.rbf(X),
    "knn": similarities.knn(X, 4),
    "label": similarities.label(CODES),
    "linear": (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T,
    "signed": similarities.correlation(X) - 3 * similarities.knn(X, 2),
}


def scorer(S: Any, dtype: str = "float64") -> Scorer:
    similarity = DenseSimilarity(S) if isinstance(S, np.ndarray) else S
    return make_scorer("hsic", similarity.n, similarity, dtype=dtype)


def scores(values: np.ndarray, S: Any, dtype: str = "float64") -> np.ndarray:
    made = scorer(S, dtype)
    found, status = pair(made.score_block(Block(np.array(values.T, made.dtype, order="C"))))
    np.testing.assert_array_equal(np.isnan(found), status != Status.OK)
    return found


def textbook(values: np.ndarray, S: np.ndarray) -> np.ndarray:
    return np.array([covariance.hsic(f, S) for f in values.T])


@pytest.mark.parametrize("S", GRAPHS.values(), ids=GRAPHS)
def test_scores_are_the_textbook_estimate_on_the_features_as_given(S: np.ndarray) -> None:
    expected = textbook(X, S)
    tolerance: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-12 * np.abs(expected).max()}
    np.testing.assert_allclose(scores(X, S), expected, **tolerance)
    thin = SparseSimilarity(sparse.csr_array(S))
    np.testing.assert_allclose(scores(X, thin), expected, **tolerance)


def test_a_factored_graph_stays_factored(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    for kind in (FactoredSimilarity, SparseSimilarity):
        monkeypatch.setattr(kind, "to_dense", None)
    np.testing.assert_allclose(
        scores(X, label_similarity(CODES)), textbook(X, similarities.label(CODES)), rtol=1e-8
    )
    Z = rng.normal(size=(N, 3))
    np.testing.assert_allclose(scores(X, FactoredSimilarity(Z)), textbook(X, Z @ Z.T), rtol=1e-8)


@pytest.mark.parametrize("S", GRAPHS.values(), ids=GRAPHS)
def test_the_estimate_does_not_depend_on_the_mean(S: np.ndarray, rng: np.random.Generator) -> None:
    # exactly, not in expectation only: the textbook formula shows it where digits allow
    shift = rng.normal(size=M) * 10
    scale = np.abs(textbook(X, S)).max()
    np.testing.assert_allclose(textbook(X + shift, S), textbook(X, S), atol=1e-10 * scale)
    np.testing.assert_allclose(scores(X + 1e6, S), scores(X, S), atol=1e-8 * scale)


@pytest.mark.parametrize("name", ["rbf", "linear", "signed"])
def test_float32_agrees_with_float64_on_the_same_values(name: str) -> None:
    stored = (np.random.default_rng(3).normal(size=(N, 3000)) * 0.01 + 10).astype(np.float32)
    expected = scores(stored.astype(np.float64), GRAPHS[name])
    assert scorer(GRAPHS[name], "float32").dtype == np.float32
    found = scores(stored, GRAPHS[name], "float32")
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_similarity_without_differences_is_refused() -> None:
    one_class = np.zeros(N, int)
    for S in (
        np.full((N, N), 0.3),
        0.3 + 0.7 * np.eye(N),
        label_similarity(one_class),
        SparseSimilarity(sparse.csr_array(np.eye(N))),
    ):
        with pytest.raises(InputError, match="same similarity"):
            scorer(S)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(InputError, match="at least 4 samples, there are 3"):
        scorer(np.eye(3))
    S = similarities.rbf(X[:4])
    np.testing.assert_allclose(scores(X[:4], S), textbook(X[:4], S), rtol=1e-8, atol=1e-12)
