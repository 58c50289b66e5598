"""Q-alpha: every variant against its twin with G in full, monotone, and degenerate input."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.methods.base import Solution
from sfs_cli.methods.qalpha import qalpha
from sfs_cli.methods.qalpha.variants import spectral_simplex
from tests.making import make_problem
from tests.oracles import qalpha as oracle
from tests.unit.methods.helpers import check_solution

Array = np.ndarray


def case(seed: int = 0, n: int = 18, m: int = 50, c: int = 3) -> tuple[Array, Array]:
    """Clusters that the first features follow."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.normal(size=(n, m))
    X[:, :20] += 2 * rng.normal(size=(c, 20))[y]
    return X, y


def solve(X: Array, variant: str = "basic", clusters: int | None = 3, **given: Any) -> Solution:
    options = {"variant": variant, "clusters": clusters, "power": None}
    solution = qalpha.solve(make_problem(X, **(options | given)))
    check_solution(solution)
    return solution


@pytest.mark.parametrize("variant", ["basic", "power", "ritz", "laplacian"])
def test_each_variant_equals_its_twin(variant: str) -> None:
    X, _ = case(2, *((12, 30) if variant == "laplacian" else ()))  # whose twin takes long
    found = solve(X, variant)
    assert found.converged
    np.testing.assert_allclose(found.score, getattr(oracle, variant)(X, 3), atol=1e-8)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_kernel_variant_equals_its_twin(degree: int) -> None:
    X, _ = case(1)
    found = solve(X, "kernel", power=degree)
    assert found.converged
    np.testing.assert_allclose(found.score, oracle.kernel(X, 3, degree), atol=1e-8)


def test_the_linear_kernel_is_the_power_embedded_variant() -> None:
    X, _ = case(2)
    linear = solve(X, "kernel", power=1)
    np.testing.assert_allclose(linear.score, solve(X, "power").score, atol=1e-8)


def test_more_orthogonal_iterations_in_a_cycle_end_at_the_same_weights() -> None:
    X, _ = case()
    thrice = solve(X, "power", power=3)
    assert len(thrice.objective) < len(solve(X, "power").objective)
    np.testing.assert_allclose(thrice.score, solve(X).score, atol=1e-8)


@pytest.mark.parametrize("seed", [2, 4])
def test_supervised_mixes_vectors_between_classes_whose_singular_values_are_equal(
    seed: int,
) -> None:
    X, _ = case(seed, 24, 70)  # of others the singular values differ
    y = np.random.default_rng(seed).integers(0, 2, len(X))
    found = solve(X, "supervised", None, codes=y)
    assert found.converged
    residual, spread, G = oracle.saddle(X, y, found.score, 2)
    assert spread < 1e-8
    assert residual < 1e-8
    np.testing.assert_allclose(oracle.largest(G), found.score, atol=1e-7)


@cache
def plain(variant: str) -> Solution:
    """The solution of `case`, with which others are compared."""
    X, y = case()
    return solve(X, variant, 2, codes=y)


@pytest.mark.parametrize("variant", ["basic", "power", "ritz", "supervised", "kernel"])
def test_the_objective_does_not_fall(variant: str) -> None:
    X, _ = case()
    y = np.random.default_rng(0).integers(0, 3, len(X))
    objective = np.array(solve(X, variant, 2, codes=y).objective)
    assert len(objective) > 1
    assert (np.diff(objective) >= -1e-9 * objective[1:]).all()


def test_the_objective_is_the_sum_of_squares_of_the_leading_eigenvalues() -> None:
    X, _ = case()
    found = solve(X)
    M = oracle.rows(X)
    values = np.sort(np.linalg.eigvalsh(oracle.affinity(M, found.score)) ** 2)
    assert np.linalg.norm(found.score) == pytest.approx(1, rel=1e-12)
    assert found.objective[-1] == pytest.approx(values[-3:].sum(), rel=1e-10)
    np.testing.assert_allclose(found.facts["eigenvalues"] ** 2, values[:-4:-1], rtol=1e-9)
    G = oracle.matrix_g(M, oracle.leading(oracle.affinity(M, found.score), 3))
    image = G @ found.score
    assert np.linalg.norm(image - (found.score @ image) * found.score) < 1e-8 * np.linalg.norm(
        image
    )


