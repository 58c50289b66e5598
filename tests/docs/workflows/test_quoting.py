"""What sheets, configurations and names of files say is never run by a shell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.workflows.commands import MATRIX, WORKFLOWS, environment, run, write_script

pytestmark = pytest.mark.any_python

SNAKEMAKE = WORKFLOWS / "snakemake" / "workflow"
NEXTFLOW = WORKFLOWS / "nextflow"
NUMBERS = {"params.shards", "threads", "resources.mem_mib", "wildcards.shard"}
"""What is a whole number by the schemas of Snakemake's workflow, or by a rule."""
STAGED = {"matrix", "ranking", "plan", "config"}
"""Files of a task, whose names Nextflow quotes."""
OWN = {"memory", "task.cpus", "shards", "shard", "format", "args", "given"}
"""What a module makes of numbers and of these, and its options, which the sheet has quoted."""
ODD = "a b;$(touch pwned)`touch pwned`"


def shell_commands(path: Path) -> list[str]:
    """Return the shell commands of a file of rules, each as it is written."""
    blocks = re.findall(r"^    shell:\n((?:        .*\n)+)", path.read_text(), re.MULTILINE)
    return [" ".join(re.findall(r'^ *"(.*)"$', block, re.MULTILINE)) for block in blocks]


def test_rules_of_snakemake_quote_all_but_numbers():
    commands = [text for path in SNAKEMAKE.rglob("*.smk") for text in shell_commands(path)]
    assert len(commands) == 5
    for text in commands:
        for name in re.findall(r"\{([^{}]+)\}", text):
            assert name.endswith(":q") or name in NUMBERS, name
    assert "words_in(job, " in (SNAKEMAKE / "rules" / "common.smk").read_text()


def test_modules_of_nextflow_take_options_that_the_sheet_has_quoted():
    for path in NEXTFLOW.rglob("modules/local/sfs/*/main.nf"):
        script = path.read_text().partition('"""')[2].partition('"""')[0]
        for before, name in re.findall(r"(.?)(?<!\\)\$\{([^}]+)\}", script):
            assert name in STAGED | OWN or (name == "prefix" and before in "'/"), (path, name)
    sheet = (NEXTFLOW / "subworkflows/local/sheet/main.nf").read_text()
    assert "return quoted(words)" in sheet
    assert "meta[column] = optionsOf(" in sheet
    assert re.search(r"row\.name ==~ /\[A-Za-z0-9_\]\[A-Za-z0-9\._-\]\*/", sheet)
    config = (NEXTFLOW / "conf/modules.config").read_text()
    for given in re.findall(r"ext\.args *= (.*)", config):
        named = set(re.findall(r"meta\.(\w+)", given))
        assert named <= {"id", "options", "fuse", "select", "evaluate", "report"}, given


SBATCH = """#!/bin/sh
# sbatch that only tells what it is given
printf '%s\\n' "$@" >> words
echo 1
"""


def test_what_slurm_is_given_is_as_it_was_asked_for(tmp_path):
    write_script(tmp_path / "bin" / "sbatch", SBATCH)
    env = environment(tmp_path / "bin")
    (tmp_path / f"{ODD}.csv").write_text(MATRIX.read_text())
    submit = str(WORKFLOWS / "slurm" / "submit.sh")
    words = [submit, ODD, "1", f"{ODD}.csv", "--method", "variance", "--exclude", ODD]
    done = run(words, tmp_path, env)
    assert done.returncode == 0, done.stderr
    given = (tmp_path / "words").read_text().splitlines()
    assert {f"{ODD}.plan", f"{ODD}.csv", ODD, f"--output={ODD}.logs/%x-%j.log"} <= set(given)
    assert not list(tmp_path.rglob("pwned"))
