"""Features that float32 hardly resolves are found in both orientations."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.store.build import ValueCheck

NAMES = ["fine", "coarse", "constant", "zero", "gap"]
VALUES = np.array(
    [[1, 2, 3, 4], [1e6, 1e6 + 1, 1e6, 1e6 + 2], [5, 5, 5, 5], [0, 0, 0, 0], [1, np.nan, 3, 2]],
    np.float32,
)


@pytest.mark.parametrize("cut", [1, 2, 4])
@pytest.mark.parametrize("rows_are_features", [True, False])
def test_only_features_that_vary_little_for_their_size_are_named(
    rows_are_features: bool, cut: int
) -> None:
    values = VALUES if rows_are_features else VALUES.T
    ids = NAMES if rows_are_features else ["s1", "s2", "s3", "s4"]
    columns = ["s1", "s2", "s3", "s4"] if rows_are_features else NAMES
    check = ValueCheck("file.csv", rows_are_features, columns)
    for lo in range(0, len(values), cut):
        check.see(ids[lo : lo + cut], values[lo : lo + cut])
    check.finish()
    assert check.coarse == ["coarse"]
