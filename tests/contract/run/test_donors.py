"""Donors with several samples: folds keep them whole, and tests that forget them are warned of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sfs_cli.errors import InputError
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.options.select import SelectConfig
from sfs_cli.workflow import judge, select
from sfs_cli.workflow.rank import RankResult, rank
from sfs_cli.workflow.rank import run as run_rank
from tests.making import write_labels, write_table
from tests.results import rows_in

DONORS, EACH, M = 12, 5, 120


def study(folder: Path) -> dict[str, Any]:
    """Write noise that differs between donors, of which each has one class; return the options."""
    rng = np.random.default_rng(3)
    of_donors = rng.normal(size=(M, DONORS)).repeat(EACH, axis=1)
    write_table(folder / "x.csv", of_donors + 0.3 * rng.normal(size=of_donors.shape))
    donor = np.arange(DONORS).repeat(EACH)
    return {
        "matrix": str(folder / "x.csv"),
        "method": "f-test",
        "labels": write_labels(folder / "y.tsv", ["ab"[d % 2] for d in donor]),
        "donors": write_labels(folder / "d.tsv", [f"d{d}" for d in donor]),
    }


def ranked(folder: Path, log: Messages | None = None, **options: Any) -> str:
    out = str(folder / "ranked")
    run_rank(RankConfig(**study(folder) | options, out=out, force=True), log or Messages(-1))
    return out


def test_cv_keeps_the_donors_of_the_ranking_whole(tmp_path):
    result, out = ranked(tmp_path), tmp_path / "chosen"
    log = Messages(-1)
    select.run(SelectConfig(result, cv=True, repeats=1, out=str(out)), log)
    found = json.loads((out / "run.json").read_text())["cv"]
    assert found["donors"] == DONORS
    assert found["balanced_accuracy"] < 0.8


def test_fewer_donors_than_folds_are_refused_by_class(tmp_path):
    config = EvaluateConfig(**study(tmp_path), splits=7)
    with pytest.raises(
        InputError, match=r"2 of 2 classes with fewer donors than the 7 folds.*a \(6\), b \(6\)"
    ) as e:
        judge.run(config, Messages(-1))
    assert e.value.hint.startswith("give --splits 6")


def test_donors_of_several_classes_are_dealt_to_folds_with_every_class(tmp_path):
    donor = ["d0"] * 4 + ["d1"] * 4 + ["d2"] * 4
    write_table(tmp_path / "x.csv", np.random.default_rng(0).normal(size=(20, 12)))
    options = {
        "matrix": str(tmp_path / "x.csv"),
        "method": "f-test",
        "labels": write_labels(tmp_path / "y.tsv", list("aaaabbbbaabb")),
        "donors": write_labels(tmp_path / "d.tsv", donor),
        "lengths": "5",
        "splits": 2,
        "repeats": 3,
    }
    config = EvaluateConfig(**options, out=str(tmp_path / "out"))
    judge.run(config, Messages(-1))  # the method would refuse to rank one class
    rows = rows_in(tmp_path / "out" / "folds.tsv")
    assert {row["test_samples"] for row in rows} == {"4", "8"}  # d2 alone, and both others
    # the donors of two of a, b and c would have to be in different folds, and all three cannot
    options |= {
        "labels": write_labels(tmp_path / "y3.tsv", list("aabbaaccbbcc")),
        "repeats": 1,
    }
    with pytest.raises(InputError) as e:
        judge.run(EvaluateConfig(**options), Messages(-1))
    assert set(e.value.options) == {"splits", "donors", "labels"}
    assert e.value.what[-1] in "abc"
    assert "--splits" not in e.value.hint  # there are no fewer than two


def test_p_values_of_samples_that_depend_on_each_other_are_warned_of(tmp_path):
    log = Messages(-1)
    result = ranked(tmp_path, log)
    assert "60 samples are of 12 donors" in "".join(log.warnings)
    assert json.loads((Path(result) / "run.json").read_text())["input"]["donors"] == DONORS
    page = (Path(result) / "report.html").read_text()
    assert "not independent" in page
    assert "expected share of null features" not in page
    log = Messages(-1)
    select.run(SelectConfig(result, fdr=0.05), log)
    assert "not independent" in "".join(log.warnings)


PATIENTS, GENES = 12, 400


def pairs(folder: Path, each: int = 1, effect: float = 0.0) -> dict[str, Any]:
    """Write two classes of each patient, each of `each` samples; return the options."""
    rng = np.random.default_rng(5)
    patient = np.arange(PATIENTS).repeat(2 * each)
    kind = np.tile(np.arange(2).repeat(each), PATIENTS)
    values = 2 * rng.normal(size=(GENES, PATIENTS))[:, patient] + rng.normal(
        size=(GENES, len(kind))
    )
    values[:20] += effect * kind
    write_table(folder / "x.csv", values)
    return {
        "matrix": str(folder / "x.csv"),
        "method": "f-test",
        "labels": write_labels(folder / "y.tsv", ["nt"[k] for k in kind]),
        "donors": write_labels(folder / "d.tsv", [f"p{d}" for d in patient]),
    }


def told(folder: Path, **options: Any) -> tuple[str, RankResult]:
    log = Messages(-1)
    result = rank(RankConfig(**options), log)
    return "".join(text for text in log.warnings if "[donors]" in text), result


def test_pairs_are_compared_within_donors(tmp_path):
    """What is proposed is the paired test, finds what the other test does not, and is silent."""
    options = pairs(tmp_path, effect=2.5)
    text, plain = told(tmp_path, **options)
    assert "--block" in text
    assert "average" not in text
    assert plain.facts["input"]["donor_design"]["of_several_classes"] == PATIENTS
    within = {"block": f"{options['donors']}:tissue", "moderate": "no"}
    text, paired = told(tmp_path, **options | within)
    assert not text
    assert paired.facts["input"]["donor_design"]["adjusted"]
    values = pd.read_csv(tmp_path / "x.csv", index_col=0).to_numpy()
    expected = stats.ttest_rel(values[:, 1::2], values[:, ::2], axis=1).pvalue
    found = np.empty(GENES)
    found[paired.ranking.order] = paired.ranking.extra["p_value"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert (paired.ranking.extra["q_value"] < 0.05).sum() >= 10
    assert (plain.ranking.extra["q_value"] < 0.05).sum() < 5


def test_replicates_within_pairs_are_averaged_by_class(tmp_path):
    options = pairs(tmp_path, each=3)
    text, _ = told(tmp_path, **options)
    assert "each donor and class" in text
    assert "--block" in text
    within = {"block": f"{options['donors']}:tissue", "moderate": "no"}
    text, _ = told(tmp_path, **options | within)
    assert "each donor and class" in text
    assert "--block" not in text
