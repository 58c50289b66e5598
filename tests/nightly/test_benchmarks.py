"""Benchmarks, run."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from tools.benchmarks import calibration, guards, leiden, power
from tools.benchmarks.cell_sets import Cells, twice
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


def test_sets_of_cells_are_drawn_twice():
    counts = np.arange(1, 4001, dtype=float).reshape(400, 10)
    large = Cells("large", counts, np.arange(400) % 3)
    first, second = twice(large)
    both = np.concatenate([first.counts, second.counts])
    assert len(first.types) == len(second.types) == 200
    assert np.array_equal(np.sort(both, axis=0), counts)
    small = [half.types for half in twice(Cells("small", counts[:150], np.arange(150)))]
    assert [len(set(types)) for types in small] == [120, 120]
    assert set(small[0]) != set(small[1])


def test_sets_of_fewer_genes_than_the_list_are_left_out(tmp_path):
    draw = leiden.PARTS[0], 0, Cells("small", np.arange(1.0, 51).reshape(10, 5), np.arange(10) % 2)
    assert leiden.measure(draw, leiden.RANKINGS, [200], tmp_path, tmp_path) == []


def test_lists_of_cells_are_compared_with_the_default():
    ours, flavor = next(iter(leiden.RANKINGS)), leiden.SCANPY["seurat"]
    values = {ours: [0.5, 0.7, 0.5, 0.5], flavor: [0.7, 0.8, 0.6, 0.6]}
    part = {"part": leiden.PARTS[1], "genes": 200}
    rows = [
        part | {"set": f"set{i // 2}", "draw": i % 2, "list": name, "ARI": value, "NMI": 0.5}
        for name, found in values.items()
        for i, value in enumerate(found)
    ]
    rows.append(rows[0] | {"set": "drawn once"})
    text = "\n".join(leiden.report(rows))
    assert "| set0 | 0.600, 0.500 | 0.750, 0.500 |" in text
    assert "| **mean** | 0.550, 0.500 | 0.675, 0.500 |" in text
    assert "| two draws apart | 0.100, 0.000 | 0.050, 0.000 |" in text
    assert "| default - list |  | -0.125, +0.000 |" in text
    assert "| standard error |  | 0.025, 0.000 |" in text
    assert f"The default is below {flavor} (ARI) by" in text
    assert "drawn once" not in text
