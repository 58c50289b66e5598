"""Files that earlier versions of AnnData wrote give the rankings of files of the present one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anndata as ad
import numpy as np
import pytest

from tests.running import run_here

VERSIONS = ("0.7.8", "0.8.0", "0.10.9")
UNREADABLE = ("0.7.8",)
"""What is added to a copy has the present encodings, which AnnData reads from 0.8 on."""
KINDS = ("dense.h5ad", "csr.h5ad", "csc.h5ad", "dense.zarr")
WRITE = """
import sys
import anndata as ad, numpy as np, pandas as pd
from scipy import sparse

rng = np.random.default_rng(0)
n, m = 24, 30
X = np.where(rng.random((n, m)) < 0.4, 0, rng.normal(4, 1, (n, m)).round(3)).astype("f4")
cells, genes = [f"cell{i}" for i in range(n)], [f"gene{j}" for j in range(m)]
obs = pd.DataFrame(
    {
        "type": pd.Categorical(["B", "T", "NK"] * 8),
        "batch": ["x", "y"] * 12,
        "age": rng.normal(50, 9, n).round(1),
    },
    index=cells,
)
graph = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 40)
for name, convert in (("dense", np.array), ("csr", sparse.csr_matrix), ("csc", sparse.csc_matrix)):
    data = ad.AnnData(convert(X), obs=obs, var=pd.DataFrame({"length": np.arange(m)}, index=genes))
    data.raw = ad.AnnData(convert(3 * X), obs=obs, var=pd.DataFrame(index=genes))
    data.layers["double"] = convert(2 * X)
    data.obsm["X_pca"] = X[:, :3].astype(float)
    data.obsp["connectivities"] = sparse.csr_matrix(graph)
    data.uns["note"] = {"of": "a study"}
    data.write(f"{name}.h5ad")
    if name == "dense":
        data.write_zarr("dense.zarr")
print(ad.__version__)
"""
READ = """
import sys
import anndata as ad, numpy as np

for name in sys.argv[1:]:
    data = ad.read_h5ad(name)
    assert sorted(data.var["sfs_rank"]) == list(range(1, data.n_vars + 1))
    assert np.isfinite(data.var["sfs_score"]).all()
    assert set(data.var["sfs_status"]) == {"ok"}
    assert "note" in data.uns and "sfs" in data.uns
"""
COMMANDS = (
    "--method variance",
    "--method variance --layer double",
    "--method variance --layer raw.X",
    "--method f-test --labels obs:type",
    "--method f-test --labels obs:batch",
    "--method variance --adjust obs:age",
    "--method laplacian --similarity obsp:connectivities",
    "--method laplacian --similarity obsm:X_pca,neighbors=5",
    "",
)


@pytest.fixture(scope="module")
def environments() -> Path:
    """Return a folder with a Python for old libraries, and a folder for each version of AnnData."""
    found = os.environ.get("SFS_ANNDATA")
    if not found:
        pytest.skip("earlier versions of anndata are not there (SFS_ANNDATA says where they are)")
    return Path(found)


def with_version(environments: Path, version: str, code: str, folder: Path, *words: str) -> str:
    done = subprocess.run(
        [str(environments / "base/bin/python"), "-W", "ignore", "-c", code, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(environments / version)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def present(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files of the version that is installed."""
    folder, before = tmp_path_factory.mktemp("present"), Path.cwd()
    os.chdir(folder)
    try:
        exec(WRITE, {})
    finally:
        os.chdir(before)
    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("version", VERSIONS)
def test_earlier_versions(version, environments, present, tmp_path, capfd):
    assert with_version(environments, version, WRITE, tmp_path) == version
    for kind in KINDS:
        for options in COMMANDS:
            if kind.endswith("zarr") and "raw" in options:
                continue
            found = run_here(["rank", str(tmp_path / kind), "-q", *options.split()], capfd)
            expected = run_here(["rank", str(present / kind), "-q", *options.split()], capfd)
            assert found.code == 0, f"{kind} {options}: {found.err}"
            assert found.out == expected.out, f"{kind} {options}"
    copies = []
    for kind in KINDS[:3]:
        copies.append(str(tmp_path / f"copy-{kind}"))
        words = ["--method", "variance", "--out", str(tmp_path / f"out-{kind}"), "--top", "5"]
        done = run_here(["rank", str(tmp_path / kind), *words, "--write-h5ad", copies[-1]], capfd)
        assert done.code == 0, done.err
        new, old = ad.read_h5ad(copies[-1]), ad.read_h5ad(tmp_path / kind)
        assert new.var["highly_variable"].sum() == 5
        assert (new.X != old.X).sum() == 0
        assert new.obs.equals(old.obs)
        np.testing.assert_array_equal(new.obsm["X_pca"], old.obsm["X_pca"])
    if version not in UNREADABLE:
        with_version(environments, version, READ, tmp_path, *copies)
