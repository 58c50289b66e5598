"""A thousand standard deviations added to every feature, through the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.contract.numbers.commands import ranked
from tests.making import write_parquet


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-4)])
@pytest.mark.parametrize("similarity", ["rbf", "knn", "label"])
@pytest.mark.parametrize("name", ["colon", "tox171"])
def test_an_offset_does_not_change_phi2(
    shared_data: Path, tmp_path: Path, name: str, similarity: str, dtype: str, tolerance: float
) -> None:
    folder = shared_data / name
    table = pq.read_table(folder / "expression.parquet").slice(0, 1000)
    features, samples = table["feature_id"].to_pylist(), table.column_names[1:]
    values = np.array([table[s].to_numpy() for s in samples], np.float64).T
    offset = 1000 * values.std(axis=1, keepdims=True)
    plain = write_parquet(tmp_path / "plain.parquet", values, features, samples)
    moved = write_parquet(tmp_path / "moved.parquet", values + offset, features, samples)
    options = ("--similarity", similarity, "--dtype", dtype, "--labels", folder / "labels.tsv")
    expected = ranked(tmp_path / "a", plain, *options)
    found = ranked(tmp_path / "b", moved, *options)
    np.testing.assert_allclose(found.by_feature(), expected.by_feature(), rtol=tolerance)
