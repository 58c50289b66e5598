"""Intervals, verdicts and stability of whole runs, from the accuracies that folds.tsv has."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import t

from sfs_cli.logs import Messages
from sfs_cli.options.compare import CONTROLS, CompareConfig
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.workflow import judge
from tests.contract.run.test_evaluate import planted, ranked_list, study
from tests.oracles import stability as stability_twin
from tests.oracles import verdict as twin
from tests.results import rows_in

pytestmark = pytest.mark.figures

Rows = list[dict[str, str]]


def compared(folder: Path, log: Messages | None = None, **options: Any) -> dict[str, Rows]:
    asked: dict[str, Any] = {"lengths": "4,10", "splits": 3, "repeats": 2, "method_": ("f-test",)}
    config = CompareConfig(**asked | options, out=str(folder / "out"))
    judge.run(config, log or Messages(-1))
    return {path.stem: rows_in(path) for path in (folder / "out").glob("*.tsv")}


def in_folds(rows: Rows, name: str, k: str, classifier: str) -> list[float]:
    own = {"list": name, "features": k, "classifier": classifier}
    found = [r for r in rows if own.items() <= r.items() and r["selection"] == "in folds"]
    return [float(r["balanced_accuracy"]) for r in found]


def test_intervals_and_verdicts_are_those_of_the_folds(tmp_path):
    given = study(tmp_path, *planted(n=37)) | {"lengths": "4"}
    found = compared(tmp_path, **given, method_=("f-test", "laplacian"))
    folds, quantile = found["folds"], float(t.ppf(0.975, 5))
    tested = {(r["repeat"], r["fold"]): int(r["test_samples"]) for r in folds}
    test, train = sum(tested.values()), sum(37 - n for n in tested.values())
    for row in found["curves"]:
        if row["measure"] == "balanced_accuracy":
            values = in_folds(folds, row["list"], row["features"], row["classifier"])
            mean, low, high, _ = twin.interval(values, test, train, quantile)
            assert [float(row[name]) for name in ("value", "low", "high")] == pytest.approx(
                [mean, max(low, 0), min(high, 1)], rel=1e-8
            )
        elif row["measure"] != "accuracy":
            assert row["low"] == row["high"] == ""
    assert len(found["verdicts"]) == 3 * (1 + 2 * 3)  # classifiers, pairs
    for row in found["verdicts"]:
        n_all = str(60) if row["other"] == "all genes" else row["features"]
        one = in_folds(folds, row["list"], row["features"], row["classifier"])
        other = in_folds(folds, row["other"], n_all, row["classifier"])
        assert float(row["value"]) == pytest.approx(np.mean(one))
        assert float(row["other_value"]) == pytest.approx(np.mean(other))
        differences = (np.array(one) - other).tolist()
        expected = twin.interval(differences, test, train, quantile)
        numbers = [float(row[name]) for name in ("difference", "low", "high", "p_value")]
        assert numbers == pytest.approx(expected, rel=1e-6, abs=1e-9)
        adjusted = float(row["p_adjusted"])
        pairs = 3 if row["other"] in CONTROLS else 1
        assert numbers[3] <= adjusted <= min(1, pairs * numbers[3]) * (1 + 1e-6)
        better = "" if adjusted > 0.05 else row["list" if numbers[0] > 0 else "other"]
        assert row["better"] == better
    assert {row["better"] for row in found["verdicts"]} >= {"f-test", ""}


def test_stability_is_that_of_the_lists_of_the_folds(tmp_path):
    X, y = planted()
    given = study(tmp_path, X, y) | {"dtype": "float64"}
    found = compared(tmp_path, **given, lengths="4")
    from sklearn.feature_selection import f_classif
    from sklearn.model_selection import RepeatedStratifiedKFold

    split = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X.T, y))
    best = [np.argsort(-f_classif(X.T[train], y[train])[0])[:4] for train, _ in split]
    variable = [np.argsort(-X[:, train].var(axis=1))[:4] for train, _ in split]
    values = {r["list"]: float(r["value"]) for r in found["curves"] if r["measure"] == "stability"}
    for name, lists in (("f-test", best), ("most variable genes", variable)):
        expected = stability_twin.phi(
            stability_twin.selections([each.tolist() for each in lists], 60)
        )
        assert values[name] == pytest.approx(expected, rel=1e-9)
    assert values["random genes"] == 0
    assert set(values) == {"f-test", "most variable genes", "random genes"}


def test_noise_has_no_verdict_and_what_is_below_random_genes_is_named(tmp_path):
    rng = np.random.default_rng(4)
    y = np.arange(40) % 2
    X = rng.normal(size=(300, 40))
    X[:90] += 2.5 * y  # what all random lists find, and the most variable genes do not
    X[100:120] *= 10
    log = Messages(-1)
    found = compared(tmp_path, log, **study(tmp_path, X, y), method_=("variance",), lengths="10")
    own = [r for r in found["verdicts"] if r["classifier"] == "linear SVM"]
    assert {(r["list"], r["other"]): r["better"] for r in own} == {
        ("variance", "random genes"): "random genes",
        ("variance", "most variable genes"): "",
        ("variance", "all genes"): "all genes",
    }
    (said,) = [text for text in log.warnings if "random genes" in text]
    assert said.startswith("variance is below random genes: balanced accuracy of a linear SVM")
    assert "with 10 features" in said


def test_a_list_of_the_same_samples_has_no_verdict(tmp_path, capfd):
    given = study(tmp_path, *planted())
    asked = {"list_": ranked_list(tmp_path, given), "lengths": "5", "repeats": 1}
    out = tmp_path / "out"
    judge.run(EvaluateConfig(**given, **asked, method="f-test", out=str(out)), Messages(0))
    assert {row["list"] for row in rows_in(out / "verdicts.tsv")} == {"f-test"}
    leaky = [r for r in rows_in(out / "evaluation.tsv") if r["list"] == "ranked"]
    assert leaky
    assert {r["low"] for r in leaky} == {""}
    said = capfd.readouterr().err
    assert "no difference between f-test and all genes is shown: balanced accuracy" in said
    assert "adjusted for 3 pairs (Holm), 5 splits)" in said
    assert "stability of the first 5 features over the folds: f-test" in said


@pytest.mark.parametrize("labeled", [True, False])
def test_the_page_has_the_verdicts(tmp_path, labeled, capfd):
    given = study(tmp_path, *planted()) | ({} if labeled else {"labels": None})
    asked: dict[str, Any] = {"method_": ("variance",), "lengths": "5,10"}
    asked |= {"splits": 3, "repeats": 1, "leaky": True} if labeled else {}
    judge.run(CompareConfig(**given, **asked, out=str(tmp_path / "out")), Messages(0))
    page = (tmp_path / "out" / "report.html").read_text()
    said = [line for line in capfd.readouterr().err.splitlines() if "95% interval" in line]
    assert bool(said) == labeled
    assert all(f"<li>{html.escape(line)}</li>" in page for line in said)
    (svg,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    chart = ElementTree.fromstring(svg)
    assert chart.get("role") == "img"
    assert len(chart.findall(".//use")) >= 4
    assert ("stability over the folds" in page) == labeled
    for name in ("curves.tsv", "methods.tsv", "overlap.tsv"):
        assert f'<a href="{name}">' in page
