"""A run is known by its options and the content of its inputs, and by nothing else."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields, replace

import numpy as np
import pytest

from sfs_cli import provenance
from sfs_cli.io.files.atomic import describe, sha256_file
from sfs_cli.options import RankConfig
from sfs_cli.run.outputs import describe_inputs

NO_EFFECT = {
    "accept": ("labels",),
    "executor": "dask",
    "resume": True,
    "time_limit": "2h",
    "out": "elsewhere",
    "prefix": "cohort",
    "threads": 3,
    "memory": "1G",
    "scratch": "/tmp",
    "force": True,
    "write_h5ad": "copy.h5ad",
}
OTHER = {
    "rows": "samples",
    "layer": "counts",
    "use_raw": True,
    "transform": "log1p",
    "missing": "drop",
    "samples": "intersect",
    "ranking": "phi1",
    "gamma": "power",
    "gamma_power": 2,
    "similarity": "knn",
    "bandwidth": "2.5",
    "format": "csv",
    "digits": 5,
    "top": 5,
    "dtype": "float64",
    "block_size": 100,
    "seed": 1,
}


@pytest.fixture
def config(tmp_path):
    (tmp_path / "x.csv").write_text("id,a,b\ng,1,2\n")
    (tmp_path / "labels.tsv").write_text("sample\tx\ty\na\t1\t2\nb\t2\t1\n")
    (tmp_path / "S.tsv").write_text("id\ta\tb\na\t1\t2\nb\t2\t1\n")
    return RankConfig(matrix=str(tmp_path / "x.csv"), labels=f"{tmp_path / 'labels.tsv'}:x")


def print_of(config):
    return provenance.fingerprint(config.result_options(), describe_inputs(config))


def test_every_option_that_changes_the_result_changes_the_fingerprint(config):
    prints = [print_of(config)]
    prints += [print_of(replace(config, **{name: value})) for name, value in OTHER.items()]
    prints.append(print_of(replace(config, labels=config.labels.replace(":x", ":y"))))
    prints.append(print_of(replace(config, labels="obs:x")))
    prints.append(print_of(replace(config, labels="obs:y")))
    prints.append(print_of(replace(config, method="variance", labels=None)))
    prints.append(print_of(replace(config, similarity="diffusion", beta=2.0)))
    prints.append(print_of(replace(config, similarity="diffusion", neighbors=3)))
    assert len(set(prints)) == len(prints)


def test_no_other_option_does(config):
    for name, value in NO_EFFECT.items():
        out = {"out": "elsewhere"}
        needs = {"resume": out, "prefix": out}.get(name, {})
        assert print_of(replace(config, **needs, **{name: value})) == print_of(config)


def test_an_option_either_changes_the_result_or_is_known_not_to():
    names = {f.name for f in fields(RankConfig)}
    assert set(RankConfig("x").result_options()) == names - {*NO_EFFECT, "weights_out"}


def test_where_coefficients_go_does_not_matter(config):
    plain = replace(config, method="mrsf")
    assert print_of(replace(plain, weights_out="w.parquet")) == print_of(plain)


def test_where_the_inputs_lie_does_not_matter_but_what_they_hold_does(config, tmp_path):
    config = replace(config, similarity_file=str(tmp_path / "S.tsv"))
    before = print_of(config)
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("x.csv", "labels.tsv", "S.tsv"):
        shutil.copy(tmp_path / name, moved / f"renamed-{name}")
    other = RankConfig(
        matrix=str(moved / "renamed-x.csv"),
        labels=f"{moved / 'renamed-labels.tsv'}:x",
        similarity_file=str(moved / "renamed-S.tsv"),
    )
    assert print_of(other) == before
    for name in ("x.csv", "labels.tsv", "S.tsv"):
        path = moved / f"renamed-{name}"
        content = path.read_bytes()
        path.write_bytes(content.replace(b"2", b"3"))
        assert print_of(other) != before
        path.write_bytes(content)
    assert print_of(other) == before


def test_a_folder_is_known_by_the_names_and_contents_of_its_files(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "a").write_text("1")
        (tmp_path / name / "b").write_text("22")
    one, two = describe(tmp_path / "one"), describe(tmp_path / "two")
    assert (one["sha256"], one["bytes"]) == (two["sha256"], 3)
    (tmp_path / "two" / "b").rename(tmp_path / "two" / "c")
    assert describe(tmp_path / "two")["sha256"] != one["sha256"]


def test_a_store_is_known_by_its_manifest(tmp_path):
    store = tmp_path / "x.store"
    store.mkdir()
    (store / "manifest.json").write_text("{}")
    (store / "values.bin").write_bytes(b"12345")
    facts = provenance.describe_input(store)
    assert facts == {
        "path": str(store),
        "bytes": 7,
        "sha256": sha256_file(store / "manifest.json"),
    }


@pytest.fixture
def finished(tmp_path):
    """Return a folder with a whole result of run "abc"."""
    (tmp_path / "ranking.tsv").write_text("rank\n")
    run = {
        "fingerprint": "abc",
        "outputs": {"ranking.tsv": {"bytes": 5, "sha256": sha256_file(tmp_path / "ranking.tsv")}},
    }
    (tmp_path / "run.json").write_text(provenance.dumps(run))
    return tmp_path


def test_a_whole_result_of_the_same_run_is_up_to_date(finished):
    assert provenance.altered_outputs(finished, "abc") == []
    assert provenance.altered_outputs(finished, "abd") is None


def test_a_changed_or_absent_output_is_not_up_to_date(finished):
    table = finished / "ranking.tsv"
    table.write_text("rank!")
    assert provenance.altered_outputs(finished, "abc") == ["ranking.tsv"]
    table.unlink()
    assert provenance.altered_outputs(finished, "abc") == ["ranking.tsv"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '"abc"',
        "\xff",
        '{"fingerprint": "abc"}',
        '{"fingerprint": "abc", "outputs": {}}',
        '{"fingerprint": "abc", "outputs": []}',
        '{"fingerprint": "abc", "outputs": "ranking.tsv"}',
        '{"fingerprint": "abc", "outputs": {"ranking.tsv": {}}}',
        '{"fingerprint": "abc", "outputs": {"ranking.tsv": 3}}',
    ],
)
def test_a_damaged_record_is_not_up_to_date(finished, content):
    (finished / "run.json").write_text(content, encoding="latin-1")
    assert provenance.altered_outputs(finished, "abc") is None


def test_an_empty_folder_is_not_up_to_date(tmp_path):
    assert provenance.altered_outputs(tmp_path, "abc") is None


def test_records_are_json_whatever_they_hold(tmp_path):
    text = provenance.dumps(
        {
            "a": np.float32(1.5),
            "b": np.array([1.0, np.nan, np.inf]),
            "c": (1, float("-inf")),
            3: tmp_path,
            "d": {"é": np.int64(2), "e": None, "f": True},
        }
    )
    assert json.loads(text) == {
        "a": 1.5,
        "b": [1.0, None, None],
        "c": [1, None],
        "3": str(tmp_path),
        "d": {"é": 2, "e": None, "f": True},
    }
