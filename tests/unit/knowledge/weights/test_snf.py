"""Network fusion: against its twin and the package snfpy, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.knowledge.weights.snf import fuse, local_part
from tests.oracles import fusion as oracle
from tests.unit.knowledge.weights.problems import learn, networks


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize(("neighbors", "iterations"), [(20, 20), (5, 3), (39, 2), (1, 4), (8, 0)])
def test_it_is_its_twin(seed, neighbors, iterations):
    kernels = networks(seed).kernels
    found = learn("snf", kernels, neighbors=neighbors, iterations=iterations)
    expected = oracle.snf(kernels, neighbors, iterations)
    np.testing.assert_allclose(found.fused, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.fused, found.fused.T)
    assert (found.fused >= 0).all()


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize(("neighbors", "iterations"), [(20, 20), (39, 2), (1, 4)])
def test_it_is_snfpy(seed, neighbors, iterations, monkeypatch):
    import snf

    original = snf.compute.check_array

    def check_array(array, force_all_finite, **options):  # as later scikit-learn calls it
        assert force_all_finite
        return original(array, **options)

    monkeypatch.setattr(snf.compute, "check_array", check_array)
    kernels = networks(seed).kernels
    found = learn("snf", kernels, neighbors=neighbors, iterations=iterations)
    expected = snf.snf(*kernels, K=neighbors, t=iterations, alpha=1.0)
    np.testing.assert_allclose(found.fused, expected, rtol=0, atol=1e-10)


def test_ties_at_the_last_place_are_all_kept():
    kernels = [np.round(K, 1) for K in networks(1).kernels]
    P = kernels[0]
    kept = local_part(P, 4).toarray()
    limits = np.sort(P, axis=1)[:, -4]
    np.testing.assert_array_equal(kept > 0, limits[:, None] <= P)
    assert (np.count_nonzero(kept, axis=1) > 4).any()
    np.testing.assert_allclose(kept.sum(axis=1), 1.0)
    np.testing.assert_allclose(fuse(kernels, 4, 5), oracle.snf(kernels, 4, 5), atol=1e-12)


def test_what_is_told():
    p = networks(0)
    found = p.learn("snf")
    np.testing.assert_allclose(found.weights, 1 / 3)
    assert found.facts == {"neighbors": 20, "iterations": 20, "fusion_not_weights": True}
    few = learn("snf", networks(0, n=12).kernels)
    assert few.facts["neighbors"] == 11
    with pytest.raises(InputError, match="neighbors=40 of --weights"):
        p.learn("snf", neighbors=40)


def test_a_single_source_is_its_own_sum():
    found = learn("snf", networks(0).kernels[:1])
    assert found.fused is None
    np.testing.assert_array_equal(found.weights, [1.0])
    assert "nothing to fuse" in found.stop


def test_negative_similarities_are_refused_by_name():
    kernels = networks(0).kernels
    kernels[1] = kernels[1].copy()
    kernels[1][2, 3] = kernels[1][3, 2] = -0.1
    with pytest.raises(InputError, match="2 of 1,600 similarities are negative") as caught:
        learn("snf", kernels)
    assert caught.value.where == "source 2"


def test_samples_similar_to_none_are_refused_by_name():
    kernels = networks(0).kernels
    kernels[1] = kernels[1].copy()
    kernels[1][4] = kernels[1][:, 4] = 0.0
    with pytest.raises(InputError, match="1 sample with no similarity") as caught:
        learn("snf", kernels)
    assert caught.value.where == "source 2: sample number 5"
