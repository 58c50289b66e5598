"""``batches.tsv``: a condition of donors, tested in each cluster of their cells."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest

import sfs_cli as sfs

DONORS, CLUSTERS, GENES, CELLS, PLANTED = 8, 3, 150, 12, 12
TEST = ["--labels", "obs:condition", "--transform", "log2cpm", "--method", "t-test"]
MODERATED = [*TEST, "--moderate", "yes"]


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ad.AnnData:
    """Write cells of which the first genes differ between conditions in the cluster c1 alone."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    donor, cluster = (each.ravel() for each in np.indices((DONORS, CLUSTERS, CELLS), dtype=int)[:2])
    case = donor < DONORS // 2
    means = rng.gamma(4, 1, (CLUSTERS, GENES))[cluster]
    means *= np.exp(rng.normal(0, 0.2, (DONORS, CLUSTERS, GENES)))[donor, cluster]
    for genes, effect in zip(np.split(np.arange(PLANTED), 2), (3, 1 / 3)):
        means[np.ix_(case & (cluster == 1), genes)] *= effect
    obs = pd.DataFrame(
        {
            "donor": [f"d{i}" for i in donor],
            "cluster": [f"c{i}" for i in cluster],
            "condition": np.where(case, "case", "control"),
        },
        [f"x{i}" for i in range(len(donor))],
    )
    var = pd.DataFrame(index=[f"g{i}" for i in range(GENES)])
    adata = ad.AnnData(rng.poisson(means).astype("float32"), obs, var)
    adata.write_h5ad("cells.h5ad")
    return adata


def within(sfs, *words: str) -> pd.DataFrame:
    by = ["--pseudobulk", "donor,cluster", "--batch", "obs:cluster"]
    sfs("rank", "cells.h5ad", *by, *TEST, *words, "--out", "out", "--force")
    return pd.read_csv("out/batches.tsv", sep="\t")


def test_a_condition_is_tested_in_each_cluster_as_in_its_samples_alone(cells, sfs):
    cells = cells[~((cells.obs.cluster == "c2") & (cells.obs.donor == "d7"))].copy()
    cells.write_h5ad("cells.h5ad")  # a donor without cells of one cluster
    table = within(sfs)
    assert list(table)[:4] == ["batch", "rank", "feature", "score"]
    found = {name: {*each.feature[each.q_value <= 0.05]} for name, each in table.groupby("batch")}
    planted = {f"g{i}" for i in range(PLANTED)}
    assert len(found["c1"] & planted) > PLANTED // 2
    assert len(found["c0"] | found["c2"] | (found["c1"] - planted)) <= 2
    for name, each in table.groupby("batch"):
        cells[cells.obs.cluster == name].copy().write_h5ad("one.h5ad")
        sfs("rank", "one.h5ad", "--pseudobulk", "donor", *TEST, "--out", f"{name}")
        alone = pd.read_csv(f"{name}/ranking.tsv", sep="\t")
        shared = [column for column in alone if column in each]
        assert {"p_value", "q_value", "log2_fold_change"} <= {*shared}
        pd.testing.assert_frame_equal(each[shared].reset_index(drop=True), alone[shared])


def test_top_is_of_each_cluster_and_python_has_the_same(cells, sfs):
    table = within(sfs, "--top", "5")
    assert table.groupby("batch")["rank"].apply(list).tolist() == [[1, 2, 3, 4, 5]] * CLUSTERS
    found = sfs_rank(cells, top=5)
    assert found.batches is not None
    made = found.batches.reset_index()[list(table)].replace("", np.nan)
    pd.testing.assert_frame_equal(made, table, check_dtype=False, rtol=1e-9)


def sfs_rank(cells: ad.AnnData, **options: object) -> sfs.Ranked:
    return sfs.rank(
        cells,
        pseudobulk="donor,cluster",
        batch="cluster",
        labels="condition",
        transform="log2cpm",
        method="t-test",
        inplace=False,
        **options,
    )


def test_donors_are_told_of_where_they_repeat_within_a_cluster(cells, sfs):
    words = ["rank", "cells.h5ad", *TEST, "--top", "1"]
    together = sfs(*words, "--pseudobulk", "donor,cluster").err
    assert "[donors]" in together
    assert "--batch obs:cluster" in together
    assert "[donors]" not in sfs(*words, "--pseudobulk", "donor,cluster", "--batch", "cluster").err
    of_cells = sfs(*words, "--batch", "cluster").err
    assert f"{len(cells):,} samples are of {DONORS * CLUSTERS} donors (counted in each" in of_cells
    assert "--pseudobulk donor,cluster" in of_cells


