"""One ranking by engines of workflows."""

from __future__ import annotations

import pytest

from tests.docs.workflows import test_one_ranking as plain
from tests.docs.workflows.commands import WORKFLOWS, environment, run, tool
from tests.docs.workflows.test_one_ranking import OPTIONS, sfs

cells = plain.cells
shell = plain.shell


def test_dask(cells, shell):
    pytest.importorskip("distributed")
    given = ("--dask", "local", "--threads", "2")
    assert sfs(cells.parent, "rank", cells, *OPTIONS, *given) == shell


@pytest.mark.parametrize("shards", [1, 2])
def test_nextflow(shards, cells, shell, tmp_path):
    row = ("cells", str(cells), " ".join(OPTIONS))
    (tmp_path / "sheet.tsv").write_text("name\tmatrix\toptions\n" + "\t".join(row) + "\n")
    command = [
        *(tool("nextflow", "SFS_NEXTFLOW"), "run", str(WORKFLOWS / "nextflow"), "-profile", "test"),
        *("--input", "sheet.tsv", "--outdir", "out", "-w", "work", "--shards", str(shards)),
        "--skip_multiqc",
    ]
    done = run(command, tmp_path, environment(tmp_path / "bin", NXF_ANSI_LOG="false"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out" / "cells" / "ranking.tsv").read_text() == shell
