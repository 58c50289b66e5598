"""``sfs evaluate``: no leak, the numbers of scikit-learn, the same bytes, and what it says."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sfs_cli import RankConfig
from sfs_cli.errors import OutOfMemoryError
from sfs_cli.logs import Messages
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.report.multiqc import EVALUATED
from sfs_cli.workflow import judge
from sfs_cli.workflow.outputs import FOR_MULTIQC
from sfs_cli.workflow.rank import rank
from tests.contract.run.test_record import check
from tests.making import table_text, write_labels
from tests.results import rows_in

MODELS: dict[str, Any] = {
    "1-NN": lambda: KNeighborsClassifier(1),
    "5-NN": lambda: KNeighborsClassifier(5),
    "linear SVM": lambda: SVC(kernel="linear", decision_function_shape="ovo"),
}
UNSURE = 0.05
"""Rounding may turn decisions that are nearer to 0: where every support vector of two classes has
the largest weight, a range of thresholds is optimal, and the last digits decide which is taken."""


def study(folder: Path, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Write features x samples and their classes; return the matrix and the labels as options."""
    (folder / "x.csv").write_text(table_text(X))
    return {"matrix": str(folder / "x.csv"), "labels": write_labels(folder / "y.tsv", y.tolist())}


def planted(m: int = 60, n: int = 36, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features x samples of three classes: of the first six each is higher in one class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(8, 1, (m, n))
    X[:6] += 1.5 * (y == np.arange(6)[:, None] % 3)
    return X, y


def rows_of(config: EvaluateConfig, log: Messages | None = None) -> list[dict[str, str]]:
    text = judge.run(config, log or Messages(-1)).decode()
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def value(rows: list[dict[str, str]], **wanted: str) -> float:
    """Return the value of the one row that has these cells."""
    (row,) = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    return float(row["value"])


# ---- numbers -------------------------------------------------------------------------------------


def test_it_is_the_pipeline_of_scikit_learn(tmp_path):
    X, y = planted()
    X[np.random.default_rng(5).random(X.shape) < 0.05] = np.nan
    options: dict[str, Any] = {"dtype": "float64", "missing": "mean"}
    given = study(tmp_path, X, y)
    config = EvaluateConfig(
        **given, **options, method="f-test", lengths="3,10", splits=3, repeats=2, seed=7
    )
    rows = rows_of(config)
    for k in (3, 10):
        for name, make in MODELS.items():
            plain, balanced, unsure = np.zeros((2, 3)), np.zeros((2, 3)), 0
            split = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=7).split(X.T, y)
            for i, (train, test) in enumerate(split):
                model = make_pipeline(
                    SimpleImputer(), SelectKBest(f_classif, k=k), StandardScaler(), make()
                )
                guess = model.fit(X.T[train], y[train]).predict(X.T[test])
                if hasattr(model, "decision_function"):
                    decisions = np.abs(model.decision_function(X.T[test]))
                    unsure += int((decisions.min(axis=1) < UNSURE).sum())
                plain.flat[i] = np.mean(guess == y[test])
                balanced.flat[i] = balanced_accuracy_score(y[test], guess)
            for measure, wanted in (("accuracy", plain), ("balanced_accuracy", balanced)):
                cells = {"list": "f-test", "features": str(k), "classifier": name}
                (row,) = [r for r in rows if r.items() >= (cells | {"measure": measure}).items()]
                means = wanted.mean(axis=1)
                share = unsure / (2 * len(y))  # each sample is tested twice
                assert unsure <= 10
                assert float(row["value"]) == pytest.approx(means.mean(), abs=1e-9 + share)
                error = means.std(ddof=1) / np.sqrt(2)
                assert float(row["standard_error"]) == pytest.approx(error, abs=1e-9 + share)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "spec", "similarity": "knn", "neighbors": 4, "transform": "cpm,log1p"},
        {"method": "mrsf", "response": "lda", "select": 8, "transform": "cpm,log1p,zscore"},
        {"method": "f-test", "max_correlation": 0.3, "transform": "log1p"},
    ],
    ids=lambda o: o["method"],
)
def test_lists_of_folds_are_those_of_a_file_of_the_training_samples(tmp_path, options, monkeypatch):
    monkeypatch.setattr("sfs_cli.parts.pruning.KEEP", 10)
    rng = np.random.default_rng(3)
    _, y = planted()
    X = rng.poisson(20 + 25 * (y == np.arange(50)[:, None] % 7), (50, 36)).astype(float)
    given = study(tmp_path, X, y)
    config = EvaluateConfig(
        **given, **options, lengths="8", splits=3, repeats=1, out=str(tmp_path / "o")
    )
    judge.run(config, Messages(-1))
    found = rows_in(tmp_path / "o" / "folds.tsv")
    rows = [r for r in found if r["list"].partition(",")[0] == options["method"]]
    counts = 1e6 / X.sum(axis=0) if "cpm" in options["transform"] else 1
    V = np.log1p(X * counts).T
    split = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0).split(V, y)
    for i, (train, test) in enumerate(split, 1):
        part = tmp_path / f"part{i}.csv"
        part.write_text(table_text(X[:, train], columns=[f"s{j}" for j in train]))
        needs = options["method"] != "spec"
        own = options | ({"labels": given["labels"]} if needs else {})
        ranking = rank(RankConfig(str(part), **own)).ranking
        genes = [int(name[1:]) for name in ranking.feature[:8]]
        for name, make in MODELS.items():
            model = make_pipeline(StandardScaler(), make()).fit(V[np.ix_(train, genes)], y[train])
            wanted = np.mean(model.predict(V[np.ix_(test, genes)]) == y[test])
            (row,) = [r for r in rows if (r["fold"], r["classifier"]) == (str(i), name)]
            assert float(row["accuracy"]) == pytest.approx(wanted, abs=1e-9)


