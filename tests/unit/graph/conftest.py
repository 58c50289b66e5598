"""Matrices that the tests of sample graphs share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


def read_matrix(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Samples x features, and class codes."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "expression.parquet").drop_columns(["feature_id"])
    X = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64).T
    lines = (folder / "labels.tsv").read_text().splitlines()[1:]
    label_of = dict(line.split("\t") for line in lines)
    _, codes = np.unique([label_of[name] for name in table.column_names], return_inverse=True)
    return np.ascontiguousarray(X), codes


NIGHTLY = [pytest.param(name, marks=pytest.mark.nightly) for name in ("colon", "pix10p")]


@pytest.fixture(scope="session", params=NIGHTLY)
def real(request: pytest.FixtureRequest, shared_data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Two real data sets; pix10p has identical samples."""
    return read_matrix(shared_data / request.param)


@pytest.fixture(params=range(3))
def random(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """Samples x features with clusters and an offset per feature, and class codes."""
    rng = np.random.default_rng(request.param)
    codes = rng.permutation(np.repeat(np.arange(3), 13))
    X = rng.normal(size=(39, 25)) + 1.5 * rng.normal(size=(3, 25))[codes]
    return X + 100.0 * rng.normal(size=25), codes
