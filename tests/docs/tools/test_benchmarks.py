"""The benchmarks run: at toy sizes, without peers, and without a look at any time."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tools.benchmarks import calibration, guards, power, runner
from tools.benchmarks.rows_growth import exponent
from tools.benchmarks.rows_peers import rank_correlation
from tools.benchmarks.table import ROOT, Bench, Part, Row

pytestmark = pytest.mark.any_python


def benchmarks(*words):
    return subprocess.run(
        [sys.executable, "-m", "tools.benchmarks", "--small", "--no-peers", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.nightly
def test_small_jobs_fill_the_table(tmp_path):
    out = tmp_path / "table.md"
    done = benchmarks("--only", "scoring", "memory", "gdcov", "--scratch", tmp_path, "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    text = out.read_text()
    assert text == done.stdout
    assert "failed" not in text
    for what in ("phi3 on labels, 60 x 3,000, whole command", "--memory 512M", "GDCOV one-minus"):
        assert what in text
    assert "Python " in text
    assert "BLAS: " in text
    assert [path.name for path in tmp_path.iterdir()] == ["table.md"]  # stores are gone


def test_part_that_fails_is_a_row_and_the_rest_goes_on(tmp_path):
    def broken():
        yield Row("before", "1")
        raise ValueError("of\nsome kind")

    def run(bench):
        yield Part("a part", broken)
        yield Row("after", "2")

    found = list(runner.guarded("a job", run, Bench(tmp_path)))
    assert [row.what for row in found] == ["before", "a part", "after"]
    assert found[1].ours == "**failed**: ValueError: of some kind"
    tally = runner.MemoryCounter()
    for row in found:
        tally.add(row)
    assert tally.broken == ["a part"]


def test_a_row_holds_by_what_is_asked():
    assert Row("", "", ratio=1.5, asked=1.5).holds
    assert not Row("", "", ratio=1.51, asked=1.5).holds
    assert Row("", "", ratio=1.6, asked=1.6, least=True).holds
    assert Row("", "", asked=1.0).holds is False
    assert Row("", "", ratio=9.0).holds is None


def test_exponent_and_rank_correlation():
    assert exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)
    order = [2, 0, 3, 1]
    assert rank_correlation(order, order) == pytest.approx(1)
    assert rank_correlation(order, order[::-1]) == pytest.approx(-1)


def test_power_is_the_share_of_small_p_values():
    pattern = np.repeat([*power.EFFECTS, power.NULL], 10)
    p = np.where(np.arange(50) % 10 < 4, 1e-4, 0.02)
    found = power.measure(
        power.Data(np.ones((50, 2)), np.zeros((2, 2)), pattern), power.Test(p, 1.0)
    )
    assert found["gradient"] == found["mean"] == pytest.approx(0.4)
    assert found["null 0.05"] == 1
    assert found["null 0.001"] == pytest.approx(0.4)


@pytest.mark.nightly
def test_power_of_small_data_is_reported(tmp_path):
    data = power.simulate(3, 20, 0, side=12)
    assert set(data.pattern) == {*power.EFFECTS, power.NULL}
    rows = []
    for tool, options in power.OURS.items():
        test = power.of_sfs(data, options, tmp_path)
        rows.append({"tool": tool, "seed": 0, "zeros": 0.8} | power.measure(data, test))
    text = power.report(power.pd.DataFrame(rows))
    assert all(f"| {tool} | " in text for tool in power.OURS)


def test_null_p_values_of_spark_x_are_uniform():
    data = power.simulate(1, 500, 0)
    p = power.spark_x(data.counts, data.coordinates)[data.pattern == power.NULL]
    assert 0.02 < (p <= 0.05).mean() < 0.08


def of_matrix(**given):
    usual = {"small": np.array([5, 1, 0, 0]), "tested": 100, "significant": 0, "warned": False}
    return calibration.Found(**usual | {"least_of_worse": 0.3, "largest": 1.0} | given)


@pytest.mark.parametrize(
    ("data", "given", "faults"),
    [
        ("normal", {}, []),
        ("normal", {"small": np.array([5, 1, 1, 0])}, ["at 0.001"]),
        ("normal", {"significant": 1}, ["matrices"]),
        ("normal", {"least_of_worse": 0.009}, ["effect"]),
        ("normal", {"largest": 1.1}, ["above 1"]),
        ("depth", {"significant": 9}, ["matrices"]),
    ],
)
def test_a_cell_of_the_calibration_fails_by_what_is_wrong(data, given, faults):
    cell = calibration.Cell("moments", "knn", data)
    result = calibration.Result(cell, tuple(of_matrix(**given) for _ in range(20)))
    assert result.faults == faults
    assert result.holds == (not faults)
    line = result.line()
    assert ("**fails**: " + ", ".join(faults) in line) == bool(faults)


def test_many_significant_features_in_one_matrix_are_no_chance():
    found = tuple(of_matrix(significant=7 if k == 3 else 0) for k in range(20))
    assert calibration.Result(calibration.Cell("moments", "knn", "normal"), found).faults == ["q"]
    assert calibration.Result(calibration.Cell("moments", "knn", "depth"), found).faults == []


@pytest.mark.parametrize(("bad", "holds"), [(1, True), (100, False)])
def test_what_does_not_hold_is_drawn_again(bad, holds, monkeypatch):
    drawn = []

    def tested(seed, features, *, guarded):
        drawn.append(seed.number)
        return of_matrix(least_of_worse=0.001 if seed.number < bad else 0.3, warned=None)

    monkeypatch.setattr(calibration.Seed, "tested", tested)
    cell = calibration.Cell("moments", "knn", "normal")
    result = calibration.result_of(cell, 100, 2)
    assert drawn == [*range(2), *range(2, 8)]
    assert result.drawn_again
    assert result.holds == holds


@pytest.mark.nightly
def test_a_small_calibration_fills_the_page(tmp_path, capsys):
    page = tmp_path / "page.md"
    ends = calibration.BEGIN, calibration.END
    marks = [end.format(null) for null in calibration.NULLS for end in ends]
    page.write_text("\nearlier\n".join(marks))
    some = ["--graphs", "pairs,labels-10-90", "--data", "normal,nb-80", "--features", "40"]
    rc = calibration.main(
        ["--quick", *some, "--nulls", "moments,permutation:1000", "--out", str(page)]
    )
    text = page.read_text()
    assert [text.index(mark) for mark in marks] == sorted(text.index(mark) for mark in marks)
    assert text.count("earlier") == 3  # between them, and of what was not asked for
    assert text.count("A quick look only") == 2
    assert rc == int("**fails**" in text)
    rows = [line.split(" | ")[:2] for line in text.splitlines() if line.startswith("| pairs")]
    assert rows == 2 * [["| pairs", "normal"], ["| pairs", "nb-80"]]
    assert all(line in text for line in capsys.readouterr().out.splitlines() if "|" in line)
    documented = (ROOT / "docs/calibration.md").read_text()
    assert all(documented.count(mark) == 1 for mark in marks)


@pytest.mark.nightly
def test_warnings_of_the_sample_data_are_counted(tmp_path):
    rows, tries, kinds = guards.measured([tmp_path], ["sample_data"], texts=False)
    text = guards.report(rows, tries, kinds)
    assert kinds["default"] == 2
    assert f"Of {kinds.total()} analyses" in text
    assert "for 2 matrices run" in text
    assert "often" not in text
