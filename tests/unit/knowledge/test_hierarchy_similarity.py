"""The depth of the lowest common ancestor over that of the tree."""

from __future__ import annotations

import numpy as np

from sfs_cli.knowledge.samples import hierarchy_similarity


def test_a_tree_as_deep_as_samples_may_be():
    deep = tuple(map(str, range(100_000)))
    S = hierarchy_similarity([deep, deep[:70_000], (*deep[:50_000], "x")], len(deep))
    np.testing.assert_array_equal(S, [[1.0, 0.7, 0.5], [0.7, 0.7, 0.5], [0.5, 0.5, 0.50001]])
