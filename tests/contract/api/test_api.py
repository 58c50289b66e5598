"""The functions for Python: one ranking from every kind of object, and what is written back."""

from __future__ import annotations

import json
import os
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array

import sfs_cli as sfs
from sfs_cli.cli.app import run
from sfs_cli.errors import InputError, UsageError

N, M = 24, 50
CLASSES = np.repeat(["a", "b", "c"], 8)
X = np.abs(np.random.default_rng(6).normal(size=(N, M)))
X += np.repeat([0.0, 1.5, 3.0], 8)[:, None] * (np.arange(M) < 6)
X[X < 0.3] = 0
AGES = np.random.default_rng(7).normal(size=N)
SAMPLES, GENES = [f"s{i}" for i in range(N)], [f"g{i}" for i in range(M)]
FRAME = pd.DataFrame(X, SAMPLES, GENES)


def made(values: Any = X) -> ad.AnnData:
    obs = pd.DataFrame({"cell type": pd.Categorical(CLASSES), "age": AGES}, SAMPLES)
    return ad.AnnData(values, obs, pd.DataFrame(index=GENES))


KINDS = {
    "array": lambda _: X,
    "Fortran array": lambda _: np.asfortranarray(X),
    "csr": lambda _: csr_array(X),
    "csc": lambda _: csc_array(X),
    "frame": lambda _: FRAME,
    "AnnData": lambda _: made(),
    "sparse AnnData": lambda _: made(csr_array(X)),
    "csc AnnData": lambda _: made(csc_array(X)),
    "view": lambda _: made(np.hstack([X, X])[:, :M])[:, GENES],
    "file": lambda folder: written(folder),
    "backed": lambda folder: ad.read_h5ad(written(folder), backed="r"),
    "backed sparse": lambda folder: ad.read_h5ad(written(folder, csr_array(X)), backed="r"),
    "backed csc": lambda folder: ad.read_h5ad(written(folder, csc_array(X)), backed="r"),
}


def written(folder: Path, values: Any = X) -> Path:
    made(values).write_h5ad(folder / "cells.h5ad")
    return folder / "cells.h5ad"


@pytest.fixture(scope="module")
def by_command(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pd.DataFrame]:
    """What the command ranks from a file, by each method once."""
    folder = tmp_path_factory.mktemp("commands")
    FRAME.T.to_csv(folder / "table.csv")
    pd.Series(CLASSES, SAMPLES, name="label").to_csv(folder / "labels.csv", index_label="sample")

    @cache
    def rank(method: str) -> pd.DataFrame:
        words = ["rank", str(folder / "table.csv"), "--method", method, "--dtype", "float64"]
        words += ["-q", "--out", str(folder / method)]
        words += ["--labels", str(folder / "labels.csv")] if method == "f-test" else []
        assert run(words) == 0
        return pd.read_csv(folder / method / "ranking.tsv", sep="\t", index_col="feature")

    return rank


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *((kind, "f-test") for kind in KINDS),
        *((kind, "variance") for kind in ("csr", "backed csc")),
        *((kind, "spec") for kind in ("csc AnnData", "backed sparse")),
    ],
)
def test_one_ranking_from_every_kind(
    kind: str, method: str, tmp_path: Path, by_command: Callable[[str], pd.DataFrame]
) -> None:
    """That of the command, from a file: the same scores but for the order of the sums."""
    data = KINDS[kind](tmp_path)
    labels = None
    if method == "f-test":
        labels = "cell type" if hasattr(data, "obs") else CLASSES
        labels = "obs:cell type" if kind == "file" else labels
    found = sfs.rank(data, method=method, labels=labels, dtype="float64")
    expected = by_command(method)
    assert found.order.tolist() == [int(name[1:]) for name in expected.index]
    np.testing.assert_allclose(found.table["score"], expected["score"], rtol=1e-9)


