"""The Nextflow modules: their syntax, nf-core's form, and the bytes that their scripts make."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePath

import pytest
import yaml

from sfs_cli.options.select import _READING as READING
from sfs_cli.tables import FILES
from tests.docs.workflows.commands import (
    MATRIX,
    WORKFLOWS,
    environment,
    ranked,
)
from tests.docs.workflows.nextflow_tasks import run_task

pytestmark = pytest.mark.any_python

FOLDER = WORKFLOWS / "nextflow"
NAMES = (*("rank", "fuse", "shardinit", "shardrun", "shardmerge", "select", "evaluate", "report"),)
LABELS = MATRIX.parent / "labels.tsv"
TESTS = ["sample data", "sample data - stub"]
UNSTABLE = {"page", "record", "report", "similarity", "plan", "parts"}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "bin")


def ranking(folder: Path) -> bytes:
    return (folder / "plain" / "ranking.tsv").read_bytes()


def test_script_of_rank_finds_its_files(tmp_path, env):
    args = "--method fisher --labels labels.tsv:tissue"
    files = {"matrix": [MATRIX], "files": [LABELS]}
    folder = run_task("rank", tmp_path / "task", files, env, args=args)
    options = ["--method", "fisher", "--labels", f"{LABELS}:tissue"]
    assert ranking(folder) == ranked(tmp_path / "plain", options, env)["ranking.tsv"]


def test_every_module_has_its_files_and_describes_its_channels():
    for name in NAMES:
        folder = FOLDER / "modules/local/sfs" / name
        there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        own = {"main.nf", "meta.yml", "environment.yml"}
        tests = {"tests/main.nf.test", "tests/main.nf.test.snap", "tests/nextflow.config"}
        assert there == own | tests
        text, meta = (folder / "main.nf").read_text(), yaml.safe_load((folder / "meta.yml").open())
        emitted = re.findall(r"emit: (\w+)", text)
        assert list(meta["output"]) == emitted
        assert "versions" in meta["topics"]
        taken = re.findall(r"(?:val|path)\((\w+)", text[: text.index("output:")])
        groups = [each if isinstance(each, list) else [each] for each in meta["input"]]
        described = [key for group in groups for each in group for key in each]
        assert described == taken + re.findall(r"^    val (\w+)$", text, re.M)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "report"])
def test_what_the_process_gives_is_no_option_of_a_user(name):
    script = (FOLDER / "modules/local/sfs" / name / "main.nf").read_text().partition("script:")[2]
    assert script.index("def args") < script.index("error(") < script.index("--threads ${task")
    asked = re.search(r"if \(args =~ /(.*)/\) \{", script)
    assert asked
    for given in ("--memory 2G", "--top 3 --threads=2", "'--memory' '2G'"):
        assert re.search(asked[1], given)
    for given in ("--top 3", "--memory-plot x", "--exclude a--memory"):
        assert not re.search(asked[1], given)


@pytest.mark.parametrize("name", NAMES)
def test_snapshots_are_of_these_tests_and_of_no_machine(name):
    folder = FOLDER / "modules/local/sfs" / name
    asked = (folder / "tests/main.nf.test").read_text()
    text = (folder / "tests/main.nf.test.snap").read_text()
    snapshots = json.loads(text)
    assert sorted(snapshots) == re.findall(r'test\("(.+)"\)', asked) == TESTS
    assert not re.search(r'"/|[a-z]/[a-z]', text)
    module = (folder / "main.nf").read_text()
    emitted = set(re.findall(r"emit: (\w+)", module))
    tag = re.search(r'container ".*:(.*)"', module)
    assert tag
    for title, snapshot in snapshots.items():
        channels = snapshot["content"][0]
        assert set(channels) == emitted
        assert channels["versions_sfs"] == [[f"SFS_{name.upper()}", "sfs", tag[1]]]
        # only what a run makes alike on every machine is held by its bytes
        for channel in UNSTABLE & emitted if "stub" not in title else ():
            [[_, made]] = channels[channel]
            assert "md5" not in made


def test_the_module_of_select_gives_the_matrix_to_the_rules_that_read_it():
    text = (FOLDER / "modules/local/sfs/select/main.nf").read_text()
    named = re.search(r"def reads = args =~ /.*--\((.*?)\)", text)
    assert named
    # a matrix that is written is no output of the module, and no option of the sheet
    wanted = {name.replace("_", "-") for name in READING} - {"write-matrix"}
    assert set(named[1].split("|")) == wanted
    sheet = json.loads((FOLDER / "assets/schema_options.json").read_text())
    assert "--write-matrix" not in sheet["select"]


def test_schemas_hold_the_parameters_and_the_sheet():
    schema = json.loads((FOLDER / "nextflow_schema.json").read_text())
    known = {name for group in schema["$defs"].values() for name in group["properties"]}
    assert [each["$ref"].rpartition("/")[2] for each in schema["allOf"]] == list(schema["$defs"])
    block = re.search(r"^params \{(.*?)^\}", (FOLDER / "nextflow.config").read_text(), re.S | re.M)
    assert block
    assert set(re.findall(r"^    (\w+) ", block[1], re.M)) == set(known)
    sheet = json.loads((FOLDER / "assets/schema_input.json").read_text())
    header = (FOLDER / "assets/samplesheet.tsv").read_text().split("\n")[0].split("\t")
    assert set(header) == set(sheet["items"]["properties"])
    text = (FOLDER / "subworkflows/local/sheet/main.nf").read_text()
    columns = re.search(r"def columns = \[(.*)\]", text)
    assert columns
    assert re.findall(r"\w+", columns[1]) == header


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("rank", "rank"),
        ("shardmerge", "shard merge"),
        ("select", "select"),
        ("evaluate", "evaluate"),
    ],
)
def test_every_file_of_a_command_is_of_one_output_of_its_module(name, command):
    """But for versions, which the module gives to the topic of the pipeline."""
    text = (FOLDER / f"modules/local/sfs/{name}/main.nf").read_text()
    patterns = re.findall(r'path\("\$\{prefix\}/(\S*?)"\), emit', text)
    alternatives = [
        [pattern.replace(f"{{{inside}}}", each) for each in inside.split(",")]
        if (inside := "".join(re.findall(r"\{(.*)\}", pattern)))
        else [pattern]
        for pattern in patterns
    ]
    of_command = {file for file, told in FILES.items() if command in told.verbs}
    for file in of_command - {"sfs_mqc_versions.yml"}:
        taken = [each for each in alternatives if any(map(PurePath(file).match, each))]
        assert len(taken) == 1, file


def test_tables_that_options_ask_for_are_outputs(tmp_path, env):
    args = "--method variance --labels labels.tsv:tissue --markers welch --modules"
    files = {"matrix": [MATRIX], "files": [LABELS]}
    made = run_task("rank", tmp_path / "task", files, env, args=args) / "plain"
    text = (FOLDER / "modules/local/sfs/rank/main.nf").read_text()
    inside = re.search(r"\{([\w,*]+)\}\.tsv", text)
    assert inside
    taken = {path for each in inside[1].split(",") for path in made.glob(f"{each}.tsv")}
    assert taken == {*made.glob("*.tsv")} - {made / "ranking.tsv"}
    assert made / "markers.tsv" in taken


def test_pipeline_includes_modules_that_are_there():
    used = set()
    for file in FOLDER.rglob("*.nf"):
        for name, path in re.findall(r"include \{ (\w+).* from '(\..*)'", file.read_text()):
            text = (file.parent / f"{path}.nf").read_text()
            assert re.search(rf"^(process {name}|workflow {name}|def {name}\()", text, re.M)
            used.add(path.split("/")[-2])
    assert used >= {*NAMES, "multiqc"}  # the pipeline uses all of them
