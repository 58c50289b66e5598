"""From a series matrix and a platform table of GEO to a ranking of genes, as users run it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfs_cli
from tests.making import annotated, names, series_matrix

M, N = 90, 16
PROBES, TITLES = [f"{i}_at" for i in range(M)], names("patient ", N)
TISSUE = ["lung", "liver"] * (N // 2)
# every gene has three probes, some of them no gene, or another one as well
GENES = [None if i % 15 == 7 else f"G{i // 3}" for i in range(M)]
TWO = (8, 38)
SHAPE = [
    ("characteristics_ch1", [f"tissue: {tissue}" for tissue in TISSUE]),
    ("characteristics_ch1", [f"scan batch: {'ab'[i // 2 % 2]}" for i in range(N)]),
    ("characteristics_ch1", [f"patient: p{i // 2}" for i in range(N)]),
]


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.normal(8, 1, (M, N))
    values[:12, ::2] += 2
    return values.round(3)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, X: np.ndarray) -> Path:
    """The files of a study, in the current folder."""
    text = series_matrix(X, PROBES, TITLES, SHAPE, end="\r\n")
    (tmp_path / "GSE9_series_matrix.txt.gz").write_bytes(gzip.compress(text.encode()))
    lines = ["#ID = Affymetrix Probe Set ID", "ID\tGB_ACC\tGene Title\tGene Symbol\tSPOT"]
    for i, (probe, gene) in enumerate(zip(PROBES, GENES)):
        symbol = f"{gene} /// X{i}" if i in TWO else gene or "---"
        lines.append(f'{probe}\tU{i}\tthe "5\'" end of {i}\t{symbol}\t')
    (tmp_path / "GPL9.txt").write_text("\n".join(lines) + "\n")
    labels = pd.DataFrame({"tissue": TISSUE, "batch": ["a", "a", "b", "b"] * 4}, TITLES)
    labels.to_csv(tmp_path / "labels.tsv", sep="\t", index_label="sample")
    table = pd.DataFrame(X, [g or f"own{i}" for i, g in enumerate(GENES)], TITLES)
    table.to_csv(tmp_path / "repeated.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SERIES = "GSE9_series_matrix.txt.gz"
RANKED = ("--method", "t-test", "--dtype", "float64")


def test_annotations_of_a_series_are_columns_of_the_samples(study, sfs, X):
    pd.DataFrame(X, PROBES, TITLES).to_csv("plain.csv")
    plain = sfs("rank", "plain.csv", *RANKED, "--labels", "labels.tsv:tissue", "--adjust",
                "labels.tsv:batch").out  # fmt: skip
    gsm = pd.read_csv("labels.tsv", sep="\t").assign(sample=[f"GSM{i + 1}" for i in range(N)])
    gsm.to_csv("gsm.tsv", sep="\t", index=False)
    for labels, batch in [
        ("obs:tissue", "obs:scan batch"),
        ("obs:Tissue", f"{SERIES}:scan_batch"),
        ("gsm.tsv:tissue", "gsm.tsv:batch"),
    ]:
        assert sfs("rank", SERIES, *RANKED, "--labels", labels, "--adjust", batch).out == plain
    # the columns of a series go with any other matrix of its samples
    assert plain == sfs("rank", "plain.csv", *RANKED, "--labels", f"{SERIES}:tissue", "--adjust",
                        f"{SERIES}:scan batch").out  # fmt: skip
    by_donor = sfs("rank", SERIES, *RANKED, "--labels", "obs:tissue", "--donors", "obs:patient")
    assert "donors" in by_donor.err


def test_inspect_lists_the_columns_of_the_samples_of_any_format(study, sfs):
    text = sfs("inspect", SERIES).out
    assert "obs:tissue                    2 values: lung, liver\n" in text
    assert "obs:patient                   8 values: p0, p1, p2, p3 and 4 more\n" in text
    facts = json.loads(sfs("inspect", SERIES, "--json").out)
    assert facts["sample_annotations"][:3] == ["tissue", "scan batch", "patient"]
    assert facts["sample_columns"]["obs:scan batch"] == "2 values: a, b"
    adata = annotated(np.ones((3, 4)), names("g", 4), names("s", 3))
    adata.obs["type"] = pd.Categorical(["T", None, "B"])
    adata.write_h5ad("x.h5ad")
    assert (
        "obs:type                      2 values: T, B; 1 missing\n" in sfs("inspect", "x.h5ad").out
    )


def test_a_column_of_a_workbook_needs_no_name_of_its_sheet(study, sfs):
    with pd.ExcelWriter("all.xlsx", engine="xlsxwriter") as book:
        pd.read_csv("repeated.csv").to_excel(book, sheet_name="values", index=False)
        pd.read_csv("labels.tsv", sep="\t").to_excel(book, sheet_name="samples", index=False)
    of_text = sfs("rank", "repeated.csv", "--labels", "labels.tsv:tissue", *RANKED).out
    of_book = sfs("rank", "all.xlsx", "--labels", "all.xlsx:tissue", *RANKED).out
    assert of_book == of_text


@pytest.mark.parametrize("how", ["median", "highest-mean"])
def test_probes_become_genes_as_pandas_groups_them(study, sfs, X, how):
    asked = ("--collapse", how, "--id-map", "GPL9.txt", "--labels", "obs:tissue", *RANKED)
    done = sfs("rank", SERIES, *asked, "--out", "out")
    kept = [i for i, gene in enumerate(GENES) if gene and i not in TWO]
    groups = pd.DataFrame(X[kept], columns=TITLES).groupby([GENES[i] for i in kept], sort=False)
    if how == "highest-mean":
        best = pd.Series(X[kept].mean(axis=1)).groupby([GENES[i] for i in kept], sort=False)
        genes = pd.DataFrame(X[kept][best.idxmax()], best.idxmax().index, TITLES)
    else:
        genes = getattr(groups, how)()
    genes.to_csv("genes.csv")
    sfs("rank", "genes.csv", "--labels", "labels.tsv:tissue", *RANKED, "--out", "plain")
    found, plain = (pd.read_csv(f"{name}/ranking.tsv", sep="\t") for name in ("out", "plain"))
    pd.testing.assert_frame_equal(found, plain, rtol=1e-9)
    assert f"--collapse {how}, by GPL9.txt: 90 features in the file, 30 features made" in done.err
    assert "6 left out without an id, 2 left out with several ids" in done.err
    assert json.loads(Path("out/run.json").read_text())["input"]["collapse"] == {
        "how": how,
        "features_in_the_file": M,
        "features_made": 30,
        "that_share_an_id": len(kept) - sum(groups.size() == 1),
        "left_out_without_an_id": 6,
        "left_out_with_several_ids": 2,
    }
    page = Path("out/report.html").read_text()
    assert f"Collapsed ({how})" in page
    assert "30 features made" in page


def test_rows_of_one_id_get_suffixes_or_become_one(study, sfs):
    labels = ("--labels", "labels.tsv:tissue", *RANKED)
    done = sfs("rank", "repeated.csv", *labels)
    assert "suffix (-1, -2, ...): 54; --collapse mean|median|sum|highest-mean" in done.err
    done = sfs("rank", "repeated.csv", *labels, "--collapse", "median")
    assert "36 features made, 84 that share an id" in done.err
    assert len(done.out.splitlines()) == 1 + 36


def test_a_store_is_of_the_genes_that_were_asked_for(study, sfs):
    asked = ("--collapse", "mean", "--id-map", "GPL9.txt")
    sfs("convert", SERIES, "genes.store", *asked)
    assert "up to date" in sfs("convert", SERIES, "genes.store", *asked).err
    other = ("--collapse", "mean", "--id-map", "GPL9.txt:GB_ACC")
    assert "exists" in sfs("convert", SERIES, "genes.store", *other, code=4).err
    of_store = sfs("rank", "genes.store", "--labels", "obs:tissue").out
    assert of_store == sfs("rank", SERIES, *asked, "--labels", "obs:tissue").out
    done = sfs("rank", "genes.store", "--collapse", "mean", code=2)
    assert "--collapse has no effect on a store" in done.err


def test_other_commands_take_it_as_rank_does(study, sfs):
    asked = (SERIES, "--collapse", "mean", "--id-map", "GPL9.txt:ID,Gene Symbol")
    labels = ("--labels", "obs:tissue")
    assert "G0" in sfs("inspect", *asked).out
    few = ("--splits", "2", "--repeats", "1", "--lengths", "5")
    assert "accuracy" in sfs("evaluate", *asked, *labels, "--method", "t-test", *few).out
    sfs("rank", *asked, *labels, "--method", "t-test", "--out", "out")
    assert sfs("select", "out", "--top", "5").out.startswith("G")
    done = sfs("select", "out", "--top", "5", "--write-matrix", "x_series_matrix.txt", code=2)
    assert "--collapse mean has made its features" in done.err


@pytest.mark.parametrize("collapse", [(), ("--collapse", "mean")])
def test_sources_find_genes_where_the_matrix_has_probes(study, sfs, collapse):
    Path("sets.gmt").write_text("up\tx\tG0\tG1\tG2\tG3\n")
    asked = (SERIES, "--source", "up=genes:sets.gmt:up", "--method", "msfs", *collapse)
    sfs("rank", *asked, "--id-map", "GPL9.txt", "--out", "out")
    source = json.loads(Path("out/run.json").read_text())["knowledge"]["sources"]
    assert source[0]["genes_found"] == 4


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--id-map", "GPL9.txt"), "no effect without --collapse or sources about genes", 0),
        (("--collapse", "mean", "--id-map", "GPL9.txt:ID,Symbol"), "one of ID, GB_ACC", 3),
        (("--collapse", "mean", "--id-map", "GPL9.txt:GB_ACC"), "0 that share an id", 0),
        (("--collapse", "mean"), "by the ids in the file", 0),
        (("--collapse", "mean", "--id-map", "labels.tsv:tissue"), "of the map names a feature", 3),
    ],
)
def test_what_is_wrong_or_doubtful_is_said(study, sfs, words, said, code):
    done = sfs("rank", SERIES, "--labels", "obs:tissue", "--method", "variance", *words, code=code)
    assert said in done.err


def test_in_python_tables_are_collapsed_and_anndata_is_not(study, X):
    table = pd.DataFrame(X.T, TITLES, [gene or "none" for gene in GENES])
    found = sfs_cli.rank(table, method="variance", collapse="mean").table
    assert sorted(found.index) == sorted(set(table.columns))
    adata = annotated(X.T.copy(), PROBES, TITLES)
    with pytest.raises(ValueError, match="collapse makes other features"):
        sfs_cli.rank(adata, method="variance", collapse="mean")