LABELS = {
    "array": CLASSES,
    "list": CLASSES.tolist(),
    "by id": pd.Series(CLASSES, SAMPLES).sample(frac=1, random_state=1),
    "dict": dict(zip(SAMPLES, CLASSES)),
    "categories": pd.Categorical(CLASSES),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_kind(labels: Any) -> None:
    expected = sfs.rank(made(), method="f-test", labels="cell type")
    found = sfs.rank(FRAME, method="f-test", labels=labels)
    assert found.order.tolist() == expected.order.tolist()


def test_columns_of_obs_and_graphs_of_the_object() -> None:
    adata = made()
    S = np.exp(-((X[:, None, :6] - X[None, :, :6]) ** 2).sum(axis=2))
    adata.obsp["mine"], adata.obsm["X_pca"] = csr_array(S), X[:, :3]
    inside = sfs.rank(adata, method="laplacian", similarity="obsp:mine")
    for graph in (S, csr_array(S), pd.DataFrame(S, SAMPLES, SAMPLES).iloc[::-1, ::-1]):
        found = sfs.rank(adata, method="laplacian", similarity=graph)
        np.testing.assert_allclose(found.table["score"], inside.table["score"], rtol=1e-6)
    by_key = sfs.rank(adata, method="laplacian", similarity="obsm:X_pca,neighbors=4")
    given = sfs.rank(adata, method="laplacian", coordinates=X[:, :3], similarity="knn,neighbors=4")
    assert by_key.order.tolist() == given.order.tolist()
    adjusted = sfs.rank(adata, method="f-test", labels="cell type", adjust=("age",))
    other = sfs.rank(adata, method="f-test", labels="cell type", adjust=adata.obs["age"])
    assert adjusted.order.tolist() == other.order.tolist()


def test_raw_and_layers() -> None:
    adata = made()
    adata.layers["log"], adata.raw = np.log1p(X), made(np.hstack([X])).copy()
    by_layer = sfs.rank(adata, method="variance", layer="log")
    assert by_layer.order.tolist() == sfs.rank(np.log1p(X), method="variance").order.tolist()
    adata.X = adata.X * 2
    of_raw = sfs.rank(adata, method="variance", layer="raw.X")
    expected = sfs.rank(X, method="variance")
    np.testing.assert_allclose(of_raw.table["score"], expected.table["score"])


def test_sets_and_several_sources() -> None:
    sets = {"one": GENES[:5], "two": GENES[4:12]}
    found = sfs.rank(made(), source={"sets": sets, "expression": "target:"}, method="spec")
    assert len(found) == M
    similarity = sfs.fuse(made(), {"sets": sets, "expression": "target:"})
    assert similarity.index.tolist() == SAMPLES
    np.testing.assert_allclose(similarity, similarity.T)
    adata = made()
    sfs.fuse(adata, {"sets": sets, "expression": "target:"})
    np.testing.assert_allclose(adata.obsp["sfs_fused"], similarity)


def test_fuse_warns_as_the_command_does() -> None:
    counts = np.random.default_rng(0).poisson(200, (N, M))
    with pytest.warns(sfs.SfsWarning, match="raw counts.*the graph"):
        sfs.fuse(counts, {"expression": "target:"})
    with pytest.raises(sfs.SfsError, match="no knowledge source is given"):
        sfs.fuse(counts, {})


def test_what_repeats_a_better_feature_is_not_chosen() -> None:
    found = sfs.rank(FRAME, method="f-test", labels=CLASSES, max_correlation=0.6)
    repeats = set(found.table.index[found.table["representative"] != ""])
    assert repeats
    chosen = sfs.select(found, fdr=0.01)
    assert chosen == [
        g for g in found.table.index[found.table["q_value"] <= 0.01] if g not in repeats
    ]


def test_lists_are_aggregated_chosen_and_judged() -> None:
    adata = made()
    f = sfs.rank(adata, method="f-test", labels="cell type")
    v = sfs.rank(adata, method="variance")
    together = sfs.aggregate({"f": f, "v": v})
    assert {"rank_f", "rank_v"} <= set(together.columns)
    mean = (f.table["rank"] + v.table["rank"])[together.index]
    assert (np.diff(mean) >= 0).all()
    assert sfs.select(f, top=4) == f.top(4)
    assert sfs.select(f, fdr=0.01) == f.table.index[f.table["q_value"] <= 0.01].tolist()
    assert set(sfs.select(f, cv=True, lengths="2,10", repeats=1)) <= set(f.top(10))
    judged = sfs.evaluate(adata, list=f, labels="cell type", lengths=[6], splits=4, repeats=1)
    wanted = judged.table.query("list == 'list' and measure == 'balanced_accuracy'")
    assert wanted["value"].max() > 0.9
    compared = sfs.compare(
        adata,
        [
            "variance",
            {"name": "spec", "ranking": "phi1", "clusters": None},
            {"name": "kogs", "members": ["variance", "fisher"]},
        ],
        rankings={"f": {"method": "f-test"}, "given": {"method": "spec", "similarity": X @ X.T}},
        lists={"mine": GENES[:6]},
        labels="cell type",
        lengths=[6],
        splits=4,
        repeats=1,
    )
    names = {"variance", "spec,ranking=phi1", "f", "given", "mine"}
    names.add("kogs,members=variance,fisher")
    assert names <= set(compared.table["list"])


def test_members_with_parameters_are_ranked_and_compared() -> None:
    members = [{"name": "spec", "ranking": "phi3", "clusters": np.int64(3)}, "spec"]
    method = {"name": "kogs", "members": members}
    columns = {"rank_spec,ranking=phi3,clusters=3", "rank_spec"}
    assert columns <= {*sfs.rank(X, method=method).table}
    told = {"labels": CLASSES, "lengths": [6], "splits": 4, "repeats": 1}
    found = sfs.compare(X, ["variance"], rankings={"both": {"method": method}}, **told)
    assert {"variance", "both"} <= {*found.table["list"]}
    with pytest.raises(ValueError, match="has members with parameters"):
        sfs.compare(X, ["variance", method], **told)


def test_errors_are_those_of_python_too() -> None:
    for error, call in (
        ("no option 'metod'", lambda: sfs.rank(X, metod="spec")),
        ("no annotation 'cell typ'", lambda: sfs.rank(made(), method="f-test", labels="cell typ")),
        ("3 values for 24 samples", lambda: sfs.rank(X, method="f-test", labels=[1, 2, 3])),
        ("1 axes", lambda: sfs.rank(X[0])),
        ("there is no layer", lambda: sfs.rank(made(), layer="log")),
        ("not numbers", lambda: sfs.rank(X.astype(str).astype(object))),
        ("copy is of an AnnData", lambda: sfs.rank(X, method="variance", copy=True)),
        (
            "no option 'out'(.|\\n)*write(.folder.) of",
            lambda: sfs.rank(X, method="variance", out="results"),
        ),
    ):
        with pytest.raises(ValueError, match=error) as caught:
            call()
        assert isinstance(caught.value, sfs.SfsError)
    bad = X.copy()
    bad[3, 4] = np.inf
    with pytest.raises(ValueError, match="infinite"):
        sfs.rank(bad)


def test_warnings_are_those_of_python() -> None:
    spiked = X.copy()
    spiked[0, :20] = 1e3
    with pytest.warns(sfs.SfsWarning, match="intensities without logarithms") as caught:
        sfs.rank(spiked, method="variance")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sfs.rank(X, method="variance")


def test_a_backed_object_is_not_cut_in_its_place(tmp_path: Path) -> None:
    backed = ad.read_h5ad(written(tmp_path), backed="r")
    with pytest.raises(ValueError, match="which a backed AnnData does not allow"):
        sfs.rank(backed, method="variance", top=5, subset=True)
    with pytest.raises(ValueError, match="a view of a backed one cannot be written to"):
        sfs.rank(backed[:10], method="variance", top=5)


def test_var_and_uns_have_the_columns_of_the_ranking(tmp_path: Path) -> None:
    adata = made()
    found = sfs.rank(adata, method="f-test", labels="cell type", n_top_genes=6, key_added="f")
    names = ["score", "status", "p_value", "q_value", "highest_class"]
    table = found._whole.loc[GENES]
    for name in names:
        assert adata.var[f"f_{name}"].tolist() == pytest.approx(table[name].tolist())
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = ad.read_h5ad(tmp_path / "a.h5ad").uns["f"]
    assert again["table"].index.tolist() == found._whole.index.tolist()
    np.testing.assert_array_equal(again["table"]["q_value"], found._whole["q_value"])
    assert again["params"]["method"] == "f-test"
    sfs.rank(adata, method="variance", key_added="other")
    assert adata.var["highly_variable"].sum() == 6  # of the other key
    with pytest.warns(sfs.SfsWarning, match="taken out"):
        sfs.rank(adata, method="variance", key_added="f")
    assert not {"highly_variable", "f_p_value"} & {*adata.var}
    assert "hvg" not in adata.uns


def test_marks_that_are_fewer_than_asked_for_are_told_of() -> None:
    adata = made()
    adata.raw = adata
    part = adata[:, GENES[4:20]].copy()
    with pytest.warns(sfs.SfsWarning, match="marks 2 features(.|\\n)*4 of the 6 best are not"):
        sfs.rank(part, method="f-test", labels="cell type", layer="raw.X", top=6)
    assert part.var_names[part.var["highly_variable"]].tolist() == GENES[4:6]
    assert sorted(part.var["sfs_rank"])[:2] == [
        *np.flatnonzero(part.uns["sfs"]["table"].index.isin(GENES[4:6])) + 1
    ]
    with pytest.warns(sfs.SfsWarning, match="marks 5 features.*where 20 were asked for"):
        sfs.rank(adata, method="mrsf", select=5, top=20, similarity="knn")
    assert sorted(adata.var["sfs_rank"].dropna()) == [1, 2, 3, 4, 5]


def test_arguments_of_scanpy_are_taken_or_answered() -> None:
    adata = made()
    part = sfs.rank(adata, method="variance", top=5, subset=True, copy=True)
    assert part.shape == (N, 5)
    assert adata.shape == (N, M)
    assert sfs.rank(adata, method="variance", inplace=False).adata is None
    assert not {"sfs_rank", "highly_variable"} & {*adata.var}
    adata.obs["site"] = ["x", "y"] * (N // 2)
    by_key = sfs.rank(adata, method="variance", batch_key="site")
    assert by_key.order.tolist() == sfs.rank(adata, method="variance", batch="site").order.tolist()
    sfs.rank(adata, method="variance", n_top_genes=7, subset=True)
    assert adata.shape == (N, 7)
    for error, options in (
        ("one option", {"n_top_genes": 5, "top": 6}),
        ("does not say how many", {"subset": True}),
        ("give method", {"flavor": "seurat"}),
        ('give method, such as method="variance"', {"min_mean": 0.1}),
        ("as labels", {"groupby": "site"}),
        ('give layer="raw.X"', {"use_raw": True}),
        ('give similarity="knn,neighbors=NUMBER"', {"n_neighbors": 15}),
        ('give similarity="obsm:KEY"', {"use_rep": "X_scVI"}),
        ('give similarity="obsp:KEY_connectivities"', {"neighbors_key": "scvi"}),
        ('give similarity="knn,components=NUMBER"', {"n_pcs": 9}),
        ('such as similarity="knn-correlation"', {"metric": "cosine"}),
        ("did you mean obsp:connectivities?", {"similarity": "connectivities"}),
        ("did you mean obsm:X_pca?", {"similarity": "X_pca"}),
        ("give seed", {"random_state": 1}),
        ("give threads", {"n_jobs": 2}),
        # of AnnData 0.13, X is also the layer None
        (r"the file has X \(without layer\)$", {"layer": "counts"}),
        ("there is none", {"copy": True, "inplace": False}),
    ):
        with pytest.raises(ValueError, match=error):
            sfs.rank(adata, method="variance", **options)


@pytest.mark.filterwarnings("ignore")
def test_what_a_mudata_has_of_all_its_samples_is_found() -> None:
    mudata = pytest.importorskip("mudata")
    rna, protein = made(), made(X[::-1].copy())
    protein.var_names = [f"p{i}" for i in range(M)]
    protein = protein[::-1].copy()
    protein.obs_names = SAMPLES[::-1]
    protein.obs["ct"] = protein.obs["cell type"].astype(str)
    whole = mudata.MuData({"rna": rna, "protein": protein})
    S = np.exp(-((X[:, None, :6] - X[None, :, :6]) ** 2).sum(axis=2))
    graph = pd.DataFrame(S, SAMPLES, SAMPLES)
    whole.obsp["connectivities"] = csr_array(graph.loc[whole.obs_names, whole.obs_names])
    other = np.eye(N) + 0.1
    rna.obsp["connectivities"] = csr_array(other)
    asked = {"modality": "rna", "method": "laplacian"}
    with pytest.warns(sfs.SfsWarning, match="obsp:rna:connectivities"):
        found = sfs.rank(whole, similarity="obsp:connectivities", **asked)
    expected = sfs.rank(FRAME, similarity=graph, method="laplacian")
    np.testing.assert_allclose(found.ranking.score, expected.ranking.score, rtol=1e-6)
    own = sfs.rank(whole, similarity="obsp:rna:connectivities", **asked)
    expected = sfs.rank(FRAME, similarity=other, method="laplacian")
    np.testing.assert_allclose(own.ranking.score, expected.ranking.score, rtol=1e-6)
    factors = pd.DataFrame(X[:, :3], SAMPLES)
    whole.obsm["factors"] = csr_array(factors.loc[whole.obs_names])
    by_factors = sfs.rank(whole, coordinates="obsm:factors", **asked)
    expected = sfs.rank(FRAME, coordinates=factors, method="laplacian")
    np.testing.assert_allclose(by_factors.ranking.score, expected.ranking.score, rtol=1e-6)
    beside = pd.DataFrame(protein.X, protein.obs_names)
    by_source = sfs.rank(whole, modality="rna", source=["protein"], method="spec")
    expected = sfs.rank(FRAME, source={"protein": beside}, method="spec")
    assert by_source.order.tolist() == expected.order.tolist()
    by_other = sfs.rank(whole, modality="rna", method="f-test", labels="protein:ct")
    labels = protein.obs["ct"]
    expected = sfs.rank(FRAME, method="f-test", labels=labels)
    assert by_other.order.tolist() == expected.order.tolist()
    with pytest.raises(ValueError, match="no annotation 'protein:none'"):
        sfs.rank(whole, modality="rna", method="f-test", labels="protein:none")


def test_a_joint_ranking_marks_the_genes_of_the_anndata() -> None:
    adata = made()
    other = pd.DataFrame(X[:, 5:11] + 1, SAMPLES, [f"other{i}" for i in range(6)])
    asked: dict[str, Any] = {"method": "msfs", "source": {"expression": "target:", "mine": other}}
    with pytest.warns(sfs.SfsWarning, match="marks .* features?, where 9 were asked for"):
        sfs.rank(adata, **asked, rank_sources="mine", top=9)
    first = adata.uns["sfs"]["table"].index[:9]
    assert {*adata.var_names[adata.var["highly_variable"]]} == {*first} & {*GENES}


def test_a_result_is_made_into_anndata_as_it_is_written_into_one(tmp_path: Path) -> None:
    """Of an object, a file of AnnData, a frame, an array and a table: the same columns."""
    asked: dict[str, Any] = {"method": "f-test", "top": 6, "dtype": "float64"}
    adata = made()
    sfs.rank(adata, labels="cell type", **asked)
    FRAME.T.to_csv(tmp_path / "table.csv")
    ids = pd.Series(CLASSES, SAMPLES, name="type")
    ids.to_csv(tmp_path / "labels.csv", index_label="sample")
    kept = made()
    kept.layers["other"] = X
    results = {
        "object": sfs.rank(kept, labels="cell type", inplace=False, **asked),
        "h5ad": sfs.rank(written(tmp_path), labels="obs:cell type", **asked),
        "frame": sfs.rank(FRAME, labels=CLASSES, **asked),
        "sparse": sfs.rank(FRAME.astype(pd.SparseDtype(float, 0)), labels=ids, **asked),
        "turned": sfs.rank(FRAME.T, labels=CLASSES, rows="features", **asked),
        "text": sfs.rank(tmp_path / "table.csv", labels=f"{tmp_path}/labels.csv", **asked),
    }
    for kind, found in results.items():
        copy = found.to_anndata()
        assert copy.obs_names.tolist() == SAMPLES, kind
        np.testing.assert_allclose(copy.X, X)
        pd.testing.assert_frame_equal(copy.var, adata.var)
        pd.testing.assert_frame_equal(copy.uns["sfs"]["table"], adata.uns["sfs"]["table"])
    assert {*results["object"].to_anndata().layers} == {*kept.layers}
    assert "sfs_rank" not in kept.var
    copy = sfs.rank(csr_array(X), labels=CLASSES, **asked).to_anndata(key_added="f")
    assert copy.var_names[copy.var["f_rank"] == 1].tolist() == ["x0"]
    assert copy.X.nnz == np.count_nonzero(X)
    kept.var_names = [f"new {name}" for name in GENES]
    with pytest.raises(InputError, match="the features of the data changed"):
        results["object"].to_anndata()
    kept.var_names, kept.obs_names = GENES, SAMPLES[::-1]
    with pytest.raises(InputError, match="the samples of the data changed"):
        results["object"].to_anndata()
    kept.obs_names = SAMPLES
    kept._inplace_subset_var(GENES[:9])
    with pytest.raises(InputError, match="50 were ranked, and there are 9"):
        results["object"].to_anndata()
    small = made()
    found = sfs.rank(small, labels="cell type", subset=True, **asked)
    assert found.to_anndata().var_names.tolist() == small.var_names.tolist()
    os.utime(tmp_path / "table.csv", (0, 0))  # as an engine does that copies files
    np.testing.assert_allclose(results["text"].to_anndata().X, X)
    (FRAME.T + 1).to_csv(tmp_path / "table.csv")
    with pytest.raises(InputError, match="changed after the ranking"):
        results["text"].to_anndata()


def files_of(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_a_result_is_written_as_the_command_writes_it(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    FRAME.T.to_csv(table)
    sets = tmp_path / "sets.gmt"
    sets.write_text("\n".join("\t".join([f"s{k}", "", *GENES[k : k + 9]]) for k in range(20)))
    options: dict[str, Any] = {"method": "msfs", "source": [f"s=genes:{sets}", "e=target:"]}
    words = ["--method", "msfs", "--source", f"s=genes:{sets}", "--source", "e=target:"]
    for name, more in (("command", words), ("few", [*words, "--include", "^g[1-3]"])):
        assert run(["rank", str(table), *more, "-q", "--out", str(tmp_path / name)]) == 0
    ranked = sfs.rank(table, **options)
    ranked.write(tmp_path / "python")
    sfs.rank(table, include="^g[1-3]", **options).write(tmp_path / "fewer")
    for by_command, here in (("command", "python"), ("few", "fewer")):
        expected, found = files_of(tmp_path / by_command), files_of(tmp_path / here)
        assert {*expected} == {*found}
        for name in ("ranking.tsv", "report.html", "page.json"):
            assert found[name] == expected[name]
        one, other = (json.loads(each["run.json"]) for each in (expected, found))
        assert one.keys() == other.keys()
        for key in ("config", "inputs", "result", "graph", "knowledge", "passes"):
            assert one[key] == other[key], key
    before = files_of(tmp_path / "python")
    ranked.write(tmp_path / "python")  # is there already
    assert files_of(tmp_path / "python") == before
    with pytest.raises(sfs.SfsError, match=r"result of another run(.|\n)*give another folder"):
        sfs.rank(table, method="variance").write(tmp_path / "python")
    os.utime(table, (0, 0))
    ranked.write(tmp_path / "touched")
    assert files_of(tmp_path / "touched")["ranking.tsv"] == before["ranking.tsv"]
    (FRAME.T + 1).to_csv(table)
    with pytest.raises(ValueError, match="changed after the ranking"):
        ranked.write(tmp_path / "late")
    nowhere: Any
    for nowhere in ("", " ", None):
        with pytest.raises(UsageError, match="folder is empty"):
            ranked.write(nowhere)
    table.unlink()
    with pytest.raises(InputError, match=r"not there any more(.|\n)*table\.csv"):
        ranked.write(tmp_path / "late")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["select", "both", "--cv"], "give a file in its place, by --matrix"),
        (["select", "labels", "--cv"], "give a file in its place, by --labels"),
        (["select", "graph", "--cv", "--labels", "l.csv"], "rank again, and give a file in"),
        (["rank", "--config", "both/run.json"], "give a file in its place, by MATRIX"),
        (["rank", "--config", "labels/run.json"], "give a file in its place, by --labels"),
        (["rank", "--config", "graph/run.json"], "give a file in its place, by --similarity file:"),
    ],
)
def test_names_of_objects_are_told_from_files(
    command: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.T.to_csv("table.csv")
    labels = pd.Series(CLASSES, SAMPLES, name="class")
    labels.to_csv("l.csv", index_label="sample")
    sfs.rank(FRAME, method="f-test", labels=labels).write("both")
    sfs.rank("table.csv", method="f-test", labels=labels).write("labels")
    graph = pd.DataFrame(np.abs(np.corrcoef(X)), SAMPLES, SAMPLES)
    sfs.rank("table.csv", method="spec", similarity=graph).write("graph")
    assert run(command) != 0
    error = capsys.readouterr().err
    assert "was an object of Python, not a file" in error
    assert said in error


def test_a_result_of_objects_is_written_with_what_is_known_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    ranked = sfs.rank(FRAME, method="f-test", labels=CLASSES, stability=5)
    ranked.write(folder)
    record = json.loads((folder / "run.json").read_text())
    assert (record["config"]["matrix"], record["inputs"]) == ("<matrix>", [])
    assert record["config"]["labels"] == "<labels>"
    assert sfs.select(folder, top=3) == ranked.top(3)
    with pytest.raises(sfs.SfsError, match="whether it is of the same objects"):
        ranked.write(folder)
    ranked.write(folder, force=True)
    sets = {f"s{k}": GENES[k : k + 9] for k in range(20)}
    ranked = pickle.loads(pickle.dumps(sfs.rank(FRAME, method="variance", sets=sets)))
    for name in ("one", "two"):
        ranked.write(tmp_path / name)
    one, two = (files_of(tmp_path / name) for name in ("one", "two"))
    assert {name for name in one if one[name] != two[name]} <= {
        *("run.json", "sfs_mqc.json", "sfs_general_mqc.json")
    }
    assert len(one["enrichment.tsv"].splitlines()) > 1


def test_sources_may_be_called_as_the_keys_of_one() -> None:
    made: Any
    for made in ({"name": FRAME, "kind": FRAME + 1}, {"name": FRAME, "path": FRAME + 1}):
        found = sfs.rank(FRAME, method="msfs", source=made).facts["knowledge"]["sources"]
        assert [each["name"] for each in found] == [*made]


def test_hints_are_about_the_function() -> None:
    told: dict[str, Any] = {"labels": CLASSES, "lengths": [6], "splits": 4, "repeats": 1}
    for hint, call in (
        ("see `sfs fuse --help`", lambda: sfs.fuse(X, {"e": "target:"}, flavor="seurat")),
        ("it is of rank and evaluate", lambda: sfs.fuse(X, {"e": "target:"}, method="spec")),
        ("it is of rank", lambda: sfs.fuse(X, {"e": "target:"}, top=3)),
        ("give methods", lambda: sfs.compare(X, ["variance"], method="spec", **told)),
        ("give rankings", lambda: sfs.compare(X, ["spec"], ranking_of="a=--top 3", **told)),
        ('"similarity": ...', lambda: sfs.compare(X, ["spec"], neighbors=3, **told)),
        ('"NAME": {"pvalues"', lambda: sfs.compare(X, ["spec"], pvalues="moments", **told)),
        (
            "compare itself, for all rankings",
            lambda: sfs.compare(X, rankings={"a": {"rows": "features"}}, **told),
        ),
    ):
        with pytest.raises(ValueError, match="no option") as caught:
            call()
        assert hint in str(caught.value)
    with pytest.raises(ValueError, match=r"two lists are named 'a'(.|\n)*rankings="):
        sfs.compare(X, rankings={"a": {}}, lists={"a": GENES}, **told)
    with pytest.raises(ValueError, match="copy is of an AnnData"):
        sfs.fuse(FRAME, {"e": "target:"}, copy=True)


def test_addresses_are_refused_by_name() -> None:
    url = "https://user:secret@host/folder/a.csv"
    for name, call in (
        ("matrix", lambda: sfs.rank(url)),
        ("labels", lambda: sfs.rank(FRAME, labels=url)),
        ("source", lambda: sfs.rank(FRAME, source=[f"p=profile:{url}"])),
        ("similarity", lambda: sfs.rank(FRAME, similarity=f"file:{url}")),
        ("lists", lambda: sfs.compare(FRAME, labels=[*"ab"] * (N // 2), lists={"l": url})),
        ("rankings", lambda: sfs.aggregate([url, url])),
        ("result", lambda: sfs.select(url, top=3)),
    ):
        with pytest.raises(InputError, match=f"{name} is an address") as caught:
            call()
        assert "https://host/folder/a.csv" in str(caught.value)
        assert "secret" not in str(caught.value)


def test_a_mapping_alone_is_a_list_of_one() -> None:
    source = {"name": "own", "kind": "profile", "path": X[:, :9], "weight": 2}
    found = sfs.rank(X, method="msfs", source=source)
    expected = sfs.rank(X, method="msfs", source=[source])
    np.testing.assert_array_equal(found.ranking.score, expected.ranking.score)
    assert [each.name for each in found.config.source] == ["own"]
    for members in ({"name": "spec", "ranking": "phi3"}, [{"name": "spec", "ranking": "phi3"}]):
        with pytest.raises(ValueError, match="only one ranking"):
            sfs.rank(X, method={"name": "kogs", "members": members})
