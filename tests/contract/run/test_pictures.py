"""The pictures of a run: the values that were scored, in the order of the graph or the classes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.run import pictures as of_run
from sfs_cli.run.pictures import Pictures
from sfs_cli.workflow.rank import RankResult, rank, run
from tests.making import write_labels, write_table

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


def facts(found: Pictures, at: int = 0) -> Mapping[str, Any]:
    """What the heatmap shows, or the single features."""
    return found.best[at].facts


def test_the_cells_are_the_z_scores_of_the_best_features(folder: Path, tmp_path: Path) -> None:
    result = ranked(folder, tmp_path, transform="log1p", dtype="float64")
    assert result.pictures is not None
    found = facts(result.pictures)
    assert sorted(found["ranks"]) == list(range(1, 41))
    order = [int(name[1:]) for name in found["columns"]]
    assert sorted(order) == list(range(N))
    for name, place, cells in zip(found["features"], found["ranks"], found["cells"]):
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
    groups = [int(name[1:]) % 3 for name in facts(result.pictures)["columns"]]
    assert len([1 for a, b in pairwise(groups) if a != b]) == 2


def test_classes_that_lie_together_are_told_of() -> None:
    block = np.repeat([0, 1, 0, -1, 1], [5, 61, 20, 3, 2])
    (sentence,) = of_run.classes_together(block)
    assert "97% of neighboring columns are of one class, 59% by chance" in sentence
    assert of_run.classes_together(np.repeat([0, 1, 2], [4, 3, 2])) == [
        "In the heatmap 75% of neighboring columns are of one class, 28% by chance."
    ]
    for few in ([0], [0, 1], [0, 0, 0], [-1, -1], [0, 1, 2]):
        assert of_run.classes_together(np.array(few)) == []


def test_labels_that_the_method_needs_come_first_in_the_order(folder: Path, tmp_path: Path) -> None:
    found = pictures(folder, tmp_path, **BY_CLASS)
    assert found.sentences == []
    assert facts(found)["by_class"]
    assert (np.diff(facts(found)["codes"]) >= 0).all()
    assert facts(found)["classes"] == ["class a", "class b", "class c"]
    assert facts(found)["sizes"].tolist() == [8, 8, 8, 0]
    assert found.plane is not None
    assert "they separate the classes better here" in found.plane.text
    compared = pictures(folder, tmp_path, labels="labels.tsv")
    assert not facts(compared)["by_class"]
    assert facts(compared)["codes"] is not None
    assert "drawn for comparison" in compared.best[0].text
    assert "of one class" in compared.sentences[0]


def test_strips_hold_the_values_of_each_class(folder: Path, tmp_path: Path) -> None:
    found = facts(pictures(folder, tmp_path, dtype="float64", **BY_CLASS), 1)["strips"]
    assert [strip["rank"] for strip in found] == list(range(1, 13))
    for strip in found:
        x = values()[int(strip["feature"][1:])]
        for k, drawn, median in strip["groups"]:
            expected = np.sort(x[np.arange(N) % 3 == k])
            np.testing.assert_allclose(drawn, expected, rtol=1e-5)
            assert median == pytest.approx(np.median(expected), rel=1e-5)


def test_of_many_classes_a_strip_has_those_with_the_highest_medians() -> None:
    samples = of_run.Samples(30, classes=[f"class {k}" for k in range(30)], codes=np.arange(30))
    part = of_run.strips(np.arange(30.0)[None], ["a"], samples)
    assert [k for k, *_ in part.facts["strips"][0]["groups"]] == [*range(29, 19, -1)]
    assert "Of 30 classes the 10 with the highest medians." in part.text


def test_the_plane_is_that_of_the_graph_where_it_tells_samples_apart(
    folder: Path, tmp_path: Path
) -> None:
    def titles(**options: Any) -> tuple[str, str]:
        found = pictures(folder, tmp_path, **options).plane
        assert found is not None
        return found.facts["titles"]

    assert titles(neighbors=12) == ("eigenvector 2", "eigenvector 3")
    # connected components are points in the plane of their graph
    assert titles(neighbors=3) == ("principal component 1", "principal component 2")
    (folder / "places.tsv").write_text(
        "sample\ta\tb\n" + "".join(f"s{j}\t{j}\t{j * j}\n" for j in range(N))
    )
    placed = pictures(folder, tmp_path, similarity=None, coordinates=str(folder / "places.tsv"))
    assert placed.plane is not None
    np.testing.assert_allclose(placed.plane.facts["points"][:, 1], np.arange(N) ** 2.0)


def test_many_samples_are_joined_within_classes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_run, "COLUMNS", 7)
    monkeypatch.setattr(of_run, "POINTS", 10)
    monkeypatch.setattr(of_run, "DRAWN", 4)
    found = pictures(folder, tmp_path, **BY_CLASS)
    assert "is the mean of up to" in found.best[0].text
    words = facts(found)["columns"]
    spans = [re.fullmatch(r"samples (\d+) to (\d+) in this order: .*", each) for each in words]
    sizes = [int(span[2]) - int(span[1]) + 1 for span in spans if span]
    assert np.bincount(facts(found)["codes"], sizes).tolist() == [8, 8, 8]
    assert found.plane is not None
    assert len(found.plane.facts["points"]) == 10
    strips = facts(found, 1)["strips"]
    assert {len(drawn) for strip in strips for _, drawn, _ in strip["groups"]} == {4}
    assert "evenly spaced quantiles" in found.best[1].text
    assert facts(pictures(folder, tmp_path))["cells"].shape == (40, 7)


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