@pytest.mark.parametrize("variant", ["laplacian", "supervised", "kernel"])
def test_samples_and_features_may_be_permuted_shifted_and_scaled(variant: str) -> None:
    X, y = case()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    moved = solve((4 * X + 100)[rows][:, columns], variant, 2, codes=y[rows]).score
    np.testing.assert_allclose(moved, plain(variant).score[columns], atol=1e-7)


def test_the_sign_of_a_feature_does_not_matter() -> None:
    X, _ = case()
    signs = np.where(np.arange(X.shape[1]) % 3, 1, -1)
    np.testing.assert_allclose(solve(X * signs).score, solve(X).score, atol=1e-9)


def test_equal_features_have_equal_weights() -> None:
    X, _ = case()
    found = solve(np.column_stack([X, X[:, 0]])).score
    assert found[0] == pytest.approx(found[-1], rel=1e-9)


def test_clusters_default_to_the_papers_choice() -> None:
    X, y = case()
    assert solve(X, clusters=None).facts["clusters"] == 6
    assert solve(X, clusters=None, codes=y).facts["clusters"] == 6
    assert solve(X, "supervised", None, codes=y).facts["clusters"] == 2
    assert solve(X[:4], clusters=None).facts["clusters"] == 3


@pytest.mark.parametrize("clusters", [0, 18])
def test_more_clusters_than_samples_can_form_are_refused(clusters: int) -> None:
    with pytest.raises(InputError, match="clusters="):
        solve(case()[0], clusters=clusters)


def test_two_samples_weigh_all_features_alike() -> None:
    X = np.random.default_rng(0).normal(size=(2, 9))
    np.testing.assert_allclose(solve(X, clusters=None).score, 1 / 3, rtol=1e-9)


def test_a_class_of_one_sample_is_no_obstacle() -> None:
    X, y = case()
    y[:] = y > 0
    y[0] = 2
    assert solve(X, "supervised", None, codes=y).converged


def test_a_kernel_matrix_that_does_not_fit_is_refused_with_its_size() -> None:
    X = np.random.default_rng(0).normal(size=(4, 2000))
    with pytest.raises(OutOfMemoryError, match=r"kernel matrix of 2,000 features needs 30\.5 MiB"):
        solve(X, "kernel", memory=16 << 20)


def test_a_kernel_of_too_few_dimensions_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(9, 30))
    X[:] = X[:, :1] * np.linspace(1, 2, 30)  # one direction
    with pytest.raises(InputError, match="fewer than 3 dimensions"):
        solve(X, "kernel", power=1)


def test_a_run_that_is_cut_short_says_so() -> None:
    options = {"variant": "power", "clusters": None, "power": None}
    found = qalpha.solve(make_problem(case()[0], **options), max_cycles=3)
    assert not found.converged
    assert found.stop.startswith("3 cycles")


def test_a_span_that_is_full_starts_again_without_losing_its_place() -> None:
    X, _ = case(5, n=30, m=200)
    tight = solve(X, memory=4 * 3 * 8 * 30 * 30 * 7)  # room for seven vectors
    np.testing.assert_allclose(tight.score, solve(X).score, atol=1e-8)
    assert (np.diff(tight.objective) >= -1e-9 * tight.objective[-1]).all()


def test_the_projection_on_matrices_of_trace_one_is_the_nearest() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    P = spectral_simplex(A + A.T)
    assert np.trace(P) == pytest.approx(1)
    assert np.linalg.eigvalsh(P).min() >= -1e-12
    for _ in range(50):
        v = rng.normal(size=5)
        other = np.outer(v, v) / (v @ v)
        assert np.vdot(A + A.T - P, other - P) <= 1e-9  # the angle at a nearest point


@pytest.mark.parametrize("variant", ["basic", "power", "ritz", "laplacian"])
def test_collinear_and_equal_features_are_no_obstacle(variant: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 1] - X[:, 2], 2 * X[:, 0]])
    context = make_problem(X, variant=variant, clusters=6, power=None)
    found = qalpha.solve(context)
    assert np.isfinite(found.score).all()
    assert found.converged
    assert found.score[5] == pytest.approx(found.score[0], abs=1e-8)
