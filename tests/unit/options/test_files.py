"""Options of a file: keys, types, paths, lines, and how flags win over them."""

from __future__ import annotations

import pytest

from sfs_cli.errors import InputError, UsageError
from sfs_cli.options import parse_source
from sfs_cli.options.files import load
from tests.unit.options.making import DEFAULTS, configured, written


@pytest.mark.parametrize(
    ("text", "option", "value"),
    [
        ("similarity: {name: rbf, bandwidth: 2.50}", "bandwidth", "2.50"),
        ("similarity: rbf,bandwidth=2.50", "bandwidth", "2.50"),
        ("layer: no", "layer", "no"),
        ("layer: 007", "layer", "007"),
        ("method: {name: l21, lambda: 1}", "lambda_", 1.0),
        ("select: 1e2", "select", 100),
        ("similarity: {name: knn, neighbors: 10.0}", "neighbors", 10),
        ("similarity: knn,neighbors=10.0", "neighbors", 10),
        ("similarity: file:S.csv", "similarity_file", "S.csv"),
        ("leave-one-out: true", "leave_one_out", True),
        ("transform: [cpm, log1p]", "transform", "cpm,log1p"),
        ("method: {name: kogs, members: [spec, fisher]}", "members", ("spec", "fisher")),
        ("weights: [2, 1, 0.50]", "weights", "2,1,0.50"),
    ],
)
def test_values_take_the_type_of_the_option(read, text, option, value):
    found = read(text).options[option]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("similarity: {neighbors: 3}", "--similarity: the name is missing"),
        (
            "similarity: {name: knn, neighbors: 3.5}",
            "neighbors='3.5' of --similarity is not a whole number",
        ),
        ("select: many", "--select 'many' is not a whole number"),
        ("select: .nan", "--select '.nan' is not a whole number"),
        ("leave-one-out: no", "'no' is not true or false"),
        ("labels: [a, b]", "labels: a list is not text"),
        ("labels:", "labels has no value"),
        ("weights: []", "weights is an empty list"),
        ("source: 3", "source is text, not options by name"),
        ("source: {m: 3}", "--source 'm=3' cannot be read"),
        ("source: [m=target:]", "source: a mapping in a list has no name"),
        ("source: {m: {kind: true}}", "kind of source m: true or false is not text"),
        ("source: {m: {kind: profile, path: {a: x}}}", "path of source m: a mapping is not text"),
        ("method: {name: kogs, members: true}", "members of method: true or false is not text"),
        ("method: {name: msfs, then: {name: spec}}", "then of method: a mapping is not text"),
        ("include: [[a]]", "include: a list is not text"),
        ("include: [true]", "include: true or false is not text"),
        ("files: [{a: b}]", "files: a mapping is not text"),
        ("source: {m: {kind: target, neighbors: x}}", "neighbors='x' of --source is not a whole"),
    ],
)
def test_values_of_another_type_are_refused_with_key_and_line(read, text, words):
    with pytest.raises((InputError, UsageError)) as caught:
        read(f"matrix: x.csv\n{text}\n")
    assert words in caught.value.what
    assert caught.value.where.startswith("run.yaml, line 2")
    assert caught.value.hint


def test_a_text_that_ends_in_a_colon_is_to_be_quoted(read):
    with pytest.raises(InputError) as caught:
        read("source:\n- e=target:\n")
    quoted = caught.value.hint.partition("in quotes: ")[2]
    assert read(f"source:\n- {quoted}\n").options["source"][0].name == "e"


@pytest.mark.parametrize(
    ("text", "wrong", "near"),
    [
        ("transfrom: log2", "transfrom", "transform"),
        ("max_correlation: 0.5", "max_correlation", "max-correlation"),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest(read, text, wrong, near):
    with pytest.raises(InputError) as caught:
        read(text)
    assert repr(wrong) in caught.value.what
    assert caught.value.hint.startswith(f"did you mean {near}")
    assert caught.value.where == "run.yaml, line 1"


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("neighbors: 3", "similarity: NAME,neighbors=VALUE"),
        ("similarity-file: S.csv", "similarity: file:PATH"),
        ("stability-top: 3", "stability: NAME,top=VALUE"),
    ],
)
def test_parameters_are_no_options(read, text, near):
    with pytest.raises(InputError, match="unknown option") as caught:
        read(text)
    assert caught.value.hint.endswith(near)


def test_the_forms_of_sources_agree(read):
    text = "genes:p.gmt:A,B@2.0,similarity=knn,neighbors=5"
    forms = [
        {"m": text},
        [f"m={text}"],
        {"m": parse_source(f"m={text}").plain()},
        [{"name": "m", **parse_source(f"m={text}").plain()}],
    ]
    found = [read({"source": form}, "run.json").options["source"] for form in forms]
    assert found == [(parse_source(f"m={text}"),)] * 4


@pytest.mark.parametrize("name", ["run.json", "run.yaml"])
def test_sources_keep_the_order_of_the_file(read, name):
    names = ["z", "a", "m"]
    file = read({"source": {name: {"kind": "target"} for name in names}}, name)
    assert [source.name for source in file.options["source"]] == names


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ("kind: profil, path: x", "'profil'", "line 3 (source m)"),
        ("path: x", "the kind is missing", "line 3 (source m)"),
        ("kind: target, edge_weight: rbf", "unknown option 'edge_weight'", "line 3 (source m)"),
        ("kind: profile", "the path is missing", "line 3 (source m)"),
        ("kind: labels, rows: samples", "rows has no effect", "line 3 (source m)"),
        (
            "kind: target, edge-weights: binary, edge_weights: binary",
            "edge-weights is given twice",
            "line 3 (source m)",
        ),
    ],
)
def test_sources_that_cannot_be_meant_name_their_line(read, text, words, place):
    with pytest.raises(UsageError) as caught:
        read(f"matrix: x\nsource:\n  m: {{{text}}}\n")
    assert words in caught.value.what
    assert caught.value.where == f"run.yaml, {place}"


