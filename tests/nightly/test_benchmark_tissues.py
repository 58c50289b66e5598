"""The benchmark of tests in tissues, on a real tissue."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

from tools.benchmarks import spatial


def test_null_genes_stand_beside_those_of_a_tissue(tmp_path):
    rng = np.random.default_rng(0)
    depth = np.repeat([0.02, 1, 8], [2, 49, 49])[:, None]  # two spots are left out
    tissue = ad.AnnData(rng.poisson(np.full((100, 40), 5.0) * depth).astype(np.float32))
    tissue.obsm["spatial"] = np.arange(200.0).reshape(100, 2)
    path = tmp_path / "tissue.h5ad"
    tissue.write_h5ad(path)
    made = spatial.beside_null(path, 30, seed=0)
    assert list(made.pattern) == ["real"] * 30 + ["null"] * 30
    assert np.array_equal(made.coordinates, tissue.obsm["spatial"][2:])
    shallow, deep = made.counts[30:, :49].sum(), made.counts[30:, 49:].sum()
    assert deep / shallow == pytest.approx(8, rel=0.1)
    tissue.X = np.log1p(tissue.X)
    tissue.write_h5ad(path)
    with pytest.raises(SystemExit, match="needs counts"):
        spatial.beside_null(path, 30, seed=0)
