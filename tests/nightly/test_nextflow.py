"""Nextflow and nf-core's tools on the workflow."""

from __future__ import annotations

import json
import os
import re
import shutil
from hashlib import md5
from pathlib import Path

import pytest

from tests.docs.workflows import test_nextflow as plain
from tests.docs.workflows.commands import (
    MATRIX,
    ranked,
    run,
    tool,
    write_script,
)
from tests.docs.workflows.nextflow_tasks import run_task
from tests.docs.workflows.test_nextflow import FOLDER, LABELS, ranking

env = plain.env

SHARDS = 2


@pytest.fixture
def nextflow(env: dict[str, str], tmp_path: Path) -> list[str]:
    """The command that runs the pipeline on the sample data, or a sheet given after it."""
    env["NXF_ANSI_LOG"] = "false"
    found = tool("nextflow", "SFS_NEXTFLOW")
    (tmp_path / "m.csv").symlink_to(MATRIX)
    command = [found, "run", str(FOLDER), "-profile", "test", "--outdir", "out", "-w", "work"]
    return [*command, "--skip_multiqc"]


KNOWN = {"container_links", "docker_tag", "singularity_tag"}


NO_NEXTFLOW = """#!/bin/sh
# nf-core does nothing without a Nextflow; this one has a version, and no answer about containers
echo nextflow version 25.04.0.5944
"""


def shard_tasks(tmp_path: Path, env: dict[str, str], number: int, made: list[Path]) -> list[Path]:
    """Run the tasks of a pass; return the folders of parts, which they made and nothing else."""
    folders = []
    for shard in range(1, SHARDS + 1):
        folder = run_task(
            "shardrun",
            tmp_path / f"run-{number}-{shard}",
            {
                "plan": [tmp_path / "init" / "plain.plan"],
                "parts": made,
                "matrix": [MATRIX],
                "files": [LABELS],
            },
            env,
            number=str(number),
            shard=str(shard),
        )
        folders.append(folder / f"plain.round-{number}.shard-{shard}")
        assert folders[-1].is_dir()
    return folders


def test_scripts_of_the_shards_make_the_bytes_of_one_run(tmp_path, env):
    method = ("--method", "sselect,variant=cut-value", "--labels")
    inputs = {"matrix": [MATRIX], "files": [LABELS]}
    args = " ".join([*method, f"{LABELS.name}:tissue"])
    run_task("shardinit", tmp_path / "init", inputs, env, shards=str(SHARDS), args=args)
    plan = tmp_path / "init" / "plain.plan"
    before = sorted(plan.rglob("*"))
    first = shard_tasks(tmp_path, env, 1, [])
    second = shard_tasks(tmp_path, env, 2, first)
    assert all(list(folder.rglob("*.npz")) for folder in first + second)
    assert sorted(plan.rglob("*")) == before
    files = {"plan": [plan], "parts": first + second, "matrix": [MATRIX], "files": [LABELS]}
    merged = run_task("shardmerge", tmp_path / "merge", files, env)
    whole = ranked(tmp_path / "plain", [*method, f"{LABELS}:tissue"], env)
    assert ranking(merged) == whole["ranking.tsv"]


INPUTS: dict[str, dict[str, list[Path]]] = {
    "rank": {"matrix": [MATRIX], "files": []},
    "fuse": {"matrix": [MATRIX], "files": []},
    "shardinit": {"matrix": [MATRIX], "files": []},
    "shardrun": {"plan": [], "parts": [], "matrix": [MATRIX], "files": []},
    "select": {"ranking": [], "record": [], "matrix": [], "files": []},
    "evaluate": {"ranking": [], "record": [], "matrix": [MATRIX], "files": []},
    "report": {"ranking": [], "page": [], "files": []},
}


def outputs(name: str) -> list[str]:
    """Return the patterns of the outputs that are always there, of files named plain."""
    text = (FOLDER / f"modules/local/sfs/{name}/main.nf").read_text()
    found = re.findall(r'path\("\$\{prefix\}(\S*?)"\), emit: \w+$', text, re.M)
    assert found
    return found


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_stubs_make_the_files_of_the_outputs(name, tmp_path, env):
    values = {"shards": "2", "number": "1", "shard": "1", "args": "--format csv"}
    folder = run_task(name, tmp_path / "task", INPUTS[name], env, label="stub", **values)
    begin = {"select": "plain_selected", "evaluate": "plain_evaluated"}.get(name, "plain")
    begin = "plain.round-1.shard-1" if name == "shardrun" else begin
    for pattern in outputs(name):
        assert list(folder.glob(f"{begin}{pattern}")), pattern
    if name == "rank":
        assert (folder / "plain" / "ranking.csv").exists()


