"""Preranked enrichment through whole runs: gseapy's values, which test is made, the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import RankConfig
from sfs_cli.api import rank as rank_in_python
from sfs_cli.errors import InputError, UsageError
from sfs_cli.features.enrichment.step import signed_metric
from sfs_cli.logs import Messages
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.options.report import ReportConfig
from sfs_cli.ranking.table import Picked, Ranking
from sfs_cli.run import evaluate, rank, report
from tests.making import table_text, write_labels
from tests.oracles import preranked_values as of_gseapy
from tests.run.test_verdicts import Rows, rows_of


@pytest.fixture
def given(tmp_path) -> dict[str, Any]:
    """A matrix of two classes whose t statistics are proportional to gseapy's metric, and sets."""
    pattern, high = np.repeat([-1.0, 0.5, 2.5, -2], 2), np.arange(8) % 2  # alike in both classes
    X = 20 + pattern + of_gseapy.metric()[:, None] * (high - 0.5)
    order = np.random.default_rng(1).permutation(len(X))  # the matrix is in no order
    features = [f"g{i}" for i in order]
    (tmp_path / "x.csv").write_text(table_text(X[order], features))
    lines = (
        "\t".join([name, "", *(f"g{i}" for i in of)]) + "\n"
        for name, of in of_gseapy.sets().items()
    )
    (tmp_path / "sets.gmt").write_text("".join(lines) + "elsewhere\t\tx1\tx2\n")
    classes = ["low" if each == 0 else "tall" for each in high.tolist()]
    return {
        "matrix": str(tmp_path / "x.csv"),
        "labels": write_labels(tmp_path / "y.tsv", classes),
        "sets": (str(tmp_path / "sets.gmt"),),
    }


def ranked(folder: Path, given: dict[str, Any], **options: Any) -> Path:
    asked = {"method": "t-test", "dtype": "float64"} | given | options
    rank.run(RankConfig(**asked, out=str(folder)), Messages(-1))
    return folder


def check(rows: Rows) -> None:
    """Compare the table with what gseapy says."""
    stored = {each.name: each for each in of_gseapy.stored() if each.weight == 1}
    assert {row["set"] for row in rows} == set(stored)
    for row in rows:
        wanted = stored[row["set"]]
        assert float(row["es"]) == pytest.approx(wanted.es, abs=1e-6)
        assert float(row["nes"]) == pytest.approx(wanted.nes, rel=0.06)
        p = wanted.p_value
        assert float(row["p_value"]) == pytest.approx(p, abs=0.005 + 5 * (p * (1 - p) / 400) ** 0.5)
        assert row["direction"] == ("tall" if wanted.es > 0 else "low")
        edge = [f"g{i}" for i in wanted.leading_edge]
        assert row["leading_edge"].split(";") in (edge, edge[::-1])
        assert int(row["size"]) == len(of_gseapy.sets()[row["set"]])


def test_a_ranking_of_two_classes_has_the_values_of_gseapy(tmp_path, given):
    out = ranked(tmp_path / "out", given)
    check(rows_of(out / "preranked.tsv"))
    record = json.loads((out / "run.json").read_text())
    (tested,) = record["knowledge"]["enrichment"]
    assert (tested["tested"], tested["ends"]) == (len(of_gseapy.sets()), ["tall", "low"])
    assert "preranked.tsv" in record["outputs"]
    assert "enrichment.tsv" not in record["outputs"]
    page = (out / "report.html").read_text()
    assert "Gene sets of sets.gmt among features higher in tall" in page
    assert "Gene sets of sets.gmt among features higher in low" in page
    assert "Preranked enrichment (GSEA) of 50 sets" in page
    # the page again: from the table and the record, and with sets that it was ranked without
    report.run(ReportConfig(result=str(out), out=str(tmp_path / "again.html")), Messages(-1))
    assert (tmp_path / "again.html").read_text() == page
    alone = ranked(tmp_path / "alone", given | {"sets": ()})
    page = tmp_path / "with.html"
    report.run(ReportConfig(result=str(alone), sets=given["sets"], out=str(page)), Messages(-1))
    assert "Gene sets of sets.gmt among features higher in tall" in page.read_text()


