"""Numeric labels and ordered classes through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.contract.numbers.commands import code_of, facts, rank_to, ranked, ranking_bytes, sfs
from tests.making import annotated, write_table
from tests.oracles import outcome as twin
from tests.oracles import spec

M, N = 60, 24
AGE = np.round(np.random.default_rng(3).uniform(20, 90, N), 1)
STAGE = np.array(["II", "I", "IV", "III"] * (N // 4))
ORDER = ["I", "II", "III", "IV"]
PLACE = np.array([ORDER.index(s) for s in STAGE], float)
METHODS = {
    "f-test": ("--method", "f-test"),
    "relieff": ("--method", "relieff,neighbors=5"),
    "spec": ("--method", "spec", "--similarity", "outcome"),
}
KINDS = {
    "continuous": ("--labels", "age.tsv:age", "--label-type", "continuous"),
    "ordered": ("--labels", "age.tsv:stage", "--label-type", "ordered,order=I,II,III,IV"),
}


def values() -> np.ndarray:
    rng = np.random.default_rng(4)
    X = rng.normal(5, 2, (M, N))
    X[:6] += AGE / 5
    X[6:9] += PLACE
    return X.round(4)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "m.csv", values())
    rows = [f"s{i}\t{a}\t{s}\n" for i, (a, s) in enumerate(zip(AGE, STAGE))]
    (tmp_path / "age.tsv").write_text("sample\tage\tstage\n" + "".join(rows))
    return tmp_path


@pytest.mark.parametrize(("kind", "y"), [("continuous", AGE), ("ordered", PLACE)])
def test_numbers_are_those_of_the_twins(kind: str, y: np.ndarray, study: Path) -> None:
    given = ("m.csv", "--dtype", "float64", *KINDS[kind])
    names = np.argsort([f"g{i}" for i in range(M)])
    X = values().T
    found = ranked(study / "f", *given, *METHODS["f-test"]).by_feature()
    expected = np.array([twin.f_regression(f, y) for f in X.T])
    np.testing.assert_allclose(found, expected[names], rtol=1e-8)
    found = ranked(study / "r", *given, *METHODS["relieff"]).by_feature()
    np.testing.assert_allclose(found, twin.rrelieff(X, y, 5)[names], rtol=1e-8, atol=1e-12)
    found = ranked(study / "s", *given, *METHODS["spec"]).by_feature()
    expected = spec.phi2(X, twin.kernel(y), lambda v: v)
    np.testing.assert_allclose(found, expected[names], rtol=1e-8)


def test_ordered_classes_may_be_numbers(study: Path) -> None:
    rows = "".join(f"s{i}\t{10 * p:g}\n" for i, p in enumerate(PLACE))
    (study / "grade.tsv").write_text("sample\tgrade\n" + rows)
    named = ranking_bytes(study / "a", "m.csv", *KINDS["ordered"], *METHODS["f-test"])
    given = ("m.csv", "--labels", "grade.tsv", "--label-type", "ordered")
    assert ranking_bytes(study / "b", *given, *METHODS["f-test"]) == named
    assert list(facts(study / "b")["labels"]["classes"]) == ["0", "10", "20", "30"]
    (study / "more.tsv").write_text("sample\tgrade\n" + rows.replace("\t10\n", "\t10.0\n"))
    given = ("m.csv", "--labels", "more.tsv", "--label-type", "ordered")
    assert ranking_bytes(study / "c", *given, *METHODS["f-test"]) == named


def test_the_order_in_a_file_may_be_a_list(study: Path) -> None:
    content = {
        **{"matrix": "m.csv", "labels": "age.tsv:stage", "method": "f-test"},
        "label-type": {"name": "ordered", "order": ORDER},
    }
    (study / "run.json").write_text(json.dumps(content))
    by_file = ranking_bytes(study / "a", "--config=run.json")
    assert by_file == ranking_bytes(study / "b", "m.csv", *KINDS["ordered"], *METHODS["f-test"])


def test_samples_without_an_outcome_are_left_out_if_asked(study: Path) -> None:
    text = (study / "age.tsv").read_text().splitlines(keepends=True)
    text[3] = text[3].replace(f"{AGE[2]}", "NA")
    (study / "age.tsv").write_text("".join(text))
    given = ("--dtype", "float64", *KINDS["continuous"], *METHODS["f-test"])
    found = ranked(study / "a", "m.csv", *given, "--samples", "intersect").by_feature()
    kept = np.delete(np.arange(N), 2)
    expected = np.array([twin.f_regression(f[kept], AGE[kept]) for f in values()])
    np.testing.assert_allclose(found, expected[np.argsort([f"g{i}" for i in range(M)])], rtol=1e-8)


def test_annotations_of_an_h5ad_and_their_report(study: Path) -> None:
    data = annotated(values().T)
    data.obs["age"] = AGE
    data.obs["stage"] = STAGE
    data.write_h5ad(study / "m.h5ad")
    plain = ranking_bytes(study / "a", "m.csv", *KINDS["continuous"], *METHODS["f-test"])
    given = ("m.h5ad", "--labels", "obs:age", "--label-type", "continuous", *METHODS["f-test"])
    assert ranking_bytes(study / "b", *given) == plain
    page = (study / "b" / "report.html").read_text()
    assert "Outcome" in page
    assert f"from {AGE.min():g} to {AGE.max():g}" in page
    given = ("m.h5ad", "--labels", "obs:stage", *KINDS["ordered"][2:], *METHODS["f-test"])
    rank_to(study / "c", *given)
    assert "Ordered classes" in (study / "c" / "report.html").read_text()


def test_an_outcome_that_covariates_explain_is_refused(study: Path) -> None:
    rows = "".join(f"s{i}\t{2 * a}\n" for i, a in enumerate(AGE))
    (study / "twice.tsv").write_text("sample\ttwice\n" + rows)
    given = ("rank", "m.csv", *KINDS["continuous"], *METHODS["f-test"])
    assert code_of(*given, "--adjust", "twice.tsv:twice") == 3


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_ranked_by_their_own_outcomes(kind: str, study: Path) -> None:
    rows = "".join(f"s{i}\t{'AB'[i // 12]}\n" for i in range(N))
    (study / "batch.tsv").write_text("sample\tbatch\n" + rows)
    given = ("m.csv", "--dtype", "float64", *KINDS[kind], *METHODS["f-test"])
    rank_to(study / "out", *given, "--batch", "batch.tsv:batch", "--format", "parquet")
    table = pq.read_table(study / "out" / "ranking.parquet").to_pandas()
    y, X = AGE if kind == "continuous" else PLACE, values()
    for name, part in (("A", slice(0, 12)), ("B", slice(12, N))):
        F = {f"g{i}": twin.f_regression(f[part], y[part]) for i, f in enumerate(X)}
        best = sorted(F, key=lambda g: -F[g])
        assert table.sort_values(f"rank_{name}")["feature"].tolist() == best


def test_inspect_tells_the_range(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sfs("inspect", "m.csv", *KINDS["continuous"], "--json")
    told = json.loads(capfd.readouterr().out)
    assert (told["smallest"], told["largest"]) == (AGE.min(), AGE.max())
    assert "classes" not in told