def test_the_stub_of_merge_follows_the_format_of_the_plan(tmp_path, env):
    values = {"shards": "2", "args": "--format parquet"}
    made = run_task("shardinit", tmp_path / "i", INPUTS["shardinit"], env, label="stub", **values)
    files = INPUTS["shardrun"] | {"plan": [made / "plain.plan"]}
    folder = run_task("shardmerge", tmp_path / "m", files, env, label="stub")
    assert (folder / "plain" / "ranking.parquet").exists()


def test_select_and_evaluate_read_what_rank_has_made(tmp_path, env):
    made = run_task("rank", tmp_path / "rank", INPUTS["rank"], env, args="--method variance")
    files = {
        "ranking": [made / "plain" / "ranking.tsv"],
        "record": [made / "plain" / "run.json"],
        "matrix": [],
        "files": [],
    }
    files |= {"matrix": [MATRIX]}
    chosen = run_task("select", tmp_path / "select", files, env, args="--top 7")
    assert len((chosen / "plain_selected" / "selected.txt").read_text().split()) == 7
    files |= {"files": [LABELS]}
    args = "--labels labels.tsv:tissue --splits 3 --repeats 1 --lengths 10"
    worth = run_task("evaluate", tmp_path / "evaluate", files, env, args=args)
    assert (worth / "plain_evaluated" / "evaluation.tsv").exists()


def test_report_makes_the_page_of_rank_and_of_merge(tmp_path, env):
    args = "--method fisher --labels labels.tsv:tissue"
    inputs = {"matrix": [MATRIX], "files": [LABELS]}
    made = run_task("rank", tmp_path / "rank", inputs, env, args=args)
    values = {"shards": "1", "args": args}
    plan = run_task("shardinit", tmp_path / "init", inputs, env, **values) / "plain.plan"
    merging = inputs | {"plan": [plan], "parts": []}
    merged = run_task("shardmerge", tmp_path / "merge", merging, env, args="")
    shutil.rmtree(tmp_path / "init")  # of another machine
    for folder in (made, merged):
        of = {
            "ranking": [folder / "plain" / "ranking.tsv"],
            "page": [folder / "plain" / "page.json"],
            "files": [],
        }
        page = run_task("report", tmp_path / f"{folder.name}-page", of, env, args="")
        wanted = (made / "plain" / "report.html").read_bytes()
        assert (page / "plain" / "report.html").read_bytes() == wanted


def test_fuse_writes_a_similarity(tmp_path, env):
    files = {"matrix": [MATRIX], "files": [LABELS]}
    args = "--source tissue=labels:labels.tsv:tissue --source all=target:"
    folder = run_task("fuse", tmp_path / "task", files, env, args=args)
    assert (folder / "plain.npz").stat().st_size > 0
    assert (folder / "plain.npz.run.json").exists()


BY_NAME = {"page.json", "report.html", "run.json", "sfs_mqc_versions.yml"}
"""Files of results that snapshots do not hold by their bytes; the last is no output."""


def snapshot_of(name: str) -> set[str]:
    """Return the files of the snapshot of a module that are held by their bytes."""
    folder = FOLDER / "modules/local/sfs" / name / "tests"
    whole = json.loads((folder / "main.nf.test.snap").read_text())["sample data"]
    return {f"{n}:md5,{h}" for n, h in re.findall(r'"([\w.]+):md5,(\w+)"', json.dumps(whole))}


def args_of(name: str) -> str:
    """Return the options that the test of a module gives."""
    text = (FOLDER / "modules/local/sfs" / name / "tests/nextflow.config").read_text()
    found = re.search(r"ext.args = '(.*)'", text)
    return found[1] if found else ""


def test_snapshots_have_the_bytes_of_their_tasks(tmp_path, env):
    matrix, id_ = {"matrix": [MATRIX], "files": []}, {"meta.id": "test"}
    with_labels = matrix | {"files": [LABELS]}
    default = run_task("rank", tmp_path / "default", matrix, env, **id_) / "test"
    of = {"ranking": [default / "ranking.tsv"], "record": [default / "run.json"]}
    plan = run_task("shardinit", tmp_path / "init", matrix, env, shards="2", **id_) / "test.plan"
    values = {"number": "1", "shard": "2", **id_}
    files = {"plan": [plan], "parts": [], **matrix}
    shard = run_task("shardrun", tmp_path / "run", files, env, **values)
    files |= {"parts": [*shard.glob("*.round-1.*")]}
    for name, given in (
        ("rank", with_labels),
        ("shardmerge", files),
        ("select", {**of, "matrix": [], "files": []}),
        ("evaluate", of | with_labels),
    ):
        made = run_task(name, tmp_path / name, given, env, args=args_of(name), **id_)
        [folder] = [
            each
            for each in made.iterdir()
            if (each / "run.json").exists() and each.name.startswith("test")
        ]
        held = snapshot_of(name)
        in_folder = {each.name for each in folder.iterdir()}
        assert {each.partition(":")[0] for each in held} == in_folder - BY_NAME, name
        for each in held:
            file = folder / each.partition(":")[0]
            assert f"{file.name}:md5,{md5(file.read_bytes()).hexdigest()}" == each, name


