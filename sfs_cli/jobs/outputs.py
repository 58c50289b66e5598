"""Writing what a ranking run leaves in its output folder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.config import RankConfig
from sfs_cli.errors import InputError, OutputExistsError
from sfs_cli.io.atomic import OutputFolder, check_writable
from sfs_cli.io.digest import sha256_file
from sfs_cli.io.writers import write_ranking
from sfs_cli.jobs.page import report_data
from sfs_cli.jobs.rank import RankResult
from sfs_cli.ranking.elbow import elbow

REPORT = "report.html"
MULTIQC = "sfs_mqc.json"


def table_name(config: RankConfig) -> str:
    """Return the name of the ranking's file."""
    return f"ranking.{config.format}"


def describe_inputs(config: RankConfig) -> list[dict[str, Any]]:
    """Return role (the option), path, size and sha256 of every file that a run reads.

    Raises
    ------
    InputError
        When one cannot be read.
    """
    paths = {"matrix": Path(config.matrix)}
    parts: dict[str, dict[str, Any]] = {}
    if config.labels is not None and not config.labels.startswith("obs:"):
        from sfs_cli.io.table import split_label_spec

        paths["labels"], column = split_label_spec(config.labels)
        parts["labels"] = {"column": column}
    if config.similarity_file is not None:
        paths["similarity_file"] = Path(config.similarity_file)
    try:
        return [
            {"role": role} | provenance.describe_input(path) | parts.get(role, {})
            for role, path in paths.items()
        ]
    except OSError as error:
        raise InputError(
            f"cannot read {error.filename}: {(error.strerror or str(error)).lower()}",
            hint="check the path and its permissions",
        ) from None


def check_folder(folder: Path, config: RankConfig, fingerprint: str) -> bool:
    """Tell whether a folder holds this very result already.

    Raises
    ------
    OutputExistsError
        When it holds another one, and `force` is off.
    InputError
        When it is no folder, or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder} is a file, not a folder", hint="give another --out")
    check_writable(folder, "--out")
    if config.force:
        return False
    if provenance.is_up_to_date(folder, fingerprint):
        return True
    names = (table_name(config), provenance.NAME, REPORT, MULTIQC)
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise OutputExistsError(
            f"{folder} holds the result of another run",
            where=", ".join(there),
            hint="give another --out, or replace it with --force",
        )
    return False


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
    from sfs_cli.report.multiqc import multiqc
    from sfs_cli.report.page import render

    folder = Path(str(config.out))
    with OutputFolder(folder) as out:
        write_ranking(result.ranking, out.file(table_name(config)), config.format, config.digits)
        data = report_data(config, result)
        out.file(REPORT).write_text(render(data), encoding="utf-8")
        sample = Path(config.matrix).name
        content = json.dumps(provenance.plain(multiqc(data, sample)), indent=1, allow_nan=False)
        out.file(MULTIQC).write_text(content + "\n", encoding="utf-8")
        names = (table_name(config), REPORT, MULTIQC)
        outputs = {name: _describe_output(out.file(name)) for name in names}
        run = run_record(config, result, inputs, command) | {"outputs": outputs}
        out.file(provenance.NAME).write_text(provenance.dumps(run), encoding="utf-8")
        out.commit(last=provenance.NAME)
    return run


def _describe_output(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_file(path)}


def run_record(
    config: RankConfig,
    result: RankResult,
    inputs: list[dict[str, Any]],
    command: list[str],
) -> dict[str, Any]:
    """Return what ``run.json`` says of a run, its outputs left out."""
    ranking = result.ranking
    return {
        "command": command,
        "config": config.result_options(),
        "fingerprint": provenance.fingerprint(config.result_options(), inputs),
        "inputs": inputs,
        **result.facts,
        "result": {
            "n_features": len(ranking),
            "n_scored": ranking.n_scored,
            "unscored": ranking.unscored(),
            "larger_is_better": ranking.larger_is_better,
            "elbow": elbow(ranking.score[: ranking.n_scored]),
            "eigenvalues": result.eigenvalues,
            "top": ranking.feature[: min(10, ranking.n_scored)],
        },
        "warnings": result.warnings,
        "versions": provenance.versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(result.seconds, 3),
        "peak_memory_bytes": result.peak_memory,
    }
