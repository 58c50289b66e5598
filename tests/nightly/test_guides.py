"""Guides that take long, and engines that they name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.pages import (
    DOCS,
    ENGINES,
    PAGES,
    ROOT,
    Reader,
)
from tests.docs.test_commands import LONG, commands_of, follow
from tests.docs.workflows.commands import tool, write_script
from tests.docs.workflows.test_slurm_scripts import SBATCH, SINFO

CLUSTER = DOCS / "guides" / "cluster.md"


def test_arrays_of_slurm(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    shutil.copytree(ROOT / "workflows", reader.folder / "workflows")
    write_script(tmp_path / "bin" / "sbatch", SBATCH, log=str(tmp_path / "jobs"))
    write_script(tmp_path / "bin" / "sinfo", SINFO)
    (command,) = (c for c in commands_of(CLUSTER) if c.startswith("workflows/"))
    done = reader.run(command)
    assert done.returncode == 0, done.stderr
    assert (reader.folder / "results" / "arrays" / "ranking.tsv").is_file()


@pytest.mark.parametrize("name", ENGINES)
def test_engines(name: str, tmp_path: Path) -> None:
    program = tool(name, f"SFS_{name.upper()}")
    reader = Reader(tmp_path)
    shutil.copytree(ROOT / "workflows", reader.folder / "workflows")
    write_script(tmp_path / "bin" / name, '#!/bin/sh\nexec "{program}" "$@"\n', program=program)
    config = reader.folder / "workflows" / "snakemake" / "config" / "config.yaml"
    assert "\nshards: 8\n" in config.read_text()
    config.write_text(config.read_text().replace("\nshards: 8\n", "\nshards: 2\n"))
    (command,) = (c for c in commands_of(CLUSTER) if f"&& {name}" in c)
    done = reader.run(command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(reader.folder.joinpath("workflows").rglob("ranking.tsv"))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem in LONG], ids=lambda page: page.stem
)
def test_a_reader_can_follow_the_page(
    page: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    follow(page, tmp_path, capfd)
