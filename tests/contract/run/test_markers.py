"""``--markers``: tests of each class against the rest, equal to their twins."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import rankdata

import sfs_cli as sfs
from sfs_cli.cli.app import run as main
from sfs_cli.errors import InputError, UsageError
from sfs_cli.logs import Messages
from sfs_cli.methods.markers import rank_sums
from sfs_cli.options import RankConfig
from sfs_cli.workflow.rank import run
from tests.oracles import markers as twin

N, M = 80, 40


@pytest.fixture
def cells() -> ad.AnnData:
    """Sparse logarithms of counts, of three classes and four donors; two features are constant."""
    rng = np.random.default_rng(4)
    kind, donor = rng.integers(0, 3, N), rng.integers(0, 4, N)
    means = rng.gamma(0.5, 2, (3, M))[kind] * rng.gamma(5, 0.2, (4, M))[donor]
    X = rng.poisson(means).astype(np.float64)
    X[:, 0], X[:, 1] = 0, 3
    X[:, 2] = 2.0 * (kind == 0)  # without noise
    obs = pd.DataFrame(
        {"kind": [f"k{k}" for k in kind], "donor": [f"d{d}" for d in donor], "age": rng.random(N)},
        index=[f"c{i}" for i in range(N)],
    )
    var = pd.DataFrame(index=[f"g{j}" for j in range(M)])
    adata = ad.AnnData(sparse.csr_matrix(np.log1p(X)), obs, var)
    adata.uns["log1p"] = {}
    return adata


def ranked(adata: ad.AnnData, test: str, **options: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sfs.SfsWarning)
        result = sfs.rank(
            adata,
            labels="kind",
            markers=test,
            method="variance",
            dtype="float64",
            **options,
        )
    return result.markers.set_index(["class", "feature"])


@pytest.mark.parametrize(
    ("test", "given", "dense"),
    [
        ("welch", {}, False),
        ("welch", {}, True),
        ("t", {}, False),
        ("t", {"block": "donor", "adjust": "age"}, True),
        ("wilcoxon", {}, False),
        ("wilcoxon", {"block": "donor"}, True),
    ],
)
def test_tests_equal_the_twins(cells, test, given, dense):
    X, kind = cells.X.toarray(), cells.obs.kind.to_numpy()
    if dense:
        cells.X = X
    found = ranked(cells, test, **given)
    blocks = cells.obs.donor.to_numpy() if given else np.zeros(N)
    columns = [pd.get_dummies(cells.obs[[*given.values()]], dtype=float)] if given else []
    for name in np.unique(kind):
        inside = kind == name
        for j in range(3, M):
            f, row = X[:, j], found.loc[name, f"g{j}"]
            if test == "t":
                covariates = np.column_stack([np.zeros((N, 0)), *columns])
                expected = twin.linear_model(f, inside, covariates)
            elif test == "welch":
                expected = twin.welch(f, inside)
            else:
                expected = twin.wilcoxon(f, inside, blocks)
            np.testing.assert_allclose(row.statistic, expected[0], rtol=1e-8)
            if test == "wilcoxon" and not given and np.mean(f == 0) >= 0.25:
                assert row.p_value >= expected[1] * (1 - 1e-8)  # the test below is about these
            else:
                np.testing.assert_allclose(row.p_value, expected[1], rtol=1e-8)
            parts = [(f[y].mean(), (f[y] != 0).mean()) for y in (inside, ~inside)]
            shown = row[["mean", "share", "mean_rest", "share_rest"]]
            np.testing.assert_allclose(shown, np.ravel(parts), rtol=1e-10)
            change = twin.fold_change(f, inside)
            np.testing.assert_allclose(row.log2_fold_change, change, rtol=1e-8)


@pytest.mark.parametrize("density", [0, 0.2, 1])
def test_ranks_of_stored_values_are_those_of_all(density):
    rng = np.random.default_rng(2)
    X = sparse.random_array((9, 50), density=density, format="csr", rng=rng)
    X.data = np.floor(6 * X.data) - 2  # below zero, zeros that are stored, and ties
    codes = rng.integers(0, 3, 50)
    members = sparse.csr_array(np.eye(3)[codes])
    sums, powers, common = rank_sums(X, members)
    dense = X.toarray()
    ranks = 2 * rankdata(dense, axis=1)
    np.testing.assert_array_equal(sums, ranks @ members.toarray())
    expected = [((ranks - 51) ** p).sum(axis=1) for p in (2, 3, 4, 5, 6, 8)]
    np.testing.assert_allclose(powers, expected, rtol=1e-12, atol=1e-3)
    counts = [np.unique(row, return_counts=True)[1].max() for row in dense]
    np.testing.assert_array_equal(common, counts)


def test_features_that_do_not_vary_are_no_markers_and_those_without_noise_are_the_first(cells):
    found = ranked(cells, "welch")
    for name in ("k0", "k1", "k2"):
        still = found.loc[name].loc[["g0", "g1"]]
        assert (still.statistic == 0).all()
        assert (still.p_value == 1).all()
    first = found.loc["k0"].iloc[0]
    assert (first.name, first.statistic, first["rank"]) == ("g2", np.inf, 1)
    assert 0 < first.p_value < 1e-15


def test_ranks_and_q_values_are_those_of_each_class(cells):
    from scipy.stats import false_discovery_control

    for _, of in ranked(cells, "wilcoxon").groupby("class"):
        assert of["rank"].tolist() == [*range(1, M + 1)]
        assert (np.diff(of.statistic) <= 0).all()
        np.testing.assert_allclose(of.q_value, false_discovery_control(of.p_value), rtol=1e-12)


def test_anndata_gets_what_scanpy_reads(cells):
    found = ranked(cells, "welch").reset_index()
    of = cells.uns["rank_genes_groups"]
    assert of["params"]["groupby"] == "kind"
    assert of["params"]["method"] == "t-test"
    for name in ("k0", "k1", "k2"):
        rows = found[found["class"] == name]
        assert of["names"][name].tolist() == rows.feature.tolist()
        np.testing.assert_array_equal(of["pvals"][name], rows.p_value)
        np.testing.assert_array_equal(of["scores"][name], rows.statistic.astype("f4"))
        shares = of["pts"].loc[rows.feature, name]
        np.testing.assert_array_equal(shares, rows.share)


def written(folder: Path, **options: Any) -> bytes:
    options = {"method": "variance", "labels": "obs:kind", "markers": "wilcoxon"} | options
    run(RankConfig(str(folder / "x.h5ad"), out=str(folder / "out"), **options), Messages(-1))
    return (folder / "out" / "markers.tsv").read_bytes()


def test_top_cuts_each_class_in_the_file_and_in_the_copy(cells, tmp_path):
    cells.write_h5ad(tmp_path / "x.h5ad")
    lines = written(tmp_path).decode().splitlines()
    assert len(lines) == 1 + 3 * M
    copy = tmp_path / "copy.h5ad"
    few = written(tmp_path, top=2, force=True, write_h5ad=str(copy)).decode().splitlines()
    assert few == [line for line in lines if line.split("\t")[2] in ("rank", "1", "2")]
    of = ad.read_h5ad(copy).uns["rank_genes_groups"]
    assert len(of["names"]) == 2
    assert len(of["pts"]) == M


def fold_changes(matrix: str, out: Path, log: Messages) -> pd.Series:
    options = {"method": "variance", "labels": "obs:kind", "markers": "welch"}
    run(RankConfig(matrix, out=str(out), **options), log)
    table = pd.read_csv(out / "markers.tsv", sep="\t", index_col=["class", "feature"])
    return table.log2_fold_change


def test_a_store_and_a_part_know_of_logarithms_as_the_file_does(cells, tmp_path):
    file, store, part = (str(tmp_path / name) for name in ("x.h5ad", "x.store", "part.store"))
    cells.write_h5ad(file)
    assert main(["convert", file, store, "-q"]) == 0
    of_file, of_store = (
        fold_changes(matrix, tmp_path / f"of-{Path(matrix).name}", Messages(-1))
        for matrix in (file, store)
    )
    assert of_file.notna().any()
    pd.testing.assert_series_equal(of_store, of_file)
    chosen = ["--top", "20", "--out", str(tmp_path / "selected"), "--write-matrix", part]
    assert main(["select", str(tmp_path / "of-x.store"), "--matrix", store, *chosen, "-q"]) == 0
    of_part = fold_changes(part, tmp_path / "of-part", Messages(-1))
    assert 0 < len(of_part) < len(of_file)
    pd.testing.assert_series_equal(of_part, of_file[of_part.index])


def test_raw_of_scaled_values_has_the_fold_changes_of_its_logarithms(cells, tmp_path):
    cells.write_h5ad(tmp_path / "x.h5ad")
    expected = fold_changes(str(tmp_path / "x.h5ad"), tmp_path / "of-x", Messages(-1))
    cells.raw = cells.copy()
    cells.X = cells.X.toarray() - cells.X.toarray().mean(axis=0)
    cells.write_h5ad(tmp_path / "scaled.h5ad")
    config = RankConfig(
        str(tmp_path / "scaled.h5ad"),
        "variance",
        labels="obs:kind",
        markers="t",
        layer="raw.X",
        out=str(tmp_path / "of-raw"),
    )
    run(config, Messages(-1))
    found = pd.read_csv(tmp_path / "of-raw" / "markers.tsv", sep="\t")
    found = found.set_index(["class", "feature"]).log2_fold_change
    assert expected.notna().all()
    pd.testing.assert_series_equal(found[expected.index], expected)
    assert ranked(cells, "t", layer="raw.X").log2_fold_change.notna().all()
    assert ranked(cells, "t").log2_fold_change.isna().all()


def test_a_warning_tells_of_cells_of_one_donor(cells, tmp_path):
    cells.write_h5ad(tmp_path / "x.h5ad")
    log = Messages(-1)
    options = {"method": "variance", "labels": "obs:kind", "markers": "welch"}
    run(
        RankConfig(
            str(tmp_path / "x.h5ad"), **options, donors="obs:donor", out=str(tmp_path / "o")
        ),
        log,
    )
    assert any("--pseudobulk" in text for text in log.warnings)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"markers": "t-test"}, UsageError, "welch"),
        ({"markers": "welch", "block": "obs:donor"}, UsageError, "no place for --block"),
        ({"markers": "t", "block": "obs:kind"}, InputError, "explain"),
        ({"markers": "t", "labels": "obs:age", "label_type": "continuous"}, UsageError, "classes"),
    ],
)
def test_what_cannot_be_is_refused(cells, tmp_path, options, error, message):
    cells.write_h5ad(tmp_path / "x.h5ad")
    options = {"labels": "obs:kind", "method": "variance", "out": str(tmp_path / "out")} | options
    with pytest.raises(error) as e:
        run(RankConfig(str(tmp_path / "x.h5ad"), **options), Messages(-1))
    assert message in f"{e.value.what} {e.value.hint}"
    assert not (tmp_path / "out").exists()
