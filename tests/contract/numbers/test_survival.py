"""Times that may be censored, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import sfs_cli
from sfs_cli.parts import theory
from sfs_cli.run.inputs import unused_events
from tests.contract.numbers.commands import code_of, facts, rank_to, ranking_bytes, sfs
from tests.making import names, write_table
from tests.oracles import survival as twin
from tests.oracles.cox_values import FEATURES, VALUES
from tests.running import run_here

STORED = json.loads(VALUES.read_text())
N, M = 80, 30


def write_samples(path: Path, columns: dict[str, object]) -> str:
    table = pd.DataFrame(columns)
    table.index = pd.Index(names("s", len(table)), name="sample")
    table.to_csv(path, sep="\t")
    return str(path)


@pytest.fixture
def by_theory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take p-values by theory, whatever the values are."""
    monkeypatch.setattr(theory, "with_null", lambda run: (run, {}))


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(M, N))
    age, site = rng.normal(size=N), rng.integers(0, 3, N)
    time = rng.exponential(size=N) / np.exp(X[0] - X[1] + age) * 30
    until = rng.exponential(40, size=N)
    event = time <= until
    write_table(tmp_path / "m.csv", X)
    write_samples(
        tmp_path / "y.tsv",
        {
            "time": np.ceil(np.minimum(time, until)),
            "status": event.astype(int),
            "vital": np.where(event, "Dead", "alive"),
            "r": event + 1,
            "portal": np.where(event, "1:DECEASED", "0:LIVING"),
            "none": np.zeros(N, int),
            "age": age,
            "site": [f"c{s}" for s in site],
            "before": np.ceil(time) - 9,
        },
    )
    return tmp_path


def words_of(study: Path, *more: str, time: str = "time") -> list[str]:
    return [str(study / "m.csv"), "--labels", f"{study / 'y.tsv'}:{time}", *more]


def table_of(out: Path, *words: str) -> pd.DataFrame:
    rank_to(out, *words, "--dtype", "float64", "--force")
    return pd.read_csv(out / "ranking.tsv", sep="\t", index_col="feature").sort_index()


def written(folder: Path) -> list[str]:
    """Write what R was given; return the words of a command on it."""
    data = STORED["data"]
    matrix = write_table(folder / "m.csv", np.array([data[f] for f in FEATURES]), FEATURES)
    y = write_samples(folder / "y.tsv", {k: v for k, v in data.items() if k not in FEATURES})
    return [matrix, "--labels", f"{y}:time", "--event", "event", "--block", f"{y}:s"]


def test_scores_are_those_of_r(tmp_path: Path, by_theory: None) -> None:
    words = [*written(tmp_path), "--adjust", f"{tmp_path / 'y.tsv'}:z0,z1", "--method", "cox"]
    found = table_of(tmp_path / "out", *words)
    expected = STORED["r"]["efron/covariates/strata score"]
    np.testing.assert_allclose(found["score"], expected, rtol=1e-8)
    np.testing.assert_allclose(found["p_value"], stats.chi2.sf(expected, 1), rtol=1e-8)
    data = {name: np.array(values) for name, values in STORED["data"].items()}
    Z = np.column_stack([data["z0"], data["z1"]])
    slope = twin.score_test(data["time"], data["event"], data[FEATURES[0]], Z, data["s"])[1]
    assert found["log_hazard_ratio"].iloc[0] == pytest.approx(slope, rel=1e-7)
    part = facts(tmp_path / "out")["survival"]
    assert part["events"] == data["event"].sum()
    assert part["strata"] == len(np.unique(data["s"]))


def test_the_outcome_of_other_methods_is_rs_martingale_residual(tmp_path: Path) -> None:
    words = [*written(tmp_path), "--method", "f-test", "--moderate", "no"]
    found = table_of(tmp_path / "out", *words)
    r = np.array(STORED["r"]["efron/none/strata residuals"])
    s, X = np.array(STORED["data"]["s"]), [STORED["data"][f] for f in FEATURES]
    D = (s[:, None] == np.unique(s)).astype(float)
    left = [v - D @ np.linalg.lstsq(D, v, rcond=None)[0] for v in np.array([r, *X])]
    correlation = np.array([np.corrcoef(left[0], f)[0, 1] for f in left[1:]])
    within = len(r) - 1 - D.shape[1]
    F = within * correlation**2 / (1 - correlation**2)
    np.testing.assert_allclose(found["score"], F, rtol=1e-7)
    assert facts(tmp_path / "out")["survival"]["outcome"] == "martingale residuals"


