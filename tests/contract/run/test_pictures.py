"""The pictures of a run: the values that were scored, in the order of the graph or the classes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.report.model import Heatmap, Pictures, SampleNotes
from sfs_cli.report.words import classes_together
from sfs_cli.run import pictures as of_run
from sfs_cli.workflow.rank import RankResult, rank, run
from tests.making import names, write_labels, write_table

N, M = 24, 90


def values() -> np.ndarray:
    """Features x samples: three groups of eight in the first thirty features."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(M, N)) + 5
    for k in range(3):
        X[10 * k : 10 * k + 10, np.arange(N) % 3 == k] += 4
    return X


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    write_table(folder / "x.csv", values())
    write_labels(folder / "labels.tsv", [f"class {'abc'[j % 3]}" for j in range(N)])
    ages = "".join(f"s{j}\t{20 + j * 7 % N}\n" for j in range(N))
    (folder / "ages.tsv").write_text(f"sample\tage\n{ages}")
    sets = {"hit": range(10), "miss": range(60, 80), "one": [3, 70, 71]}
    lines = (f"{k}\tx\t" + "\t".join(f"g{i}" for i in v) for k, v in sets.items())
    (folder / "sets.gmt").write_text("\n".join(lines) + "\n")
    return folder


def ranked(folder: Path, tmp_path: Path, **options: Any) -> RankResult:
    if options.get("labels"):
        options["labels"] = str(folder / options["labels"])
    options = {"method": "spec", "similarity": "knn", "neighbors": 5} | options
    options = {k: v for k, v in options.items() if v is not None}
    return rank(RankConfig(matrix=str(folder / "x.csv"), out=str(tmp_path / "out"), **options))


def pictures(*arguments: Any, **options: Any) -> Pictures:
    found = ranked(*arguments, **options).pictures
    assert found is not None
    return found


BY_CLASS = {"method": "f-test", "similarity": None, "neighbors": None, "labels": "labels.tsv"}


def test_the_cells_are_the_z_scores_of_the_best_features(folder: Path, tmp_path: Path) -> None:
    result = ranked(folder, tmp_path, transform="log1p", dtype="float64")
    assert result.pictures is not None
    found = result.pictures.heatmap
    assert sorted(found.ranks) == list(range(1, 41))
    order = [int(name[1:]) for name in found.samples or ()]
    assert sorted(order) == list(range(N))
    for name, place, cells in zip(found.features, found.ranks, found.cells):
        assert result.ranking.feature[place - 1] == name
        x = np.log1p(values()[int(name[1:])])[order]
        np.testing.assert_allclose(cells, (x - x.mean()) / x.std(), atol=1e-4)


def test_samples_of_one_group_are_neighbors_and_the_reading_says_so(
    folder: Path, tmp_path: Path
) -> None:
    result = ranked(folder, tmp_path)
    assert result.groups is not None
    assert result.groups.sizes == (8, 8, 8)
    assert result.pictures is not None
    groups = [int(name[1:]) % 3 for name in result.pictures.heatmap.samples or ()]
    assert len([1 for a, b in pairwise(groups) if a != b]) == 2


def test_classes_that_lie_together_are_told_of_where_no_number_of_groups_is_seen() -> None:
    def told(codes: np.ndarray, *, used: bool = False) -> list[str]:
        found = Heatmap(
            features=["a"],
            ranks=[1],
            cells=np.zeros((1, len(codes))),
            sizes=np.ones(len(codes)),
            codes=codes,
            outcome=None,
            samples=None,
            ordered="",
            by_class=False,
        )
        notes = SampleNotes(n=len(codes), classes=["normal", "tumour", "x"], codes=codes, used=used)
        return classes_together(found, notes)

    block = np.repeat([0, 1, 0, -1, 1], [5, 61, 20, 3, 2])
    (sentence,) = told(block)
    assert "97% of neighboring columns are of one class, 59% by chance" in sentence
    assert told(block, used=True) == []
    three = np.repeat([0, 1, 2], [4, 3, 2])
    assert told(three) == [
        "In the heatmap 75% of neighboring columns are of one class, 28% by chance."
    ]
    for few in ([0], [0, 1], [0, 0, 0], [-1, -1], [0, 1, 2]):
        assert told(np.array(few)) == []


def test_eigenvalues_without_a_gap_are_all_that_is_told_of(tmp_path: Path) -> None:
    X = np.random.default_rng(24).normal(size=(50, 24))
    write_table(tmp_path / "x.csv", X, names("g", 50), names("s", 24))
    config = RankConfig(
        matrix=str(tmp_path / "x.csv"), method="spec", similarity="rbf", out=str(tmp_path / "out")
    )
    run(config, Messages(verbosity=-1))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "No groups are seen" not in page
    assert "The eigenvalues of the sample graph show no clear number of groups" in page


def test_labels_that_the_method_needs_come_first_in_the_order(folder: Path, tmp_path: Path) -> None:
    found = pictures(folder, tmp_path, **BY_CLASS)
    assert found.heatmap.by_class
    assert found.heatmap.codes is not None
    assert (np.diff(found.heatmap.codes) >= 0).all()
    assert found.notes.classes == ["class a", "class b", "class c"]
    compared = pictures(folder, tmp_path, labels="labels.tsv")
    assert not compared.heatmap.by_class
    assert compared.heatmap.codes is not None
    assert not compared.notes.used


