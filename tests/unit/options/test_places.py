"""The configuration in run.json: complete, readable, and the same run from anywhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sfs_cli import provenance
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.options.fields import options_of
from sfs_cli.options.files import load, resolved
from tests.running import run_here
from tests.unit.options.making import DEFAULTS, configured

PATHS = tuple(option.name for option in options_of(RankConfig) if option.path)

CONFIGS = [
    RankConfig("x.csv"),
    RankConfig("sub/x.h5mu:rna", similarity="knn", neighbors=3, bandwidth="2.50", dtype="float64"),
    RankConfig("x.csv", "fisher", labels="sub/y.tsv:tissue", transform="cpm,log1p", format="csv"),
    RankConfig("x.csv", "f-test", labels="sub/y.tsv:age", label_type="continuous"),
    RankConfig("x.csv", "variance", sample_weights="sub/w.tsv:weight"),
    RankConfig("x.csv", "hsic", labels="y.tsv", label_type="ordered", label_order="low,mid,high"),
    RankConfig("x.csv", exclude=("^MT-", "sub/out.txt"), include=("sub/in.txt",), min_count=2.5),
    RankConfig("x.csv", adjust=("sub/y.tsv:batch,age", "obs:site"), batch="sub/y.tsv:plate"),
    RankConfig("x.h5ad", stability="bootstrap", stability_subsets=20, donors="obs:donor"),
    RankConfig("x.h5ad", "fisher", labels="obs:tissue", layer="raw.X", format="rnk"),
    RankConfig("x.h5ad", similarity="obsp:connectivities", samples="intersect"),
    RankConfig("x.csv", similarity_file="../S.npz", seed=5),
    RankConfig("x.h5ad", similarity="knn", coordinates="obsm:spatial", neighbors=4),
    RankConfig("x.csv", "l21", lambda_=1e-90, response="pca", response_rank=2),
    RankConfig(
        "x.csv",
        "msfs",
        labels="y.tsv",
        source=tuple(
            parse_source(text)
            for text in (
                "z=target:,transform=zscore",
                "k=target:,similarity=knn,components=20,variable-genes=all",
                "a=genes:sub/p.gmt:A,B,id-map=i.tsv",
                "i=interactions:e.tsv,min-score=0.1,seeds=sub/p.gmt:A",
                "s=similarity:obsp:S",
                "o=profile:obsm:spatial,similarity=knn,neighbors=4",
                "l=labels:",
            )
        ),
        weights="alignf",
        id_map="sub/ids.tsv",
        leave_one_out=True,
    ),
    RankConfig(
        "x.csv",
        source=(parse_source("a=target:@2"), parse_source("b=profile:/data/b.csv@0.1")),
        gamma="exp",
    ),
]


def physical(config: RankConfig) -> dict:
    """Return the options that count, with every path where it really is."""
    inside = ("obs:", "obsp:", "obsm:")
    known = config.result_options()
    for option in PATHS:
        given = known.get(option)
        if isinstance(given, tuple):
            known[option] = [t if t.startswith(inside) else os.path.realpath(t) for t in given]
        elif given and not given.startswith(inside):
            known[option] = os.path.realpath(given)
    for option in ("include", "exclude"):
        known[option] = [os.path.realpath(t) if Path(t).exists() else t for t in known[option]]
    for source in known["source"].values():
        for option in ("path", "seeds", "id-map"):
            if source.get(option) and not source[option].startswith(inside):
                source[option] = os.path.realpath(source[option])
    return known


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
@pytest.mark.parametrize("folder", ["results", "linked/out"])
def test_it_comes_back_from_any_folder(config, folder, tmp_path, monkeypatch):
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (work / "linked").symlink_to("../elsewhere/deep")
    for name in ("in.txt", "out.txt"):
        (work / "sub" / name).write_text("a\n")
    monkeypatch.chdir(work)
    out = work / folder
    out.mkdir(parents=True, exist_ok=True)
    record = {"config": resolved(config, folder), "versions": {}}
    (out / "run.json").write_text(provenance.dumps(record))
    before = physical(config)
    monkeypatch.chdir(tmp_path)
    again = configured(load(f"work/{folder}/run.json"), DEFAULTS)
    assert physical(again) == before
    assert list(physical(again)["source"]) == list(before["source"])


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_the_text_of_every_source_makes_it_again(config: RankConfig) -> None:
    assert tuple(map(parse_source, map(str, config.source))) == config.source


def test_it_is_complete_and_readable():
    found = resolved(RankConfig("x.csv", out="results", threads=3, force=True), "results")
    assert found["matrix"] == "../x.csv"
    kept = {"rows": "auto", "missing": "error", "label-type": "classes", "samples": "error"}
    kept |= {"format": "tsv", "modules": False, "voom": False, "moderate": "auto", "seed": 0}
    assert found.items() >= kept.items()
    assert not found.keys() & {"out", "threads", "force"}
    assert json.loads(json.dumps(found)) == found


def test_a_link_to_a_file_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blob").write_text("id,a\n")
    (tmp_path / "x.csv").symlink_to("blob")
    assert resolved(RankConfig("x.csv"), "out")["matrix"] == "../x.csv"


def test_a_file_with_a_colon_in_its_name_is_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:b").mkdir()
    (tmp_path / "a:b" / "x:y.csv").write_text("")
    assert resolved(RankConfig("a:b/x:y.csv"), "out")["matrix"] == "../a:b/x:y.csv"


@pytest.mark.parametrize("name", ["adjust", "event"])
def test_a_column_without_a_file_is_of_that_of_the_labels(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.tsv").write_text("sample\tclass\tage\n")

    def made(text: str, labels: str | None = "labels.tsv:class") -> object:
        given = RankConfig(
            "x.csv",
            method="cox" if name == "event" else "f-test",
            labels=labels,
            **{name: (text,) if name == "adjust" else text},
        )
        value = getattr(given, name)
        return value[0] if name == "adjust" else value

    assert made("age") == "labels.tsv:age"
    assert made("age.at.death") == "labels.tsv:age.at.death"
    assert made("age", "obs:class") == "obs:age"
    for file in ("age.tsv", "there/age", "other.tsv:age", "obs:age", "<age>"):
        assert made(file) == file
    (tmp_path / "age").write_text("sample\tage\n")
    assert made("age") == "age"


def test_in_a_configuration_a_column_has_no_folder(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text("sample\tclass\tpatient\n")
    text = "method: f-test\nlabels: labels.tsv:class\nblock: patient\n"
    (tmp_path / "c.yaml").write_text(text + "adjust: [age, site.tsv:site]\n")
    found = configured(
        load(tmp_path / "c.yaml"),
        {"matrix": "x.csv", "labels": None, "block": None, "adjust": (), "method": None},
    )
    assert found.block == f"{tmp_path}/labels.tsv:patient"
    assert found.adjust == (f"{tmp_path}/labels.tsv:age", f"{tmp_path}/site.tsv:site")


def test_a_column_without_a_file_and_labels_is_told_of(tmp_path: Path, capfd) -> None:
    (tmp_path / "x.csv").write_text("gene,s1,s2,s3\na,1,2,3\nb,2,1,4\n")
    done = run_here(["rank", str(tmp_path / "x.csv"), "--adjust", "age"], capfd)
    assert done.code == 3
    assert "such as --adjust labels.tsv:age" in done.err
