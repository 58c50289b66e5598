"""`--spatial`: what it stands for, several slides, and null rates."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import combine_pvalues, kstest

from sfs_cli.api import rank as rank_in_python
from sfs_cli.features import scales
from sfs_cli.features.scales.step import mixed
from sfs_cli.ranking.combine import fisher
from tests.contract.numbers.commands import facts, rank_to, ranking_bytes, sfs
from tests.making import annotated
from tests.running import run_here

SIDE, M = 14, 40
STANDS = (
    *("--coordinates", "obsm:spatial", "--pvalues", "moments", "--min-samples", "10"),
    *("--transform", "pearson-residuals", "--scales", "1.5,3,6,linear"),
)


def tissue(seed: int, side: int = SIDE, m: int = M, *, depth: float = 0.5) -> ad.AnnData:
    """Counts whose depth follows the tissue; the first 8 features do so by more."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    places = grid / side
    log_mean = depth * np.sin(5 * places[:, :1]) + np.zeros(m)
    log_mean[:, :8] += 1.5 * places[:, 1:]
    made = annotated(rng.poisson(np.exp(log_mean + rng.normal(size=m))).astype(np.float32))
    made.X = sparse.csr_matrix(made.X)
    made.obsm["spatial"] = 90.0 * grid
    return made


def save(path: Path, made: ad.AnnData) -> Path:
    made.write_h5ad(path)
    return path


def slides() -> ad.AnnData:
    """Two slides that lie on each other, the second with other means and other depths."""
    other = tissue(2, depth=-1)
    other.X = other.X.multiply(np.arange(M) != 20).tocsr()
    both = ad.concat({"A1": tissue(1), "B1": other}, label="library_id", index_unique="-")
    both.obs_names = [f"s{i:03}" for i in range(both.n_obs)]
    return both


def table(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "ranking.tsv", sep="\t").set_index("feature").sort_index()


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("one") / "one.h5ad", tissue(1))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("two") / "two.h5ad", slides())


def test_it_stands_for_these_options_and_says_so(one, tmp_path, capfd):
    out = tmp_path / "out"
    done = run_here(["rank", str(one), "--spatial", "--out", str(out)], capfd)
    assert done.code == 0, done.err
    (told,) = [line for line in done.err.splitlines() if line.startswith("--spatial: ")]
    words = told.removeprefix("--spatial: ").split()
    assert sorted(words) == sorted(STANDS)
    assert (out / "ranking.tsv").read_bytes() == ranking_bytes(tmp_path / "2", one, *words)
    assert facts(out)["config"]["spatial"] is True
    assert facts(out)["input"]["transform"] == ["pearson-residuals"]


def test_a_config_repeats_it(two, tmp_path):
    first = ranking_bytes(tmp_path / "1", two, "--spatial")
    sfs("rank", "--config", tmp_path / "1" / "run.json", "--out", tmp_path / "2")
    assert (tmp_path / "2" / "ranking.tsv").read_bytes() == first


def test_options_that_are_given_go_before_it(one, tmp_path):
    given = ("--min-samples", "3", "--transform", "log1p", "--scales", "2,linear")
    out = rank_to(tmp_path / "out", one, "--spatial", "--pvalues", "permutation:50", *given)
    found = facts(out)
    assert found["input"]["transform"] == ["log1p"]
    assert found["scales"]["widths"] == ["2", "linear"]
    assert found["method"]["pvalues"] == "permutation"
    assert found["config"]["min-samples"] == 3


def test_raw_counts_stay_as_they_are_where_they_are_accepted(one, tmp_path):
    out = rank_to(tmp_path / "out", one, "--spatial", "--accept", "raw-values,depth")
    assert facts(out)["input"]["transform"] == []


