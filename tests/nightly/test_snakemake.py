"""Snakemake with shards, other releases, failures: what takes longer than the workflow of CI."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from tests.docs.workflows import test_snakemake as plain
from tests.docs.workflows.commands import (
    KILLED_ONCE,
    MATRIX,
    SFS,
    contents,
    environment,
    ranked,
    run,
    tool,
    write_script,
)
from tests.docs.workflows.test_snakemake import FOLDER, HEADER, TISSUE
from tests.running import run_here

snakemake = plain.snakemake


def write_sheet(folder: Path, *rows: str) -> None:
    (folder / "samples.tsv").write_text("\n".join([HEADER, *rows]) + "\n")


def test_a_shard_that_dies_and_a_restart_give_the_bytes_of_one_run(snakemake, tmp_path):
    bin_ = tmp_path / "bin"
    real = write_script(tmp_path / "real" / "sfs", SFS)
    words = ["shard", "run", "3"]
    once = tmp_path / "killed"
    write_script(bin_ / "sfs", KILLED_ONCE, sfs=str(real), once=str(once), words=words)
    env = environment(bin_)
    write_sheet(tmp_path, f"plain\t{MATRIX}\t\t\t\t3")

    first = run(snakemake, tmp_path, env)
    assert once.exists(), first.stderr
    assert first.returncode != 0
    ranking = tmp_path / "results" / "ranked"
    assert not (ranking / "plain" / "ranking.tsv").exists()
    flag = tmp_path / "results" / "shards" / "plain" / "round-1" / "2.done"
    made = flag.stat().st_ino

    second = run(snakemake, tmp_path, env)
    assert second.returncode == 0, second.stderr
    assert flag.stat().st_ino == made
    assert contents(ranking / "plain") == ranked(tmp_path / "plain", [], env)
    assert "Nothing to be done" in run(snakemake, tmp_path, env).stderr


def test_workflow_has_no_lint(snakemake, tmp_path):
    write_sheet(tmp_path, f"plain\t{MATRIX}\t\t\t\t8")
    done = run([*snakemake, "--lint"], tmp_path, environment(tmp_path / "bin"))
    assert done.returncode == 0, done.stderr
    assert "Congratulations" in done.stdout + done.stderr


def test_rankings_of_a_group_are_compared_and_labels_are_inputs(snakemake, tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text((MATRIX.parent / "labels.tsv").read_text())
    rows = [
        f"a\t{MATRIX}\t--method variance\t\t\t1\tmethods",
        f"b\t{MATRIX}\t--method fisher --labels labels.tsv:tissue\t\t\t1\tmethods",
    ]
    (tmp_path / "samples.tsv").write_text("\n".join([f"{HEADER}\tgroup", *rows]) + "\n")
    env = environment(tmp_path / "bin")
    done = run(snakemake, tmp_path, env)
    assert done.returncode == 0, done.stderr
    results = tmp_path / "results"
    header = (results / "compared/methods/ranking.tsv").read_text().split("\n")[0]
    assert {"rank_a", "rank_b"} <= set(header.split("\t"))
    page = run([*snakemake, "--report", "report.zip"], tmp_path, env)
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "report.zip").exists()

    labels.write_text((MATRIX.parent / "labels.tsv").read_text() + "\n")
    again = run([*snakemake, "--dry-run"], tmp_path, env)
    assert "merge" in again.stdout
    assert "name=b" in again.stdout
    assert "name=a" not in again.stdout


def test_general_statistics_of_multiqc_have_all_rankings(snakemake, tmp_path):
    multiqc = tool("multiqc", "SFS_MULTIQC")
    rows = [f"{name}\t{MATRIX}\t--method variance\t\t\t1\tboth" for name in "ab"]
    (tmp_path / "samples.tsv").write_text("\n".join([f"{HEADER}\tgroup", *rows]) + "\n")
    env = environment(tmp_path / "bin")
    env["PATH"] += f"{os.pathsep}{Path(multiqc).parent}"
    done = run([*snakemake, "multiqc=True"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "results/multiqc"
    text = (page / "multiqc_data/multiqc_general_stats.txt").read_text()
    head, *found = (line.split("\t") for line in text.splitlines())
    assert any(name.endswith("top_feature") for name in head)
    assert len(found) == 3
    for end, row in zip(("compared | both", "ranked | a", "ranked | b"), sorted(found)):
        assert end in row[0]


def test_what_has_changed_is_ranked_anew(snakemake, tmp_path, monkeypatch, capfd, set_blocks):
    """Labels, values, options, and files of a configuration; all in folders with blanks."""
    monkeypatch.chdir(tmp_path)
    set_blocks(100)  # as the sfs of the workflow
    study = tmp_path / "my study"
    study.mkdir()
    matrix, labels = study / "m.csv", study / "labels.tsv"
    matrix.write_text(MATRIX.read_text())
    labels.write_text((MATRIX.parent / "labels.tsv").read_text())
    (study / "run.yaml").write_text("matrix: m.csv\nmethod: fisher\nlabels: labels.tsv:tissue\n")
    env = environment(tmp_path / "bin")
    command = [*snakemake, f"results={tmp_path}/the results"]
    options = ["--method", "fisher", "--labels", f"{labels}:tissue"]

    def follows(*asked: str) -> None:
        rows = [
            f"sheet\t{matrix}\t{shlex.join(asked)}\t\t\t1",
            f"file\t\t\t{study}/run.yaml\t\t1",
        ]
        write_sheet(tmp_path, "# a comment", *rows)
        done = run(command, tmp_path, env)
        assert done.returncode == 0, done.stderr
        for name, words in (("sheet", asked), ("file", ("--config", f"{study}/run.yaml"))):
            given = [str(matrix)] if name == "sheet" else []
            out = ["--out", "direct", "--force"]
            direct = run_here(["rank", *given, *words, *out], capfd)
            assert direct.code == 0, direct.err
            made = tmp_path / "the results" / "ranked" / name / "ranking.tsv"
            assert made.read_bytes() == (tmp_path / "direct" / "ranking.tsv").read_bytes(), name

    follows(*options)
    header, *rows = labels.read_text().splitlines()
    samples, values = zip(*(row.split("\t", 1) for row in rows))
    turned = [f"{s}\t{v}" for s, v in zip(samples, values[1:] + values[:1])]
    labels.write_text("\n".join([header, *turned]) + "\n")
    follows(*options)
    first, second, *lines = matrix.read_text().splitlines()
    name, _, numbers = second.partition(",")
    turned = [f"{name},{','.join(reversed(numbers.split(',')))}"]
    matrix.write_text("\n".join([first, *turned, *lines]) + "\n")
    follows(*options)
    follows("--method", "variance", "--exclude", "G0001|a # is no comment")
    record = tmp_path / "the results" / "ranked" / "sheet" / "run.json"
    assert json.loads(record.read_text())["config"]["exclude"] == ["G0001|a # is no comment"]
    assert "Nothing to be done" in run(command, tmp_path, env).stderr


def test_nothing_of_a_sheet_is_run_by_the_shell(snakemake, tmp_path):
    pattern = "G0001|$(touch pwned) `touch pwned` {wildcards.name} > pwned; a  b"
    write_sheet(tmp_path, f"plain\t{MATRIX}\t--method variance --exclude '{pattern}'\t\t\t1")
    done = run(snakemake, tmp_path, environment(tmp_path / "bin"))
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("pwned"))
    record = json.loads((tmp_path / "results/ranked/plain/run.json").read_text())
    assert record["config"]["exclude"] == [pattern]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("plain\t\t\t\t\tmany", "shards"),
        (f"plain\t{MATRIX}\t--memory 2G\t\t\t2", "give mem_mb of config.yaml"),
        (f"plain\t{MATRIX}\t--force\t\t\t2", "leave it out"),
        (f"plain\t{MATRIX}\t\t\t\t2\nplain\t{MATRIX}\t\t\t\t4", "a name is there twice"),
        (f"plain\t{MATRIX}\t--format csv\t\t\t2", "format"),
        (f"plain\t{MATRIX}\t\trun.yaml\t\t2", "format"),
        (f"plain\t{MATRIX}\t\tno.yaml\t\t2", "no.yaml"),
        (f"..\t{MATRIX}\t\t\t\t2", "name"),
        (f"plain\t{MATRIX}\t--exclude 'a\t\t\t2", "plain: a quote in the column options is not"),
        (f'plain\t{MATRIX}\t\t\t"a\t2', "plain: a quote in the column files is not"),
        ("plain\t{name}.csv\t\t\t\t2", "plain: Snakemake takes what is in braces"),
        (f"plain\t{MATRIX}\t--methd x\t\t\t2", "--methd is no option"),
        (f"plain\t{MATRIX}\t-k 5\t\t\t2", "-k is no option of sfs rank in shards"),
        (f"plain\t{MATRIX}\tb.csv --batch file\t\t\t2", "sfs convert A.h5ad B.h5ad"),
        (f"plain\t{MATRIX}\t--top 0\t\t\t2", "--top cannot be 0"),
        (f"plain\t{MATRIX}\t--labels\t\t\t2", "--labels cannot be empty"),
        (f"plain\t{MATRIX}\t--modules=1\t\t\t2", "--modules takes no value"),
    ],
)
def test_what_the_workflow_cannot_follow_is_refused(snakemake, row, said, tmp_path):
    (tmp_path / "run.yaml").write_text("format: parquet\n")
    write_sheet(tmp_path, row)
    done = run([*snakemake, "--dry-run"], tmp_path, environment(tmp_path / "bin"))
    assert done.returncode != 0
    assert said in done.stdout + done.stderr


def test_the_folder_can_be_lifted_and_its_own_test_runs(tmp_path):
    lifted = tmp_path / "lifted"
    shutil.copytree(FOLDER, lifted)  # links are followed: the sample data comes along
    words = ["--directory", ".test", "--configfile", ".test/config/config.yaml", "--cores", "2"]
    env = environment(tmp_path / "bin")
    done = run([tool("snakemake", "SFS_SNAKEMAKE"), *words], lifted, env)
    assert done.returncode == 0, done.stderr
    results = lifted / ".test" / "results"
    whole = ranked(tmp_path / "fisher", TISSUE, env)
    assert (results / "ranked/fisher/ranking.tsv").read_bytes() == whole["ranking.tsv"]
    assert (results / "compared/methods/ranking.tsv").exists()
    listed = run([tool("snakemake", "SFS_SNAKEMAKE"), "--dry-run"], lifted, env)  # its own sheet
    assert listed.returncode == 0, listed.stderr


def test_a_group_of_one_is_refused(snakemake, tmp_path):
    (tmp_path / "samples.tsv").write_text(f"{HEADER}\tgroup\na\t{MATRIX}\t\t\t\t1\talone\n")
    done = run([*snakemake, "--dry-run"], tmp_path, environment(tmp_path / "bin"))
    assert done.returncode != 0
    assert "group alone has one ranking" in done.stdout + done.stderr


def test_files_are_formatted(tmp_path):
    snakefmt = tool("snakefmt", "SFS_SNAKEFMT")
    done = run([snakefmt, "--check", str(FOLDER / "workflow")], tmp_path, dict(os.environ))
    assert done.returncode == 0, done.stderr