def test_strips_hold_the_values_of_each_class(folder: Path, tmp_path: Path) -> None:
    found = pictures(folder, tmp_path, dtype="float64", **BY_CLASS)
    assert [strip.rank for strip in found.strips] == list(range(1, 13))
    for strip in found.strips:
        x = values()[int(strip.feature[1:])]
        for k, (drawn, median) in enumerate(strip.groups):
            expected = np.sort(x[np.arange(N) % 3 == k])
            np.testing.assert_allclose(drawn, expected, rtol=1e-6)
            assert median == pytest.approx(np.median(expected))


def test_an_outcome_orders_the_samples(folder: Path, tmp_path: Path) -> None:
    options = BY_CLASS | {"labels": "ages.tsv", "label_type": "continuous"}
    found = pictures(folder, tmp_path, **options)
    assert found.heatmap.outcome is not None
    assert (np.diff(found.heatmap.outcome) >= 0).all()
    assert found.strips[0].pairs is not None


def test_the_plane_is_that_of_the_graph_where_it_tells_samples_apart(
    folder: Path, tmp_path: Path
) -> None:
    found = pictures(folder, tmp_path, neighbors=12)
    assert found.plane is not None
    assert found.plane.axes == ("eigenvector 2", "eigenvector 3")
    # connected components are points in the plane of their graph
    parted = pictures(folder, tmp_path, neighbors=3)
    assert parted.plane is not None
    assert parted.plane.axes == ("principal component 1", "principal component 2")
    (folder / "places.tsv").write_text(
        "sample\ta\tb\n" + "".join(f"s{j}\t{j}\t{j * j}\n" for j in range(N))
    )
    placed = pictures(folder, tmp_path, similarity=None, coordinates=str(folder / "places.tsv"))
    assert placed.plane is not None
    np.testing.assert_allclose(placed.plane.points[:, 1], np.arange(N) ** 2.0)


def test_many_samples_are_joined_within_classes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_run, "COLUMNS", 7)
    monkeypatch.setattr(of_run, "POINTS", 10)
    monkeypatch.setattr(of_run, "DRAWN", 4)
    found = pictures(folder, tmp_path, **BY_CLASS)
    assert found.heatmap.samples is None
    assert found.heatmap.sizes.sum() == N
    assert found.heatmap.codes is not None
    assert np.bincount(found.heatmap.codes, found.heatmap.sizes).tolist() == [8, 8, 8]
    assert found.plane is not None
    assert len(found.plane.points) == 10
    assert {len(drawn) for strip in found.strips for drawn, _ in strip.groups} == {4}
    alone = pictures(folder, tmp_path)
    assert len(alone.heatmap.sizes) == 7


def test_rows_that_vary_alike_are_neighbors() -> None:
    rng = np.random.default_rng(0)
    profiles = rng.normal(size=(3, 200))
    members = rng.permutation(np.repeat(np.arange(3), 8))
    cells = profiles[members] + 0.2 * rng.normal(size=(24, 200))
    cells -= cells.mean(axis=1, keepdims=True)
    ordered = members[of_run.rows_alike(cells)]
    assert len(np.flatnonzero(np.diff(ordered))) == 2
    assert sorted(of_run.rows_alike(cells)) == list(range(24))


@pytest.mark.figures
@pytest.mark.parametrize(("m", "n"), [(2, 3), (60, 2)])
def test_few_samples_and_features_make_a_page(m: int, n: int, tmp_path: Path) -> None:
    write_table(tmp_path / "few.csv", np.random.default_rng(m).normal(size=(m, n)))
    config = RankConfig(
        matrix=str(tmp_path / "few.csv"),
        method="variance",
        out=str(tmp_path / "out"),
        rows="features",
    )
    run(config, Messages(verbosity=-1))
    assert "Values of g" in (tmp_path / "out" / "report.html").read_text()


def test_the_sets_of_a_source_are_tested_among_the_first(folder: Path, tmp_path: Path) -> None:
    config = RankConfig(
        matrix=str(folder / "x.csv"),
        source=(
            parse_source("expression=target:,similarity=knn,neighbors=5"),
            parse_source(f"sets=terms:{folder}/sets.gmt"),
        ),
        leave_one_out=True,
        out=str(tmp_path / "out"),
    )
    run(config, Messages(verbosity=-1))
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    (tested,) = record["knowledge"]["enrichment"]
    assert (tested["source"], tested["first"], tested["ranked"]) == ("sets", M // 4, M)
    lines = (tmp_path / "out" / "ranking.tsv").read_text().splitlines()[1:]
    first = {line.split("\t")[1] for line in lines[: M // 4]}
    sets = dict(line.split("\tx\t") for line in (folder / "sets.gmt").read_text().splitlines())
    assert {test["set"] for test in tested["best"]} == set(sets)
    for test in tested["best"]:
        members = sets[test["set"]].split("\t")
        overlap = len(first.intersection(members))
        assert (test["features"], test["among_first"]) == (len(members), overlap)
        p = hypergeom.sf(overlap - 1, M, len(members), M // 4)
        assert test["p_value"] == pytest.approx(p, rel=1e-9)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Gene sets of sets among the first" in page
    assert "What each source changed" in page
