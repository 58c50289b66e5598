"""`--spatial`: what it stands for, and several slides."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import combine_pvalues
from sklearn.neighbors import kneighbors_graph

from sfs_cli.api import rank as rank_in_python
from sfs_cli.parts.scales import mixed
from sfs_cli.ranking.combine import fisher
from sfs_cli.run import needs as scales
from tests.contract.numbers.commands import facts, rank_to
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


@pytest.fixture(scope="module")
def of_one(one, tmp_path_factory) -> Path:
    return rank_to(tmp_path_factory.mktemp("ranked") / "one", one, "--spatial")


@pytest.fixture(scope="module")
def of_two(two, tmp_path_factory) -> Path:
    return rank_to(tmp_path_factory.mktemp("ranked") / "two", two, "--spatial")


def test_it_stands_for_these_options_and_says_so(one, of_one, capfd):
    done = run_here(["rank", str(one), "--spatial"], capfd)
    assert done.code == 0, done.err
    (told,) = [line for line in done.err.splitlines() if line.startswith("--spatial: ")]
    words = told.removeprefix("--spatial: ").split()
    assert sorted(words) == sorted(STANDS)
    assert run_here(["rank", str(one), *words], capfd).out == done.out
    assert facts(of_one)["config"]["spatial"] is True
    assert facts(of_one)["input"]["transform"] == ["pearson-residuals"]
    assert (of_one / "ranking.tsv").read_text() == done.out


def test_a_config_repeats_it(of_two, capfd):
    done = run_here(["rank", "--config", str(of_two / "run.json")], capfd)
    assert done.out == (of_two / "ranking.tsv").read_text()


def test_options_that_are_given_go_before_it(one, tmp_path):
    given = ("--min-samples", "3", "--transform", "log1p", "--scales", "2,linear")
    out = rank_to(tmp_path / "out", one, "--spatial", "--pvalues", "permutation,draws=50", *given)
    found = facts(out)
    assert found["input"]["transform"] == ["log1p"]
    assert found["scales"]["widths"] == ["2", "linear"]
    assert found["method"]["pvalues"] == "permutation"
    assert found["config"]["min-samples"] == 3


def test_values_that_are_no_counts_are_told(tmp_path, capfd):
    made = tissue(1)
    made.layers["counts"] = made.X.copy()
    made.X = made.X.log1p()
    path = save(tmp_path / "log.h5ad", made)
    done = run_here(["rank", str(path), "--spatial"], capfd)
    assert "the values are no counts" in done.err
    assert "--transform pearson-residuals" not in done.err
    done = run_here(["rank", str(path), "--spatial", "--layer", "counts"], capfd)
    assert "no counts" not in done.err
    assert "--transform pearson-residuals" in done.err


def test_many_spots_of_a_slide_leave_out_the_widest_scale(one, two, tmp_path, monkeypatch):
    for path, most, widths in (
        (one, SIDE**2 - 1, "1.5,3,linear"),
        (two, SIDE**2, "1.5,3,6,linear"),
    ):
        monkeypatch.setattr(scales, "MANY", most)
        out = rank_to(tmp_path / path.stem, path, "--spatial")
        assert facts(out)["scales"]["widths"] == widths.split(",")


def test_p_values_of_slides_are_those_of_each_alone_combined(two, of_two, tmp_path):
    found, alone = table(of_two), []
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
    batches = facts(of_two)["batches"]
    assert batches["how"] == "fisher"
    assert [each["samples"] for each in batches["ranked"]] == [SIDE**2, SIDE**2]
    assert "Fisher" in (of_two / "report.html").read_text()


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


def test_python_takes_an_anndata(one, of_one):
    found = rank_in_python(ad.read_h5ad(one), spatial=True).table
    np.testing.assert_allclose(found["p_value"].sort_index(), table(of_one)["p_value"], rtol=1e-6)
    both = rank_in_python(slides(), spatial=True)
    assert both.facts["batches"]["how"] == "fisher"


def test_slides_under_another_name_are_told(two, of_two, tmp_path, capfd):
    made = ad.read_h5ad(two)
    made.obs["fov"] = made.obs.pop("library_id")
    path = str(save(tmp_path / "fov.h5ad", made))
    done = run_here(["rank", path, "--spatial"], capfd)
    assert "give --batch obs:fov" in done.err
    done = run_here(["rank", path, "--spatial", "--batch", "obs:fov"], capfd)
    assert done.code == 0
    assert "lie between each other" not in done.err
    assert done.out == (of_two / "ranking.tsv").read_text()


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
    told = refused(one, "--spatial", "--stability", "10")
    assert "--stability does not go with tests on several --scales" in told
    told = refused(two, "--spatial", "--block", "obs:library_id")
    assert "give --batch obs:library_id" in told
    assert "stands for" not in told
    assert "--spatial stands for --batch" in refused(two, "--spatial", "--also", "variance")


def test_places_under_another_name_are_asked_for(one, tmp_path, capfd):
    made = ad.read_h5ad(one)
    made.obsm["X_spatial"] = made.obsm.pop("spatial")
    path = str(save(tmp_path / "other.h5ad", made))
    assert "it has X_spatial" in run_here(["rank", path, "--spatial"], capfd).err
    named = ["rank", path, "--spatial", "--coordinates", "obsm:X_spatial"]
    assert run_here(named, capfd).code == 0
    made.to_df().to_csv(tmp_path / "m.csv")
    done = run_here(["rank", str(tmp_path / "m.csv"), "--spatial"], capfd)
    assert "--coordinates FILE" in done.err


def test_a_directed_graph_is_averaged_with_its_transpose(one, tmp_path, capfd):
    """As squidpy writes it with n_neighs: a spot on the edge has neighbors that lack it."""
    made = ad.read_h5ad(one)
    graph = kneighbors_graph(made.obsm["spatial"], 6)
    assert abs(graph - graph.T).max() == 1
    made.obsp["spatial_connectivities"] = graph
    made.obsp["mean"] = (graph + graph.T) / 2
    path = save(tmp_path / "squidpy.h5ad", made)
    options = ("--method", "hsic", "--pvalues", "moments", "--similarity")

    def told(key: str) -> tuple[str, str]:
        done = run_here(["rank", str(path), *options, f"obsp:{key}"], capfd)
        assert done.code == 0, done.err
        return done.out, done.err

    directed, warned = told("spatial_connectivities")
    mean, silent = told("mean")
    assert directed == mean
    assert "obsp:spatial_connectivities is a directed graph" in warned
    assert "directed" not in silent


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
