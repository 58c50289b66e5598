"""Benchmarks, run."""

from __future__ import annotations

import subprocess
import sys

from tools.benchmarks import calibration, guards, power
from tools.benchmarks.table import ROOT


def benchmarks(*words):
    return subprocess.run(
        [sys.executable, "-m", "tools.benchmarks", "--small", "--no-peers", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


def test_small_jobs_fill_the_table(tmp_path):
    out = tmp_path / "table.md"
    done = benchmarks("--only", "scoring", "memory", "--scratch", tmp_path, "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    text = out.read_text()
    assert text == done.stdout
    assert "failed" not in text
    for what in ("phi3 on labels, 60 x 3,000, whole command", "--memory 512M"):
        assert what in text
    assert "Python " in text
    assert "BLAS: " in text
    assert [path.name for path in tmp_path.iterdir()] == ["table.md"]  # stores are gone


def test_power_of_small_data_is_reported(tmp_path):
    data = power.simulate(3, 20, 0, side=12)
    assert set(data.pattern) == {*power.EFFECTS, power.NULL}
    rows = []
    for tool, options in power.OURS.items():
        test = power.of_sfs(data, options, tmp_path)
        rows.append({"tool": tool, "seed": 0, "zeros": 0.8} | power.measure(data, test))
    text = power.report(power.pd.DataFrame(rows))
    assert all(f"| {tool} | " in text for tool in power.OURS)


def test_a_small_calibration_fills_the_page(tmp_path, capsys):
    page = tmp_path / "page.md"
    ends = calibration.BEGIN, calibration.END
    marks = [end.format(null) for null in calibration.NULLS for end in ends]
    page.write_text("\nearlier\n".join(marks))
    some = ["--graphs", "pairs,labels-10-90", "--data", "normal,nb-80", "--features", "40"]
    rc = calibration.main(["--quick", *some, "--nulls", "moments", "--out", str(page)])
    text = page.read_text()
    assert [text.index(mark) for mark in marks] == sorted(text.index(mark) for mark in marks)
    assert text.count("earlier") == 2  # between them, and of what was not asked for
    assert text.count("A quick look only") == 1
    assert rc == int("**fails**" in text)
    rows = [line.split(" | ")[:2] for line in text.splitlines() if line.startswith("| pairs")]
    assert rows == [["| pairs", "normal"], ["| pairs", "nb-80"]]
    assert all(line in text for line in capsys.readouterr().out.splitlines() if "|" in line)
    documented = (ROOT / "docs/calibration.md").read_text()
    assert all(documented.count(mark) == 1 for mark in marks)


def test_times_of_tests_fill_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("\n".join(end.format("times") for end in (calibration.BEGIN, calibration.END)))
    assert calibration.main(["--times", "--features", "40", "--out", str(page)]) == 0
    rows = [line for line in page.read_text().splitlines() if " x " in line][1:]
    assert len(rows) == len(calibration.TIMED)


def test_warnings_of_the_sample_data_are_counted(tmp_path):
    rows, tries, kinds = guards.measured([tmp_path], ["sample_data"], texts=False)
    text = guards.report(rows, tries, kinds)
    assert kinds["default"] == 2
    assert f"Of {kinds.total()} analyses" in text
    assert "often" not in text
