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


@pytest.mark.parametrize("seed", range(1))
def test_no_point_of_a_grid_aligns_better(seed):
    p = planted(seed)
    kernels = [p.kernels[k] for k in (1, 2, 3)]
    found = learn("alignf", kernels, p.codes)
    steps = np.linspace(0, 1, 41)
    grid = [(s, t, 1 - s - t) for s in steps for t in steps if s + t <= 1 + 1e-12]
    M = oracle.products(kernels)
    a = oracle.class_alignments(kernels, p.codes)
    Y = oracle.indicators(p.codes)
    size = np.linalg.norm(oracle.centered(Y @ Y.T))
    values = [np.dot(v, a) / (np.sqrt(np.dot(v, M @ v)) * size) for v in grid]
    best = int(np.argmax(values))
    assert found.objective >= values[best] - 1e-12
    assert np.abs(found.weights - grid[best]).max() < 0.03
    direct = oracle.alignment(sum(w * K for w, K in zip(found.weights, kernels)), p.codes)
    assert found.objective == pytest.approx(direct, rel=1e-10)


def test_facts_are_the_alignments_of_each():
    p = planted(2, graph=True)
    expected = [oracle.alignment(K, p.codes) for K in p.kernels]
    np.testing.assert_allclose(p.learn("alignf").facts["alignments"], expected, rtol=1e-10)


@pytest.mark.parametrize("times", [1e-5, 1e6])
def test_a_kernel_on_another_scale_has_its_weight_over_it(times):
    p = planted(1)
    expected = np.array(p.learn("alignf").facts["unnormalised"])
    p.kernels[1] = times * p.kernels[1]
    found = np.array(p.learn("alignf").facts["unnormalised"])
    np.testing.assert_allclose(found * [1, times, 1, 1], expected, rtol=1e-8, atol=1e-14)


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
