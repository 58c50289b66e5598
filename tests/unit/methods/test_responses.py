"""The response matrices of MRSF against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import DenseSimilarity, FactoredSimilarity
from sfs_cli.methods.centered_matrix import centered_matrix
from sfs_cli.methods.l21.regression import (
    lda_response,
    make_response,
    pca_response,
    similarity_response,
    svm_response,
)
from tests.making import HELD, make_engine, make_problem
from tests.oracles import l21 as oracle

LABELS = np.array([0, 2, 1, 1, 0, 2, 2, 2])


def of(X: np.ndarray, **given: Any) -> np.ndarray:
    context = make_problem(X, **({"response_rank": None} | given))
    assert context.engine is not None
    return make_response(context, centered_matrix(context.engine, "unit", HELD))


def test_similarity_is_reproduced_without_its_negative_part(rng: np.random.Generator) -> None:
    A = rng.normal(size=(9, 9))
    S = A + A.T
    Y = similarity_response(DenseSimilarity(S), None, HELD)
    twin = oracle.similarity_response(S)
    np.testing.assert_allclose(Y @ Y.T, twin @ twin.T, atol=1e-10)
    assert Y.shape == twin.shape


def test_rank_keeps_the_leading_part(rng: np.random.Generator) -> None:
    Z = rng.normal(size=(9, 5))
    U, sigma, _ = np.linalg.svd(Z, full_matrices=False)
    best = (U[:, :2] * sigma[:2] ** 2) @ U[:, :2].T
    for S in (DenseSimilarity(Z @ Z.T), FactoredSimilarity(Z)):
        Y = similarity_response(S, 2, HELD)
        assert Y.shape == (9, 2)
        np.testing.assert_allclose(Y @ Y.T, best, atol=1e-10)


def test_leading_part_of_many_samples_comes_from_lanczos(rng: np.random.Generator) -> None:
    Z = rng.normal(size=(1200, 6)) * np.arange(6, 0, -1)
    factored = similarity_response(FactoredSimilarity(Z), 4, 0)
    found = similarity_response(DenseSimilarity(Z @ Z.T), 4, 0)
    np.testing.assert_allclose(found, factored, atol=1e-7 * np.abs(factored).max())


def test_all_eigenvectors_of_many_samples_must_fit_the_memory(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="all eigenvectors"):
        similarity_response(DenseSimilarity(np.eye(1001)), None, 1 << 20)


def test_lda_and_svm_responses_are_those_of_the_definition() -> None:
    np.testing.assert_allclose(lda_response(LABELS), oracle.lda_response(LABELS))
    np.testing.assert_array_equal(svm_response(LABELS), oracle.svm_response(LABELS))


def test_lda_response_specifies_the_similarity_of_the_labels() -> None:
    """Eq. 4.17: Y Y' = n K_FIS - 11', so that both are one up to centring and scale."""
    n = len(LABELS)
    Y = lda_response(LABELS)
    K = label_similarity(LABELS).to_dense()
    np.testing.assert_allclose(Y @ Y.T, n * K - 1, atol=1e-12)


def test_pca_response_reproduces_the_inner_products_of_the_samples(
    rng: np.random.Generator,
) -> None:
    X = rng.normal(size=(7, 20))
    F = oracle.unit_features(X)
    features = centered_matrix(make_engine(X), "unit", HELD)
    Y = pca_response(features, None)
    np.testing.assert_allclose(Y @ Y.T, F @ F.T, atol=1e-12)
    assert pca_response(features, 3).shape == (7, 3)
    np.testing.assert_allclose(pca_response(features, 3), Y[:, :3])


@pytest.mark.parametrize("name", ["lda", "svm"])
def test_a_response_by_labels_is_centred_and_needs_two_classes(
    rng: np.random.Generator, name: str
) -> None:
    X = rng.normal(size=(8, 5))
    Y = of(X, codes=LABELS, response=name)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-12)
    assert of(X, codes=LABELS, response=name, response_rank=1).shape == (8, 1)
    with pytest.raises(InputError, match="same for all samples"):
        of(X, codes=np.zeros(8, int), response=name)


def test_a_similarity_that_tells_no_samples_apart_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="same for all samples"):
        of(rng.normal(size=(8, 5)), S=np.ones((8, 8)), response="similarity")
