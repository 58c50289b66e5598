"""What holds for every way of weighing: invariances, planted noise, flat sources, the catalogue."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.knowledge.fuse import weighted_sum
from tests.unit.knowledge.weights.problems import (
    LEARNERS,
    WEIGHERS,
    learn,
    networks,
    planted,
    problem_for,
)


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_are_non_negative_and_sum_to_one(name):
    for seed in range(3):
        found = problem_for(name, seed).learn(name)
        assert (found.weights >= 0).all()
        assert found.weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert json.loads(json.dumps(found.facts, allow_nan=False)) == found.facts


@pytest.mark.parametrize("name", LEARNERS)
def test_the_order_of_samples_plays_no_part(name):
    p = problem_for(name, 1)
    order = np.random.default_rng(0).permutation(len(p.codes))
    found = p.learn(name)
    other = learn(name, [K[np.ix_(order, order)] for K in p.kernels], p.codes[order])
    np.testing.assert_allclose(other.weights, found.weights, rtol=1e-6, atol=1e-9)
    if found.fused is not None:
        np.testing.assert_allclose(other.fused, found.fused[np.ix_(order, order)], atol=1e-13)


@pytest.mark.parametrize("name", LEARNERS)
def test_sparse_graphs_are_taken_too(name):
    p = networks(1)
    found = p.learn(name)
    p.kernels[1] = csr_array(p.kernels[1])
    np.testing.assert_array_equal(p.learn(name).weights, found.weights)


@pytest.mark.parametrize("name", WEIGHERS)
def test_a_constant_source_gets_nothing_and_is_named(name):
    p = planted(0)
    n = len(p.codes)
    found = p.learn(name)
    kernels = [p.kernels[0], np.ones((n, n)), *p.kernels[1:]]
    other = learn(name, kernels, p.codes)
    assert other.weights[1] == 0.0
    np.testing.assert_allclose(np.delete(other.weights, 1), found.weights, rtol=1e-10, atol=1e-14)
    assert any("source 2" in warning and "weight 0" in warning for warning in other.warnings)
    assert len(other.facts.get("cosines", other.weights)) == len(kernels)
    with pytest.raises(InputError, match="no source distinguishes samples") as caught:
        learn(name, [np.ones((n, n))] * 2, p.codes)
    assert "uniform" in caught.value.hint


def test_the_fused_kernel_of_given_and_uniform_weights():
    p = planted(0)
    given = learn("given", p.kernels, weights=[2, 0, 0.5, 1])
    np.testing.assert_array_equal(given.weights, [2, 0, 0.5, 1])
    uniform = p.learn("uniform")
    np.testing.assert_allclose(weighted_sum(p.kernels, uniform.weights), sum(p.kernels) / 4)
