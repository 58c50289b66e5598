"""``sfs evaluate`` of numbers, times and adjusted values: twins by hand, null data, and no leak."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr, t
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sfs_cli.compute.context import Labels, Survival
from sfs_cli.errors import InputError
from sfs_cli.evaluation import held_out
from sfs_cli.evaluation.held_out import PENALTIES
from sfs_cli.logs import Messages
from sfs_cli.options.compare import CompareConfig, parse_rankings
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.workflow import judge
from sfs_cli.workflow.folds import outcome_folds
from tests.contract.run.test_record import check
from tests.making import table_text
from tests.oracles import covariates, survival, verdict
from tests.results import rows_in

RIDGE = "ridge regression"
M, N = 60, 45
Rows = list[dict[str, str]]


def write(folder: Path, X: np.ndarray, **columns: Any) -> str:
    """Write features x samples as x.csv, and columns of the samples; return the table of these."""
    (folder / "x.csv").write_text(table_text(X))
    lines = ["\t".join(["sample", *columns])]
    for i, row in enumerate(zip(*columns.values())):
        lines.append("\t".join([f"s{i}", *map(str, row)]))
    (folder / "samples.tsv").write_text("\n".join(lines) + "\n")
    return str(folder / "samples.tsv")


def judged(folder: Path, log: Messages | None = None, **options: Any) -> dict[str, Rows]:
    """Evaluate x.csv of a folder; return the tables."""
    asked: dict[str, Any] = {"lengths": "3,8", "splits": 3, "repeats": 2, "dtype": "float64"}
    out = folder / "out"
    config = EvaluateConfig(str(folder / "x.csv"), **asked | options, out=str(out), force=True)
    judge.run(config, log or Messages(-1))
    return {path.stem: rows_in(path) for path in out.glob("*.tsv")}


def in_folds(rows: Rows, name: str, k: int, measure: str, classifier: str = RIDGE) -> list[float]:
    own = {"list": name, "features": str(k), "classifier": classifier}
    return [float(r[measure]) for r in rows if own.items() <= r.items()]


def splits_of(kinds: np.ndarray, repeats: int = 2) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    split = RepeatedStratifiedKFold(n_splits=3, n_repeats=repeats, random_state=0)
    yield from split.split(kinds, kinds)


def predicted(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The predictions of scikit-learn's ridge regression of features in rows; y of all samples."""
    scaler = StandardScaler().fit(X[:, train].T)
    Z = scaler.transform(X.T)
    model = RidgeCV(alphas=len(train) * len(X) * PENALTIES).fit(Z[train], y[train])
    return np.asarray(model.predict(Z[test]))


