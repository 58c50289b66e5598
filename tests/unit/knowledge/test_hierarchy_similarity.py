"""The depth of the lowest common ancestor over that of the tree."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.knowledge.samples import hierarchy_similarity
from tests.oracles.knowledge import lowest_common_ancestors


def random_paths(seed, n=40, longest=5):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, n)
    return [tuple(rng.choice(["a", "b", "c"], size)) for size in lengths]


@pytest.mark.parametrize("seed", range(5))
def test_against_the_loop(seed):
    paths = random_paths(seed)
    depth = max(map(len, paths)) + seed % 2
    found = hierarchy_similarity(paths, depth)
    np.testing.assert_array_equal(found, lowest_common_ancestors(paths, depth))
    np.testing.assert_array_equal(found, found.T)


def test_a_name_below_another_parent_is_another_node():
    S = hierarchy_similarity([("endoderm", "tumour"), ("mesoderm", "tumour")], 2)
    np.testing.assert_array_equal(S, np.eye(2))


def test_levels_of_the_sample_data():
    S = hierarchy_similarity(
        [("endo", "colon", "t"), ("endo", "colon", "n"), ("endo", "liver", "t"), ("meso",)], 3
    )
    np.testing.assert_array_equal(S * 3, [[3, 2, 1, 0], [2, 3, 1, 0], [1, 1, 3, 0], [0, 0, 0, 1]])


def test_order_does_not_matter():
    paths = random_paths(7, n=300)
    whole = hierarchy_similarity(paths, 5)
    order = np.random.default_rng(0).permutation(len(paths))
    shuffled = hierarchy_similarity([paths[i] for i in order], 5)
    np.testing.assert_array_equal(shuffled, whole[np.ix_(order, order)])


def test_kernel_is_positive_semidefinite():
    assert np.linalg.eigvalsh(hierarchy_similarity(random_paths(3), 5)).min() > -1e-12


def test_a_tree_as_deep_as_samples_may_be():
    deep = tuple(map(str, range(100_000)))
    S = hierarchy_similarity([deep, deep[:70_000], (*deep[:50_000], "x")], len(deep))
    np.testing.assert_array_equal(S, [[1.0, 0.7, 0.5], [0.7, 0.7, 0.5], [0.5, 0.5, 0.50001]])


def test_no_samples_and_empty_paths():
    assert hierarchy_similarity([], 2).shape == (0, 0)
    assert not hierarchy_similarity([(), ()], 1).any()
