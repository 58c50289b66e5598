"""STATIS: the formula, kernels that disagree, and eigenvalues that are equal."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import learn, planted


def cosines(kernels: list[np.ndarray]) -> np.ndarray:
    M = oracle.products(kernels)
    norms = np.sqrt(np.diag(M))
    return M / norms[:, None] / norms[None, :]


@pytest.mark.parametrize("seed", range(1))
def test_power_iterations_on_the_cosines_go_there(seed):
    p = planted(seed, graph=True)
    found = p.learn("statis")
    C = cosines(p.kernels)
    u = np.ones(len(C))
    for _ in range(2000):
        u = C @ u
        u /= u.sum()
    np.testing.assert_allclose(found.weights, u, rtol=1e-9)
    np.testing.assert_allclose(found.facts["cosines"], C, atol=1e-12)
    assert found.objective == pytest.approx(u @ C @ u / (u @ u), rel=1e-10)
    assert found.facts["explained"] == pytest.approx(found.objective / len(C))
    assert not found.warnings


def test_a_kernel_against_all_others_is_left_out_by_name():
    p = planted(1)
    against = np.eye(len(p.codes)) - p.kernels[0]
    found = learn("statis", [*p.kernels[:3], against])
    assert found.weights[3] == 0.0
    assert (found.weights[:3] > 0).all()
    assert "source 4 disagrees" in found.warnings[0]
    assert found.weights.sum() == pytest.approx(1.0)


def test_kernels_that_have_nothing_in_common_count_alike():
    H = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2.0
    found = learn("statis", [np.outer(h, h) for h in H])
    np.testing.assert_allclose(found.weights, 1 / 3)


def test_two_kernels_against_each_other_are_refused():
    K = planted(1).kernels[0]
    with pytest.raises(InputError, match="agree on nothing"):
        learn("statis", [K, np.eye(len(K)) - K])
