"""``--adjust`` in whole runs: as regression by hand, whatever runs it, and what it is for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import RankConfig
from sfs_cli.logs import Messages
from sfs_cli.options import parse_source
from sfs_cli.workflow.rank import RankResult, rank
from tests.making import annotated, table_text
from tests.oracles import covariates as oracle
from tests.running import run_here

N, M = 36, 70
SAMPLES = [f"s{i}" for i in range(N)]
BATCH = [f"b{i % 3}" for i in range(N)]
KIND = ["x" if i % 4 < 2 else "y" for i in range(N)]


def age() -> np.ndarray:
    return np.random.default_rng(3).normal(50, 9, N).round(2)


def values() -> np.ndarray:
    """Features x samples: three batches, an age effect, two classes."""
    rng = np.random.default_rng(8)
    X = rng.normal(6, 1, (M, N)) + rng.normal(0, 2, (M, 3))[:, np.arange(N) % 3]
    X += np.outer(rng.normal(0, 0.05, M), age())
    X[:12] += 1.5 * (np.array(KIND) == "x")
    return X


def write(path: Path, X: np.ndarray) -> None:
    genes = [f"g{i}" for i in range(len(X))]
    rows = [f"{g}," + ",".join(repr(float(v)) for v in row) for g, row in zip(genes, X)]
    path.write_text("gene," + ",".join(SAMPLES[: X.shape[1]]) + "\n" + "\n".join(rows) + "\n")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.csv", values())
    table = [f"{s}\t{b}\t{a}\t{k}\n" for s, b, a, k in zip(SAMPLES, BATCH, age(), KIND)]
    table.append("stranger\tb9\t5\tx\n")
    (tmp_path / "c.tsv").write_text("id\tbatch\tage\tkind\n" + "".join(reversed(table)))
    residuals = oracle.adjusted(values(), oracle.design(BATCH, age()))
    write(tmp_path / "residuals.csv", residuals)
    return tmp_path


LABELS: dict[str, Any] = {"labels": "c.tsv:kind"}
METHODS: dict[str, dict[str, Any]] = {
    "spec rbf": {"method": "spec", "similarity": "rbf"},
    "spec components": {"method": "spec", "similarity": "knn", "components": "6", "neighbors": 5},
    "spec label": {"method": "spec", "similarity": "label"} | LABELS,
    "mrsf": {"method": "mrsf", "similarity": "knn", "neighbors": 5, "select": 12},
    "variance": {"method": "variance"},
    "fisher": {"method": "fisher"} | LABELS,
    "trace-ratio": {"method": "trace-ratio"} | LABELS,
    "rfs": {"method": "rfs"} | LABELS,
    "sources": {
        "method": "msfs",
        "source": (parse_source("t=target:,similarity=knn,neighbors=4"),),
    },
    "pruned": {"method": "variance", "max_correlation": 0.3},
}


def ranked(matrix: str, **options: Any) -> RankResult:
    return rank(RankConfig(matrix, **{"dtype": "float64"} | options))


# fisher compares nested models: tests/unit/methods/test_covariates.py
@pytest.mark.parametrize("name", [name for name in METHODS if name != "fisher"])
def test_adjusting_is_regression_done_by_hand(name, study, monkeypatch):
    """The residuals, made feature by feature and written to a file, rank as the option does."""
    monkeypatch.setattr("sfs_cli.parts.pruning.KEEP", 20)
    options = METHODS[name]
    found = ranked("x.csv", adjust=("c.tsv:batch,age",), **options).ranking
    expected = ranked("residuals.csv", **options).ranking
    assert list(found.feature) == list(expected.feature)
    np.testing.assert_allclose(found.score, expected.score, rtol=1e-10, atol=1e-13)
    plain = ranked("x.csv", **options).ranking
    assert list(plain.feature) != list(found.feature)


def test_a_source_of_the_matrix_with_steps_of_its_own_is_adjusted_after_them(study):
    """Nothing of the batches is left of the similarity, whatever the steps."""
    X = values()
    around = X - X.mean(axis=1, keepdims=True)
    write(study / "z.csv", around / np.sqrt((around**2).mean(axis=1, keepdims=True)))
    options: dict[str, Any] = {"method": "msfs", "adjust": ("c.tsv:batch,age",)}
    z = parse_source("z=target:,transform=zscore,similarity=rbf")
    found = ranked("x.csv", source=(z,), **options)
    same = ranked("z.csv", method="spec", similarity="rbf", adjust=("c.tsv:batch,age",))
    np.testing.assert_allclose(
        found.facts["knowledge"]["sources"][0]["bandwidth"],
        same.facts["graph"]["bandwidth"],
        rtol=1e-10,
    )


def test_the_record_says_what_was_taken_out_and_how_much_it_explained(study, capfd):
    words = ["--method", "variance", "--dtype", "float64", "--adjust", "c.tsv:batch,age"]
    done = run_here(["rank", "x.csv", *words, "--out", "out"], capfd)
    assert done.code == 0
    record = json.loads((study / "out" / "run.json").read_text())
    roles = {each["role"]: each.get("column") for each in record["inputs"]}
    assert roles["adjust.1"] == "batch,age"
    facts = record["covariates"]
    assert facts["rank"] == 4
    assert [c["name"] for c in facts["columns"]] == ["batch", "age"]
    assert [c["taken_as"] for c in facts["columns"]] == ["categorical", "numeric"]
    assert facts["columns"][0]["levels"] == ["b0", "b1", "b2"]
    order = [
        row.split("\t")[1] for row in (study / "out/ranking.tsv").read_text().split("\n")[1:51]
    ]
    X, D = values(), oracle.design(BATCH, age())
    before = np.mean([oracle.r_squared(X[int(name[1:])], D) for name in order])
    assert facts["explained"]["features"] == 50
    assert facts["explained"]["before"] == pytest.approx(before, rel=1e-10)
    assert facts["explained"]["after"] < 1e-25
    assert facts["explained"]["by_chance"] == pytest.approx(3 / (N - 1))
    assert f"{before:.1%}" in done.err
    assert "categorical, 3 levels: b0, b1, b2" in done.err
    page = (study / "out" / "report.html").read_text()
    assert f"{before:.1%}" in page
    assert "Covariates" in page
    again = run_here(["rank", "x.csv", *words, "--out", "out"], capfd)
    assert "up to date" in again.err
    same = run_here(["rank", "--config", "out/run.json"], capfd)
    assert same.out.encode() == (study / "out" / "ranking.tsv").read_bytes()


def test_annotations_of_an_h5ad_and_of_its_store(study, sfs):
    data = annotated(values().T, [f"g{i}" for i in range(M)], SAMPLES)
    data.obs["batch"], data.obs["age"] = BATCH, age()
    data.obs["code"] = np.arange(N) % 3
    data.obs["batch"] = data.obs["batch"].astype("category")
    data.write_h5ad("x.h5ad")
    sfs("convert", "x.h5ad", "h.store", "--dtype", "float64")
    expected = ranked("x.csv", method="variance", adjust=("c.tsv:batch,age",)).ranking
    for matrix, adjust in (
        ("x.h5ad", ("obs:batch,age",)),
        ("h.store", ("obs:batch", "obs:age=numeric")),
        ("x.h5ad", ("c.tsv:age", "obs:code=categorical")),
    ):
        found = ranked(matrix, method="variance", adjust=adjust).ranking
        assert list(found.feature) == list(expected.feature)
        np.testing.assert_allclose(found.score, expected.score, rtol=1e-11)
    messages = Messages(-1)
    rank(RankConfig("x.h5ad", method="variance", adjust=("obs:code",)), messages)
    assert any("code=categorical" in text for text in messages.warnings)
    messages = Messages(-1)
    rank(RankConfig("x.h5ad", method="variance", adjust=("obs:code=numeric",)), messages)
    assert not messages.warnings


def test_a_sparse_matrix_is_adjusted_as_a_dense_one(study):
    from scipy.sparse import csr_matrix

    counts = np.random.default_rng(0).poisson(0.8, (N, M)).astype(np.float64)
    for name, stored in (("dense", counts), ("sparse", csr_matrix(counts))):
        annotated(stored, [f"g{i}" for i in range(M)], SAMPLES).write_h5ad(f"{name}.h5ad")
    for options in (METHODS["variance"], METHODS["spec components"]):
        options = options | {"transform": "cpm,log1p", "adjust": ("c.tsv:batch",)}
        dense, sparse = (ranked(f"{name}.h5ad", **options).ranking for name in ("dense", "sparse"))
        assert list(dense.feature) == list(sparse.feature)
        np.testing.assert_allclose(dense.score, sparse.score, rtol=1e-10)


def test_warnings_of_covariates_that_are_not_what_they_seem(study):
    rows = [
        f"{s}\t{b}\t{b[1]}\t{b == 'b1'}\tsame\t{s if s == 's0' else 'rest'}\t{i}\n"
        for i, (s, b) in enumerate(zip(SAMPLES, BATCH))
    ]
    head = "id\tbatch\tcode\tnested\tsame\trare\torder\n"
    (study / "d.tsv").write_text(head + "".join(rows))

    def warned(columns: str) -> list[str]:
        messages = Messages(-1)
        rank(RankConfig("x.csv", method="variance", adjust=(f"d.tsv:{columns}",)), messages)
        return messages.warnings

    assert not warned("batch,order")
    for columns, words in {
        "code": "code=categorical",
        "batch,nested": "nested follows from the covariates before it",
        "nested,batch": "batch: 1 of 2 columns",
        "batch,same": "same is the same in all samples",
        "batch,rare": "rare: 1 level (s0) with one sample",
    }.items():
        found = warned(columns)
        assert len(found) == 1, columns
        assert words in found[0]


def test_covariates_that_explain_classes(study):
    """Some of the classes, or most of their differences, are warned of."""
    site = ["p" if k == "x" or i in (2, 3) else "q" for i, k in enumerate(KIND)]
    third = ["z" if i % 9 == 0 else k for i, k in enumerate(KIND)]
    rows = [f"{s}\t{a}\t{k}\t{c == 'z'}\n" for s, a, k, c in zip(SAMPLES, site, third, third)]
    (study / "d.tsv").write_text("id\tsite\tclass\tz\n" + "".join(rows))
    messages = Messages(-1)
    rank(
        RankConfig("x.csv", method="fisher", labels="c.tsv:kind", adjust=("d.tsv:site",)), messages
    )
    assert any("% of the differences between the classes" in text for text in messages.warnings)
    messages = Messages(-1)
    rank(RankConfig("x.csv", method="fisher", labels="d.tsv:class", adjust=("d.tsv:z",)), messages)
    assert any("explain class z completely" in text for text in messages.warnings)


def test_a_given_graph_is_not_adjusted_and_the_run_says_so(study):
    S = np.exp(-(np.subtract.outer(np.arange(N), np.arange(N)) ** 2) / 50)
    (study / "S.csv").write_text(table_text(S, SAMPLES, SAMPLES))
    messages = Messages(-1)
    config = RankConfig("x.csv", method="spec", similarity_file="S.csv", adjust=("c.tsv:batch",))
    rank(config, messages)
    assert any("given graph" in text for text in messages.warnings)
    messages = Messages(-1)
    rank(replace(config, adjust=()), messages)
    assert not any("given graph" in text for text in messages.warnings)


def test_a_fused_similarity_is_of_the_residuals(study, capfd):
    words = ["fuse", "--source", "t=target:,similarity=rbf"]
    for matrix, more in (("x.csv", ["--adjust", "c.tsv:batch,age"]), ("residuals.csv", [])):
        done = run_here(
            [*words, matrix, *more, "--dtype", "float64", "--out", f"{matrix}.tsv"], capfd
        )
        assert done.code == 0, done.err
    read = [
        np.loadtxt(f"{name}.tsv", skiprows=1, usecols=range(1, N + 1), delimiter="\t")
        for name in ("x.csv", "residuals.csv")
    ]
    np.testing.assert_allclose(*read, rtol=1e-9)
