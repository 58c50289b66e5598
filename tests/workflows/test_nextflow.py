"""The Nextflow modules: their syntax, nf-core's form, and the bytes that their scripts make."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workflows.commands import (
    BLOCKS,
    MATRIX,
    WORKFLOWS,
    environment,
    ranked,
    run,
    tool,
    write_script,
)
from tests.workflows.nextflow_tasks import run_task

FOLDER = WORKFLOWS / "nextflow"
NAMES = ("rank", "shardinit", "shardrun", "shardmerge")
SHARDS = 2
LABELS = MATRIX.parent / "labels.tsv"
PARSE = """
import org.codehaus.groovy.control.*
args.each { file ->
    def unit = new CompilationUnit()
    unit.addSource(new File(file))
    unit.compile(Phases.CONVERSION)
}
"""
# there is no image of sfs; topics of versions need a newer Nextflow than 24.10
KNOWN = {"docker_tag", "singularity_tag", "main_nf_version_emit", "main_nf_version_topic"}
NO_NEXTFLOW = """#!/bin/sh
# what nf-core asks a Nextflow for
echo nextflow version 25.04.0.5944
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "bin")


def ranking(folder: Path) -> bytes:
    return (folder / "ranking.tsv").read_bytes()


def shard_tasks(tmp_path: Path, env: dict[str, str], number: int, made: list[Path]) -> list[Path]:
    """Run the tasks of a pass; return the folders of parts, which they made and nothing else."""
    folders = []
    for shard in range(1, SHARDS + 1):
        folder = run_task(
            "shardrun",
            tmp_path / f"run-{number}-{shard}",
            {"plan": [tmp_path / "init" / "plain.plan"], "parts": made},
            env,
            number=str(number),
            shard=str(shard),
        )
        folders.append(folder / f"plain.round-{number}.shard-{shard}")
        assert folders[-1].is_dir()
    return folders


@pytest.mark.slow
def test_scripts_of_the_shards_make_the_bytes_of_one_run(tmp_path, env):
    method = (*BLOCKS, "--method", "sselect", "--variant", "cut-value", "--labels")
    inputs = {"matrix": [MATRIX], "files": [LABELS]}
    args = " ".join([*method, f"{LABELS.name}:tissue"])
    run_task("shardinit", tmp_path / "init", inputs, env, shards=str(SHARDS), args=args)
    plan = tmp_path / "init" / "plain.plan"
    before = sorted(plan.rglob("*"))
    first = shard_tasks(tmp_path, env, 1, [])
    second = shard_tasks(tmp_path, env, 2, first)
    assert all(list(folder.rglob("*.npz")) for folder in first + second)
    assert sorted(plan.rglob("*")) == before
    files = {"plan": [plan], "parts": first + second}
    merged = run_task("shardmerge", tmp_path / "merge", files, env)
    whole = ranked(tmp_path / "plain", [*method, f"{LABELS}:tissue"], env)
    assert ranking(merged / "plain") == whole["ranking.tsv"]


@pytest.mark.slow
def test_script_of_rank_finds_its_files(tmp_path, env):
    args = "--method fisher --labels labels.tsv:tissue"
    files = {"matrix": [MATRIX], "files": [LABELS]}
    folder = run_task("rank", tmp_path / "task", files, env, args=args)
    options = ["--method", "fisher", "--labels", f"{LABELS}:tissue"]
    assert ranking(folder / "plain") == ranked(tmp_path / "plain", options, env)["ranking.tsv"]


@pytest.mark.parametrize("name", ["rank", "shardmerge"])
def test_stubs_make_the_files_of_the_outputs(name, tmp_path, env):
    files = {"matrix": [MATRIX], "files": []} if name == "rank" else {"plan": [], "parts": []}
    folder = run_task(name, tmp_path / "task", files, env, label="stub")
    outputs = re.findall(
        r'path\("\$\{prefix\}/(\S+)"\)', (FOLDER / f"modules/local/sfs/{name}/main.nf").read_text()
    )
    assert len(outputs) == 4
    assert all(list((folder / "plain").glob(output)) for output in outputs)


def test_pipeline_includes_modules_that_are_there():
    text = (FOLDER / "main.nf").read_text()
    included = re.findall(r"include \{ (\w+).* from '\./(.*)'", text)
    assert {path.split("/")[-2] for _, path in included} == set(NAMES)
    for process, path in included:
        assert f"process {process} {{" in (FOLDER / f"{path}.nf").read_text()


@pytest.mark.slow
def test_files_are_groovy(tmp_path):
    jar = tool("groovy.jar", "SFS_GROOVY_JAR")
    script = tmp_path / "parse.groovy"
    script.write_text(PARSE)
    files = [str(path) for path in [*FOLDER.rglob("*.nf"), *FOLDER.glob("*.config")]]
    assert len(files) == len(NAMES) + 2
    command = ["java", "-cp", jar, "groovy.ui.GroovyMain", str(script), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def commit(folder: Path, env: dict[str, str]) -> None:
    who = ("-c", "user.name=sfs", "-c", "user.email=sfs@example.org")
    for arguments in (("init", "-q", "-b", "master"), ("add", "-A"), (*who, "commit", "-qm", "x")):
        assert run(["git", *arguments], folder, env).returncode == 0


@pytest.mark.slow
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
    done = run([*command, "lint", "--local", "--plain-text"], tmp_path / "pipeline", env | quiet)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert set(re.findall(r"^sfs/\w+ (\w+)$", said, re.M)) <= KNOWN, said
    assert "0 Tests Failed" in said
    assert re.search(r"(\d{2,}) Tests Passed", said), said
