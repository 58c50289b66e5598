"""One scale: what similarities are divided by, and which have no scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.knowledge.fuse import one_scale
from tests.unit.knowledge.weights.problems import knn_of, planted, profile

KERNEL = planted(0).kernels[1] * 7.0
GRAPH = knn_of(profile(np.arange(30) % 3, 1.0, 2))


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_the_mean_diagonal_becomes_one(form):
    scaled, factor = one_scale(form(KERNEL))
    dense = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
    assert type(scaled) is type(form(KERNEL))
    assert np.trace(dense) / len(dense) == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(dense * factor, KERNEL, rtol=1e-14)
    np.testing.assert_array_equal(dense, dense.T)


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_graph_without_loops_is_divided_by_its_largest_entry(form):
    scaled, factor = one_scale(form(3 * GRAPH))
    assert scaled.max() == 1.0
    assert factor == 3 * GRAPH.max()


@pytest.mark.parametrize("form", [np.array, csr_array])
@pytest.mark.parametrize("S", [KERNEL, GRAPH], ids=["kernel", "graph"])
def test_frobenius(form, S):
    scaled, factor = one_scale(form(S), frobenius=True)
    dense = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
    assert np.linalg.norm(dense) == pytest.approx(1.0, rel=1e-14)
    assert factor == pytest.approx(np.linalg.norm(S), rel=1e-14)


@pytest.mark.parametrize("frobenius", [False, True])
@pytest.mark.parametrize("times", [1e-120, 3.7])
def test_what_comes_out_does_not_depend_on_the_scale(times, frobenius):
    expected = one_scale(KERNEL, frobenius)[0]
    np.testing.assert_allclose(
        one_scale(times * KERNEL, frobenius)[0], expected, rtol=1e-13, atol=1e-18
    )


@pytest.mark.parametrize("form", [np.array, csr_array])
@pytest.mark.parametrize(
    ("S", "message"),
    [
        (-np.eye(4), "-1"),
        (np.diag([1.0, -1.0, 0.0]), "must be positive"),
        (np.zeros((4, 4)), "all similarities are 0"),
        (np.eye(4) - 1.0, "no similarity is positive"),
        (np.full((3, 3), np.nan), "NaN"),
        (np.diag([1.0, np.inf]), "infinite"),
        (np.ones((3, 2)), "square"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
    ],
)
def test_what_has_no_scale_is_refused_by_name(S, message, form):
    with pytest.raises(InputError, match=message) as caught:
        one_scale(form(S), name="mirna")
    assert "mirna" in caught.value.where
    assert caught.value.hint
