"""Alignment: the formula, optimality, a search of the whole simplex, labels that say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import learn, planted


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("graph", [False, True])
def test_optimality(seed, graph):
    p = planted(seed, graph=graph)
    found = p.learn("alignf")
    v = np.array(found.facts["unnormalised"])
    M, a = oracle.products(p.kernels), oracle.class_alignments(p.kernels, p.codes)
    slopes, size = M @ v - a, np.abs(a).max()
    assert (v >= 0).all()
    assert (slopes >= -1e-10 * size).all()
    assert np.abs(slopes[v > 0]).max() <= 1e-10 * size
    np.testing.assert_allclose(found.weights, v / v.sum(), rtol=1e-12)
    assert found.converged


def test_facts_are_the_alignments_of_each():
    p = planted(2, graph=True)
    found = p.learn("alignf")
    expected = [oracle.alignment(K, p.codes) for K in p.kernels]
    np.testing.assert_allclose(found.facts["alignments"], expected, rtol=1e-10)
    fused = sum(w * K for w, K in zip(found.weights, p.kernels))
    assert found.objective == pytest.approx(oracle.alignment(fused, p.codes), rel=1e-10)


def test_sources_against_the_labels_are_an_error_that_names_them():
    p = planted(0)
    Y = oracle.indicators(p.codes)
    against = [np.eye(len(Y)) - Y @ Y.T] * 2
    with pytest.raises(InputError, match="no source aligns with the labels") as caught:
        learn("alignf", against, p.codes)
    assert caught.value.where == "source 1, source 2"
    assert "uniform" in caught.value.hint


def test_one_source_against_the_labels_gets_nothing():
    p = planted(0)
    Y = oracle.indicators(p.codes)
    found = learn("alignf", [p.kernels[0], np.eye(len(Y)) - Y @ Y.T], p.codes)
    np.testing.assert_array_equal(found.weights, [1.0, 0.0])