def test_ways_to_name_the_events_are_the_same(study: Path, by_theory: None) -> None:
    y, rank = study / "y.tsv", ("--method", "cox")
    first = ranking_bytes(study / "a", *words_of(study, "--event", "status", *rank))
    for k, event in enumerate(["portal", f"{y}:vital"]):
        words = words_of(study, "--event", event, *rank)
        assert ranking_bytes(study / str(k), *words) == first
    table = pd.read_csv(y, sep="\t")
    table["censored"], table["seen"] = 1 - table["status"], 1 - table["status"]
    table.to_csv(study / "opposite.tsv", sep="\t", index=False)
    for k, column in enumerate(["censored", "seen"]):
        words = words_of(study, "--censored", f"{study / 'opposite.tsv'}:{column}", *rank)
        assert ranking_bytes(study / f"c{k}", *words) == first
    (study / "run.json").write_text(
        json.dumps({"matrix": "m.csv", "labels": "y.tsv:time", "event": "status", "method": "cox"})
    )
    sfs("rank", "--config", study / "run.json", "--out", study / "configured")
    assert (study / "configured" / "ranking.tsv").read_bytes() == first
    sfs("rank", "--config", study / "configured" / "run.json", "--out", study / "again")
    assert (study / "again" / "ranking.tsv").read_bytes() == first
    X = pd.read_csv(study / "m.csv", index_col=0)
    obs = pd.read_csv(y, sep="\t", index_col=0)
    tables = [
        sfs_cli.rank(X, rows="features", labels=obs["time"], event=obs[name], method="cox").table
        for name in ("status", "vital")
    ]
    assert tables[0].equals(tables[1])
    np.testing.assert_allclose(
        tables[0]["score"], pd.read_csv(study / "a" / "ranking.tsv", sep="\t")["score"], rtol=1e-9
    )


def test_a_column_of_the_censored_is_refused_as_events(study: Path, capfd: Any) -> None:
    table = pd.read_csv(study / "y.tsv", sep="\t")
    table["censoring.status"], table["is_uncensored"] = 1 - table["status"], table["status"]
    table["censor"] = np.where(table["status"] == 1, "event", "censored")  # says what it means
    table["is_alive"], table["dead_or_alive"] = 1 - table["status"], table["status"]
    table.to_csv(study / "y.tsv", sep="\t", index=False)
    found = {}
    for name in ("censoring.status", "is_uncensored", "censor", "is_alive", "dead_or_alive"):
        done = run_here(["rank", *words_of(study, "--event", name, "--method", "cox")], capfd)
        found[name] = done.code
        assert done.code == 0 or "--censored" in done.err
    refused = {"censoring.status", "is_alive"}
    assert found == {name: 3 if name in refused else 0 for name in found}


def test_the_metric_has_the_sign_of_the_log_hazard_ratio(study: Path) -> None:
    words = words_of(study, "--event", "status", "--method", "cox")
    found = table_of(study / "out", *words)
    out = rank_to(study / "rnk", *words, "--format", "rnk")
    metric = pd.read_csv(out / "ranking.rnk", sep="\t", header=None, index_col=0)[1]
    assert metric["g0"] > 0 > metric["g1"]
    assert (np.sign(metric) == np.sign(found["log_hazard_ratio"][metric.index])).all()


