"""The Snakemake workflow makes the bytes of ``sfs rank``, also after a shard was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows.commands import (
    BLOCKS,
    KILLED_ONCE,
    MATRIX,
    SFS,
    WORKFLOWS,
    contents,
    environment,
    ranked,
    run,
    tool,
    write_script,
)

pytestmark = pytest.mark.slow

FOLDER = WORKFLOWS / "snakemake"
HEADER = "name\tmatrix\toptions\tconfig\tfiles\tshards"
TISSUE = ["--method", "fisher", "--labels", str(MATRIX.parent / "labels.tsv") + ":tissue"]


@pytest.fixture(scope="module")
def snakemake() -> list[str]:
    return [
        tool("snakemake", "SFS_SNAKEMAKE"),
        *("--snakefile", str(FOLDER / "workflow" / "Snakefile")),
        *("--configfile", str(FOLDER / "config" / "config.yaml")),
        *("--profile", str(FOLDER / "profiles" / "local")),
        *("--config", "samples=samples.tsv", "threads=1", "mem_mb=500"),
    ]


def write_sheet(folder: Path, *rows: str) -> None:
    (folder / "samples.tsv").write_text("\n".join([HEADER, *rows]) + "\n")


def test_killed_shard_and_restart_give_the_bytes_of_one_run(snakemake, tmp_path):
    bin_ = tmp_path / "bin"
    real = write_script(tmp_path / "real" / "sfs", SFS)
    words = ["shard", "run", "3"]
    once = tmp_path / "killed"
    write_script(bin_ / "sfs", KILLED_ONCE, sfs=str(real), once=str(once), words=words)
    env = environment(bin_)
    write_sheet(
        tmp_path,
        f"plain\t{MATRIX}\t{' '.join(BLOCKS)}\t\t\t8",
        f"tissue\t{MATRIX}\t{' '.join(TISSUE)}\t\t{MATRIX.parent}/labels.tsv\t2",
    )

    first = run(snakemake, tmp_path, env)
    assert once.exists()
    assert first.returncode != 0
    ranking = tmp_path / "results" / "ranked"
    assert not (ranking / "plain" / "ranking.tsv").exists()
    flag = tmp_path / "results" / "shards" / "plain" / "round-1" / "2.done"
    made = flag.stat().st_mtime_ns

    second = run(snakemake, tmp_path, env)
    assert second.returncode == 0, second.stderr
    assert flag.stat().st_mtime_ns == made
    assert contents(ranking / "plain") == ranked(tmp_path / "plain", BLOCKS, env)
    assert contents(ranking / "tissue") == ranked(tmp_path / "tissue", TISSUE, env)
    assert "Nothing to be done" in run(snakemake, tmp_path, env).stderr


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("plain\t\t\t\t\tmany", "shards"),
        (f"plain\t{MATRIX}\t\t\t\t2\nplain\t{MATRIX}\t\t\t\t4", "a name is there twice"),
    ],
)
def test_bad_sheet_is_refused_before_anything_runs(snakemake, row, said, tmp_path):
    write_sheet(tmp_path, row)
    done = run([*snakemake, "--dry-run"], tmp_path, environment(tmp_path / "bin"))
    assert done.returncode != 0
    assert said in done.stdout + done.stderr


def test_workflow_has_no_lint(snakemake, tmp_path):
    write_sheet(tmp_path, f"plain\t{MATRIX}\t\t\t\t8")
    done = run([*snakemake, "--lint"], tmp_path, environment(tmp_path / "bin"))
    assert done.returncode == 0, done.stderr
    assert "Congratulations" in done.stdout + done.stderr