def numbers(seed: int = 0, signal: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(8, 1, (M, N))
    y = signal * X[:4].sum(axis=0) + rng.normal(size=N)
    return X, y - y.min()


def times(seed: int = 0, signal: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, hazard = rng.normal(0, 1, (M, N)), rng.normal(0, 2, N)
    X[:4] += signal * hazard
    time = rng.exponential(np.exp(-hazard))
    censored = rng.exponential(2 * np.median(time), N)
    return X, np.minimum(time, censored), (time <= censored).astype(int)


# ---- numbers -------------------------------------------------------------------------------------


def test_numbers_are_the_pipeline_of_scikit_learn(tmp_path):
    X, y = numbers()
    table = write(tmp_path, X, age=y)
    found = judged(tmp_path, labels=f"{table}:age", label_type="continuous", method="f-test")
    assert list(found["folds"][0])[-2:] == ["spearman", "r2"]
    for name, k in (("f-test", 3), ("f-test", 8), ("most variable genes", 8), ("all genes", M)):
        wanted: dict[str, list[float]] = {"spearman": [], "r2": []}
        for train, test in splits_of(np.zeros(N)):
            score = f_regression(X[:, train].T, y[train])[0]
            if name != "f-test":
                score = X[:, train].var(axis=1)
            guess = predicted(X[np.argsort(-score)[:k]], y, train, test)
            wanted["spearman"].append(spearmanr(y[test], guess).statistic)
            rest = ((y[test] - guess) ** 2).sum()
            wanted["r2"].append(1 - rest / ((y[test] - y[train].mean()) ** 2).sum())
        for measure, values in wanted.items():
            assert in_folds(found["folds"], name, k, measure) == pytest.approx(values, rel=1e-6)
            own = {"list": name, "features": str(k), "measure": measure}
            (row,) = [r for r in found["evaluation"] if own.items() <= r.items()]
            assert float(row["value"]) == pytest.approx(np.mean(values), rel=1e-6)
            assert float(row["low"]) < float(row["value"]) < float(row["high"])
    assert {row["measure"] for row in found["verdicts"]} == {"r2"}
    assert not {"nmi", "ari", "accuracy"} & {row["measure"] for row in found["evaluation"]}


def test_ordered_classes_are_predicted_by_their_places(tmp_path):
    X, y = numbers(signal=2)
    grade = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    table = write(tmp_path, X, grade=np.array(["low", "mid", "high"])[grade])
    given = {"labels": f"{table}:grade", "method": "f-test", "repeats": 1}
    named = judged(tmp_path, **given, label_type="ordered", label_order="low,mid,high")
    table = write(tmp_path, X, grade=grade)
    plain = judged(tmp_path, **given, label_type="continuous")
    assert named["folds"] == plain["folds"]


# ---- times ---------------------------------------------------------------------------------------


def test_concordance_is_that_of_the_twin(tmp_path):
    X, time, event = times()
    X = X[:20]  # the twin takes long
    table = write(tmp_path, X, time=time, dead=event)
    found = judged(tmp_path, labels=f"{table}:time", event="dead", method="cox")
    none, strata = np.empty((N, 0)), np.zeros(N, int)
    wanted: dict[int, list[float]] = {3: [], 8: []}
    for train, test in [*splits_of(event)][:1]:
        own = (time[train], event[train])
        empty, one = none[train], strata[train]
        score = [survival.score_test(*own, f, empty, one)[0] for f in X[:, train]]
        outcome = np.zeros(N)
        outcome[train] = survival.derivatives(*own, empty, np.empty(0), one)[3]
        for k, values in wanted.items():
            risk = predicted(X[np.argsort(score)[::-1][:k]], outcome, train, test)
            values.append(survival.concordance(time[test], event[test], risk, strata[test]))
    for k, values in wanted.items():
        measured = in_folds(found["folds"], "cox", k, "concordance")[:1]
        assert measured == pytest.approx(values, abs=1e-9)
    assert {row["measure"] for row in found["verdicts"]} == {"concordance"}
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    check(record, "evaluate")


def test_blocks_are_strata_of_times(tmp_path):
    X, time, event = times(1)
    block = np.arange(N) % 2
    table = write(tmp_path, X, time=time * (1 + 50 * block), dead=event, block=block)
    given = {"labels": f"{table}:time", "event": "dead", "method": "cox", "repeats": 1}
    inside = judged(tmp_path, **given, block=f"{table}:block")
    table = write(tmp_path, X, time=time * (1 + 9000 * block), dead=event, block=block)
    # times of other blocks are never compared
    assert judged(tmp_path, **given, block=f"{table}:block")["folds"] == inside["folds"]


@pytest.mark.parametrize("kind", ["numbers", "times"])
def test_donors_stay_in_one_fold_and_count_in_intervals(tmp_path, kind):
    X, time, event = times(3)
    donor = np.arange(N) // 3
    table = write(tmp_path, X, time=time, dead=event, donor=[f"d{d}" for d in donor])
    labels = Labels(np.full(N, -1), [], time)
    how: dict[str, Any] = {"label_type": "continuous"}
    if kind == "times":
        labels, how = replace(labels, survival=Survival(time, event == 1)), {"event": "dead"}
    folds = outcome_folds(labels, 3, 2, 0, "y", donor, np.zeros(N))
    for fold in folds:
        assert not np.intersect1d(donor[fold.train], donor[fold.test]).size
        assert sorted([*fold.train, *fold.test]) == list(range(N))
    given = {"labels": f"{table}:time", "donors": f"{table}:donor", "method": "f-test"}
    found = judged(tmp_path, **given, **how)
    measure = {"numbers": "r2", "times": "concordance"}[kind]
    values = in_folds(found["folds"], "f-test", 3, measure)
    tested = [int(r["test_samples"]) for r in found["folds"] if r["list"] == "all genes"]
    assert tested == [len(fold.test) for fold in folds]
    low, high = verdict.interval(values, 5 * 6, 10 * 6, float(t.ppf(0.975, 5)))[1:3]
    own = {"list": "f-test", "features": "3", "measure": measure}
    (row,) = [r for r in found["evaluation"] if own.items() <= r.items()]
    assert [float(row["low"]), float(row["high"])] == pytest.approx([low, high], rel=1e-6)


# ---- adjusted values -----------------------------------------------------------------------------


def batches(seed: int = 0, shift: float = 3.0) -> tuple[np.ndarray, ...]:
    """Features of three batches, classes that are more frequent in some of them, and ages."""
    rng = np.random.default_rng(seed)
    batch, age = np.arange(N) % 3, rng.normal(50, 9, N)
    y = (rng.random(N) < np.array([0.15, 0.5, 0.85])[batch]).astype(int)
    X = rng.normal(8, 1, (M, N)) + shift * rng.normal(size=(M, 3))[:, batch]
    return X + 0.1 * rng.normal(size=(M, 1)) * age, batch, age, y


def design(batch: np.ndarray, age: np.ndarray) -> np.ndarray:
    return covariates.design([f"b{b}" for b in batch], age)


def test_adjusted_values_are_those_of_regressions_on_training_samples(tmp_path):
    X, batch, age, y = batches()
    X[:3] += 1.2 * y
    names = [f"b{b}" for b in batch]
    table = write(tmp_path, X, kind=np.array(["u", "v"])[y], batch=names, age=age)
    found = judged(
        tmp_path, labels=f"{table}:kind", adjust=(f"{table}:batch,age",), method="f-test", repeats=1
    )
    D = design(batch, age)
    for name, k in (("f-test", 3), ("f-test", 8), ("most variable genes", 3), ("all genes", M)):
        wanted = []
        for train, test in splits_of(y, 1):
            model = LinearRegression().fit(D[train], X[:, train].T)
            R = X - model.predict(D).T
            full = np.column_stack([D[train], y[train]])
            score = R[:, train].var(axis=1)
            if name == "f-test":  # nested models: without and with the class
                left = np.array(
                    [((f - covariates.fitted(f, full)) ** 2).sum() for f in X[:, train]]
                )
                score = ((R[:, train] ** 2).sum(axis=1) - left) / left
            Z = StandardScaler().fit(R[:, train].T).transform(R.T)[:, np.argsort(-score)[:k]]
            guess = SVC(kernel="linear").fit(Z[train], y[train]).predict(Z[test])
            wanted.append(balanced_accuracy_score(y[test], guess))
        measured = in_folds(found["folds"], name, k, "balanced_accuracy", "linear SVM")
        assert measured == pytest.approx(wanted, abs=1e-9)


def test_numbers_are_adjusted_by_the_training_samples_too(tmp_path):
    X, batch, age, _ = batches(3)
    rng = np.random.default_rng(9)
    y = X[:3].sum(axis=0) + 2 * batch + rng.normal(size=N)
    table = write(tmp_path, X, y=y, batch=[f"b{b}" for b in batch], age=age)
    given = {"labels": f"{table}:y", "label_type": "continuous", "method": "f-test"}
    found = judged(tmp_path, **given, adjust=(f"{table}:batch,age",), repeats=1)
    D, wanted = design(batch, age), []
    for train, test in splits_of(np.zeros(N), 1):
        R = X - LinearRegression().fit(D[train], X[:, train].T).predict(D).T
        r = y - LinearRegression().fit(D[train], y[train]).predict(D)
        correlation = [abs(np.corrcoef(f, r[train])[0, 1]) for f in R[:, train]]
        guess = predicted(R[np.argsort(correlation)[::-1][:3]], r, train, test)
        wanted.append(1 - ((r[test] - guess) ** 2).sum() / (r[test] ** 2).sum())
    assert in_folds(found["folds"], "f-test", 3, "r2") == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("kind", ["classes", "numbers", "times"])
def test_test_samples_change_nothing_of_the_training_samples(tmp_path, monkeypatch, kind):
    seen: list[list[np.ndarray]] = []
    accuracies, ridge = held_out.accuracies, held_out.ridge

    def spy_classes(samples, codes, train, test, *, products=False):
        seen[-1].append(samples[np.ix_(train, train)] if products else samples[train])
        return accuracies(samples, codes, train, test, products=products)

    def spy_numbers(samples, outcome, train, test, *, products=False):
        seen[-1].append(samples[np.ix_(train, train)] if products else samples[train])
        seen[-1].append(outcome)
        return ridge(samples, outcome, train, test, products=products)

    monkeypatch.setattr(held_out, "accuracies", spy_classes)
    monkeypatch.setattr(held_out, "ridge", spy_numbers)
    X, batch, age, y = batches(2)
    rng = np.random.default_rng(5)
    time, event = rng.exponential(1, N), np.arange(N) % 2
    strata = {"classes": y, "numbers": np.zeros(N), "times": event}[kind]
    _, test = next(iter(splits_of(strata)))
    for changed in (False, True):
        if changed:
            X[:, test] = rng.normal(20, 9, (M, len(test)))
            age[test] = rng.permutation(age[test]) + 30
            time[test] = rng.permutation(time[test]) * 3
        named = [f"b{b}" for b in batch]
        table = write(tmp_path, X, kind=y, time=time, dead=event, batch=named, age=age)
        labels, how = f"{table}:{'kind' if kind == 'classes' else 'time'}", {}
        if kind != "classes":
            how = {"label_type": "continuous"} if kind == "numbers" else {"event": "dead"}
        seen.append([])
        method = "cox" if kind == "times" else "f-test"
        options: dict[str, Any] = {"labels": labels, "method": method, "threads": 1, "repeats": 1}
        judged(tmp_path, adjust=(f"{table}:batch,age",), **options, **how)
    calls = len(seen[0]) // 3  # of the first of 3 folds
    assert calls >= 2 * (1 + 1 + 5) + 1
    for before, after in zip(seen[0][:calls], seen[1][:calls]):
        np.testing.assert_array_equal(before, after)
    assert any(not np.array_equal(a, b) for a, b in zip(seen[0][calls:], seen[1][calls:]))


def test_levels_without_a_training_sample_are_named(tmp_path):
    X, batch, _, y = batches(1)
    rare = [f"b{b}" for b in batch]
    rare[7] = "odd"
    table = write(tmp_path, X, kind=y, batch=rare)
    log = Messages(-1)
    given = {"labels": f"{table}:kind", "method": "f-test", "repeats": 1, "lengths": "3"}
    judged(tmp_path, log, **given, adjust=(f"{table}:batch",))
    (said,) = [text for text in log.warnings if "no training sample" in text]
    assert "is of batch odd" in said
    # a number that all training samples have alike says as little as a level that they lack
    rare_number = (np.arange(N) == 7) * 2.5
    write(tmp_path, X, kind=y, dose=rare_number)
    log = Messages(-1)
    judged(tmp_path, log, **given, adjust=(f"{table}:dose",))
    (said,) = [text for text in log.warnings if "no training sample" in text]
    assert "is of dose 2.5, so that the effect" in said
    # nor does a covariate that is another one in all training samples
    site = [f"c{b if i != 7 else (b + 1) % 2}" for i, b in enumerate(batch)]
    write(tmp_path, X, kind=y, batch=batch, site=site, same=batch)
    log, both = Messages(-1), f"{table}:batch=categorical,site,same=categorical"
    judged(tmp_path, log, **given, adjust=(both,))
    (said,) = [text for text in log.warnings if "training samples" in text]
    assert "do not tell site from the covariates before it" in said


# ---- commands ------------------------------------------------------------------------------------


def test_compare_takes_times_and_covariates_of_common_samples(tmp_path):
    X, time, event = times(2)
    batch = np.array([f"b{i % 2}" for i in range(N)])
    table = write(tmp_path, X, time=time, dead=event, batch=batch)
    few = np.arange(N - 6)
    (tmp_path / "few.csv").write_text(table_text(X[:20, few]))
    asked: dict[str, Any] = {"labels": f"{table}:time", "event": "dead", "lengths": "4"}
    asked |= {"splits": 3, "repeats": 1, "adjust": (f"{table}:batch",)}
    both = {
        "ranking_of": parse_rankings([f"m=--method msfs --source a=profile:{tmp_path}/few.csv"])
    }
    config = CompareConfig(
        str(tmp_path / "x.csv"),
        **asked,
        **both,
        method_=("cox",),
        samples="intersect",
        out=str(tmp_path / "o"),
    )
    judge.run(config, Messages(-1))
    assert json.loads((tmp_path / "o" / "run.json").read_text())["n_samples"] == len(few)
    (tmp_path / "cut").mkdir()
    write(tmp_path / "cut", X[:, few], time=time[few])
    alone = CompareConfig(
        str(tmp_path / "cut" / "x.csv"), **asked, method_=("cox",), out=str(tmp_path / "p")
    )
    judge.run(alone, Messages(-1))

    def rows(name: str) -> Rows:
        found = rows_in(tmp_path / name / "folds.tsv")
        return [r for r in found if r["list"] in ("cox", "all genes")]

    assert rows("o") == rows("p")
    assert "concordance of a ridge regression by length" in (tmp_path / "o/report.html").read_text()


def test_folds_of_labels_without_an_order_are_refused(tmp_path):
    table = write(tmp_path, times()[0], few=(np.arange(N) == 3).astype(int))
    with pytest.raises(InputError, match="whose order is known"):
        judged(tmp_path, method="f-test", label_type="continuous", labels=f"{table}:few")
