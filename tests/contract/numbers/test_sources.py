"""What ranking on knowledge sources must equal, through the command line."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import numpy as np
import pytest

from tests.contract.numbers.commands import Table, facts, ranked, ranking_bytes, sfs
from tests.contract.numbers.source_study import N, sources

RANKINGS = {
    "phi2": ["spec"],
    "phi1": ["spec,ranking=phi1,gamma-power=2"],
    "phi3": ["spec,ranking=phi3,clusters=3"],
    "gdcov": ["gdcov"],
    "mrsf": ["mrsf", "--select", "15"],
}


def method_of(options: list[str]) -> list[str]:
    """Return the options of a method that is asked for by itself."""
    return ["--method", *options]


def msfs_of(options: list[str]) -> list[str]:
    """Return the options of the method on sources."""
    return ["--method", f"msfs,then={options[0]}", *options[1:]]


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("phi2", ".parquet"), ("phi2", ".tsv"), ("phi3", ".npz"), ("mrsf", ".npz")],
)
def test_a_fused_file_gives_the_bytes_of_its_sources(folder, tmp_path, suffix, name):
    matrix, out = folder / "x.csv", tmp_path / f"fused.v1{suffix}"
    given = sources(folder)
    options = RANKINGS[name]
    wanted = ranking_bytes(tmp_path / "a", matrix, *msfs_of(options), *given)
    sfs("fuse", matrix, *given, "--out", out)
    found = ranking_bytes(
        tmp_path / "b", matrix, *method_of(options), "--similarity", f"file:{out}"
    )
    assert found == wanted


@pytest.mark.parametrize("name", ["phi1"])
def test_a_graph_fused_into_an_h5ad_gives_the_bytes_of_its_sources(folder, tmp_path, name):
    matrix, out = folder / "x.h5ad", tmp_path / "fused.h5ad"
    given, options = sources(folder), RANKINGS[name]
    wanted = ranking_bytes(tmp_path / "a", matrix, *msfs_of(options), *given)
    sfs("fuse", matrix, *given, "--out", out)
    found = ranking_bytes(tmp_path / "b", out, *method_of(options), "--similarity", "obsp:sfs")
    assert found == wanted
    again = tmp_path / "again.h5ad"
    sfs("fuse", out, "--source", "x=target:", "--out", again, "--key", "own")
    assert sorted(ad.read_h5ad(again).obsp) == ["own", "sfs"]


@pytest.mark.parametrize("name", ["phi2", "gdcov"])
def test_fewer_samples_are_those_of_the_file(folder, tmp_path, name):
    matrix, out = folder / "x.csv", tmp_path / "fused.npz"
    given = [*sources(folder, profile="some.csv"), "--samples", "intersect"]
    options = RANKINGS[name]
    wanted = ranking_bytes(tmp_path / "a", matrix, *msfs_of(options), *given)
    assert facts(tmp_path / "a")["input"]["n_samples"] == N - 9
    sfs("fuse", matrix, *given, "--out", out)
    more = ("--similarity", f"file:{out}", "--samples", "intersect")
    assert ranking_bytes(tmp_path / "b", matrix, *method_of(options), *more) == wanted


@pytest.mark.parametrize("weights", ["alignf", "rkda", "statis", "sparse-umkl", "naml", "snf"])
def test_learned_weights_are_in_the_file(folder, tmp_path, weights):
    matrix, out = folder / "x.csv", tmp_path / "fused.npz"
    given = [*sources(folder), "--weights", weights, "--labels", folder / "labels.tsv"]
    wanted = ranking_bytes(tmp_path / "a", matrix, "--method", "msfs", *given)
    sfs("fuse", matrix, *given, "--out", out)
    assert ranking_bytes(tmp_path / "b", matrix, "--similarity", f"file:{out}") == wanted


def check_same(one: Table, other: Table, tolerance: float = 1e-12) -> None:
    assert one.status == other.status
    np.testing.assert_allclose(one.by_feature(), other.by_feature(), rtol=tolerance)


def msfs(out: Path, folder: Path, *options: str | Path) -> Table:
    return ranked(out, folder / "x.csv", "--method", "msfs", *options)


@pytest.mark.parametrize("similarity", ["rbf", "knn", "diffusion"])
def test_the_matrix_as_the_only_source_is_plain_spec(folder, tmp_path, similarity):
    given = ("--source", f"x=target:,similarity={similarity}")
    alone = ranked(tmp_path / "a", folder / "x.csv", "--similarity", similarity)
    check_same(msfs(tmp_path / "b", folder, *given), alone)
    check_same(ranked(tmp_path / "c", folder / "x.csv", *given), alone)


def test_labels_as_the_only_source_are_the_label_similarity(folder, tmp_path):
    labels = folder / "labels.tsv"
    given = ("--similarity", "label", "--labels", labels)
    wanted = ranked(tmp_path / "a", folder / "x.csv", *given)
    check_same(msfs(tmp_path / "b", folder, "--source", f"t=labels:{labels}"), wanted)
    check_same(msfs(tmp_path / "c", folder, "--source", "t=labels:", "--labels", labels), wanted)


def test_the_scale_of_the_weights_does_not_matter(folder, tmp_path):
    given = sources(folder)
    one = msfs(tmp_path / "a", folder, *given, "--weights", "1,2,0.5,3")
    ten = msfs(tmp_path / "b", folder, *given, "--weights", "10,20,5,30")
    assert one.feature == ten.feature
    check_same(one, ten)


def test_the_order_of_the_sources_changes_rounding_alone(folder, tmp_path):
    given = sources(folder)
    turned = [word for k in range(len(given) - 2, -1, -2) for word in given[k : k + 2]]
    check_same(msfs(tmp_path / "a", folder, *given), msfs(tmp_path / "b", folder, *turned), 1e-10)


def test_a_source_of_weight_0_is_left_out(folder, tmp_path):
    matrix, given = folder / "x.csv", sources(folder)
    without = given[:2] + given[4:]
    wanted = ranking_bytes(
        tmp_path / "a", matrix, "--method", "msfs", *without, "--weights", "1,2,3"
    )
    found = ranking_bytes(
        tmp_path / "b", matrix, "--method", "msfs", *given, "--weights", "1,0,2,3"
    )
    assert found == wanted
