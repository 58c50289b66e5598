"""The folder that a ranking is written into, whatever made it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sfs_cli import provenance
from sfs_cli.errors import InputError, OutputExistsError, UsageError
from sfs_cli.io.atomic import OutputFolder, check_writable
from sfs_cli.io.digest import sha256_file
from sfs_cli.io.writers import write_ranking
from sfs_cli.ranking.elbow import elbow

if TYPE_CHECKING:
    from sfs_cli.io.ranking_text import InOrder
    from sfs_cli.logs import Messages
    from sfs_cli.ranking.table import Ranking
    from sfs_cli.report.model import ReportData

REPORT = "report.html"
MULTIQC = "sfs_mqc.json"


class OutputOptions(Protocol):
    """What the configurations of all verbs that write a ranking say of the output."""

    @property
    def out(self) -> str | None:
        """The folder."""

    @property
    def format(self) -> str:
        """The format of the ranking."""

    @property
    def digits(self) -> int:
        """Significant digits of text."""

    @property
    def force(self) -> bool:
        """Whether another result may be replaced."""


def check_json(out: str | None, as_json: bool) -> None:
    """Refuse to print ``run.json`` where none is written.

    Raises
    ------
    UsageError
        When it is asked for without a folder.
    """
    if as_json and out is None:
        raise UsageError("--json has no effect without --out", hint="give --out, or --format json")


def json_of(record: dict[str, Any] | None, wanted: bool) -> bytes:
    """Return the content of ``run.json``, where it is wanted on stdout."""
    return provenance.dumps(record or {}).encode() if wanted else b""


def table_name(config: OutputOptions) -> str:
    """Return the name of the ranking's file."""
    return f"ranking.{config.format}"


def describe_files(files: Sequence[tuple[str, Path]]) -> list[dict[str, Any]]:
    """Return role, path, size and sha256 of files, given as pairs of role and path.

    Raises
    ------
    InputError
        When one cannot be read.
    """
    try:
        return [{"role": role} | provenance.describe_input(path) for role, path in files]
    except OSError as error:
        raise InputError(
            f"cannot read {error.filename}: {(error.strerror or str(error)).lower()}",
            hint="check the path and its permissions",
        ) from None


def tell(config: OutputOptions, ranking: Ranking, messages: Messages) -> None:
    """Say what a ranking leaves out, what is best, and what was written."""
    unscored = ranking.unscored()
    if unscored:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in unscored.items())
        messages.note(f"without a score: {reasons}")
    messages.note(f"best: {', '.join(ranking.feature[: min(5, ranking.n_scored)])}")
    if config.out is not None:
        messages.note(f"wrote {config.out}/{table_name(config)} and {REPORT}")


def check_folder(folder: Path, config: OutputOptions, fingerprint: str) -> bool:
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


def write_folder(
    config: OutputOptions,
    ranking: Ranking,
    data: ReportData,
    sample: str,
    record: dict[str, Any],
    in_order: InOrder = map,
) -> dict[str, Any]:
    """Write a ranking, its report and its provenance; all of them, or none.

    Parameters
    ----------
    config : OutputOptions
        Where and how.
    ranking : Ranking
        The table.
    data : ReportData
        The report.
    sample : str
        Name of the row in MultiQC.
    record : dict
        What ``run.json`` says, the outputs left out.
    in_order : callable
        Makes the lines of the table, as `map` does or on several threads.

    Returns
    -------
    dict
        The content of ``run.json``.
    """
    from sfs_cli.report.multiqc import multiqc
    from sfs_cli.report.page import render

    with OutputFolder(Path(str(config.out))) as out:
        write_ranking(ranking, out.file(table_name(config)), config.format, config.digits, in_order)
        out.file(REPORT).write_text(render(data), encoding="utf-8")
        content = json.dumps(provenance.plain(multiqc(data, sample)), indent=1, allow_nan=False)
        out.file(MULTIQC).write_text(content + "\n", encoding="utf-8")
        names = (table_name(config), REPORT, MULTIQC)
        run = record | {"outputs": {name: _describe_output(out.file(name)) for name in names}}
        out.file(provenance.NAME).write_text(provenance.dumps(run), encoding="utf-8")
        out.commit(last=provenance.NAME)
    return run


def _describe_output(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_file(path)}


def asked_for(
    options: dict[str, Any], inputs: list[dict[str, Any]], command: list[str]
) -> dict[str, Any]:
    """Return what ``run.json`` says of what was asked for."""
    return {
        "command": command,
        "config": options,
        "fingerprint": provenance.fingerprint(options, inputs),
        "inputs": inputs,
    }


def ranking_facts(ranking: Ranking) -> dict[str, Any]:
    """Return what ``run.json`` says of a ranking."""
    return {
        "n_features": len(ranking),
        "n_scored": ranking.n_scored,
        "unscored": ranking.unscored(),
        "larger_is_better": ranking.larger_is_better,
        "elbow": elbow(ranking.score[: ranking.n_scored]),
        "top": ranking.feature[: min(10, ranking.n_scored)],
    }


def how_it_went(warnings: list[str], seconds: float, peak_memory: int) -> dict[str, Any]:
    """Return what ``run.json`` says of how a run went."""
    return {
        "warnings": warnings,
        "versions": provenance.versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "peak_memory_bytes": peak_memory,
    }
