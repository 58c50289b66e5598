"""The commands that `sfs inspect` proposes for real data, and for the files of the guides, run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.running import check_that_it_runs, proposal

LABEL, LOG = "--labels {folder}/labels.tsv:label", "--transform log1p"
STATUS = "--labels files/samples.tsv:status"
DONORS = "--labels obs:status --pseudobulk donor --method t-test --min-cells 3 --transform log2cpm"
PAIRED = "--method t-test --block files/samples.tsv:patient"
MADE = {
    "files/export.txt": f"{STATUS} {PAIRED}",
    "files/study.xlsx:expression": f"{STATUS} {PAIRED}".replace(
        "samples.tsv", "study.xlsx:samples"
    ),
    "files/counts.txt": f"{STATUS} {PAIRED} --voom --min-count 10",
    "files/counts.txt --labels files/samples.tsv:days": "--event died --transform log2cpm:tmm "
    "--min-count 10",
    "files/cells.h5ad": DONORS,
    "files/cells/run1.h5ad files/cells/run2.h5ad": DONORS,
    "files/tissue.h5ad": "--spatial",
    "sample_data/expression.csv": "--labels sample_data/labels.tsv:tissue "
    "--adjust sample_data/labels.tsv:batch=categorical",
    "sample_data/mirna.csv": "--labels sample_data/labels.tsv:tissue "
    "--adjust sample_data/labels.tsv:batch=categorical",
    "sample_data/simulated_series_matrix.txt": "--labels obs:tissue --adjust obs:batch=categorical",
}


@pytest.fixture(scope="module")
def guides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader who has made the files."""
    folder = tmp_path_factory.mktemp("guides")
    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    script = [sys.executable, "-B", "sample_data/make_files.py", "files"]
    subprocess.run(script, check=True, cwd=folder)
    return folder


@pytest.mark.parametrize("words", MADE)
def test_files_of_the_guides(
    words: str,
    guides: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if words.startswith("files/study"):
        pytest.importorskip("xlsxwriter")
    for name in ("sample_data", "files"):
        (tmp_path / name).symlink_to(guides / name)
    monkeypatch.chdir(tmp_path)
    command = proposal(words.split(), capfd)["next_command"]
    assert command == f"sfs rank {words} {MADE[words]} --out results"
    check_that_it_runs(command, capfd)