def test_rankings_without_labels_have_no_table(cells, sfs):
    words = ["--transform", "median,log1p", "--method", "variance", "--batch", "obs:donor"]
    sfs("rank", "cells.h5ad", *words, "--out", "out")
    assert not Path("out/batches.tsv").exists()


def test_a_column_of_some_batches_is_empty_in_the_others(cells, sfs):
    """Of three classes there is a highest one, and of two a direction."""
    kind = cells.obs.condition.astype(str)
    odd = (cells.obs.cluster == "c1") & (cells.obs.donor.isin(["d0", "d1"]))
    cells.obs["condition"] = kind.mask(odd, "third")
    cells.write_h5ad("cells.h5ad")
    words = ["--transform", "median,log1p", "--labels", "obs:condition", "--method", "f-test"]
    sfs("rank", "cells.h5ad", *words, "--batch", "obs:cluster", "--out", "out")
    table = pd.read_csv("out/batches.tsv", sep="\t").set_index("batch")
    assert table.direction.notna().groupby("batch").any().to_dict() == {
        "c0": True,
        "c1": False,
        "c2": True,
    }
    assert table.highest_class.notna().groupby("batch").any().to_dict() == {
        "c0": False,
        "c1": True,
        "c2": False,
    }


def test_variances_that_differ_within_a_batch_are_told_of_it(tmp_path, monkeypatch, sfs):
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 80
    few, late = np.arange(n) % 40 < 8, np.arange(n) >= 40
    values, samples = rng.normal(size=(200, n)), [f"s{i}" for i in range(n)]
    values[:, few & late] *= 4
    pd.DataFrame(values, [f"g{i}" for i in range(200)], samples).to_csv("x.csv")
    pd.DataFrame({"kind": few, "run": late}, samples).to_csv("y.csv")
    words = ["rank", "x.csv", "--labels", "y.csv:kind", "--batch", "y.csv:run"]
    told = sfs(*words, "--method", "f-test").err
    assert "batch True: the classes differ in size and in variance" in told
    assert told.count("[class-tests]") == 1
    assert "[class-tests]" not in sfs(*words, "--method", "welch").err


def test_the_sign_is_told_where_a_later_batch_has_two_of_three_classes(cells, sfs):
    third = (cells.obs.cluster == "c0") & (cells.obs.donor.isin(["d0", "d1"]))
    cells.obs["condition"] = cells.obs.condition.astype(str).mask(third, "third")
    cells.write_h5ad("cells.h5ad")
    words = ["--transform", "median,log1p", "--labels", "obs:condition", "--method", "f-test"]
    told = sfs("rank", "cells.h5ad", *words, "--batch", "obs:cluster").err
    assert "differences within a batch of two classes are those of the second by name" in told


def test_advice_about_donors_suits_the_columns(cells, sfs):
    cells.obs["sample"] = [f"{d}{i % 2}" for i, d in enumerate(cells.obs.donor)]
    cells.obs["a:b"] = cells.obs.cluster
    cells.write_h5ad("cells.h5ad")
    words = ["rank", "cells.h5ad", *TEST, "--top", "1"]
    of_samples = sfs(*words, "--pseudobulk", "sample").err  # which are no clusters
    assert "add up all cells of each donor (--pseudobulk donor)" in of_samples
    assert "--batch" not in of_samples
    assert "--pseudobulk donor,a:b" in sfs(*words, "--batch", "obs:a:b").err


def test_a_single_batch_is_ranked_alone_as_the_error_says(cells, sfs):
    cells = cells[(cells.obs.cluster == "c1") | (cells.obs.condition == "case")].copy()
    cells.write_h5ad("cells.h5ad")
    words = ["rank", "cells.h5ad", "--pseudobulk", "donor,cluster", "--out", "out"]
    done = sfs(*words, "--batch", "cluster", *TEST, code=3)
    assert "to rank c1 alone, give a table of the labels" in done.err
    kinds = {f"d{i}_c1": "case" if i < DONORS // 2 else "control" for i in range(DONORS)}
    pd.Series(kinds, name="condition").to_csv("y.csv")
    given = [word.replace("obs:", "y.csv:") for word in TEST]
    sfs(*words, *given, "--samples", "intersect")
    assert set(pd.read_csv("out/ranking.tsv", sep="\t").feature[:3]) <= {f"g{i}" for i in range(12)}
