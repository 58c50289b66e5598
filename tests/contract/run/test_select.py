"""``sfs select``: rows of the ranking by each rule, their twins, the same bytes, and the files."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from math import comb
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.feature_selection import f_classif
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sfs_cli.errors import InputError, OutputExistsError
from sfs_cli.io.files.atomic import OutputFolder
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.evaluate import CURVE_LENGTHS
from sfs_cli.options.select import SelectConfig
from sfs_cli.options.source import parse_source
from sfs_cli.workflow import select
from sfs_cli.workflow.convert import convert
from sfs_cli.workflow.fuse import run as fuse
from sfs_cli.workflow.rank import run as run_rank
from tests.contract.run.test_record import check
from tests.making import annotated, table_text, write_labels, write_parquet, write_table
from tests.oracles import select as oracle
from tests.results import rows_in

M, N = 60, 36
JUDGED: dict[str, Any] = {"cv": True, "repeats": 1, "splits": 2}  # which ranks again


def planted(m: int = M, n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features x samples of three classes: of the first twelve each is higher in one class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(8, 1, (m, n))
    X[:12] += 2.0 * (y == np.arange(12)[:, None] % 3)
    X[5] = X[2] + 0.1 * rng.normal(size=n)
    return X.round(3), y


def ranked(folder: Path, name: str = "ranked", **options: Any) -> str:
    """Rank the matrix of a folder, written there where it is not; return the output folder."""
    X, y = planted()
    if not (folder / "x.csv").exists():
        write_table(folder / "x.csv", X)
        write_labels(folder / "y.tsv", y.tolist())
    given: dict[str, Any] = {
        "matrix": str(folder / "x.csv"),
        "labels": str(folder / "y.tsv"),
        "method": "f-test",
        "dtype": "float64",
    }
    run_rank(RankConfig(**given | options, out=str(folder / name), force=True), Messages(-1))
    return str(folder / name)


def names_by(result: str, log: Messages | None = None, **how: Any) -> list[str]:
    return select.run(SelectConfig(result, **how), log or Messages(-1)).decode().split()


# ---- rules on the table --------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_top_and_fdr_are_rows_of_the_ranking(tmp_path, format):
    result = ranked(tmp_path, format=format)
    table = rows_in(Path(ranked(tmp_path, "as-text")) / "ranking.tsv")
    for given in (result, f"{result}/ranking.{format}"):
        assert names_by(given, top=5) == [row["feature"] for row in table[:5]]
        wanted = [row["feature"] for row in table if float(row["q_value"]) <= 0.01]
        assert names_by(given, fdr=0.01) == wanted
        assert 5 < len(wanted) < 20


def test_stable_features_are_those_of_a_frequency(tmp_path):
    table = tmp_path / "list.tsv"
    table.write_text("gene\tscore\tfrequency\na\t3\t0.9\nb\t2\t0.4\nc\t1\t0.6\nd\t0.5\t\n")
    assert names_by(str(table), stable=0.6) == ["a", "c"]
    assert names_by(str(table), stable=0.95) == []


def test_every_rule_leaves_out_what_repeats_a_better_feature(tmp_path, capfd, monkeypatch):
    result = ranked(tmp_path, max_correlation=0.8, stability="half", stability_subsets=4)
    rows = rows_in(Path(result) / "ranking.tsv")
    repeats = {row["feature"] for row in rows if row["representative"]}
    assert repeats in ({"g2"}, {"g5"})
    kept = [row for row in rows if not row["representative"]]
    assert names_by(result, Messages(), fdr=0.05) == [
        row["feature"] for row in kept if float(row["q_value"]) <= 0.05
    ]
    assert "repeat a better one" in capfd.readouterr().err
    assert names_by(result, stable=1) == [
        row["feature"] for row in kept if float(row["frequency"]) == 1
    ]
    assert names_by(result, top=len(kept)) == [row["feature"] for row in kept]
    with pytest.raises(InputError, match="59 ranked features that repeat no better one"):
        names_by(result, top=len(kept) + 1)
    capfd.readouterr()
    monkeypatch.setattr("sfs_cli.parts.pruning.KEEP", 5)
    short = ranked(tmp_path, "short", max_correlation=0.8)
    names_by(short, Messages(), top=9)
    assert "4 of the selected features were not compared" in capfd.readouterr().err


def test_a_list_of_another_program_is_read_by_its_columns(tmp_path):
    table = tmp_path / "deseq.csv"
    table.write_text("gene,padj,q_value\na,0.2,0.3\nb,0.01,0.02\nc,NA,NA\nd,0.03,0.04\n")
    assert names_by(f"{table}:padj", top=2) == ["b", "d"]
    assert names_by(f"{table}:padj", fdr=0.1) == ["b", "d"]


def test_an_empty_selection_is_no_error_but_is_said(tmp_path):
    result = ranked(tmp_path)
    log = Messages(-1)
    assert names_by(result, log, fdr=1e-99) == []
    assert any("none of" in text for text in log.warnings)
    with pytest.raises(InputError, match="no matrix"):
        names_by(result, fdr=1e-99, write_matrix=str(tmp_path / "cut.csv"))
    assert not (tmp_path / "cut.csv").exists()


def test_q_values_on_a_graph_of_the_tested_features_are_warned_of_again(tmp_path):
    options = {"method": "spec", "labels": None, "pvalues": "moments"}
    own = ranked(tmp_path, "own", **options, similarity="knn", neighbors=4)
    log = Messages(-1)
    names_by(own, log, fdr=0.9)
    assert any("tested features" in text and "--split features" in text for text in log.warnings)
    fused = str(tmp_path / "own.npz")
    source = RankConfig(
        str(tmp_path / "x.csv"), source=(parse_source("own=target:"),), dtype="float64"
    )
    fuse(source, fused, "sfs", Messages(-1))
    log = Messages(-1)
    names_by(ranked(tmp_path, "of_file", **options, similarity_file=fused), log, fdr=0.9)
    (told,) = (text for text in log.warnings if "tested features" in text)
    assert "--split" not in told  # which makes no graph of a file anew
    given = write_table(
        tmp_path / "S.csv",
        np.eye(N) + 0.5 * (np.arange(N)[:, None] % 3 == np.arange(N) % 3),
        [f"s{i}" for i in range(N)],
        [f"s{i}" for i in range(N)],
    )
    log = Messages(-1)
    other = ranked(tmp_path, "other", **options, similarity_file=given)
    assert len(names_by(other, log, fdr=0.1)) >= 5
    assert not log.warnings


# ---- cross-validation ----------------------------------------------------------------------------


def test_cv_is_the_pipeline_of_scikit_learn(tmp_path):
    result, (X, y) = ranked(tmp_path), planted()
    lengths = (2, 6, 12)
    names = names_by(
        result, cv=True, lengths="2,6,12", splits=3, repeats=2, seed=7, out=f"{tmp_path}/cv"
    )
    assert names == []
    found = np.zeros((2, 3, 3, 3))
    split = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=7).split(X.T, y)
    models = [KNeighborsClassifier(1), KNeighborsClassifier(5), SVC(kernel="linear")]
    for at, (train, test) in enumerate(split):
        order = np.argsort(-f_classif(X[:, train].T, y[train])[0], kind="stable")
        for i, k in enumerate(lengths):
            for j, model in enumerate(models):
                pipe = make_pipeline(StandardScaler(), model)
                guess = pipe.fit(X[order[:k]][:, train].T, y[train])
                found[at // 3, at % 3, i, j] = balanced_accuracy_score(
                    y[test], guess.predict(X[order[:k]][:, test].T)
                )
    rows = rows_in(tmp_path / "cv" / "curve.tsv")
    assert [int(row["features"]) for row in rows] == list(lengths)
    for i, row in enumerate(rows):
        assert float(row["balanced_accuracy"]) == pytest.approx(found[:, :, i].mean(), abs=1e-9)
        for j, name in enumerate(("1-NN", "5-NN", "linear SVM")):
            assert float(row[name]) == pytest.approx(found[:, :, i, j].mean(), abs=1e-9)
    best, taken = oracle.one_standard_error(found.mean(axis=-1))
    assert "best" in rows[best]["chosen"]
    assert "chosen" in rows[taken]["chosen"]
    listed = (tmp_path / "cv" / "selected.txt").read_text().split()
    assert listed == names_by(result, top=lengths[taken])


def test_default_lengths_go_as_far_as_the_shortest_list_of_a_fold(tmp_path):
    result = ranked(tmp_path, method="mrmr", select=25)
    names_by(result, cv=True, repeats=1, out=str(tmp_path / "cv"))
    lengths = [int(row["features"]) for row in rows_in(tmp_path / "cv" / "curve.tsv")]
    assert lengths == [k for k in CURVE_LENGTHS if k <= 25]
    with pytest.raises(InputError) as found:
        names_by(result, cv=True, lengths="30")
    assert found.value.options == ("lengths",)


def test_cv_of_a_ranking_without_labels_takes_those_that_are_given(tmp_path):
    result = ranked(tmp_path, labels=None, method="variance")
    assert names_by(result, cv=True, labels=str(tmp_path / "y.tsv"), repeats=1)


def test_labels_of_cv_judge_the_method_and_the_graph_that_made_the_list(tmp_path):
    method, own = "hsic", {"similarity": "knn-correlation", "method": "hsic"}
    results = {
        "given": ranked(tmp_path, "a", labels=None, method=method),
        "named": ranked(tmp_path, "b", **own),
        "default": ranked(tmp_path, "c", method=method),
    }
    curves = {}
    for name, result in results.items():
        given = {"labels": str(tmp_path / "y.tsv")} if name == "given" else {}
        out = str(tmp_path / f"{name}-cv")
        names_by(result, cv=True, repeats=1, lengths="2,5,10", out=out, **given)
        curves[name] = (tmp_path / f"{name}-cv" / "curve.tsv").read_text()
    assert curves["given"] == curves["named"]
    assert curves["given"] != curves["default"]  # of labels, where these are known from the start


def test_cv_tells_what_may_have_seen_the_test_samples(tmp_path, capfd):
    X, _ = planted()
    S = np.corrcoef(X.T) + 1
    ids = [f"s{i}" for i in range(N)]
    rows = [f"{name}\t" + "\t".join(map(str, row)) for name, row in zip(ids, S)]
    (tmp_path / "s.tsv").write_text("\t".join(["sample", *ids]) + "\n" + "\n".join(rows) + "\n")
    result = ranked(tmp_path, method="laplacian", similarity_file=str(tmp_path / "s.tsv"))
    names_by(result, Messages(0), cv=True, repeats=1, lengths="5")
    assert "s.tsv, which may have been built from the test samples" in capfd.readouterr().err


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_cv_says_where_the_accuracy_is_that_of_guessing(tmp_path, shift):
    rng, y = np.random.default_rng(3), np.arange(40) % 2
    values = rng.normal(size=(60, 40))
    values[:5] += shift * y
    matrix = str(write_table(tmp_path / "x.csv", values))
    labels = write_labels(tmp_path / "y.tsv", ["ab"[k] for k in y])
    out, log = str(tmp_path / "r"), Messages(-1)
    run_rank(RankConfig(matrix, "f-test", labels=labels, out=out), Messages(-1))
    select.run(SelectConfig(out, cv=True, repeats=1, out=str(tmp_path / "s")), log)
    found = json.loads((tmp_path / "s" / "run.json").read_text())["cv"]
    assert found["by_chance"] == 0.5
    assert found["by_chance_up_to"] == pytest.approx(0.5 + 2.5 * 0.5 / np.sqrt(40))
    assert found["above_chance"] == (shift > 0)
    assert any("0.500" in text for text in log.warnings) == (shift == 0)


# ---- the matrix ----------------------------------------------------------------------------------


def cut(folder: Path, matrix: str, target: str, **options: Any) -> list[int]:
    """Rank a matrix by variance, write it cut to 9 genes; return their indices, ascending."""
    config = RankConfig(matrix, method="variance", out=f"{folder}/of", force=True, **options)
    run_rank(config, Messages(-1))
    names = names_by(f"{folder}/of", top=9, write_matrix=f"{folder}/{target}", force=True)
    return sorted(int(name[1:]) for name in names)


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_text_is_copied_line_by_line(tmp_path, packed):
    text = "# a comment\r\n" + table_text(planted()[0], delimiter="\t").replace("\n", "\r\n")
    (tmp_path / "x.tsv").write_bytes(text.encode())
    kept = cut(tmp_path, str(tmp_path / "x.tsv"), f"cut.tsv{packed}")
    lines = text.replace("\r", "").splitlines()
    raw = (tmp_path / f"cut.tsv{packed}").read_bytes()
    if packed == ".gz":
        raw = gzip.decompress(raw)
    assert raw.decode().splitlines() == [*lines[:2], *(lines[2 + i] for i in kept)]


@pytest.mark.parametrize("header", ["id", None])
def test_columns_of_text_are_cut_where_rows_are_samples(tmp_path, header):
    X, _ = planted()
    genes, samples = [f"g{i}" for i in range(M)], [f"s{i}" for i in range(N)]
    text = table_text(X.T, samples, genes)
    text = text if header else text.removeprefix("id,")  # as R's write.table writes it
    text = text.replace("s3,", '"s3",')
    (tmp_path / "x.csv").write_text(text)
    kept = cut(tmp_path, str(tmp_path / "x.csv"), "cut.csv", rows="samples")
    lines = list(csv.reader((tmp_path / "cut.csv").read_text().splitlines()))
    lead = [header] if header else []
    assert lines[0] == [*lead, *(f"g{i}" for i in kept)]
    assert lines[4] == ["s3", *(str(X[i, 3]) for i in kept)]
    assert len(lines) == N + 1


@pytest.mark.parametrize(
    ("rows", "name"), [("features", "cut.parquet"), ("samples", "cut.feather")]
)
def test_tables_keep_their_columns_and_types(tmp_path, rows, name):
    X, _ = planted()
    genes, samples = [f"g{i}" for i in range(M)], [f"s{i}" for i in range(N)]
    parts = (X, genes, samples) if rows == "features" else (X.T, samples, genes)
    source = write_parquet(tmp_path / "x.parquet", *parts, row_group_size=7)
    whole = pq.read_table(source)
    if name.endswith("feather"):
        source = str(tmp_path / "x.feather")
        pyarrow.feather.write_feather(whole, source, chunksize=7)
    kept = cut(tmp_path, source, name, rows=rows)
    read = pq.read_table if name.endswith("parquet") else pyarrow.feather.read_table
    found = read(tmp_path / name)
    wanted = whole.take(kept) if rows == "features" else whole.select([0, *(i + 1 for i in kept)])
    assert found.equals(wanted)


def test_gct_counts_its_rows(tmp_path):
    X, _ = planted()
    lines = [f"g{i}\tabout {i}\t" + "\t".join(map(str, row)) for i, row in enumerate(X)]
    head = ["#1.2", f"{M}\t{N}", "Name\tDescription\t" + "\t".join(f"s{i}" for i in range(N))]
    (tmp_path / "x.gct").write_text("\n".join([*head, *lines]) + "\n")
    kept = cut(tmp_path, str(tmp_path / "x.gct"), "cut.gct")
    found = (tmp_path / "cut.gct").read_text().splitlines()
    assert found == ["#1.2", f"9\t{N}", head[2], *(lines[i] for i in kept)]


@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
def test_anndata_keeps_what_it_knows(tmp_path, suffix):
    import anndata

    X, y = planted()
    data = annotated(X.T, obsm={"X_pca": X[:2].T.copy()}, varm={"load": X[:, :3].copy()})
    data.layers["twice"] = 2 * data.X
    data.obs["class"] = [f"c{c}" for c in y]
    data.var["length"] = np.arange(M)
    source = tmp_path / f"x.{suffix}"
    getattr(data, f"write_{suffix}")(source)
    kept = cut(tmp_path, str(source), f"cut.{suffix}", layer="twice")
    found = getattr(anndata, f"read_{suffix}")(tmp_path / f"cut.{suffix}")
    assert list(found.var_names) == [f"g{i}" for i in kept]
    assert (found.X == X[kept].T).all()
    assert (found.layers["twice"] == 2 * X[kept].T).all()
    assert list(found.obs["class"]) == [f"c{c}" for c in y]
    assert list(found.var["length"]) == kept
    assert (found.obsm["X_pca"] == X[:2].T).all()
    assert (found.varm["load"] == X[kept, :3]).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_store_is_cut_to_a_store_that_ranks_alike(tmp_path, sparse):
    from scipy.sparse import csr_matrix

    X = np.random.default_rng(0).poisson(1.5, (M, N)).astype(float)
    source = str(tmp_path / "x.h5ad")
    annotated(csr_matrix(X.T) if sparse else X.T).write_h5ad(source)
    convert(RankConfig(source), f"{tmp_path}/store", Messages(-1))
    kept = cut(tmp_path, f"{tmp_path}/store", "cut")
    out = f"{tmp_path}/again"
    run_rank(RankConfig(f"{tmp_path}/cut", method="variance", out=out), Messages(-1))
    table = rows_in(Path(out) / "ranking.tsv")
    assert sorted(int(row["feature"][1:]) for row in table) == kept
    first = rows_in(tmp_path / "of" / "ranking.tsv")[:9]
    assert [row["score"] for row in table] == [row["score"] for row in first]


def test_genes_of_one_name_are_cut_by_their_places(tmp_path):
    X, _ = planted()
    genes = ["same"] * 3 + [f"g{i}" for i in range(3, M)]
    write_table(tmp_path / "x.csv", X, genes)
    run_rank(RankConfig(f"{tmp_path}/x.csv", method="variance", out=f"{tmp_path}/of"), Messages(-1))
    names = names_by(f"{tmp_path}/of", top=30, write_matrix=f"{tmp_path}/cut.csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    unique = ["same", "same-1", "same-2", *genes[3:]]
    wanted = [lines[1 + i] for i in sorted(unique.index(name) for name in names)]
    assert (tmp_path / "cut.csv").read_text().splitlines() == [lines[0], *wanted]


# ---- the record, and what has changed ------------------------------------------------------------


def test_the_record_is_what_its_schema_says_and_a_second_run_is_up_to_date(tmp_path):
    out, copy = tmp_path / "out", tmp_path / "cut.csv"
    how: dict[str, Any] = {"cv": True, "repeats": 1, "out": str(out), "write_matrix": str(copy)}
    config = SelectConfig(ranked(tmp_path), **how)
    select.run(config, Messages(-1))
    record = json.loads((out / "run.json").read_text())
    check(record, "select")
    before = {path.name: path.stat().st_ino for path in (*out.iterdir(), copy)}
    select.run(config, Messages(-1))
    assert {path.name: path.stat().st_ino for path in (*out.iterdir(), copy)} == before
    other = SelectConfig(config.result, top=4, out=str(out))
    with pytest.raises(OutputExistsError):
        select.run(other, Messages(-1))
    assert sorted(path.name for path in out.iterdir() if path.name.startswith(".")) == []


def test_a_run_that_ends_before_its_list_is_there_leaves_no_matrix(tmp_path, monkeypatch):
    out, copy = tmp_path / "out", tmp_path / "cut.csv"
    config = SelectConfig(ranked(tmp_path), top=3, out=str(out), write_matrix=str(copy))
    with monkeypatch.context() as patched:
        patched.setattr(OutputFolder, "commit", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            select.run(config, Messages(-1))
    assert not copy.exists()
    select.run(config, Messages(-1))
    assert copy.exists()


def test_inputs_that_have_changed_or_are_gone_are_refused(tmp_path):
    result = ranked(tmp_path)
    shutil.copy(tmp_path / "x.csv", tmp_path / "kept.csv")
    with (tmp_path / "x.csv").open("a") as file:
        file.write("new," + ",".join("1" * N) + "\n")
    with pytest.raises(InputError, match="matrix has changed") as found:
        names_by(result, **JUDGED)
    assert "x.csv" in str(found.value.where)
    (tmp_path / "x.csv").unlink()
    with pytest.raises(InputError, match="not there") as found:
        names_by(result, top=3, write_matrix=str(tmp_path / "cut.csv"))
    assert found.value.options == ("matrix",)
    assert names_by(result, **JUDGED, matrix=str(tmp_path / "kept.csv"))
    assert names_by(result, top=3)  # which needs none
    (tmp_path / "y.tsv").write_text((tmp_path / "y.tsv").read_text() + "other\tc1\n")
    with pytest.raises(InputError, match="labels"):
        names_by(result, **JUDGED, matrix=str(tmp_path / "kept.csv"))


def test_a_ranking_of_another_matrix_is_refused(tmp_path):
    result, X = ranked(tmp_path), planted()[0]
    fewer = write_table(tmp_path / "fewer.csv", X[:-1])
    renamed = write_table(tmp_path / "renamed.csv", X, [f"ENSG{i}" for i in range(M)])
    samples = write_table(tmp_path / "samples.csv", X[:, :-3])
    for matrix in (fewer, renamed, samples):
        with pytest.raises(InputError, match="another matrix"):
            names_by(result, **JUDGED, matrix=matrix)
        with pytest.raises(InputError, match="another matrix"):
            names_by(result, top=3, write_matrix=str(tmp_path / "cut.csv"), matrix=matrix)
    assert not (tmp_path / "cut.csv").exists()


def test_a_matrix_replaces_no_other_file_or_folder(tmp_path):
    result = ranked(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(OutputExistsError):
        names_by(result, top=3, write_matrix=str(tmp_path / "there.csv"))
    assert (tmp_path / "there.csv").read_text() == "mine"
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputExistsError, match="something else"):
        names_by(result, top=3, write_matrix=str(tmp_path / "folder.csv"), force=True)


# ---- sets of features ----------------------------------------------------------------------------


def with_sets(folder: Path) -> tuple[str, str]:
    """Rank by two classes; return the output folder and a file of three sets."""
    write_labels(folder / "two.tsv", [f"c{i % 3 // 2}" for i in range(N)])
    sets = folder / "sets.gmt"
    members = {"planted": range(12), "others": range(20, 40), "mixed": range(6, 30)}
    lines = ["\t".join([name, "", *(f"g{i}" for i in of)]) for name, of in members.items()]
    sets.write_text("\n".join(lines) + "\n")
    return ranked(folder, labels=str(folder / "two.tsv")), str(sets)


def test_sets_are_tested_among_the_selected_features_and_those_of_each_direction(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result, sets = with_sets(tmp_path)
    select.run(SelectConfig(result, top=14, sets=(sets,), out=str(tmp_path / "s")), Messages())
    rows, chosen = rows_in(tmp_path / "s/enrichment.tsv"), rows_in(tmp_path / "s/selected.tsv")
    direction = {row["feature"]: row["direction"] for row in chosen}
    lists = {"selected": list(direction)} | {
        f"selected, higher in {end}": [f for f, to in direction.items() if to == end]
        for end in ("c1", "c0")
    }
    assert [row["list"] for row in rows] == [name for name in lists for _ in range(3)]
    lines = [line.split("\t") for line in Path(sets).read_text().splitlines()]
    known = {name: members for name, _, *members in lines}
    for row in rows:
        of, first = known[row["set"]], lists[row["list"]]
        both = [feature for feature in first if feature in of]
        more = range(len(both), len(first) + 1)
        ways = sum(comb(len(of), k) * comb(M - len(of), len(first) - k) for k in more)
        assert row["features"] == str(len(first))
        assert row["members"] == ";".join(both)
        assert float(row["p_value"]) == pytest.approx(ways / comb(M, len(first)), rel=1e-8)
    assert min(rows, key=lambda row: float(row["p_value"]))["set"] == "planted"
    said = capfd.readouterr().err
    assert "sets of sets.gmt, selected: best planted (q-value " in said
    roles = {each["role"] for each in json.loads((tmp_path / "s/run.json").read_text())["inputs"]}
    assert roles == {"result", "sets"}
