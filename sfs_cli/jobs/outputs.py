"""Writing what a ranking run leaves in its output folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.config import RankConfig
from sfs_cli.config.places import resolved
from sfs_cli.io.table import split_label_spec
from sfs_cli.jobs.page import report_data
from sfs_cli.jobs.rank import RankResult
from sfs_cli.jobs.result_folder import (
    asked_for,
    describe_files,
    how_it_went,
    ranking_facts,
    write_folder,
)
from sfs_cli.jobs.source_files import source_files


def describe_inputs(config: RankConfig) -> list[dict[str, Any]]:
    """Return role (the option), path, size and sha256 of every file that a run reads.

    Where only a column or a part of a file is read, it is named.

    Raises
    ------
    InputError
        When one cannot be read.
    """
    files: list[tuple[str, Path, dict[str, Any]]] = [("matrix", Path(config.matrix), {})]
    if config.labels is not None and not config.labels.startswith("obs:"):
        path, column = split_label_spec(config.labels)
        files.append(("labels", path, {"column": column}))
    if config.similarity_file is not None:
        files.append(("similarity_file", Path(config.similarity_file), {}))
    for role, path, part in source_files(config):
        files.append((role, path, {} if part is None else {"part": part}))
    described = describe_files([(role, path) for role, path, _ in files])
    return [facts | part for facts, (_, _, part) in zip(described, files)]


def write_outputs(
    config: RankConfig,
    result: RankResult,
    inputs: list[dict[str, Any]],
    command: list[str],
) -> dict[str, Any]:
    """Write the ranking, the report and the provenance; all of them, or none.

    Returns
    -------
    dict
        The content of ``run.json``.
    """
    data = report_data(config, result)
    record = run_record(config, result, inputs, command)
    threads = ThreadExecutor(result.facts["plan"]["threads"])
    name = Path(config.matrix).name
    return write_folder(config, result.ranking, data, name, record, threads.map)


def run_record(
    config: RankConfig,
    result: RankResult,
    inputs: list[dict[str, Any]],
    command: list[str],
) -> dict[str, Any]:
    """Return what ``run.json`` says of a run, its outputs left out."""
    ranking = result.ranking
    asked = asked_for(config.result_options(), inputs, command)
    return {
        **asked,
        "config": resolved(config, str(config.out)),
        **result.facts,
        "result": ranking_facts(ranking) | {"eigenvalues": result.eigenvalues},
        **how_it_went(result.warnings, result.seconds, result.peak_memory),
    }
