"""Copies with scores in the hands of scanpy, and graphs of muon in ours.

SFS_SCANPY and SFS_SQUIDPY name a Python that has scanpy, and one that has muon, too.
"""

from __future__ import annotations

import io
import os
import subprocess
import warnings
from pathlib import Path

import anndata as ad
import mudata
import numpy as np
import pandas as pd
import pytest

from tests.running import run_here

N, M, TOP = 30, 40, 12
CELLS = [f"cell{i}" for i in range(N)]
GENES = [f"gene{j}" for j in range(M)]
RANK = ("rank", "--method", "variance")

pytestmark = pytest.mark.filterwarnings("ignore")
needs_scanpy = pytest.mark.skipif("SFS_SCANPY" not in os.environ, reason="SFS_SCANPY is not set")
needs_muon = pytest.mark.skipif("SFS_SQUIDPY" not in os.environ, reason="SFS_SQUIDPY is not set")


def apart(python: str, code: str, folder: Path, *words: str | Path) -> str:
    """Run a program with another Python, which sees nothing of ours."""
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code, *map(str, words)],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def counts(shift: float = 0) -> ad.AnnData:
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(1.0, 2.0, M), (N, M)).astype(np.float32) - shift
    return ad.AnnData(X, pd.DataFrame(index=CELLS), pd.DataFrame(index=GENES))


def ranked(matrix: Path | str, copy: Path, top: int, capfd: pytest.CaptureFixture[str]) -> None:
    words = [*RANK, str(matrix), "--write-h5ad", str(copy), "--top", str(top)]
    done = run_here(words, capfd)
    assert done.code == 0, done.err


PLOTS = """
import sys
import matplotlib
matplotlib.use("agg")
import anndata, numpy as np, scanpy
path, top = sys.argv[1], int(sys.argv[2])
if path.endswith("h5mu"):
    import mudata
    data = mudata.read_h5mu(path)["rna"]
else:
    data = (anndata.read_zarr if path.endswith("zarr") else anndata.read_h5ad)(path)
marked = data.var["highly_variable"].to_numpy()
assert marked.sum() == top
scanpy.pp.pca(data, n_comps=5)
loadings = data.varm["PCs"]
assert np.abs(loadings[marked]).sum(axis=1).min() > 0
assert np.abs(loadings[~marked]).max() == 0
axes = scanpy.pl.scatter(data, x="sfs_rank", y="sfs_score", show=False)
assert len(axes.collections[0].get_offsets()) == data.n_vars
"""


@needs_scanpy
@pytest.mark.parametrize("form", ["h5ad", "zarr", "h5mu"])
def test_scanpy_works_on_what_is_written(form, tmp_path, capfd):
    path, copy = tmp_path / f"a.{form}", tmp_path / f"b.{form}"
    if form == "h5mu":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mudata.MuData({"rna": counts()}).write_h5mu(path)
        ranked(f"{path}:rna", copy, TOP, capfd)
    else:
        getattr(counts(), f"write_{form}")(path)
        ranked(path, copy, TOP, capfd)
    apart(os.environ["SFS_SCANPY"], PLOTS, tmp_path, copy, str(TOP))


WHERE = """
from pathlib import Path
import scanpy
print(Path(scanpy.datasets.__file__).parent / "10x_pbmc68k_reduced.h5ad")
"""
SAME = """
import sys
import anndata, numpy as np, pandas as pd, scanpy
old, new = scanpy.datasets.pbmc68k_reduced(), anndata.read_h5ad(sys.argv[1])
np.testing.assert_array_equal(new.X, old.X)
pd.testing.assert_frame_equal(new.obs, old.obs)
rest = [name for name in old.var if name != "highly_variable"]
pd.testing.assert_frame_equal(new.var[rest], old.var[rest])
assert (new.raw.X != old.raw.X).nnz == 0
assert (new.obsp["connectivities"] != old.obsp["connectivities"]).nnz == 0
"""


@needs_scanpy
def test_scanpy_works_on_its_own_data_with_our_genes(tmp_path, capfd):
    """Its file is as AnnData 0.6 wrote it: tables are arrays of records, the graph is in `uns`."""
    path, copy = apart(os.environ["SFS_SCANPY"], WHERE, tmp_path), tmp_path / "b.h5ad"
    before = Path(path).read_bytes()
    ranked(path, copy, 100, capfd)
    assert Path(path).read_bytes() == before
    apart(os.environ["SFS_SCANPY"], SAME, tmp_path, copy)
    apart(os.environ["SFS_SCANPY"], PLOTS, tmp_path, copy, "100")
    for options in (
        "--method variance",
        "--method f-test --labels obs:bulk_labels",
        "--method variance --adjust obs:percent_mito",
        "--method laplacian --similarity obsp:connectivities",
        "--method laplacian --similarity obsm:X_pca",
    ):
        old, new = (run_here(["rank", str(p), *options.split()], capfd) for p in (path, copy))
        assert old.code == new.code == 0, old.err + new.err
        assert old.out == new.out, options


WEIGHTED_NEIGHBORS = """
import sys, muon, scanpy
both = muon.read_h5mu(sys.argv[1])
for part in both.mod.values():
    scanpy.pp.pca(part, n_comps=5)
    scanpy.pp.neighbors(part, n_neighbors=6)
muon.pp.neighbors(both, n_neighbors=6, n_multineighbors=12)
both.write(sys.argv[2])
"""


@needs_muon
def test_the_weighted_neighbors_of_muon_are_a_graph(tmp_path, capfd):
    cells, m = [f"cell{i}" for i in range(60)], 15
    files = [tmp_path / name for name in ("in.h5mu", "out.h5mu")]
    rng = np.random.default_rng(0)
    parts = {}
    for name in ("rna", "prot"):
        X = rng.normal(size=(60, m)) + np.outer(np.arange(60) % 3, rng.normal(size=m))
        genes = pd.DataFrame(index=[f"{name}{j}" for j in range(m)])
        parts[name] = ad.AnnData(X.astype(np.float32), pd.DataFrame(index=cells), genes)
    mudata.MuData(parts).write_h5mu(files[0])
    apart(os.environ["SFS_SQUIDPY"], WEIGHTED_NEIGHBORS, tmp_path, *files)
    graph = mudata.read_h5mu(files[1]).obsp["connectivities"].toarray()
    given = tmp_path / "graph.tsv"
    pd.DataFrame(graph, cells, cells).to_csv(given, sep="\t", index_label="sample")
    words = ["rank", f"{files[1]}:rna", "--method", "laplacian"]
    tables = []
    for more in (["--similarity", "obsp:connectivities"], ["--similarity", f"file:{given}"]):
        done = run_here([*words, *more], capfd)
        assert done.code == 0, done.err
        tables.append(pd.read_csv(io.StringIO(done.out), sep="\t", index_col="feature"))
    of_graph, of_table = tables
    assert sorted(of_graph.index) == sorted(parts["rna"].var_names)
    assert of_graph.index.tolist() == of_table.index.tolist()
    np.testing.assert_allclose(of_graph["score"], of_table["score"], rtol=1e-8)
