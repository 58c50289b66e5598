"""The benchmarks run: at toy sizes, without peers, and without a look at any time."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.benchmarks import calibration, power, runner
from tests.benchmarks.rows_growth import exponent
from tests.benchmarks.rows_peers import rank_correlation
from tests.benchmarks.table import JOBS, ROOT, Bench, Job, Part, Row


def benchmarks(*words):
    return subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "--small", "--no-peers", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.slow
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


@pytest.mark.slow
def test_peers_that_are_left_out_are_named():
    done = benchmarks("--only", "skrebate")
    assert done.returncode == 0
    assert "not run: skrebate==0.8.4: peers were left out" in done.stdout


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
    tally = runner.Tally()
    for row in found:
        tally.add(row)
    assert tally.broken == ["a part"]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "why"), [(60, "see stderr"), (0.01, "--timeout")])
def test_job_whose_process_dies_is_a_row(tmp_path, monkeypatch, seconds, why):
    monkeypatch.setitem(JOBS, "none", Job("none", "a job the new process lacks", list))
    *_, last = runner.in_process("none", Bench(tmp_path), seconds)
    assert last.ours.startswith(runner.FAILED)
    assert why in last.ours


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


@pytest.mark.slow
def test_sigterm_ends_the_job_and_removes_the_stores(tmp_path):
    command = [sys.executable, "-m", "tests.benchmarks", "--no-peers", "--only", "growth-n"]
    process = subprocess.Popen(
        [*command, "--small", "--scratch", tmp_path],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    lines = iter(process.stdout)
    assert any("growth-n" in line and line.startswith("## ") for line in lines)
    process.terminate()
    assert process.wait(timeout=60) == 143
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_power_is_of_the_longest_list_at_the_rate():
    planted = [True, True, False, True] + 96 * [False]
    data = power.Data(np.zeros((100, 2)), np.zeros((2, 2)), np.where(planted, "gradient", ""))
    p = np.linspace(0.001, 0.9, 100)
    found = {rate: power.measure(data, power.Test(p, p, 1.0), rate) for rate in (0.05, 0.25)}
    assert found[0.05]["gradient"] == pytest.approx(2 / 3)
    assert found[0.25]["all patterns"] == 1
    assert found[0.05]["rate at 0.01"] == 0


def test_power_of_small_data_is_reported(tmp_path):
    data = power.simulate(60, 50, 0)
    assert (data.pattern != "").sum() == 5
    rows = [{"samples": 60, "seed": seed, "tool": "sfs"} for seed in (0, 1)]
    test = power.of_sfs(data, {"neighbors": 6}, tmp_path)
    rows = [row | power.measure(data, test, 0.05) for row in rows]
    assert "| sfs | " in power.report(power.pd.DataFrame(rows), 0.05)


def test_rates_of_small_data_are_reported():
    cells = calibration.line("counts", "moments", 30, 20, 2).split("|")
    assert cells[1:4] == [" counts ", " moments ", " 30 "]
    assert "±" in cells[5]


@pytest.mark.slow
def test_files_and_memory_choose_alike():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.grid_search"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert "| GridSearchCV |" in done.stdout  # it compares the accuracies itself