def test_values_that_are_no_counts_are_told(tmp_path, capfd):
    made = tissue(1)
    made.layers["counts"] = made.X.copy()
    made.X = made.X.log1p()
    path = save(tmp_path / "log.h5ad", made)
    done = run_here(["rank", str(path), "--spatial", "--out", str(tmp_path / "o")], capfd)
    assert "the values are no counts" in done.err
    assert facts(tmp_path / "o")["input"]["transform"] == []
    counted = ["--layer", "counts", "--out", str(tmp_path / "c")]
    done = run_here(["rank", str(path), "--spatial", *counted], capfd)
    assert "no counts" not in done.err
    assert facts(tmp_path / "c")["input"]["transform"] == ["pearson-residuals"]


def test_many_spots_leave_out_the_widest_scale(one, tmp_path, monkeypatch):
    monkeypatch.setattr(scales, "MANY", SIDE**2 - 1)
    out = rank_to(tmp_path / "out", one, "--spatial")
    assert facts(out)["scales"]["widths"] == ["1.5", "3", "linear"]


def test_many_spots_on_several_slides_keep_it(two, tmp_path, monkeypatch):
    monkeypatch.setattr(scales, "MANY", SIDE**2)
    out = rank_to(tmp_path / "out", two, "--spatial")
    assert facts(out)["scales"]["widths"] == ["1.5", "3", "6", "linear"]


def test_counts_of_hardly_any_molecules_are_counts(one, tmp_path, capfd):
    made = ad.read_h5ad(one)
    made.X.data = np.minimum(made.X.data, 2)
    path = save(tmp_path / "few.h5ad", made)
    out = rank_to(tmp_path / "o", path, "--spatial")
    assert facts(out)["input"]["transform"] == ["pearson-residuals"]


def test_p_values_of_slides_are_those_of_each_alone_combined(two, tmp_path):
    out = rank_to(tmp_path / "both", two, "--spatial")
    found, alone = table(out), []
    whole = ad.read_h5ad(two)
    for name in ("A1", "B1"):
        path = save(tmp_path / f"{name}.h5ad", whole[whole.obs.library_id == name].copy())
        alone.append(table(rank_to(tmp_path / name, path, "--spatial")))
    scored = found.index[found["p_value"].notna()]
    assert len(scored) == M
    assert any(each["p_value"].isna().any() for each in alone)  # rare on one of them
    for feature in scored:
        p = [each.loc[feature, "p_value"] for each in alone]
        expected = combine_pvalues([each for each in p if not np.isnan(each)]).pvalue
        assert found.loc[feature, "p_value"] == pytest.approx(expected, rel=1e-6)
        largest = np.nanmax([each.loc[feature, "effect"] for each in alone])
        assert found.loc[feature, "effect"] == pytest.approx(largest, rel=1e-6)
    np.testing.assert_allclose(found["score"], -np.log10(found["p_value"]), rtol=1e-6)
    batches = facts(out)["batches"]
    assert batches["how"] == "fisher"
    assert [each["samples"] for each in batches["ranked"]] == [SIDE**2, SIDE**2]
    assert "Fisher" in (out / "report.html").read_text()


def test_slides_that_differ_in_means_alone_have_no_pattern(tmp_path):
    """Taken for one tissue, side by side, nearly all features would have one."""
    rng = np.random.default_rng(3)
    parts = {name: tissue(seed, m=150) for seed, name in enumerate("ab")}
    for each in parts.values():
        shift = rng.normal(size=150)
        depth = np.exp(0.5 * np.sin(5 * each.obsm["spatial"][:, :1] / 90 / SIDE))
        each.X = sparse.csr_matrix(rng.poisson(np.exp(shift) * depth).astype(np.float32))
    parts["b"].obsm["spatial"] = parts["b"].obsm["spatial"] + [90 * (SIDE + 5), 0]
    both = ad.concat(parts, label="slide", index_unique="-")
    both.obs_names = [f"s{i:03}" for i in range(both.n_obs)]
    out = rank_to(tmp_path / "o", save(tmp_path / "two.h5ad", both), "--spatial")
    p = table(out)["p_value"].dropna()
    assert (p <= 0.05).mean() < 0.12
    joined = ("--coordinates", "obsm:spatial", "--pvalues", "moments")
    given = (*joined, "--transform", "pearson-residuals")
    wrong = table(rank_to(tmp_path / "w", tmp_path / "two.h5ad", *given))["p_value"]
    assert (wrong <= 0.05).mean() > 0.2


