# The sheet of jobs, what is asked of each, and what waits for what.

import csv
import io
import json
import math
import re
import shlex
import tomllib
from itertools import combinations
from pathlib import Path

import pandas as pd
import yaml
from snakemake.utils import validate

validate(config, "../schemas/config.schema.yaml")

# only whole lines are comments: paths and patterns may hold a #; quotes are those of the options
with open(config["samples"], encoding="utf-8-sig") as file:
    sheet = io.StringIO("".join(line for line in file if not line.startswith("#")))
try:
    jobs = pd.read_csv(
        sheet, sep="\t", dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE
    )
except pd.errors.ParserError as error:
    raise WorkflowError(f"{config['samples']}: tabs are between columns: {error}")
validate(jobs, "../schemas/samples.schema.yaml")
if jobs["name"].duplicated().any():
    raise WorkflowError(
        f"{config['samples']}: a name is there twice; give each row its own"
    )
jobs = jobs.set_index("name", drop=False)

RESULTS = config["results"]
WORK = f"{RESULTS}/shards/{{name}}"
PLAN = f"{WORK}/plan.json"
SHARD = f"{WORK}/round-{{number}}/{{shard}}.done"
RANKED = f"{RESULTS}/ranked/{{name}}"
RANKING = f"{RANKED}/ranking.tsv"
COMPARED = f"{RESULTS}/compared/{{group}}"
FOR_MULTIQC = ["sfs_mqc.json", "sfs_general_mqc.json"]
MULTIQC = f"{RESULTS}/multiqc/multiqc_report.html"
LOGS = f"{RESULTS}/logs/{{name}}"


def words_in(row, column):
    """Return the words of a cell, which are split as a shell does; none of them is run."""
    try:
        return shlex.split(row[column])
    except ValueError:
        raise WorkflowError(
            f"{config['samples']}: {row['name']}: a quote in the column {column} is not closed: "
            f"{row[column]}"
        )


def shards_of(wildcards):
    """Return how many shards a job has."""
    return int(jobs.at[wildcards.name, "shards"] or config["shards"])


groups = {group: list(found["name"]) for group, found in jobs.groupby("group") if group}
for group, names in groups.items():
    if len(names) < 2:
        raise WorkflowError(
            f"{config['samples']}: group {group} has one ranking; two are compared"
        )


def read_config(path):
    """Return the options that a configuration file holds, or a run.json; none of no file."""
    if not path:
        return {}
    readers = {".toml": tomllib.loads, ".json": json.loads}
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = readers.get(Path(path).suffix, yaml.safe_load)(text) or {}
        recorded = found.get("config")
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise WorkflowError(f"{path} cannot be read as a configuration: {error}")
    return recorded if isinstance(recorded, dict) else found


configs = {name: read_config(path) for name, path in jobs["config"].items()}

# the workflow gives these itself, or has no rule for the files that they make
OWN = {"out", "write-h5ad"}
# and where what it gives is said
KEYS = {
    "threads": "threads of config.yaml (--config threads=N), or --set-threads RULE=N of Snakemake",
    "memory": "mem_mb of config.yaml, or --set-resources RULE:mem_mb=N of Snakemake",
    "shards": "the column shards of the sheet, or shards of config.yaml",
}


def not_supported(job):
    """Return the options of a job that the workflow cannot follow."""
    words = words_in(job, "options")
    given = dict(configs[job["name"]])
    for word, after in zip(words, [*words[1:], ""]):
        if word.startswith("--"):
            option, equals, value = word[2:].partition("=")
            given[option] = value if equals else after
    # out of a configuration has no effect here
    asked = {word[2:].partition("=")[0] for word in words if word.startswith("--")}
    found = sorted((OWN | {"force", *KEYS}) & asked)
    return [*found, *(["format"] if given.get("format", "tsv") != "tsv" else [])]


for _, job in jobs.iterrows():
    if refused := not_supported(job):
        raise WorkflowError(
            f"{config['samples']}: {job['name']}: this workflow cannot follow the option "
            f"{refused[0]}; "
            + (
                f"give {KEYS[refused[0]]}"
                if refused[0] in KEYS
                else "leave it out, in the sheet and in the file of config"
            )
        )


# what sfs takes: an option that it refuses would be told by a job, after others have run
with open(workflow.source_path("../schemas/options.json"), encoding="utf-8") as file:
    TAKES = json.load(file)["shard init"]


