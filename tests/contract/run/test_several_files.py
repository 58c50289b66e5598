"""The samples of several files as one matrix: what `anndata.concat` makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.store.disk import open_store
from tests.contract.io.format_cases import write_csv, write_tenx_folder, write_tenx_h5
from tests.running import Sfs

KINDS = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix, "dense": np.asarray}
SIZES = {"a": 30, "b": 24, "c": 20}
GENES = [f"g{i}" for i in range(60)]


def data_of(name: str, kind: str, *, repeat: bool = True) -> anndata.AnnData:
    """Return a file of samples; each lacks other genes, and that of b has them in another order."""
    rng, k = np.random.default_rng(ord(name)), list(SIZES).index(name)
    genes = [gene for i, gene in enumerate(GENES) if i % 15 != k]
    genes = genes[::-1] if name == "b" else genes
    n = SIZES[name]
    values = rng.poisson(np.linspace(0.2, 6, len(genes)), (n, len(genes))).astype(np.float32)
    ids = [f"{'c' if repeat else name}{i}" for i in range(n)]
    obs = pd.DataFrame({"donor": rng.choice(["d1", "d2"], n)}, ids)
    if name != "c":
        obs["age"] = rng.integers(20, 60, n)
    obs["mixed"] = rng.integers(0, 2, n) if name == "a" else rng.choice(["0", "x"], n)
    made = anndata.AnnData(KINDS[kind](values), obs, pd.DataFrame(index=genes))
    made.raw = made.copy()
    made.layers["doubled"] = made.X * 2
    return made


def written(folder: Path, kinds: tuple[str, ...], **how: bool) -> tuple[list[Path], Path]:
    """Return the files, and what `anndata.concat` makes of them."""
    parts = {name: data_of(name, kind, **how) for name, kind in zip(SIZES, kinds)}
    for name, part in parts.items():
        part.write_h5ad(folder / f"{name}.h5ad")
    joined = anndata.concat(
        parts, label="file", join="inner", index_unique="-" if how.get("repeat", True) else None
    )
    joined.obs["mixed"] = joined.obs["mixed"].astype(str)
    ages = [part.obs.get("age", pd.Series(np.nan, part.obs_names)) for part in parts.values()]
    joined.obs["age"] = np.concatenate(ages)
    joined.write_h5ad(folder / "joined.h5ad")
    return [folder / f"{name}.h5ad" for name in parts], folder / "joined.h5ad"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path]:
    """Files that are stored in three ways and share sample ids, and the joined file."""
    return written(tmp_path_factory.mktemp("mixed"), ("csr", "csc", "dense"))


def ranked(sfs: Sfs, *words: object) -> str:
    done = sfs("rank", *words)
    return done.out


@pytest.mark.parametrize(
    "words",
    [
        ("--layer", "doubled", "--method", "spec"),
        ("--batch", "obs:file", "--method", "variance"),
        ("--labels", "obs:mixed", "--adjust", "obs:age,file", "--samples", "intersect"),
        ("--labels", "obs:file", "--method", "f-test", "--transform", "cpm,log1p"),
        ("--pseudobulk", "donor", "--min-cells", "1", "--method", "variance"),
    ],
    ids=["layer", "batch", "labels", "classes", "pseudobulk"],
)
def test_the_ranking_is_that_of_the_joined_file(
    words: tuple[str, ...], sfs: Sfs, mixed: tuple[list[Path], Path]
) -> None:
    files, joined = mixed
    assert ranked(sfs, *files, *words) == ranked(sfs, joined, *words)


@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_files_of_one_kind_are_joined_as_they_are(kind: str, sfs: Sfs, tmp_path: Path) -> None:
    files, joined = written(tmp_path, (kind,) * 3)
    words = ("--method", "variance")
    assert ranked(sfs, *files, *words) == ranked(sfs, joined, *words)


def test_raw_is_joined_by_its_own_genes(
    sfs: Sfs, mixed: tuple[list[Path], Path], tmp_path: Path
) -> None:
    files, _ = mixed
    parts = {path.stem: anndata.read_h5ad(path).raw.to_adata() for path in files}
    for part in parts.values():
        del part.obs["mixed"]
    anndata.concat(parts, index_unique="-").write_h5ad(tmp_path / "raw.h5ad")
    words = ("--method", "variance")
    one = ranked(sfs, tmp_path / "raw.h5ad", *words)
    assert one == ranked(sfs, *files, "--layer", "raw.X", *words)


def test_what_is_said_and_recorded(sfs: Sfs, tmp_path: Path) -> None:
    files, _ = written(tmp_path, ("csr", "csc", "dense"))
    out = tmp_path / "out"
    words = ("rank", *files, "--batch", "file", "--method", "variance", "--out", out)
    done = sfs(*words)
    assert "48 features are in all 3 files" in done.err
    assert "8 of a, 8 of b, 8 of c" in done.err
    assert "sample ids repeat, and end in the name of their file: c0-a" in done.err
    assert "obs:age has no value for the samples of c" in done.err
    record = json.loads((out / "run.json").read_text())
    assert [each["role"] for each in record["inputs"]] == ["matrix", "files.1", "files.2"]
    assert record["config"]["files"] == ["../b.h5ad", "../c.h5ad"]
    assert "up to date" in sfs(*words).err
    sfs("rank", *files[::-1], *words[4:], code=4)  # in another order
    sfs("rank", "--config", out / "run.json", "--out", tmp_path / "again")
    assert (tmp_path / "again" / "ranking.tsv").read_bytes() == (out / "ranking.tsv").read_bytes()
    # the other files of a record are not joined with another matrix
    alone = sfs("rank", files[0], "--config", out / "run.json", "--batch", "obs:donor")
    assert "c0-a" not in alone.err
    files[0].rename(tmp_path / "z.h5ad")  # which is the name of a batch
    sfs("rank", tmp_path / "z.h5ad", *words[2:], code=4)


def test_commands_that_take_a_matrix(sfs: Sfs, tmp_path: Path) -> None:
    files, _ = written(tmp_path, ("csr", "csc", "dense"), repeat=False)
    store, plan = tmp_path / "s.store", tmp_path / "plan"
    whole = ranked(sfs, *files, "--method", "variance")
    sfs("convert", *files, store)
    assert "up to date" in sfs("convert", *files, store).err
    sfs("convert", *files[:2], store, code=4)
    ids = open_store(store).ids
    assert list(ids.samples) == [f"{name}{i}" for name, n in SIZES.items() for i in range(n)]
    assert ranked(sfs, store, "--method", "variance") == whole
    inspected = json.loads(sfs("inspect", *files, "--json").out)
    assert (inspected["samples"], inspected["features"]) == (74, 48)
    assert inspected["sample_columns"]["obs:file"] == "3 values: a, b, c"
    sfs("shard", "init", plan, *files, "--method", "variance", "--shards", "2")
    merged = tmp_path / "merged"
    sfs("shard", "merge", plan, "--out", merged)
    assert (merged / "ranking.tsv").read_text() == whole
    sfs("report", merged, "--out", tmp_path / "page.html")


@pytest.mark.parametrize("write", [write_tenx_folder, write_tenx_h5, write_csv])
def test_other_formats(write: Callable[..., Path], sfs: Sfs, tmp_path: Path) -> None:
    parts = {name: data_of(name, "dense", repeat=False) for name in SIZES}
    files = []
    for name, part in parts.items():
        del part.obs["mixed"]
        (tmp_path / name / "outs").mkdir(parents=True)
        values = sparse.coo_matrix(part.X.T) if write is not write_csv else part.X.T
        files.append(
            write(tmp_path / name / "outs", values, list(part.var_names), list(part.obs_names))
        )
    anndata.concat(parts).write_h5ad(tmp_path / "joined.h5ad")
    one, several = (
        pd.read_csv(StringIO(ranked(sfs, *words, "--method", "variance")), sep="\t")
        for words in ([tmp_path / "joined.h5ad"], files)
    )
    assert list(one.feature) == list(several.feature)
    np.testing.assert_allclose(one.score, several.score, rtol=1e-12)
    assert "3 values: a, b, c" in sfs("inspect", *files).out


@pytest.mark.parametrize("logged", ["ab", "a"])
def test_that_values_are_logarithms_is_kept(logged: str, sfs: Sfs, tmp_path: Path) -> None:
    for name in "ab":
        part = data_of(name, "csr")
        if name in logged:
            part.uns["log1p"] = {"base": None}
        part.write_h5ad(tmp_path / f"{name}.h5ad")
    done = sfs("inspect", tmp_path / "a.h5ad", tmp_path / "b.h5ad", "--json")
    assert ("log1p" in json.loads(done.out)) == (logged == "ab")
    assert ("logarithms in a, and no other" in done.err) == (logged == "a")


def test_what_is_refused(sfs: Sfs, mixed: tuple[list[Path], Path], tmp_path: Path) -> None:
    files, _ = mixed

    def refused(code: int, *words: object) -> str:
        return sfs(*words, code=code).err

    (tmp_path / "link.h5ad").symlink_to(files[0])
    assert "given twice" in refused(3, "rank", files[0], tmp_path / "link.h5ad")
    assert "no such file" in refused(3, "rank", files[0], tmp_path / "none.h5ad")
    other = data_of("b", "csr")
    other.var_names = [f"ENSG{i:05d}" for i in range(other.n_vars)]
    other.write_h5ad(tmp_path / "other.h5ad")
    told = refused(3, "rank", files[0], tmp_path / "other.h5ad")
    assert "only 0 features are in all 2 files" in told
    assert "ENSG00000" in told
    assert "ids of one kind" in told
    other = data_of("a", "csr")
    other.var_names = [f"mir{i}" for i in range(other.n_vars)]
    other.write_h5ad(tmp_path / "mirna.h5ad")
    told = refused(3, "rank", files[0], tmp_path / "mirna.h5ad")
    assert "--source mirna=profile:FILE --rank-sources all" in told
    for words in (
        ("--similarity", "obsp:connectivities"),
        ("--coordinates", "obsm:X_pca"),
        ("--write-h5ad", tmp_path / "x.h5ad", "--out", tmp_path / "o"),
        ("--collapse", "highest-mean"),
    ):
        assert "is for one file, and 3 are given" in refused(2, "rank", *files, *words)


def test_a_column_that_is_called_as_ours(sfs: Sfs, tmp_path: Path) -> None:
    for name in "ab":
        part = data_of(name, "csr")
        part.obs["file"] = "mine"
        part.write_h5ad(tmp_path / f"{name}.h5ad")
    done = sfs("inspect", tmp_path / "a.h5ad", tmp_path / "b.h5ad")
    assert "not this column of a" in done.err
    assert "2 values: a, b" in done.out
