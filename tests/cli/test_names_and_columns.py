"""Columns that are taken are named; names stay as they are: NaN, NA, 1.0, accents of two forms."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest

import sfs_cli as sfs
from tests.running import Finished, run_here

ODD = ["NaN", "nan", "None", "NA", "na", "N/A", "null", "NULL", "inf", "-inf", "True", "1e5"]
GENES = [*ODD, *(f"g{i}" for i in range(20))]
SAMPLES = ["NA", "NaN", "null", "inf", "None", *(f"s{i}" for i in range(7))]
VALUES = np.random.default_rng(3).normal(size=(len(GENES), len(SAMPLES)))


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


Here = Callable[..., Finished]


@pytest.fixture
def here(capfd: pytest.CaptureFixture[str]) -> Here:
    """What runs the command line in this process."""
    return lambda *arguments: run_here([str(each) for each in arguments], capfd)


def matrix(folder: Path, genes: list[str] = GENES, samples: list[str] = SAMPLES) -> Path:
    values = VALUES[: len(genes), : len(samples)]
    path = folder / "m.csv"
    pd.DataFrame(values, pd.Index(genes, name="gene"), samples).to_csv(path)
    return path


def table(folder: Path, samples: list[str] = SAMPLES, **columns: Any) -> Path:
    path = folder / "t.tsv"
    frame = pd.DataFrame({"sample": samples, **columns})
    frame.to_csv(path, sep="\t", index=False)
    return path


HALVES = ["a"] * 6 + ["b"] * 6


# ---- columns that nobody named -------------------------------------------------------------------


def test_the_column_of_labels_is_told(tmp_path: Path, here: Here) -> None:
    labels = table(tmp_path, age=range(12), group=HALVES, site=["x", "y"] * 6)
    asked = ["rank", matrix(tmp_path), "--method", "f-test", "--out", tmp_path / "o", "--force"]
    done = here(*asked, "--labels", labels)
    assert "column 'group'" in done.err
    assert "age, site" in done.err
    record = json.loads((tmp_path / "o" / "run.json").read_text())
    assert record["labels"]["column"] == "group"
    for named in (f"{labels}:group", table(tmp_path, group=HALVES)):
        done = here(*asked, "--labels", named)
        assert done.code == 0
        assert "column 'group'" not in done.err
        record = json.loads((tmp_path / "o" / "run.json").read_text())
        assert "column" not in record["labels"]


def test_the_columns_of_weights_sources_and_coordinates_are_told(
    tmp_path: Path, here: Here
) -> None:
    out = tmp_path / "o"
    ranked = ["rank", matrix(tmp_path), "--out", out, "--force"]
    file = table(tmp_path, age=range(1, 13), weight=[1, 2] * 6, path=["a/b", "a/c"] * 6)
    done = here(*ranked, "--method", "variance", "--sample-weights", file)
    assert "--sample-weights are those of" in done.err
    assert "'weight'" in done.err
    record = json.loads((out / "run.json").read_text())
    assert record["input"]["sample_weights"]["column"] == "weight"
    done = here(*ranked, "--method", "msfs", "--source", f"h=hierarchy:{file}")
    assert "by column 'path'" in done.err
    record = json.loads((out / "run.json").read_text())
    assert record["knowledge"]["sources"][0]["column"] == "path"
    places = table(tmp_path, x=VALUES[0], y=VALUES[1], age=range(12))
    done = here(*ranked, "--method", "spec", "--similarity", "rbf", "--coordinates", places)
    assert "x, y, age" in done.err
    record = json.loads((out / "run.json").read_text())
    assert record["graph"]["columns"] == "x, y, age"


# ---- classes with two spellings ------------------------------------------------------------------


@pytest.mark.parametrize("other", ["1.0", "01"])
def test_classes_that_are_one_number(other: str, tmp_path: Path, here: Here) -> None:
    labels = table(tmp_path, group=["1"] * 4 + [other] * 4 + ["2"] * 4)
    done = here("rank", matrix(tmp_path), "--method", "f-test", "--labels", labels)
    assert done.code == 0
    assert f"'1' and '{other}'" in done.err or f"'{other}' and '1'" in done.err
    assert "differ in spelling" in done.err


def test_accents_of_two_forms_are_one(tmp_path: Path, here: Here) -> None:
    genes = [nfc(f"gén{i}") for i in range(20)]
    samples = [nfc(f"é{i}") for i in range(12)]
    path = matrix(tmp_path, genes, samples)
    labels = table(
        tmp_path,
        [nfd(name) for name in samples],
        **{nfd("condición"): [nfc("é")] * 3 + [nfd("é")] * 3 + ["b"] * 6, "w": [1, 2] * 6},
    )
    asked = f"{labels}:{nfc('condición')}"
    done = here("rank", path, "--method", "f-test", "--labels", asked, "--format", "json")
    assert done.code == 0, done.err
    assert {row["direction"] for row in json.loads(done.out)} == {nfc("é"), "b"}
    listed = tmp_path / "l.txt"
    listed.write_text("\n".join(nfd(name) for name in genes[:5]))
    done = here("rank", path, "--method", "variance", "--include", listed, "--format", "json")
    assert sum(row["status"] == "ok" for row in json.loads(done.out)) == 5
    sets = tmp_path / "s.gmt"
    sets.write_text("\t".join([nfd("é"), "x", *map(nfd, genes[:5])]))
    done = here("rank", path, "--method", "msfs", "--source", f"s=genes:{sets}:{nfc('é')}")
    assert "5 of 5 genes found" in done.err
    edges = tmp_path / "e.tsv"
    edges.write_text("gene_a\tgene_b\n" + f"{nfd(genes[0])}\t{genes[1]}\n{genes[2]}\t{genes[3]}\n")
    done = here("rank", path, "--method", "msfs", "--source", f"s=interactions:{edges}")
    assert "4 of 4 genes found" in done.err
    places = table(tmp_path, [nfd(name) for name in samples], x=range(12), y=[0, 1] * 6)
    done = here(*("rank", path, "--method", "spec", "--similarity", "rbf", "--coordinates", places))
    assert done.code == 0, done.err


def test_two_ids_that_look_the_same(tmp_path: Path, here: Here) -> None:
    two = [nfc("é"), nfd("é")]
    done = here("rank", matrix(tmp_path, [*two, *GENES[2:]]), "--method", "variance")
    assert "duplicate id" in done.err
    done = here("rank", matrix(tmp_path, GENES, [*two, *SAMPLES[2:]]), "--method", "variance")
    assert done.code == 3
    assert "Unicode forms" in done.err


# ---- names that look like missing values ---------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "csv+", "parquet", "feather", "h5ad"])
def test_names_that_look_missing_are_kept(kind: str, tmp_path: Path, here: Here) -> None:
    frame = pd.DataFrame(VALUES, pd.Index(GENES, name="gene"), SAMPLES)
    path = tmp_path / f"m.{kind.removesuffix('+')}"
    if kind == "csv":
        frame.to_csv(path)
    elif kind == "csv+":
        frame.T.rename_axis("sample").to_csv(path)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "feather":
        frame.reset_index().to_feather(path)
    else:
        anndata.AnnData(frame.T).write_h5ad(path)
    labels = table(tmp_path, group=HALVES)
    done = here("rank", path, "--method", "f-test", "--labels", labels, "--format", "json")
    assert done.code == 0, done.err
    assert [row["feature"] for row in json.loads(done.out) if row["status"] != "ok"] == []
    assert {row["feature"] for row in json.loads(done.out)} == set(GENES)


@pytest.mark.parametrize("format", ["tsv", "csv", "json", "parquet", "rnk"])
def test_results_with_such_names_are_read_back(format: str, tmp_path: Path, here: Here) -> None:
    path, out = matrix(tmp_path), tmp_path / "o"
    here("rank", path, "--method", "variance", "--format", format, "--out", out)
    order = [GENES[j] for j in np.argsort(-VALUES.var(axis=1))]
    if format != "rnk":
        assert here("select", out, "--top", len(GENES)).out.split() == order
    ranking = next(out.glob("ranking.*"))
    done = here("aggregate", ranking, ranking, "--format", "json")
    assert [row["feature"] for row in json.loads(done.out)] == order
    if format == "tsv":
        done = here("evaluate", path, "--list", ranking, "--lengths", "5")
        assert done.code == 0, done.err


def test_lists_and_sets_with_such_names(tmp_path: Path, here: Here) -> None:
    path = matrix(tmp_path)
    listed = tmp_path / "l.txt"
    listed.write_text("\n".join([*ODD, "g0"]) + "\n")
    done = here("rank", path, "--method", "variance", "--include", listed, "--format", "json")
    assert sum(row["status"] == "ok" for row in json.loads(done.out)) == len(ODD) + 1
    done = here("aggregate", listed, listed, "--format", "json")
    assert done.code == 0, done.err
    assert [row["feature"] for row in json.loads(done.out)] == [*ODD, "g0"]
    pairs = tmp_path / "map.tsv"
    pairs.write_text("probe\tsymbol\n" + "".join(f"{name}\tP{i}\n" for i, name in enumerate(ODD)))
    sets = tmp_path / "s.gmt"
    sets.write_text("\t".join(["S", "x", *(f"P{i}" for i in range(len(ODD)))]))
    asked = ["rank", path, "--method", "msfs", "--source", f"s=genes:{sets}:S"]
    done = here(*asked, "--id-map", pairs)
    # NA and N/A are how tables of ids write that there is none
    assert f"{len(ODD) - 2} of {len(ODD)} genes found" in done.err


def test_classes_that_stand_for_missing_values_are_told(tmp_path: Path, here: Here) -> None:
    labels = table(tmp_path, group=["None"] * 4 + ["a"] * 4 + ["b"] * 4)
    asked = ["rank", matrix(tmp_path), "--method", "f-test", "--labels", labels]
    done = here(*asked)
    assert done.code == 3
    assert "None (4) in place of a value" in done.err
    done = here(*asked, "--samples", "intersect")
    assert done.code == 0
    assert "None (4) in place of a value" in done.err
    frame = pd.DataFrame(VALUES.T, SAMPLES, GENES)
    adata = anndata.AnnData(frame, pd.DataFrame({"group": ["NA"] * 4 + HALVES[2:10]}, SAMPLES))
    adata.write_h5ad(tmp_path / "m.h5ad")
    done = here("rank", tmp_path / "m.h5ad", "--method", "f-test", "--labels", "obs:group")
    assert "NA (4) in place of a value" in done.err


@pytest.mark.parametrize("axis", ["index", "columns"])
def test_missing_names_of_data_frames_are_refused(axis: str) -> None:
    frame = pd.DataFrame(VALUES.T, SAMPLES, GENES)
    names = [None, *list(getattr(frame, axis))[1:]]
    frame = frame.set_axis(pd.Index(names, dtype=object), axis=axis)  # type: ignore[call-overload]
    with pytest.raises(sfs.SfsError, match="without a name"):
        sfs.rank(frame, method="variance", rows="samples")


def test_the_column_of_the_ids_is_told_once(here: Here, tmp_path: Path) -> None:
    path, table = matrix(tmp_path, GENES, SAMPLES), tmp_path / "clinical.csv"
    rows = [f"P{i // 2},{name},{'ab'[i % 2]}" for i, name in enumerate(SAMPLES[2:])]
    table.write_text("\n".join(["Patients", "patient,sample,group", *rows]) + "\n")
    given = ("--labels", f"{table}:group", "--donors", f"{table}:patient", "--samples", "intersect")
    done = here("rank", path, "--method", "f-test", *given)
    assert done.code == 0, done.err
    assert done.err.count("the ids of the samples are in column 'sample'") == 1
    assert done.err.count("line 1 ('Patients')") == 1


def measured(folder: Path, genes: list[str]) -> Path:
    """Write a matrix of twelve samples and a table of them, of the groups a, b and c."""
    samples = [f"S{i}" for i in range(12)]
    values = np.random.default_rng(5).normal(size=(len(genes), len(samples)))
    pd.DataFrame(values, genes, samples).to_csv(folder / "d.csv")
    known = pd.DataFrame({"group": list("abc" * 4), "age": range(30, 42)}, samples)
    known.rename_axis("sample").to_csv(folder / "s.csv")
    return folder / "d.csv"


@pytest.mark.parametrize(
    ("gene", "of_set", "said"),
    [
        ("ENSG{:011}.4", "ENSG{:011}", "20 would be found if version suffixes"),
        ("Gene{}", "GENE{}", "20 would be found if upper and lower case were the same"),
        ("G{}", "Q{}", "check that both use the same kind of ids"),
    ],
)
def test_sets_of_other_ids_are_refused_with_what_would_match(tmp_path, here, gene, of_set, said):
    path = measured(tmp_path, [gene.format(i) for i in range(30)])
    members = "\t".join(of_set.format(i) for i in range(20))
    (tmp_path / "s.gmt").write_text(f"SET\tna\t{members}\n")
    options = ("--labels", tmp_path / "s.csv:group", "--out", tmp_path / "out")
    done = here("rank", path, *options, "--sets", tmp_path / "s.gmt")
    assert done.code == 3
    assert said in done.err
    assert f"where: {tmp_path / 's.gmt'}: ids not found are {of_set.format(0)}" in done.err
    assert f"features are {gene.format(0)}" in done.err
    (tmp_path / "l.txt").write_text(members.replace("\t", "\n") + f"\n{gene.format(25)}\n")
    listed = here("rank", path, "--method", "variance", "--include", tmp_path / "l.txt")
    assert listed.code == 0, listed.err
    assert said.replace("20 would", "21 would") in listed.err


def test_few_samples_that_match_are_told_with_what_would_match(tmp_path, here):
    path = measured(tmp_path, [f"g{i}" for i in range(30)])
    known = pd.read_csv(tmp_path / "s.csv", index_col=0)
    known.index = [
        name if name in ("S0", "S9", "S10", "S11") else name.lower() for name in known.index
    ]
    known.rename_axis("sample").to_csv(tmp_path / "s.csv")
    words = ("rank", path, "--method", "f-test", "--labels", tmp_path / "s.csv:group")
    done = here(*words)
    assert (done.code, "12 would be found if upper and lower case" in done.err) == (3, True)
    words = ("rank", path, "--method", "variance", "--sample-weights", tmp_path / "s.csv:age")
    done = here(*words, "--samples", "intersect")
    assert done.code == 0, done.err
    assert "4 of 12 samples have a value of age, and 12 would be found if" in done.err


def test_a_class_that_is_left_out_as_a_whole_is_named(tmp_path, here):
    path = measured(tmp_path, [f"g{i}" for i in range(30)])
    known = pd.read_csv(tmp_path / "s.csv", index_col=0)
    known.loc[(known["group"] == "c") | (known.index == "S0"), "age"] = None
    known.to_csv(tmp_path / "s.csv")
    table = tmp_path / "s.csv"
    words = ("rank", path, "--method", "f-test", "--labels", f"{table}:group")
    done = here(*words, "--adjust", f"{table}:age", "--samples", "intersect")
    assert done.code == 0, done.err
    assert "by class: 1 of 4 a, 4 of 4 c" in done.err
    assert "all samples of c (4) are left out by --samples intersect" in done.err
    known["age"] = known["age"].fillna(0)
    known.to_csv(table)
    done = here(*words, "--sample-weights", f"{table}:age")
    assert "all samples of c (4) are left out by weights of 0" in done.err


def test_a_column_that_is_taken_for_the_one_asked_for_is_named(tmp_path, here):
    path, known = measured(tmp_path, [f"g{i}" for i in range(30)]), tmp_path / "s.csv"
    words = ("rank", path, "--method", "f-test", "--labels")
    done = here(*words, f"{known}:Group", "--adjust", f"{known}:age")
    assert done.code == 0, done.err
    assert "column 'group' is taken for 'Group'" in done.err
    assert "taken for 'age'" not in done.err
    known.write_text(known.read_text().replace("age", "GROUP"))
    two = here(*words, f"{known}:Group")
    assert (two.code, "no column 'Group'" in two.err) == (3, True)


def test_a_sample_that_a_source_fills_as_a_whole_is_named(tmp_path, here):
    path = measured(tmp_path, [f"g{i}" for i in range(30)])
    profile = pd.read_csv(path, index_col=0).assign(S4=None)
    profile.rename("p_{}".format).to_csv(tmp_path / "p.csv")
    source = f"p=profile:{tmp_path / 'p.csv'},missing=mean"
    done = here("rank", path, "--method", "msfs", "--source", source)
    assert done.code == 0, done.err
    assert "source p: fewer than half of the values are there in 1 sample of 12 (S4)" in done.err