def test_subsets_and_batches(study: Path) -> None:
    words = words_of(study, "--event", "status", "--method", "cox")
    site = f"{study / 'y.tsv'}:site"
    drawn = table_of(study / "drawn", *words, "--stability", "4", "--block", site)
    assert drawn["frequency"]["g1"] == 1 > drawn["frequency"].mean()
    assert not drawn["score"].equals(table_of(study / "plain", *words)["score"])
    joined = table_of(
        study / "joined", *words, "--batch", site, "--adjust", f"{study / 'y.tsv'}:age"
    )
    assert (joined["n_lists"] == 3).all()
    assert joined["score"].idxmin() in ("g0", "g1")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("--method cox", 2, "--method cox needs --event"),
        ("--method cox --event r", 3, "R's survival has 2 for an event"),
        ("--method cox --event age", 3, "does not say whether there was an event"),
        ("--method cox --event none", 3, "there is no event: all 80 samples were censored"),
        ("--method t-test --event status", 2, "--event makes times of the labels"),
        ("--method cox --event status --label-type ordered", 2, "times are numbers"),
        ("--method cox --event status --time before", 3, "below zero"),
    ],
)
def test_wrong_events(
    words: str, code: int, told: str, study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options, _, time = words.partition(" --time ")
    given = words_of(study, *options.split(), time=time or "time")
    done = run_here(["rank", *given], capfd)
    assert done.code == code
    assert told in done.err


def test_a_sample_without_an_event_is_refused_or_left_out(
    study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = (study / "y.tsv").read_text().splitlines()
    (study / "few.tsv").write_text("\n".join(rows[:-3]) + "\n")
    words = words_of(study, "--method", "cox", "--event", f"{study / 'few.tsv'}:status")
    done = run_here(["rank", *words], capfd)
    assert done.code == 3
    assert "3 of 80 samples" in done.err
    assert code_of("rank", *words, "--samples", "intersect") == 0


@pytest.mark.parametrize(
    ("label", "others", "warned"),
    [
        ("time", ["age", "status"], True),
        ("OS_MONTHS", ["OS_STATUS"], True),
        ("PFS", ["censored"], True),
        ("time", ["age"], False),
        ("age", ["status"], False),
        ("dose", ["events"], False),
        ("death_day", ["dead"], True),
        ("Todestag", ["verstorben"], True),
        ("Tage", ["Ereignis"], True),
        ("age_at_death", ["vital_status"], False),
        ("stage", ["status"], False),  # no Tage
        ("diastolic_bp", ["status"], False),  # no días
    ],
)
def test_events_beside_times_are_seen(label: str, others: list[str], warned: bool) -> None:
    assert (unused_events(label, *others) is not None) == warned


def test_a_status_says_who_had_an_event_rather_than_another_time() -> None:
    told = unused_events("OS.time", "days_to_death", "OS_STATUS")
    assert told is not None
    assert "--event OS_STATUS" in told


def test_times_alone_are_warned_of(study: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = words_of(study, "--method", "f-test", "--label-type", "continuous")
    assert "[survival]" in run_here(["rank", *words], capfd).err
    assert "[survival]" not in run_here(["rank", *words, "--event", "status"], capfd).err


@pytest.mark.parametrize(
    ("columns", "asked", "lost", "told"),
    [
        (["time", "status"], "--method cox --event status", "0", True),
        (["death_day"], "--method f-test --label-type continuous", "0", True),
        (["fu", "dead"], "--method f-test --label-type continuous", "0", True),
        (["fu", "arm"], "--method f-test --label-type continuous", "0", False),
        (["age_death"], "--method f-test --label-type continuous", "0", False),
        (["time", "status"], "--method cox --event status", "none", False),
    ],
)
def test_censored_samples_that_are_all_left_out_are_warned_of(
    columns: list[str],
    asked: str,
    lost: str,
    told: bool,
    study: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = pd.read_csv(study / "y.tsv", sep="\t", dtype=str)
    table.loc[table["status"] == lost, "time"] = ""
    table = table[["sample", "time", "status"][: 1 + len(columns)]]
    table.set_axis(["sample", *columns], axis=1).to_csv(study / "y.tsv", sep="\t", index=False)
    words = words_of(study, *asked.split(), "--samples", "intersect", time=columns[0])
    done = run_here(["rank", *words], capfd)
    assert done.code == 0
    assert ("all samples that are used have the event" in done.err) == told


@pytest.mark.parametrize("empty", ["", "'--"])  # the second of the GDC
def test_times_of_death_and_of_the_last_visit_are_filled_together(
    empty: str, study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = ranking_bytes(study / "a", *words_of(study, "--event", "vital"))
    table = pd.read_csv(study / "y.tsv", sep="\t", dtype=str)
    dead = table["status"] == "1"
    table["days_to_death"] = table["time"].where(dead, empty)
    table["days_to_last_follow_up"] = table["time"].mask(dead, empty)
    table.drop(columns=["r", "portal"]).to_csv(study / "y.tsv", sep="\t", index=False)
    for asked in ([], ["--event", "vital"]):
        done = run_here(["rank", *words_of(study, *asked, time="days_to_death")], capfd)
        assert done.code == 3
        assert f"{(~dead).sum()} of 80 samples have no label" in done.err
        assert f"{study / 'y.tsv'}:days_to_death,days_to_last_follow_up, which" in done.err
        assert "would leave out all who had no event" in done.err
        assert asked or "--event status" in done.err
    (study / "few.tsv").write_text(table[["sample", "days_to_death", "vital"]].to_csv(sep="\t"))
    few = ["--labels", f"{study / 'few.tsv'}:days_to_death", "--event", "vital"]
    done = run_here(["rank", str(study / "m.csv"), *few], capfd)
    assert "of the last visit: write it into the labels" in done.err
    words = words_of(study, "--event", "vital", time="days_to_death,days_to_last_follow_up")
    assert ranking_bytes(study / "b", *words) == first
    assert code_of("rank", *words[:-2]) == 3  # classes are of one column


def tcga(study: Path) -> pd.DataFrame:
    """The times of the study in two columns, as TCGA has them."""
    table = pd.read_csv(study / "y.tsv", sep="\t", dtype=str)[["sample", "time", "status"]]
    dead = table["status"] == "1"
    table["days_to_death"] = table["time"].where(dead, "")
    table["days_to_last_follow_up"] = table.pop("time").mask(dead, "")
    return table


BOTH = "days_to_death,days_to_last_follow_up"


@pytest.mark.parametrize(
    ("change", "asked", "told"),
    [
        ("none", BOTH, []),
        ("none", "days_to_last_follow_up,days_to_death", []),
        ("seen", BOTH, []),
        (
            "seen",
            "days_to_last_follow_up,days_to_death",
            ["the time in days_to_death is later than that in days_to_last_follow_up"],
        ),
        ("lost", BOTH, ["and 2 in days_to_last_follow_up: if one has visits, the event came"]),
    ],
)
def test_a_visit_before_the_event_is_not_taken_for_it_without_a_word(
    change: str, asked: str, told: list[str], study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = tcga(study)
    dead = table.index[table["status"] == "1"]
    if change != "none":
        dead = dead if change == "seen" else dead[:2]
        table.loc[dead, "days_to_last_follow_up"] = "0.001"
    if change == "lost":  # the time of death is not known
        table.loc[dead, "days_to_death"] = ""
    table.to_csv(study / "y.tsv", sep="\t", index=False)
    done = run_here(["rank", *words_of(study, "--event", "status", time=asked)], capfd)
    assert done.code == 0
    assert done.err.count("[survival]") == len(told)
    assert [text for text in told if text not in done.err] == []


def test_two_columns_of_times_need_the_column_of_events(
    study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tcga(study).to_csv(study / "y.tsv", sep="\t", index=False)
    done = run_here(["rank", *words_of(study, time=BOTH)], capfd)
    assert done.code == 3
    assert "--labels names 2 columns, which are taken together only for times" in done.err
    assert "had the event by --event" in done.err


def test_the_column_that_a_message_names_has_the_times_that_are_missing(
    study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = tcga(study)
    table.insert(2, "lost_follow_up", "NO")
    table.insert(2, "last_contact", table["days_to_death"])  # not of the living
    table.to_csv(study / "y.tsv", sep="\t", index=False)
    done = run_here(["rank", *words_of(study, "--event", "status", time="days_to_death")], capfd)
    assert f":{BOTH}, which takes the second" in done.err


@pytest.mark.parametrize("coded", [("yes", "no"), ("1", "0")])
def test_classes_that_are_called_like_an_event_may_be_left_out(
    coded: tuple[str, str], study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = tcga(study)
    table["relapse"] = table["status"].map(dict(zip("10", coded)))
    table.loc[:3, "relapse"] = ""
    table.to_csv(study / "y.tsv", sep="\t", index=False)
    done = run_here(["rank", *words_of(study, time="relapse")], capfd)
    assert "give them a label, or leave them out with --samples intersect" in done.err


def test_times_in_two_columns_are_no_features(
    study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = tcga(study).set_index("sample")
    values = pd.read_csv(study / "m.csv", index_col=0).T
    values.join(rows.drop(columns="status")).to_csv(study / "m.csv", index_label="sample")
    rows.to_csv(study / "y.tsv", sep="\t")
    words = words_of(
        study, "--event", "status", "--missing", "mean", "--rows", "samples", time=BOTH
    )
    done = run_here(["rank", *words], capfd)
    assert done.code == 0
    assert "days_to_death (--labels), days_to_last_follow_up (--labels)" in done.err


def test_a_column_whose_name_has_a_comma_is_one_column(study: Path) -> None:
    table = pd.read_csv(study / "y.tsv", sep="\t", dtype=str)
    table.rename(columns={"time": "OS, months"}).to_csv(study / "y.tsv", sep="\t", index=False)
    assert code_of("rank", *words_of(study, "--event", "status", time="os, months")) == 0


def test_a_few_times_that_are_missing_may_be_left_out(
    study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv(study / "y.tsv", sep="\t", dtype=str)
    table.loc[:3, "time"] = ""
    table.to_csv(study / "y.tsv", sep="\t", index=False)
    done = run_here(["rank", *words_of(study, "--event", "status")], capfd)
    assert done.code == 3
    assert "give them a label, or leave them out with --samples intersect" in done.err


@pytest.mark.parametrize("kind", ["normal", "lognormal"])
def test_skewed_values_are_permuted(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 50))
    write_table(tmp_path / "m.csv", np.exp(1.3 * X) if kind == "lognormal" else X)
    columns = {"time": rng.exponential(size=50), "event": (rng.random(50) < 0.4).astype(int)}
    y = write_samples(tmp_path / "y.tsv", columns)
    words = [tmp_path / "m.csv", "--labels", f"{y}:time", "--event", "event", "--method", "cox"]
    out = rank_to(tmp_path / "out", *words)
    assert ("pvalues" in facts(out)["method"]) == (kind == "lognormal")