@pytest.mark.parametrize("wrong", ["neighbours: 5", "neighbors: 5.5", "edge_weights: sharp"])
@pytest.mark.parametrize("begins", ["m:\n    kind: target", "- name: m\n    kind: target"])
def test_a_key_of_a_source_that_is_wrong_names_its_own_line(read, begins, wrong):
    with pytest.raises(UsageError) as caught:
        read(f"matrix: x\nsource:\n  {begins}\n    {wrong}\n")
    assert caught.value.where.startswith("run.yaml, line 5 (source")


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    text = """
matrix: x.h5mu:rna
labels: y.tsv:tissue
similarity: file:../S.csv
id-map: ids.tsv
out: /absolute/out
write-h5ad: x.h5ad
layer: counts
source:
  a: {kind: genes, path: "p.gmt:A,B", id-map: i.tsv}
  b: {kind: interactions, path: e.tsv, seeds: "p.gmt:A"}
  c: {kind: similarity, path: "obsp:connectivities"}
  d: {kind: labels, path: "obs:tissue"}
  e: 'target:'
"""
    written(tmp_path / "sub", text)
    found = load("sub/run.yaml").options
    a, b, c, d, e = found["source"]
    assert {k: v for k, v in found.items() if k != "source"} == {
        "matrix": "sub/x.h5mu:rna",
        "labels": "sub/y.tsv:tissue",
        "similarity": None,
        "similarity_file": "S.csv",
        "id_map": "sub/ids.tsv",
        "out": "/absolute/out",
        "write_h5ad": "sub/x.h5ad",
        "layer": "counts",
    }
    assert (a.path, a.id_map) == ("sub/p.gmt:A,B", "sub/i.tsv")
    assert (b.path, b.seeds) == ("sub/e.tsv", "sub/p.gmt:A")
    assert (c.path, d.path, e.path) == ("obsp:connectivities", "obs:tissue", "")


def test_the_parent_of_a_linked_folder_is_that_of_its_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real" / "inner").mkdir(parents=True)
    written(tmp_path / "real" / "inner", "matrix: ../x.csv\n")
    (tmp_path / "link").symlink_to("real/inner")
    (tmp_path / "real" / "x.csv").write_text("here")
    found = load("link/run.yaml").options["matrix"]
    assert (tmp_path / found).read_text() == "here"


def test_flags_win_over_the_file(read):
    file = read("matrix: x.csv\nmethod: msfs\nsimilarity: knn,neighbors=5\n")
    given = DEFAULTS | {"method": "spec", "neighbors": 7, "matrix": "y.csv"}
    config = configured(file, given, {"method", "neighbors", "matrix"})
    assert (config.matrix, config.method, config.neighbors) == ("y.csv", "spec", 7)
    assert config.similarity == "knn"
    assert configured(file, given | {"method": "spec"}, {"method"}).matrix == "x.csv"


def test_a_source_of_the_command_line_replaces_its_namesake_in_place(read):
    file = read("matrix: x.csv\nsource: {a: 'profile:a.csv', b: 'profile:b.csv', c: 'target:'}\n")
    flags = tuple(parse_source(t) for t in ("d=profile:d.csv", "b=profile:other.csv"))
    config = configured(file, DEFAULTS | {"source": flags}, {"source"})
    shown = [(source.name, source.path) for source in config.source]
    assert shown == [("a", "a.csv"), ("b", "other.csv"), ("c", ""), ("d", "d.csv")]


@pytest.mark.parametrize(
    ("text", "flags", "where"),
    [
        ("matrix: x\nmethod: spec,gamma-power=100\n", {}, "run.yaml, line 2"),
        ("matrix: x\nmethod: fisher\n", {}, "run.yaml, line 2"),
        ("matrix: x\nsimilarity: rbf\n", {"neighbors": 3}, "run.yaml, line 2"),
        ("matrix: x\n", {"similarity": "rbf", "neighbors": 3}, None),
        ("matrix: x\nmethod: spec,gamma-power=100\n", {"gamma_power": 99}, None),
        ("matrix: x\nsource:\n  a: 'target:'\n  b: 'labels:'\n", {}, "run.yaml, line 4"),
    ],
)
def test_what_is_refused_names_the_file_where_it_comes_from_it(read, text, flags, where):
    with pytest.raises(UsageError) as caught:
        configured(read(text), DEFAULTS | flags, set(flags))
    assert caught.value.where == where


def test_the_record_of_a_run_is_read_for_its_configuration(read):
    record = {"command": ["sfs"], "config": {"matrix": "x.csv", "seed": 3}, "versions": {}}
    assert read(record, "run.json").options == {"matrix": "x.csv", "seed": 3}
    with pytest.raises(InputError, match="'config'"):
        read({"config": {}}, "run.json")
    with pytest.raises(InputError, match="config is a list"):
        read({"config": [], "versions": {}}, "run.json")
