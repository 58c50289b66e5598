"""Matrices, readers and stores that the tests of the store share."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.io.matrix.base import Annotations, RowBlock
from sfs_cli.store.build import BuildOptions, build
from tests.making import names


class ArrayReader:
    """A reader of an array that is in memory: rows of it, so many at a time."""

    format = "array"
    fixed_rows = None
    path = Path("array.txt")

    def __init__(self, rows, row_ids, column_ids, *, sparse=False, step=3, obs=None):
        self.rows = rows
        self.row_ids = row_ids
        self.column_ids = column_ids
        self.sparse = sparse
        self.step = step
        self.n_rows = len(row_ids)
        self.annotations = Annotations(obs)

    def first_row_ids(self):
        return self.row_ids[:1]

    def blocks(self):
        for lo in range(0, self.n_rows, self.step):
            block = self.rows[lo : lo + self.step]
            ids = self.row_ids[lo : lo + self.step]
            yield RowBlock(ids, csr_array(block) if self.sparse else block.copy())

    def close(self):
        """Nothing is open."""


@pytest.fixture
def built(tmp_path):
    """Return what builds a matrix (m x n, features in rows) through a reader."""
    folders = itertools.count()

    def make(values, *, rows="features", sparse=False, step=3, limit=1 << 30, keep=False, **more):
        m, n = values.shape
        features = more.pop("features", None) or names("g", m)
        samples = more.pop("samples", None) or names("s", n)
        if rows == "features":
            oriented, row_ids, column_ids = values, features, samples
        else:
            oriented, row_ids, column_ids = values.T, samples, features
        reader = ArrayReader(
            np.ascontiguousarray(oriented),
            row_ids,
            column_ids,
            sparse=sparse,
            step=step,
            obs=more.pop("obs", None),
        )
        folder = tmp_path / f"store-{next(folders)}"
        folder.mkdir()
        source = more.pop("source", {}) if keep else None
        options = BuildOptions(
            rows=rows, dtype=values.dtype, folder=folder, limit=limit, source=source, **more
        )
        result = build(reader, options)
        return SimpleNamespace(matrix=result.matrix, renamed=result.renamed, folder=folder)

    return make


@pytest.fixture(params=["memory", "sparse store"])
def matrix(request, built):
    """Return what makes the same matrix in memory, and in a sparse store."""

    def make(values, **more):
        return built(
            values, sparse="sparse" in request.param, keep="store" in request.param, **more
        ).matrix

    return make


@pytest.fixture
def whole():
    """Return what reads a matrix whole, by spans of a given size."""
    from sfs_cli.compute.matrix import cut

    def read(matrix, size=5):
        parts = []
        for span in cut(matrix.n_features, size):
            out = np.full((span.size, matrix.n_samples), 77, matrix.dtype)
            matrix.read(span, out)
            parts.append(out)
        return np.concatenate(parts)

    return read


@pytest.fixture
def counts():
    """Return 37 features x 11 samples of counts with many zeros, one feature all zero."""
    rng = np.random.default_rng(3)
    values = rng.poisson(0.7, (37, 11)) * rng.integers(1, 9, (37, 11))
    values[values.sum(axis=1) == 0, 0] = 1
    values[5] = 0
    return values.astype(np.float64)
