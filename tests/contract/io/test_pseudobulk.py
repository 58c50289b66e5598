"""``--pseudobulk``: sums of counts over the cells of groups, equal to those of pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.run import inputs, load
from tests.oracles.markers import pseudobulk

N, M = 300, 30
FORMS = {
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "dense": np.asarray,
}


@pytest.fixture
def cells() -> ad.AnnData:
    """Counts of six donors in two clusters and a rare one; two cells have no donor."""
    rng = np.random.default_rng(5)
    donor = rng.integers(0, 6, N)
    obs = pd.DataFrame(
        {
            "donor": pd.Categorical([f"d{i}" for i in donor]),
            "cluster": rng.choice(["A", "B", "rare"], N, p=[0.6, 0.38, 0.02]),
            "condition": np.where(donor < 3, "case", "control"),
            "age": 30.5 + donor,
            "umi": rng.integers(0, 1000, N),
        },
        index=[f"c{i}" for i in range(N)],
    )
    obs.loc[["c3", "c7"], "donor"] = None
    X = rng.poisson(rng.gamma(1, 2, M), (N, M)).astype("f4")
    return ad.AnnData(X, obs, pd.DataFrame(index=[f"g{j}" for j in range(M)]))


def summed(folder: Path, adata: ad.AnnData, **options: Any) -> inputs.Opened:
    adata.write_h5ad(folder / "x.h5ad")
    config = RankConfig(str(folder / "x.h5ad"), **{"pseudobulk": "donor,cluster"} | options)
    with load.loaded(config, Messages(-1)) as found:
        return found.opened


@pytest.mark.parametrize(
    ("form", "by", "least"),
    [
        ("csr", "donor,cluster", 1),
        ("csc", "condition,cluster,donor", 10),
        ("dense", "obs:cluster", 10),
    ],
)
def test_sums_equal_those_of_pandas(cells, tmp_path, form, by, least):
    counts = cells.to_df()
    cells.X = FORMS[form](cells.X)
    opened = summed(tmp_path, cells, pseudobulk=by, min_cells=least)
    names = by.removeprefix("obs:").split(",")
    expected = pseudobulk(counts, cells.obs, names, least)
    assert list(opened.matrix.ids.samples) == list(expected.index)
    values = np.empty((M, len(expected)))
    opened.matrix.read(Span(0, M), values)
    np.testing.assert_array_equal(values.T, expected.to_numpy())


def test_annotations_that_are_the_same_in_a_group_stay(cells, tmp_path):
    opened = summed(tmp_path, cells)
    obs = opened.matrix.ids.obs.to_pandas()
    assert list(obs.columns) == ["donor", "cluster", "condition", "age", "n_cells"]
    known = cells.obs.dropna()
    sizes = known.groupby(["donor", "cluster"], observed=True).size()
    assert obs.n_cells.tolist() == sizes[sizes >= 10].tolist()
    assert opened.facts["pseudobulk"] == {
        "by": "donor,cluster",
        "cells": N,
        "samples_made": len(obs),
        "groups_left_out": int((sizes < 10).sum()),
        "cells_left_out": N - int(sizes[sizes >= 10].sum()),
    }
    for row in obs.itertuples():
        of = cells.obs[(cells.obs.donor == row.donor) & (cells.obs.cluster == row.cluster)]
        assert {row.condition} == set(of.condition)
        assert {row.age} == set(of.age)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda a: a.X.__setitem__((4, 2), 1.5), {}, "holds 1.5"),
        (lambda a: a.X.__setitem__((4, 2), -1), {}, "holds -1"),
        (lambda a: None, {"pseudobulk": "donors"}, "no annotation 'donors'"),
        (lambda a: None, {"min_cells": 1000}, "no group of cells"),
        (lambda a: None, {"labels": "obs:umi"}, "no annotation 'umi'"),
        (
            lambda a: setattr(
                a, "obs", a.obs.assign(donor=["a_b", "a"] * 150, cluster=["c", "b_c"] * 150)
            ),
            {},
            "two groups of cells would both be the sample 'a_b_c'",
        ),
    ],
)
def test_what_cannot_be_added_up_is_refused(cells, tmp_path, change, options, message):
    change(cells)
    with pytest.raises(InputError) as e:
        summed(tmp_path, cells, **options)
    assert message in e.value.what


def test_a_class_of_one_sample_may_be_made_of_few_cells(cells, tmp_path):
    cells.obs["cluster"] = ["A", "B"] * (N // 2)
    cells.obs.loc[cells.obs.donor == "d1", "cluster"] = "rare"
    with pytest.raises(InputError, match="one sample: rare") as e:
        summed(tmp_path, cells, labels="obs:cluster", method="f-test")
    assert str(e.value.hint).startswith("give a smaller --min-cells, or leave its sample out")
    with pytest.raises(InputError, match="one sample: rare") as e:
        summed(tmp_path, cells, labels="obs:cluster", method="f-test", min_cells=1)
    assert "--min-cells" not in str(e.value.hint)
