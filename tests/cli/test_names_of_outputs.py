"""An output is not written under the name of another format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making_commands import USAGE, good, h5ad
from tests.running import run_here, snapshot

RANK = "rank x.csv --method variance"
WRONG = {
    "report": ("report ranked --out", "--out", "page.pdf page.PNG page.tsv page.html.gz"),
    "fuse": ("fuse x.csv --source a=target: --out", "--out", "S.pdf S.xlsx S.npy"),
    "convert": ("convert x.csv", "STORE", "x.tsv y.parquet x.h5ad x.zarr y.csv.gz"),
    "weights": (
        "rank x.csv --method mrsf --select 3 --weights-out",
        "--weights-out",
        "w.tsv w.csv w.feather",
    ),
    "copy": ("rank x.h5ad --method variance --write-h5ad", "--write-h5ad", "y.csv y.h5mu y.zarr"),
    "matrix": ("select ranked --top 3 --write-matrix", "--write-matrix", "y.h5ad y.gct"),
    "store": (
        "select of_store --top 3 --write-matrix",
        "--write-matrix",
        "y.csv y.h5ad",
    ),
}
RIGHT = {
    "report": ("report ranked --out", "page.html page.HTM page page.2024 page.v1.2 page.of.gse1"),
    "rank": (f"{RANK} --out", "out.v2 2024.01.31 GSE1.samples of-x.csv"),
    "convert": ("convert x.csv", "x.store y z.v1"),
    "weights": ("rank x.csv --method mrsf --select 3 --weights-out", "w.parquet w.PQ w"),
    "copy": ("rank x.h5ad --method variance --write-h5ad", "y.h5ad y.H5AD y.scored y"),
}


@pytest.fixture
def study(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    good(tmp_path, "x.csv")
    h5ad(tmp_path, "x.h5ad")
    for words in (f"{RANK} --out ranked", "convert x.csv m.store"):
        assert run_here(words.split(), capfd).code == 0
    assert (
        run_here(["rank", "m.store", "--method", "variance", "--out", "of_store"], capfd).code == 0
    )
    return tmp_path


@pytest.mark.parametrize("case", WRONG)
def test_a_suffix_of_another_format_is_refused(case, study, capfd):
    command, label, names = WRONG[case]
    before = snapshot(study)
    for name in names.split():
        for more in ([], ["--force"] * (case != "log")):
            done = run_here([*command.split(), name, *more], capfd)
            assert done.code == USAGE, f"{name}\n{done.err}"
            assert f"{label} {name}" in " ".join(done.err.split())
            assert "to do:" in done.err
        assert snapshot(study) == before


@pytest.mark.parametrize("case", RIGHT)
def test_any_other_name_is_taken(case, study, capfd):
    command, names = RIGHT[case]
    for name in names.split():
        done = run_here([*command.split(), name], capfd)
        assert done.code == 0, f"{name}\n{done.err}"
        assert Path(name).exists()


def test_a_folder_that_has_such_a_name_already_is_written_to(study, capfd):
    assert run_here(["convert", "x.csv", "old"], capfd).code == 0
    Path("old").rename("GSE1.csv")
    assert run_here(["convert", "x.csv", "GSE1.csv", "--force"], capfd).code == 0


def test_a_name_in_a_configuration_is_checked_too(study, capfd):
    Path("run.yaml").write_text("matrix: x.csv\nmethod: mrsf\nselect: 3\nweights-out: w.tsv\n")
    done = run_here(["rank", "--config", "run.yaml"], capfd)
    assert done.code == USAGE, done.err
    assert "w.tsv" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["rank", "x.csv", "--out", "-"],
        ["rank", "x.csv", "--out", "o", "--weights-out", "-"],
        ["shard", "init", "-", "x.csv", "--shards", "2"],
        ["shard", "merge", "plan", "--out", "-"],
        ["fuse", "x.csv", "--out", "-"],
        ["convert", "x.csv", "-"],
    ],
)
def test_an_output_is_not_named_as_standard_output(words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    done = run_here(words, capfd)
    assert done.code == 2
    assert "not to standard output" in "".join(done.err.replace("\n", " "))
    assert not list(tmp_path.iterdir())
