"""The tables of the papers: the program measures what it says, and tells what it lacks."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import sfs_cli
from tests.docs.workflows.commands import WORKFLOWS

pytestmark = pytest.mark.any_python

PROGRAM = WORKFLOWS / "reproduce" / "reproduce.py"


def loaded(name: str) -> ModuleType:
    """Import a program of this folder."""
    spec = util.spec_from_file_location(name, WORKFLOWS / "reproduce" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def program() -> ModuleType:
    return loaded("reproduce")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with one data set of the papers, simulated: 20 of 60 genes tell two classes."""
    root = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1], [16, 14])
    X = 8 + rng.normal(size=(60, 30))
    X[:20] += 2 * codes
    samples = [f"s{i}" for i in range(30)]
    table = pd.DataFrame(X, [f"g{i}" for i in range(60)], samples)
    (root / "colon").mkdir()
    table.rename_axis("feature_id").reset_index().to_parquet(root / "colon" / "expression.parquet")
    labels = pd.DataFrame({"sample": samples[::-1], "label": [f"c{c}" for c in codes[::-1]]})
    labels.to_csv(root / "colon" / "labels.tsv", sep="\t", index=False)
    return root


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--tables", "9.9"], "--tables"),
        (["--splits", "0"], "--splits"),
        (["--out", "table.docx"], "--out"),
        (["--sets", "LUNG"], "lung"),
    ],
)
def test_bad_arguments_are_refused(program, folder, options, named, capsys):
    with pytest.raises(SystemExit) as end:
        program.main([str(folder), *options])
    assert end.value.code == 2
    assert named in capsys.readouterr().err.splitlines()[-1]


def test_every_number_of_the_papers_has_a_table_and_a_method(program):
    facts = program.read_facts()
    assert {cell.table for cell in facts} == set(program.TABLES)
    for cell, fact in facts.items():
        assert 0 <= fact.paper <= 1
        assert fact.place
        if not program.is_made(cell):
            assert cell.method.rstrip("0123456789") in program.NOT_IN_SFS
    # the text prints the mean of each column, to four digits
    means = {
        20: (80.09, 81.04, 79.29, 87.09, 85.78, 91.48),
        80: (85.81, 87.18, 83.25, 89.10, 87.0, 92.02),
    }
    for length, printed in means.items():
        for name, mean in zip(program.RFS_TABLE, printed, strict=True):
            of = [f.paper for c, f in facts.items() if c.method == f"{name}, top {length}"]
            assert len(of) == 6
            assert 100 * np.mean(of) == pytest.approx(mean, abs=0.015)


def test_every_reason_is_about_a_number(program):
    cells = list(program.read_facts())
    for pattern, reason in program.read_reasons():
        assert reason
        assert any(all(map(program.fnmatchcase, cell, pattern)) for cell in cells), pattern


def test_reasons_are_looked_for_in_their_order(program):
    cell = program.Cell("2.4", "COLON", "ReliefF")
    reasons = [
        (program.Cell("2.4", "RELATHE", "*"), "another set"),
        (program.Cell("2.4", "COLON", "Relief*"), "theirs is another"),
        (program.Cell("*", "*", "*"), "all"),
    ]
    assert program.reason_of(cell, 0.05, [0.7, 0.8], reasons) == ""
    assert program.reason_of(cell, -0.06, [0.7, 0.8], reasons) == "theirs is another"
    assert program.reason_of(cell, 0.06, [0.7, 0.8], []).startswith("within chance")
    assert program.reason_of(cell, 0.06, [0.7, 0.7], []) == "not explained"
    assert program.reason_of(cell, 0.06, [0.7], []) == "not explained"


def test_summary_counts_the_verdicts(program):
    cell = ["2.4", "COLON", "phi1", "0.580"]
    rows = [
        [*cell, "0.600", "0.010", "+0.020", ""],
        [*cell, "0.700", "0.010", "+0.120", "within chance: 5 splits tell differences above 0.15"],
        [*cell, "0.700", "0.010", "+0.120", "theirs is another; a note"],
        [*cell, "0.700", "", "+0.120", "not explained: logarithms give 0.69"],
        [*cell, "absent", "", "", "the data set is not there"],
    ]
    found = program.summary(rows)
    assert found.startswith("table 2.4: 4 of 5 numbers; 1 within 0.05; 1 within chance; 1 with a r")
    assert "1 not explained; median difference 0.120" in found
    assert program.summary(rows[-1:]) == "table 2.4: 0 of 1 numbers"


def test_chance_covers_means_of_equal_splits(program):
    rng, inside = np.random.default_rng(5), 0
    for _ in range(2000):
        ours, theirs = rng.normal(size=4), rng.normal(size=10)
        inside += abs(ours.mean() - theirs.mean()) <= program.difference_by_chance(ours, 10)
    assert 0.93 < inside / 2000 < 0.97


def test_halves_have_two_samples_of_each_class(program):
    codes = np.repeat(np.arange(10), 4)
    for number in range(20):
        ((train, test),) = program.halves(codes, number, 1)
        assert np.array_equal(np.sort(np.r_[train, test]), np.arange(40))
        assert len(train) == 20
        assert np.bincount(codes[train]).min() >= 2


def test_noise_changes_scores_within_both_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    """Every row says so, and the claims that hold in all samples of the README hold here."""
    noise = loaded("noise")
    assert noise.main(["--samples", "2"]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    held = {row[0]: float(row[1]) for row in rows if len(row) == 2 and row[1][:1].isdigit()}
    assert len(held) == 13
    assert held["the leading eigenvalues grow"] == 1
    assert held["phi1 keeps them apart longer with lambda^3"] == 0
    bounds = [row for row in rows if len(row) == 8 and row[0].startswith("phi")]
    assert len(bounds) == 6 * 3 * 3
    assert {row[-1] for row in bounds} == {"100%"}


def test_scores_under_noise_begin_as_those_of_the_program() -> None:
    noise = loaded("noise")
    features = noise.sample([1])
    found = noise.measure(features).scores[0]
    S = noise.kernel(features[:3])
    for i, p in np.ndindex(3, 2):
        how = {"name": "spec", "ranking": f"phi{i + 1}", "gamma_power": noise.POWERS[p]}
        how |= {"clusters": 3} if i == 2 else {}
        ranked = sfs_cli.rank(features.T, similarity=S, method=how, dtype="float64")
        expected = ranked.table.sort_values("feature")["score"]
        np.testing.assert_allclose(found[i, p], expected, rtol=1e-9)