def commit(folder: Path, env: dict[str, str]) -> None:
    who = ("-c", "user.name=sfs", "-c", "user.email=sfs@example.org")
    for arguments in (("init", "-q", "-b", "master"), ("add", "-A"), (*who, "commit", "-qm", "x")):
        assert run(["git", *arguments], folder, env).returncode == 0


def test_modules_have_the_form_of_nf_core(tmp_path, env):
    nf_core = tool("nf-core", "SFS_NF_CORE")
    write_script(tmp_path / "bin" / "nextflow", NO_NEXTFLOW)
    modules = tmp_path / "remote" / "modules"
    (modules / "sfs").mkdir(parents=True)
    for name in ("environment-schema.json", "meta-schema.json"):  # nf-core's own are not here
        (modules / name).write_text("{}")
    (modules.parent / ".nf-core.yml").write_text("repository_type: modules\norg_path: sfs\n")
    shutil.copytree(FOLDER, tmp_path / "pipeline")
    (tmp_path / "pipeline" / ".nf-core.yml").write_text(
        "repository_type: pipeline\nnf_core_version: 4.2.1\n"
    )
    commit(modules.parent, env)
    commit(tmp_path / "pipeline", env)
    run(["git", "clone", "-q", "--bare", "remote", "bare.git"], tmp_path, env)
    command = [nf_core, "modules", "--git-remote", str(tmp_path / "bare.git"), "--branch", "master"]
    quiet = {"NFCORE_NO_VERSION_CHECK": "1", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    quiet["NXF_HOME"] = str(tmp_path)  # where nf-core keeps configurations, and this one is empty
    done = run([*command, "lint", "--local", "--plain-text"], tmp_path / "pipeline", env | quiet)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert set(re.findall(r"^sfs/\w+ (\w+)$", said, re.M)) <= KNOWN, said
    assert "0 Tests Failed" in said
    assert re.search(r"(\d{2,}) Tests Passed", said), said


def test_the_pipeline_has_the_form_of_nf_core(nextflow, tmp_path, env):
    """Lifted into a repository of its own, but for what nf-core has of its own."""
    nf_core = tool("nf-core", "SFS_NF_CORE")
    (tmp_path / "bin" / "nextflow").symlink_to(nextflow[0])
    modules = tmp_path / "remote" / "modules"
    (modules / "nf-core").mkdir(parents=True)
    for name in ("environment-schema.json", "meta-schema.json"):
        (modules / name).write_text("{}")
    (tmp_path / "remote/subworkflows").mkdir()
    (tmp_path / "remote/subworkflows/yaml-schema.json").write_text("{}")
    (tmp_path / "remote/.nf-core.yml").write_text("repository_type: modules\norg_path: nf-core\n")
    shutil.copytree(FOLDER, tmp_path / "pipeline", ignore=shutil.ignore_patterns("work", ".next*"))
    commit(tmp_path / "remote", env)
    commit(tmp_path / "pipeline", env)
    kept = tmp_path / "config" / "nfcore" / "nf-core"
    kept.mkdir(parents=True)
    run(["git", "clone", "-q", str(tmp_path / "remote"), "modules"], kept, env)
    quiet = {"NFCORE_NO_VERSION_CHECK": "1", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    command = [nf_core, "--hide-progress", "pipelines", "lint", "--plain-text"]
    done = run(command, tmp_path / "pipeline", env | quiet)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "0 Tests Failed" in said
    assert int(re.search(r"(\d+) Tests Passed", said)[1]) > 100


SHEETS = [
    ("name\tmatrix\nm.csv\tm.csv\n", "line 2: m.csv is the name of a file"),
    ("name\tmatrix\na\tm.csv\na\tm.csv\n", "line 3: the name 'a' is there twice"),
    ("matrix\toptions\nm.csv\t\n", "the columns are name"),
    ("name\tmatrix\na b\tm.csv\n", "line 2: the name 'a b'"),
    ("name\tmatrix\na\tnone.csv\n", "line 2: there is no"),
    ("name\tmatrix\toptions\na\tm.csv\t--exclude 'x\n", "is not closed"),
    ("name\tmatrix\toptions\na\tm.csv\t--memory 2G\n", "the pipeline gives --memory"),
    ("name\tmatrix\toptions\na\tm.csv\t--out x\n", "the pipeline gives --out"),
    ("name\tmatrix\toptions\na\tm.csv\t--write-h5ad=x\n", "the pipeline gives --write-h5ad"),
    ("name\tmatrix\toptions\na\tm.csv\t--methd x\n", "--methd is no option of sfs rank in shards"),
    ("name\tmatrix\toptions\na\tm.csv\t-k 5\n", "-k is no option of sfs rank in shards"),
    ("name\tmatrix\toptions\na\tm.csv\tb.csv --batch file\n", "sfs convert A.h5ad B.h5ad"),
    ("name\tmatrix\toptions\na\tm.csv\t--method x\n", "unknown value 'x' of --method"),
    ("name\tmatrix\toptions\na\tm.csv\t--top 0\n", "--top 0 is too small"),
    ("name\tmatrix\toptions\na\tm.csv\t--top 2.5\n", "--top is a whole number"),
    ("name\tmatrix\toptions\na\tm.csv\t--labels\n", "--labels needs a value"),
    ("name\tmatrix\toptions\na\tm.csv\t--modules=2\n", "--modules takes no value"),
    ("name\tmatrix\tselect\na\tm.csv\t--matrix x\n", "the pipeline gives --matrix"),
    ("name\tmatrix\tselect\na\tm.csv\ttop 3\n", "top is no option of sfs select"),
    ("name\tmatrix\tfiles\na\tm.csv\t'x\n", "is not closed"),
]


@pytest.mark.parametrize(("sheet", "said"), SHEETS)
def test_a_bad_sheet_is_refused_before_anything_runs(nextflow, sheet, said, tmp_path, env):
    (tmp_path / "sheet.tsv").write_text(sheet)
    done = run([*nextflow, "--input", "sheet.tsv"], tmp_path, env)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert not list((tmp_path / "work").glob("??/*"))


@pytest.mark.parametrize("words", [["--shard", "3"], ["--shards", "0"], ["--shards", "two"]])
def test_wrong_parameters_are_refused(nextflow, words, tmp_path, env):
    done = run([*nextflow, *words], tmp_path, env)
    assert done.returncode != 0
    assert words[0][2:] in done.stdout + done.stderr
    assert not list((tmp_path / "work").glob("??/*"))


def test_the_profile_of_the_tests_uses_every_module(nextflow, tmp_path, env):
    multiqc = tool("multiqc", "SFS_MULTIQC")
    env["PATH"] += f"{os.pathsep}{Path(multiqc).parent}"
    words = [word for word in nextflow if word != "--skip_multiqc"]
    done = run([*words, "-process.scratch", "true"], tmp_path, env)
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "out"
    options = ["--method", "spec", "--similarity", "knn"]
    whole = ranked(tmp_path / "plain", options, env)
    assert (out / "plain/ranking.tsv").read_bytes() == whole["ranking.tsv"]
    fused = ["--source", f"tissue=labels:{LABELS}:tissue", "--out", "f.npz"]
    assert run(["sfs", "fuse", str(MATRIX), *fused], tmp_path, env).returncode == 0
    options = ["--method", "spec", "--similarity", f"file:{tmp_path}/f.npz"]
    whole = ranked(tmp_path / "tissue", options, env)
    assert (out / "tissue/ranking.tsv").read_bytes() == whole["ranking.tsv"]
    made = (out / "tissue_selected/selected.txt").read_text().split()
    assert len(made) == 20
    assert (out / "tissue_evaluated/evaluation.tsv").exists()
    assert "Features of the tissue" in (out / "tissue/report.html").read_text()
    assert (out / "multiqc/multiqc_report.html").exists()
    ended = {path.name.partition("_20")[0] for path in (out / "pipeline_info").iterdir()}
    assert {"execution_trace", "execution_timeline", "execution_report"} <= ended


def test_one_task_ranks_files_of_odd_names(nextflow, tmp_path, env):
    named, empty = tmp_path / "m[1] a.csv", tmp_path / "two words.txt"
    named.symlink_to(MATRIX)
    empty.write_text("")
    excluded = "G0001|a $(b)"
    options = f"--method fisher --labels labels.tsv:tissue --exclude '{excluded}'"
    row = ["x", str(named), options, f"{LABELS} '{empty}'"]
    (tmp_path / "the sheet.tsv").write_text(
        "\ufeffname\tmatrix\toptions\tfiles\n" + "\t".join(row) + "\n"
    )
    done = run([*nextflow, "--input", "the sheet.tsv", "--shards", "1"], tmp_path, env)
    assert done.returncode == 0, done.stdout + done.stderr
    words = ["--method", "fisher", "--labels", f"{LABELS}:tissue", "--exclude", excluded]
    whole = ranked(tmp_path / "whole", words, env)
    assert (tmp_path / "out/x/ranking.tsv").read_bytes() == whole["ranking.tsv"]
