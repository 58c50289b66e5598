"""An output is not written under the name of another format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making_commands import USAGE, good, h5ad
from tests.running import run_here, snapshot

RANK = "rank x.csv --method variance"
H5AD = "rank x.h5ad --method variance --write-h5ad"
WRONG = {
    "report": ("report ranked --out", "--out", "page.PNG page.html.gz"),
    "fuse": ("fuse x.csv --source a=target: --out", "--out", "S.npy"),
    "convert": ("convert x.csv", "STORE", "x.tsv y.h5ad"),
    "copy": (H5AD, "--write-h5ad", "y.csv y.h5mu y.zarr"),
    "matrix": ("select ranked --top 3 --write-matrix", "--write-matrix", "y.h5ad y.gct"),
}
RIGHT = {
    "report": ("report ranked --out", "page.HTM page.v1.2"),
    "rank": (f"{RANK} --out", "2024.01.31 of-x.csv"),
    "convert": ("convert x.csv", "x.store z.v1"),
    "copy": (H5AD, "y.H5AD y.scored"),
}


@pytest.fixture
def study(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    good(tmp_path, "x.csv")
    h5ad(tmp_path, "x.h5ad")
    assert run_here(f"{RANK} --out ranked".split(), capfd).code == 0
    return tmp_path


@pytest.mark.parametrize("case", WRONG)
def test_a_suffix_of_another_format_is_refused(case, study, capfd):
    command, label, names = WRONG[case]
    before = snapshot(study)
    for name in names.split():
        done = run_here([*command.split(), name, "--force"], capfd)
        assert done.code == USAGE, f"{name}\n{done.err}"
        assert f"{label} {name}" in " ".join(done.err.split())
        assert snapshot(study) == before


@pytest.mark.parametrize("case", RIGHT)
def test_any_other_name_is_taken(case, study, capfd):
    command, names = RIGHT[case]
    for name in names.split():
        done = run_here([*command.split(), name], capfd)
        assert done.code == 0, f"{name}\n{done.err}"
        assert Path(name).exists()


@pytest.mark.parametrize(
    "words",
    [
        ["rank", "x.csv", "--out", "-"],
        ["shard", "init", "-", "x.csv", "--shards", "2"],
        ["convert", "x.csv", "-"],
    ],
)
def test_an_output_is_not_named_as_standard_output(words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    done = run_here(words, capfd)
    assert done.code == 2
    assert "not to standard output" in "".join(done.err.replace("\n", " "))
    assert not list(tmp_path.iterdir())