def test_threads_and_shards_give_the_same_bytes(two, tmp_path):
    given = ("--spatial", "--block-size", "7")
    whole = ranking_bytes(tmp_path / "1", two, *given, "--threads", "1")
    assert ranking_bytes(tmp_path / "2", two, *given, "--threads", "3") == whole
    plan = tmp_path / "plan"
    sfs("shard", "init", plan, two, *given, "--shards", "2")
    sfs("shard", "merge", plan, "--finish", "--out", tmp_path / "merged")
    assert (tmp_path / "merged" / "ranking.tsv").read_bytes() == whole


def test_python_takes_an_anndata(one, tmp_path):
    found = rank_in_python(ad.read_h5ad(one), spatial=True)
    expected = table(rank_to(tmp_path / "out", one, "--spatial"))
    own = found.table.set_index("feature") if "feature" in found.table else found.table
    np.testing.assert_allclose(own["p_value"].sort_index(), expected["p_value"], rtol=1e-6)
    both = rank_in_python(slides(), spatial=True)
    assert both.facts["batches"]["how"] == "fisher"


@pytest.mark.parametrize("column", ["fov"])
def test_slides_under_another_name_are_told(column, two, tmp_path, capfd):
    made = ad.read_h5ad(two)
    made.obs[column] = made.obs.pop("library_id")
    path, out = save(tmp_path / "fov.h5ad", made), str(tmp_path / "o")
    done = run_here(["rank", str(path), "--spatial", "--out", out], capfd)
    assert f"give --batch obs:{column}" in done.err
    named = ["--batch", f"obs:{column}", "--out", str(tmp_path / "b")]
    done = run_here(["rank", str(path), "--spatial", *named], capfd)
    assert done.code == 0
    assert "lie between each other" not in done.err
    assert ranking_bytes(tmp_path / "x", two, "--spatial") == (
        (tmp_path / "b" / "ranking.tsv").read_bytes()
    )


def test_parts_of_one_slide_are_no_slides():
    made = tissue(1)
    places = np.asarray(made.obsm["spatial"])
    halves = np.where(places[:, 0] < places[:, 0].mean(), "l", "r")
    assert not mixed(places, halves)
    assert mixed(np.tile(places, (2, 1)), np.repeat(["a", "b"], len(places)))
    rng = np.random.default_rng(1)
    assert mixed(rng.uniform(size=(300, 2)), rng.integers(0, 3, 300).astype(str))


def test_what_it_cannot_do_is_refused(one, two, tmp_path, capfd):
    def refused(path: Path, *words: str) -> str:
        done = run_here(["rank", str(path), *words, "--out", str(tmp_path / "o")], capfd)
        assert done.code in (2, 3)
        assert not (tmp_path / "o").exists()
        return done.err

    assert "--spatial goes with no other method" in refused(one, "--spatial", "--method", "spec")
    assert "--spatial goes with no other method" in refused(one, "--spatial", "--neighbors", "6")
    told = refused(one, "--spatial", "--stability", "10")
    assert "--stability does not go with tests on several --scales" in told
    remedy = ("--coordinates", "obsm:spatial", "--pvalues", "moments", "--neighbors", "10")
    assert " ".join(remedy) in told
    counts = ("--stability", "10", "--accept", "raw-values,ties,graph")
    rank_to(tmp_path / "remedy", one, *remedy, *counts)
    assert "or kind of --pvalues" in refused(one, "--spatial", "--similarity", "knn")
    assert "--spatial stands for --coordinates" in refused(
        one, "--spatial", "--method", "f-test", "--labels", "obs:x"
    )
    assert "--spatial stands for --batch" in refused(two, "--spatial", "--also", "variance")
    assert "--source" in refused(one, "--spatial", "--source", "p=profile:obsm:spatial")
    assert "--how has no effect with --pvalues" in refused(
        two, "--spatial", "--how", "median", "--batch", "obs:library_id"
    )
    made = ad.read_h5ad(one)
    made.obsm["X_spatial"] = made.obsm.pop("spatial")
    path = save(tmp_path / "other.h5ad", made)
    assert "it has X_spatial" in refused(path, "--spatial")
    sfs("rank", path, "--spatial", "--coordinates", "obsm:X_spatial", "--out", tmp_path / "x")
    made.to_df().to_csv(tmp_path / "m.csv")
    assert "--coordinates FILE" in refused(tmp_path / "m.csv", "--spatial")


