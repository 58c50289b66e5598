# The sheet of jobs, what is asked of each, and what waits for what.

import json
import re
import shlex
from itertools import combinations
from pathlib import Path

import pandas as pd
from snakemake.utils import validate

validate(config, "../schemas/config.schema.yaml")

jobs = pd.read_csv(
    config["samples"], sep="\t", dtype=str, keep_default_na=False, comment="#"
)
validate(jobs, "../schemas/samples.schema.yaml")
if jobs["name"].duplicated().any():
    raise WorkflowError(
        f"{config['samples']}: a name is there twice; give each row its own"
    )
jobs = jobs.set_index("name", drop=False)

RESULTS = config["results"]
WORK = f"{RESULTS}/shards/{{name}}"
SHARD = f"{WORK}/round-{{number}}/{{shard}}.done"
RANKED = f"{RESULTS}/ranked/{{name}}"
RANKING = f"{RANKED}/ranking.tsv"
COMPARED = f"{RESULTS}/compared/{{group}}"
MULTIQC = f"{RESULTS}/multiqc/multiqc_report.html"
LOGS = f"{RESULTS}/logs/{{name}}"


def shards_of(wildcards):
    """Return how many shards a job has."""
    return int(jobs.at[wildcards.name, "shards"] or config["shards"])


groups = {group: list(found["name"]) for group, found in jobs.groupby("group") if group}
for group, names in groups.items():
    if len(names) < 2:
        raise WorkflowError(
            f"{config['samples']}: group {group} has one ranking; two are compared"
        )


def files_in(options):
    """Return the files that options name: ``labels.tsv:tissue``, ``name=kind:file.gmt@2``."""
    found = []
    for word in shlex.split(options):
        ends = [0, *(at for each in re.finditer("[=:,@]", word) for at in each.span())]
        spans = combinations(sorted({*ends, len(word)}), 2)
        texts = [word[start:end] for start, end in spans]
        found += [text for text in texts if text and Path(text).is_file()]
    return found


def files_of(wildcards):
    """Return the files that a job reads."""
    job = jobs.loc[wildcards.name]
    files = (job["matrix"], job["config"], *job["files"].split())
    return list(
        dict.fromkeys([*(file for file in files if file), *files_in(job["options"])])
    )


def rankings_of(wildcards):
    """Return the rankings of a group."""
    return expand(RANKING, name=groups[wildcards.group])


def asked_of(wildcards):
    """Return the matrix and the options of a job, as arguments of ``sfs shard init``."""
    job = jobs.loc[wildcards.name]
    config_file = f"--config {shlex.quote(job['config'])}" if job["config"] else ""
    matrix = shlex.quote(job["matrix"]) if job["matrix"] else ""
    return f"{matrix} {config_file} {job['options']}"


def shards_done(wildcards, number):
    """Return what tells that all shards of a round are done."""
    shards = range(1, shards_of(wildcards) + 1)
    return expand(SHARD, name=wildcards.name, number=number, shard=shards)


def needed_by_run(wildcards):
    """Return what a round waits for: the plan, or all shards of the round before."""
    number = int(wildcards.number)
    return shards_done(wildcards, number - 1) if number > 1 else f"{WORK}/status.json"


def needed_by_merge(wildcards):
    """Return what the ranking waits for: a round for each pass over the matrix.

    How many there are the plan tells, where that is known beforehand; merge makes what is left.
    """
    with checkpoints.init.get(name=wildcards.name).output.status.open() as file:
        passes = json.load(file)["passes_expected"]
    return shards_done(wildcards, passes or config["passes"])