def test_evaluate_makes_both_tests_and_says_so(tmp_path, given, capfd):
    config = EvaluateConfig(
        **given,
        method="t-test",
        dtype="float64",
        lengths="20",
        splits=2,
        repeats=1,
        out=str(tmp_path),
    )
    evaluate.run(config, Messages(0))
    check(rows_of(tmp_path / "preranked.tsv"))
    assert {row["features"] for row in rows_of(tmp_path / "enrichment.tsv")} == {"20"}
    said = capfd.readouterr().err
    assert "t-test: preranked enrichment (GSEA) of 50 sets" in said
    assert "over-representation among the first features of each list" in said


@pytest.mark.parametrize("how", ["overrepresentation", "preranked"])
def test_what_is_asked_for_is_made(tmp_path, given, how):
    out = ranked(tmp_path / "out", given, enrichment=how, method="variance")
    names = {"overrepresentation": "enrichment", "preranked": "preranked"}
    assert {path.stem for path in out.glob("*.tsv")} == {"ranking", names[how]}
    rows = rows_of(out / f"{names[how]}.tsv")
    assert {row["list"] for row in rows} == {"variance"}
    if how == "preranked":  # without a direction only the top counts
        assert {row["direction"] for row in rows} == {"top"}
        assert min(float(row["es"]) for row in rows) >= 0
    config = EvaluateConfig(
        **given | {"labels": None},
        method="variance",
        enrichment=how,
        lengths="20",
        out=str(out / "e"),
    )
    evaluate.run(config, Messages(-1))
    assert {path.stem for path in (out / "e").glob("*.tsv")} == {"evaluation", names[how]}


def test_auto_without_a_direction_is_overrepresentation(tmp_path, given):
    out = ranked(tmp_path / "out", given, method="variance")
    tests = rows_of(out / "enrichment.tsv")
    assert (len(tests), {row["features"] for row in tests}) == (50, {"100"})
    (tested,) = json.loads((out / "run.json").read_text())["knowledge"]["enrichment"]
    assert (tested["first"], tested["given"]) == (100, True)


def test_threads_and_memory_change_no_byte(tmp_path, given):
    cases: list[dict[str, Any]] = [{"threads": 1}, {"threads": 3}, {"memory": "150M"}]
    made = [
        (ranked(tmp_path / str(i), given, **how) / "preranked.tsv").read_bytes()
        for i, how in enumerate(cases)
    ]
    assert made[0] == made[1] == made[2]


def test_in_python_the_facts_have_the_tests(tmp_path, given):
    made = rank_in_python(
        given["matrix"],
        rows="features",
        labels=given["labels"],
        method="t-test",
        sets={"up": [f"g{i}" for i in range(20)]},
    )
    (tested,) = made.facts["knowledge"]["enrichment"]
    assert (tested["best"][0]["set"], tested["best"][0]["direction"]) == ("up", "tall")


def test_what_cannot_be_tested_is_refused(tmp_path, given):
    (tmp_path / "other.gmt").write_text("a\t\tx\ty\n")
    with pytest.raises(InputError, match="none of 1 set has a feature of the matrix"):
        ranked(tmp_path / "out", given | {"sets": (str(tmp_path / "other.gmt"),)})
    with pytest.raises(UsageError, match="--enrichment has no effect: there are no sets"):
        RankConfig(given["matrix"], enrichment="preranked")


def test_a_negative_score_is_no_strong_one_of_the_other_class():
    """ReliefF has some: the last features of the list are not those of an end."""
    ranking = Ranking(
        feature=[f"g{i}" for i in range(4)],
        score=np.array([0.3, 0.1, -0.1, -0.4]),
        status=["ok"] * 4,
        larger_is_better=True,
        order=np.arange(4),
        extra={"direction": Picked(["a", "b"], np.array([1, 0, 1, 0], np.int32))},
    )
    metric, ends, made_of = signed_metric(ranking)
    assert (ends, made_of) == (["b", "a"], "ranks")
    assert np.sign(metric).tolist() == [1, -1, 1, -1]
    assert np.abs(metric).tolist() == sorted(np.abs(metric).tolist(), reverse=True)


def test_small_sets_are_tested_among_the_first(tmp_path, given):
    few = tmp_path / "few.gmt"
    few.write_text("small\t\t" + "\t".join(f"g{i}" for i in range(5)) + "\n")
    out = ranked(tmp_path / "out", given | {"sets": (str(few),)})
    (row,) = rows_of(out / "enrichment.tsv")
    assert (row["set"], row["size"], row["overlap"]) == ("small", "5", "5")
    page = (out / "report.html").read_text()
    assert "Among the first 100 features are 5 of the 5 features of small" in page