def test_fisher_is_that_of_scipy():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=(3, 50)) ** 4
    p[0, :5] = np.nan
    p[:, 5] = np.nan
    p[:, 6] = 1
    p[1, 7] = 0
    found = fisher(p)
    assert np.isnan(found[5])
    assert found[6] == 1
    assert 0 < found[7] < 1e-290
    for column in (*range(5), *range(8, 50)):
        expected = combine_pvalues(p[~np.isnan(p[:, column]), column]).pvalue
        assert found[column] == pytest.approx(expected, rel=1e-10)


@pytest.mark.nightly
def test_p_values_are_uniform_where_depth_follows_the_tissue(tmp_path):
    """Of negative binomial and Poisson counts; of logarithms nearly all would be below .05."""
    side, m = 30, 6000
    rng = np.random.default_rng(5)
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    depth = np.exp(0.5 * np.sin(6 * grid[:, :1] / side) + 0.3 * np.cos(9 * grid[:, 1:] / side))
    mean = depth * np.exp(rng.normal(-0.5, 1, size=m))
    mean[:, ::2] = rng.gamma(1 / 0.7, 0.7 * mean[:, ::2])
    made = annotated(rng.poisson(mean).astype(np.float32), obsm={"spatial": grid * 1.0})
    path = save(tmp_path / "null.h5ad", made)
    out = rank_to(tmp_path / "o", path, "--spatial", "--scale-pvalues")
    found = table(out).dropna(subset=["p_value"])
    for name in ("1.5", "3", "6", "linear"):
        p = found[f"p_value_{name}"]
        assert kstest(p, "uniform").statistic < 0.03
    p = found["p_value"]
    assert 0.04 < (p <= 0.05).mean() < 0.065
    assert (p <= 0.001).mean() < 0.003


@pytest.mark.nightly
@pytest.mark.skipif("SFS_SQUIDPY" not in os.environ, reason="SFS_SQUIDPY: a Python with squidpy")
def test_a_file_that_squidpy_wrote(tmp_path):
    made = tissue(1, side=25)
    made.obs["array_row"], made.obs["array_col"] = made.obsm["spatial"].astype(int).T
    save(tmp_path / "in.h5ad", made)
    code = (
        "import sys, anndata, squidpy\n"
        "a = anndata.read_h5ad(sys.argv[1])\n"
        "squidpy.gr.spatial_neighbors(a)\n"
        "squidpy.gr.spatial_autocorr(a, mode='moran', show_progress_bar=False)\n"
        "a.write_h5ad(sys.argv[2])\n"
    )
    files = [str(tmp_path / "in.h5ad"), str(tmp_path / "out.h5ad")]
    subprocess.run([os.environ["SFS_SQUIDPY"], "-c", code, *files], check=True)
    out = rank_to(tmp_path / "o", tmp_path / "out.h5ad", "--spatial")
    first = set(table(out).sort_values("rank").index[:8])
    assert len(first & {str(name) for name in made.var_names[:8]}) >= 6