# ---- lists, sets and reference features ----------------------------------------------------------


def ranked_list(folder: Path, given: dict[str, Any], name: str = "ranked") -> str:
    """Rank the matrix into a folder; return the table."""
    from sfs_cli.workflow.rank import run

    run(RankConfig(given["matrix"], method="variance", out=str(folder / name)), Messages(-1))
    return str(folder / name / "ranking.tsv")


def test_a_list_of_this_matrix_is_called_leaky(tmp_path):
    given = study(tmp_path, *planted())
    table = ranked_list(tmp_path, given)
    log, asked = Messages(-1), {"list_": table, "lengths": "5", "splits": 2, "repeats": 1}
    rows = rows_of(EvaluateConfig(**given, **asked), log)
    assert any("ranked on this matrix" in text and "leaky" in text for text in log.warnings)
    assert {row["list"] for row in rows if row["selection"] == "given"} == {"ranked"}
    (tmp_path / "list.txt").write_text("gene\tscore\ng1\t3\ng0\t2\ng2\t1\ng3\t0.5\ng9\t0.1\n")
    log = Messages(-1)
    rows_of(EvaluateConfig(**given, **asked | {"list_": str(tmp_path / "list.txt")}), log)
    assert any(text.startswith("if ") and "leaky" in text for text in log.warnings)
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = study(other, *planted(seed=9))
    log = Messages(-1)
    table = ranked_list(tmp_path, elsewhere, "elsewhere")
    rows_of(EvaluateConfig(**given, **asked | {"list_": table}), log)
    assert log.warnings == []


def test_lists_of_chosen_features_may_leak_and_that_is_said(tmp_path, capfd):
    X, y = planted()
    given = study(tmp_path, X, y)
    (tmp_path / "few.txt").write_text("".join(f"g{i}\n" for i in range(20)))
    for include, told in ((str(tmp_path / "few.txt"), True), ("^g", False)):
        config = EvaluateConfig(
            **given, method="f-test", include=(include,), lengths="5", splits=2, repeats=1
        )
        judge.run(config, Messages(0))
        assert ("the accuracy is leaky" in capfd.readouterr().err) == told


def test_ids_of_lists_and_sets_that_are_mostly_others_are_told(tmp_path):
    options = study(tmp_path, *planted())
    ids = [line.partition(",")[0] for line in (tmp_path / "x.csv").read_text().splitlines()[1:]]
    others = [name.upper() if i % 9 else name for i, name in enumerate(ids)]
    (tmp_path / "ids.txt").write_text("\n".join(others))
    (tmp_path / "sets.gmt").write_text("\t".join(["s", "", *others]))
    given = {"list_": str(tmp_path / "ids.txt"), "drivers": str(tmp_path / "ids.txt")}
    sets = {"sets": (str(tmp_path / "sets.gmt"),), "out": str(tmp_path / "out")}
    log = Messages(-1)
    judge.run(EvaluateConfig(**options | given | sets, lengths="5", splits=2, repeats=1), log)
    told = [each for each in log.warnings if "60 would be found if upper and lower case" in each]
    assert [text.split(":")[0] for text in sorted(told)] == [
        f"--drivers {tmp_path / 'ids.txt'}",
        f"--list {tmp_path / 'ids.txt'}",
        "--sets sets.gmt",
    ]