def wrong_value(known, value):
    """Tell whether a value of an option is none of those that sfs takes."""
    # NAME,KEY=VALUE: a comma begins a parameter where KEY= follows
    if "parameters" in known:
        value, *parts = re.split(",(?=[a-z][a-z0-9_-]*=)", value)
        keys = {part.partition("=")[0].replace("_", "-") for part in parts}
        if keys - {*known["parameters"]}:
            return True
    if "enum" in known:
        return value not in map(str, known["enum"])
    if "type" not in known:
        return False
    try:
        number = int(value) if known["type"] == "integer" else float(value)
    except ValueError:
        return True
    return not (
        known.get("minimum", -math.inf) <= number <= known.get("maximum", math.inf)
        and known.get("exclusiveMinimum", -math.inf) < number
        and number < known.get("exclusiveMaximum", math.inf)
    )


def check_options(job):
    """Raise an error for an option that sfs does not take, or for a value that it has not."""
    where = f"{config['samples']}: {job['name']}"
    words = iter(words_in(job, "options"))
    for word in words:
        option, equals, value = word.partition("=")
        if not option.startswith("-"):
            raise WorkflowError(
                f"{where}: {word} is no option; a ranking has one matrix: join several files "
                "by sfs convert A.h5ad B.h5ad JOINED.store first"
            )
        if option not in TAKES:
            raise WorkflowError(f"{where}: {option} is no option of sfs rank in shards")
        known = TAKES[option]
        if (known is None) and equals:
            raise WorkflowError(f"{where}: {option} takes no value")
        if known is not None and not equals:
            value = next(words, None)
        if known is not None and (value is None or wrong_value(known, value)):
            raise WorkflowError(f"{where}: {option} cannot be {value or 'empty'}")


for _, job in jobs.iterrows():
    check_options(job)


def files_in(words, folder=Path()):
    """Return the files that words name: ``labels.tsv:tissue``, ``name=kind:file.gmt@2``."""
    found = []
    for word in words:
        ends = [0, *(at for each in re.finditer("[=:,@]", word) for at in each.span())]
        spans = combinations(sorted({*ends, len(word)}), 2)
        texts = [word[start:end] for start, end in spans]
        found += [
            str(folder / text) for text in texts if text and is_file(folder / text)
        ]
    return found


def is_file(path):
    """Tell whether there is a file of this name; a long text is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def words_of(value):
    """Yield every text in the content of a configuration file."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from words_of(each)
    elif isinstance(value, str):
        yield value


def files_of(wildcards):
    """Return the files that a job reads; paths in its configuration are relative to that."""
    job = jobs.loc[wildcards.name]
    files = (job["matrix"], job["config"], *words_in(job, "files"))
    content, folder = configs[wildcards.name], Path(job["config"]).parent
    named = [
        *files_in(words_in(job, "options")),
        *files_in(words_of(content), folder),
    ]
    store = folder / str(content.get("matrix") or "")
    if store != folder and store.is_dir():
        named.append(str(store))
    found = list(dict.fromkeys([*(file for file in files if file), *named]))
    if braces := [file for file in found if "{" in file]:
        raise WorkflowError(
            f"{config['samples']}: {job['name']}: Snakemake takes what is in braces for a "
            f"wildcard: rename {braces[0]}"
        )
    return found


def rankings_of(wildcards):
    """Return the rankings of a group."""
    return expand(RANKING, name=groups[wildcards.group])


def asked_of(wildcards):
    """Return the matrix and the options of a job, as words of ``sfs shard init``."""
    job = jobs.loc[wildcards.name]
    return [
        *([job["matrix"]] if job["matrix"] else []),
        *(["--config", job["config"]] if job["config"] else []),
        *words_in(job, "options"),
    ]


def shards_done(wildcards, number):
    """Return what tells that all shards of a round are done."""
    shards = range(1, shards_of(wildcards) + 1)
    return expand(SHARD, name=wildcards.name, number=number, shard=shards)


def needed_by_run(wildcards):
    """Return what a round waits for: the plan, and all shards of the round before.

    Snakemake tells one plan from another by the bytes of its copy: the files of the shards are
    empty.
    """
    number = int(wildcards.number)
    return [PLAN, *(shards_done(wildcards, number - 1) if number > 1 else [])]


def needed_by_merge(wildcards):
    """Return what the ranking waits for: the plan, and the last round of shards.

    What the rounds leave of the passes over the matrix is made by merge.
    """
    return [PLAN, *shards_done(wildcards, config["passes"])]
