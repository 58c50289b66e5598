"""Files that a command writes beside its folder: none is taken for another, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making_commands import USAGE, good, h5ad
from tests.running import run_here

EXISTS = 4
SIDE = {
    "h5ad": ["rank", "x.h5ad", "--method", "variance", "--write-h5ad"],
    "matrix": ["select", "ranked", "--top", "5", "--write-matrix"],
}
NAMES = {"h5ad": "copy.h5ad", "matrix": "cut.csv"}


@pytest.fixture
def study(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    good(tmp_path, "x.csv")
    h5ad(tmp_path, "x.h5ad")
    words = ["rank", "x.csv", "--method", "variance", "--out", "ranked"]
    assert run_here(words, capfd).code == 0
    return tmp_path


@pytest.mark.parametrize("case", SIDE)
def test_a_result_is_up_to_date_with_its_own_file_alone(case, study, capfd):
    name = NAMES[case]
    words = [*SIDE[case], name, "--out", "out"]
    assert run_here(words, capfd).code == 0
    assert "up to date" in run_here(words, capfd).err
    Path(name).unlink()
    done = run_here(words, capfd)
    assert done.code == EXISTS
    assert "files of it are gone" in done.err
    assert name in done.err
    assert run_here([*words, "--force"], capfd).code == 0
    assert Path(name).exists()


@pytest.mark.parametrize("case", SIDE)
def test_a_file_that_was_there_before_is_not_called_up_to_date(case, study, capfd):
    assert run_here([*SIDE[case], NAMES[case], "--out", "out"], capfd).code == 0
    other = "other" + Path(NAMES[case]).suffix
    Path(other).write_text("other things")
    assert run_here([*SIDE[case], other, "--out", "out"], capfd).code == EXISTS


def test_no_file_of_the_result_has_its_place(study, capfd):
    words = [*SIDE["h5ad"], "new/report.html", "--out", "new"]
    done = run_here(words, capfd)
    assert done.code == USAGE
    assert "--write-h5ad" in done.err
    assert not Path("new").exists()