def test_without_labels_it_tells_redundancy_neighbors_hits_and_sets(tmp_path):
    X, y = planted()
    given = study(tmp_path, X, y) | {"labels": None}
    table = tmp_path / "good.tsv"
    table.write_text("gene\trank\n" + "".join(f"g{i}\t{i + 1}\n" for i in range(40)))
    (tmp_path / "drivers.txt").write_text("g0\ng3\ng30\nnowhere\n")
    (tmp_path / "sets.gmt").write_text("planted\t\tg0\tg1\tg2\tg3\nlate\t\tg50\tg51\nno\t\tx\n")
    config = EvaluateConfig(
        **given,
        list_=str(table),
        lengths="5,10",
        drivers=str(tmp_path / "drivers.txt"),
        sets=(str(tmp_path / "sets.gmt"),),
        out=str(tmp_path / "out"),
    )
    judge.run(config, Messages(-1))
    rows = rows_in(tmp_path / "out" / "evaluation.tsv")
    assert {row["measure"] for row in rows} == {"redundancy", "jaccard", "hit_ratio"}
    assert value(rows, list="good", features="5", measure="hit_ratio") == pytest.approx(2 / 3)
    first = rows_in(tmp_path / "out" / "enrichment.tsv")[0]
    assert (first["set"], first["size"], first["overlap"]) == ("planted", "4", "4")
    assert first["members"] == "g0;g1;g2;g3"
    # of 60 features that vary, 4 are in the set, and all of these among the first 5
    assert float(first["p_value"]) == pytest.approx(5 * 4 * 3 * 2 / (60 * 59 * 58 * 57))
    assert not (tmp_path / "out" / "folds.tsv").exists()


def test_the_record_is_what_its_schema_says_and_a_second_run_is_up_to_date(tmp_path):
    given = study(tmp_path, *planted())
    (tmp_path / "drivers.txt").write_text("g0\n")
    (tmp_path / "sets.gmt").write_text("planted\t\tg0\tg1\n")
    out = tmp_path / "out"
    config = EvaluateConfig(
        **given,
        list_=ranked_list(tmp_path, given),
        method="f-test",
        lengths="5",
        splits=2,
        repeats=1,
        drivers=str(tmp_path / "drivers.txt"),
        sets=(f"{tmp_path}/sets.gmt:planted",),
        out=str(out),
    )
    judge.run(config, Messages(-1))
    record = json.loads((out / "run.json").read_text())
    check(record, "evaluate")
    assert {each["role"] for each in record["inputs"]} == {
        *("matrix", "labels", "list", "drivers", "sets")
    }
    assert record["lists"][1]["made_from_this_matrix"] is True
    before = {path.name: path.stat().st_ino for path in out.iterdir()}
    tables = {"evaluation.tsv", "verdicts.tsv", "folds.tsv", "enrichment.tsv"}
    pages = {"report.html", "page.json"}
    assert set(before) == {*tables, EVALUATED, *FOR_MULTIQC, "run.json", *pages}
    judge.run(config, Messages(-1))
    assert {path.name: path.stat().st_ino for path in out.iterdir()} == before


# ---- what it says --------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", ["log1p,rank", "log1p,zscore", "deviance"])
def test_steps_that_compare_samples_act_on_the_ranking_alone(tmp_path, transform, capfd):
    _, y = planted()
    X = np.random.default_rng(0).poisson(30 + 20 * (y == 1), (40, 36)).astype(float)
    asked = {"method": "f-test", "lengths": "5", "repeats": 1, "splits": 3}
    config = EvaluateConfig(**study(tmp_path, X, y), **asked, transform=transform)
    rows = rows_of(config, Messages(0))
    said = capfd.readouterr().err
    assert ("judged by their values before it" in said) == (transform != "log1p,zscore")
    raw = "raw counts (--transform median,log1p judges by logarithms)"
    assert (raw in said.partition("warning:")[2]) == (transform == "deviance")
    assert value(rows, list="f-test", measure="accuracy", classifier="5-NN") > 0.5


def test_inner_products_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "SQUARES", 1 << 40)
    with pytest.raises(OutOfMemoryError, match="36 samples"):
        rows_of(EvaluateConfig(**study(tmp_path, *planted()), method="f-test"))
