"""Theorems that tie the rankings together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, SparseSimilarity
from tests.oracles import similarities
from tests.oracles import spec as twin
from tests.unit.methods.helpers import score

N = 45


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    codes = rng.permutation(np.repeat(np.arange(3), N // 3))
    X = rng.normal(size=(N, 30)) + rng.exponential(2, size=30) * rng.normal(size=(3, 30))[codes]
    X += rng.normal(size=30) * 10.0 ** rng.integers(-2, 4, size=30)
    return codes, X


CODES, X = _data()
GRAPHS: dict[str, Similarity] = {
    "rbf": DenseSimilarity(similarities.rbf(X)),
    "knn": SparseSimilarity(sparse.csr_array(similarities.knn(X, 5))),
    "label": label_similarity(CODES),
}


@pytest.fixture(params=GRAPHS)
def S(request: pytest.FixtureRequest) -> Similarity:
    return GRAPHS[request.param]


def trivial_share(S: Similarity) -> np.ndarray:
    """alpha_1^2 of every feature."""
    d = S.degrees
    return (d @ X) ** 2 / d.sum() / (d @ X**2)


def test_phi2_is_the_laplacian_score(S: Similarity) -> None:
    """Theorem 9: both are ``f' L f / f' D f`` as published."""
    expected = twin.laplacian_score(X, S.to_dense())
    for method in ("spec", "laplacian"):
        np.testing.assert_allclose(score(method, X, S), expected, rtol=1e-10)


def test_phi2_on_the_label_graph_is_the_fisher_score_in_disguise() -> None:
    """Eq. 3.14."""
    fisher = score("fisher", X, codes=CODES)
    found = score("spec", X, GRAPHS["label"])
    np.testing.assert_allclose(found, 1 / (1 + fisher), rtol=1e-10)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_phi1_is_phi2_without_the_trivial_share(S: Similarity, power: int) -> None:
    phi1 = score("spec", X, S, ranking="phi1", gamma_power=power)
    phi2 = score("spec", X, S, ranking="phi2", gamma_power=power)
    np.testing.assert_allclose(phi1, phi2 * (1 - trivial_share(S)), rtol=1e-9)


def test_phi1_with_the_exponential_counts_the_trivial_share(S: Similarity) -> None:
    phi1 = score("spec", X, S, ranking="phi1", gamma="exp")
    phi2 = score("spec", X, S, ranking="phi2", gamma="exp")
    share = trivial_share(S)
    np.testing.assert_allclose(phi1, phi2 * (1 - share) + share, rtol=1e-10)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_phi3_over_all_eigenpairs_is_what_phi1_leaves(S: Similarity, power: int) -> None:
    phi3 = score("spec", X, S, ranking="phi3", clusters=N, gamma_power=power)
    phi1 = score("spec", X, S, ranking="phi1", gamma_power=power)
    np.testing.assert_allclose(phi3, 2.0**power * (1 - trivial_share(S)) - phi1, rtol=1e-9)


def test_the_label_laplacian_is_a_projection_so_its_powers_are_equal() -> None:
    first = score("spec", X, GRAPHS["label"])
    for power in (2, 3):
        found = score("spec", X, GRAPHS["label"], gamma_power=power)
        np.testing.assert_allclose(found, first, rtol=1e-10)


def test_scores_lie_between_the_ends_of_the_spectrum(S: Similarity) -> None:
    phi2 = score("spec", X, S)
    assert np.all((phi2 >= 0) & (phi2 <= 2))
    phi3 = score("spec", X, S, ranking="phi3", clusters=3)
    assert np.all((phi3 >= 0) & (phi3 <= 2))


def test_a_feature_that_is_an_eigenvector_scores_its_eigenvalue(S: Similarity) -> None:
    d = S.degrees
    N_matrix = np.eye(N) - S.to_dense() / np.sqrt(np.outer(d, d))
    values, xi = np.linalg.eigh(N_matrix)
    last = (xi[:, -1] / np.sqrt(d))[:, None]
    for power in (1, 2, 3):
        found = score("spec", last, S, gamma_power=power)
        np.testing.assert_allclose(found, values[-1] ** power, rtol=1e-10)
