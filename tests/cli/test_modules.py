"""``--modules`` on the command line: the files, the report, and what does not change them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import run_here
from tests.cli.shard_study import make_study, sfs
from tests.making import write_table
from tests.oracles import modules as twin
from tests.oracles.prune import pearson

FILES = ("modules.tsv", "module_profiles.tsv", "module_edges.tsv")
N, M = 30, 80
VARIANCE = ("--method", "variance")


def values() -> np.ndarray:
    """Features x samples: three modules with either sign among noise."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(M, N))
    for k, members in enumerate((range(0, 12), range(12, 18), range(18, 21))):
        factor = 3 * rng.normal(size=N)
        for i in members:
            X[i] += factor * (-1 if i % (4 + k) == 2 else 1)
    return X.round(4)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_study(tmp_path_factory.mktemp("study"))
    genes, samples = [f"g{i}" for i in range(M)], [f"s{i}" for i in range(N)]
    write_table(folder / "x.csv", values(), genes, samples)
    return folder


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_files_hold_the_modules_of_the_first_features(tmp_path, capfd):
    out = tmp_path / "out"
    asked = ["--modules", "--module-features", "40", "--module-correlation", "0.6"]
    done = run_here(["rank", "x.csv", *VARIANCE, *asked, "--out", str(out)], capfd)
    assert done.code == 0, done.err
    first = [row["feature"] for row in table(out / "ranking.tsv")[:40]]
    X = values()[[int(name[1:]) for name in first]].T
    expected = twin.groups(X, 0.6)
    rows = table(out / "modules.tsv")
    assert [row["members"].split(";") for row in rows] == [[first[i] for i in g] for g in expected]
    assert [int(row["size"]) for row in rows][:3] == [12, 6, 3]
    assert [row["representative"] for row in rows] == [first[g[0]] for g in expected]
    assert [int(row["module"]) for row in rows] == list(range(1, len(rows) + 1))
    against = rows[0]["opposite"].split(";")
    assert set(against) < set(rows[0]["members"].split(";"))
    profiles = table(out / "module_profiles.tsv")
    assert list(profiles[0]) == ["module", *(f"s{i}" for i in range(N))]
    for row, members in zip(profiles, expected, strict=True):
        found = [float(row[f"s{i}"]) for i in range(N)]
        np.testing.assert_allclose(found, twin.profile(X, members), atol=1e-8)
    edges = table(out / "module_edges.tsv")
    number = {name: row["module"] for row in rows for name in row["members"].split(";")}
    assert list(edges[0]) == ["source", "target", "correlation", "module"]
    for edge in edges:
        i, j = first.index(edge["source"]), first.index(edge["target"])
        assert i < j
        assert float(edge["correlation"]) == pytest.approx(pearson(X[:, i], X[:, j]), rel=1e-8)
        assert abs(float(edge["correlation"])) > 0.6
        same = number.get(edge["source"]) == number.get(edge["target"], "none")
        assert edge["module"] == (number[edge["source"]] if same else "")
    record = json.loads((out / "run.json").read_text())
    facts = record["modules"]
    assert facts["features"] == 40
    assert facts["modules"] == len(rows)
    assert facts["edges"] == len(edges)
    assert facts["in_modules"] == sum(map(len, expected))
    assert set(FILES) < set(record["outputs"])
    page = (out / "report.html").read_text()
    assert "Modules" in page
    assert all(name in page for name in FILES)
    assert rows[0]["representative"] in page
    again = run_here(["rank", "x.csv", *VARIANCE, *asked, "--out", str(out)], capfd)
    assert "up to date" in again.err
    (out / "modules.tsv").unlink()
    assert run_here(["rank", "x.csv", *VARIANCE, *asked, "--out", str(out)], capfd).code == 4


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "options",
    [
        ("x.csv", *VARIANCE),
        ("counts.h5ad", *VARIANCE, "--transform", "cpm,log1p", "--module-correlation", "0.3"),
        ("x.csv", *VARIANCE, "--max-correlation", "0.5", "--module-features", "60"),
        ("x.csv", "--method", "mrsf", "--similarity", "rbf", "--select", "10"),
    ],
    ids=["plain", "counts", "pruned", "mrsf"],
)
def test_threads_memory_and_a_store_change_no_byte(options, tmp_path):
    matrix, *words = options
    words.append("--modules")
    sfs("rank", matrix, *words, "--out", tmp_path / "a", "--threads", 1)
    sfs("convert", matrix, tmp_path / "store")
    for i, how in enumerate(
        (
            [matrix, "--threads", 3],
            [matrix, "--memory", "16M", "--block-size", 7],
            [tmp_path / "store", "--threads", 2],
        )
    ):
        sfs("rank", *how, *words, "--out", tmp_path / f"b{i}")
        for name in FILES:
            assert (tmp_path / f"b{i}" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_shards_write_them_too(tmp_path):
    words = ("x.csv", *VARIANCE, "--modules")
    sfs("rank", *words, "--out", tmp_path / "whole")
    sfs("shard", "init", tmp_path / "plan", *words, "--shards", 2)
    for i in (1, 2):
        sfs("shard", "run", tmp_path / "plan", i)
    sfs("shard", "merge", tmp_path / "plan", "--out", tmp_path / "out")
    for name in (*FILES, "report.html"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_what_a_new_result_lacks_goes_with_the_old_one(tmp_path):
    """Nothing of another run stays beside a result, but for what the user has changed or added."""
    out = tmp_path / "out"
    sfs("rank", "x.csv", *VARIANCE, "--modules", "--out", out)
    (out / "modules.tsv").write_text("mine now\n")
    (out / "notes.txt").write_text("mine\n")
    sfs("rank", "x.csv", *VARIANCE, "--format", "parquet", "--out", out, "--force")
    written = {"ranking.parquet", "report.html", "run.json", "sfs_mqc.json"}
    assert {path.name for path in out.iterdir()} == written | {"modules.tsv", "notes.txt"}


def test_modules_are_of_what_was_scored(tmp_path):
    """After adjusting for what makes a module, there is none."""
    X = values()
    factor = "".join(f"s{i},{X[0, i]}\n" for i in range(N))
    (tmp_path / "c.csv").write_text("id,f\n" + factor)
    options = ("x.csv", *VARIANCE, "--modules", "--module-features", "80")
    sfs("rank", *options, "--out", tmp_path / "a")
    sfs("rank", *options, "--adjust", f"{tmp_path / 'c.csv'}:f", "--out", tmp_path / "b")
    before, after = (table(tmp_path / name / "modules.tsv") for name in "ab")
    assert max(int(row["size"]) for row in before) == 12
    assert max(int(row["size"]) for row in after) == 6


def test_a_matrix_without_modules_has_empty_tables(tmp_path):
    rng = np.random.default_rng(0)
    genes, samples = [f"g{i}" for i in range(30)], [f"s{i}" for i in range(60)]
    write_table(tmp_path / "noise.csv", rng.normal(size=(30, 60)), genes, samples)
    sfs("rank", tmp_path / "noise.csv", *VARIANCE, "--modules", "--out", tmp_path / "out")
    assert not any(table(tmp_path / "out" / name) for name in FILES)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--modules"], ["--modules", "--out"]),
        (["--module-features", "20", "--out", "o"], ["--module-features", "--modules"]),
        (["--module-correlation", "0.5", "--out", "o"], ["--module-correlation", "--modules"]),
        (["--modules", "--module-correlation", "1", "--out", "o"], ["--module-correlation"]),
        (["--modules", "--module-features", "1", "--out", "o"], ["--module-features"]),
    ],
)
def test_options_that_do_not_fit_are_refused(words, named, capfd):
    done = run_here(["rank", "x.csv", *VARIANCE, *words], capfd)
    assert done.code == 2
    assert all(name in done.err for name in named)
    assert not Path("o").exists()
