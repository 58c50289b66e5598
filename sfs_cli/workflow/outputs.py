"""What a run writes: claiming the place, telling whether the result is there, and the files."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sfs_cli import provenance
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.memory import peak_resident
from sfs_cli.display import shown
from sfs_cli.errors import (
    InputError,
    OutputExistsError,
    counts_text,
    listed,
    need_extra,
)
from sfs_cli.io.files.atomic import (
    check_writable,
    output_folder,
    refuse_folders,
    replacing,
    size_and_time,
)
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.given import given
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag
from sfs_cli.options.grammar import joined
from sfs_cli.options.rank import OutputFields
from sfs_cli.provenance import InputFile
from sfs_cli.report.multiqc import GENERAL, RANKING, row_name, section
from sfs_cli.run.config import ReadFile, input_files

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Ranking
    from sfs_cli.report.model import Page

REPORT, PAGE = "report.html", "page.json"
VERSIONS = "sfs_mqc_versions.yml"
FOR_MULTIQC = (GENERAL, VERSIONS)
"""General Statistics of MultiQC and its versions of software: beside a table of every result."""

Tables = dict[str, bytes]
"""The contents of files, by their names."""
Writers = dict[str, Callable[[Path], object]]
"""What writes each file of a result, by their names."""


def describe_inputs(config: RankConfig) -> list[InputFile]:
    """Return role (the option), path, size and time of every file that a run reads.

    Where a run reads only a column or a part of a file, that is named too. Objects of Python are no
    files.
    """
    return describe_files(each for each in input_files(config) if given(each[1]) is None)


def describe_files(files: Iterable[ReadFile]) -> list[InputFile]:
    """Return role, path, size and time of files, and the part of each that is read.

    None is read for that.
    """
    found = []
    for role, path, part in files:
        size, time = size_and_time(path)
        found.append({"role": role, "path": str(path), "bytes": size, "modified": time, **part})
    return found


def with_digests(inputs: Iterable[InputFile]) -> list[InputFile]:
    """Return inputs with their sha256, for which those that have none are read."""
    # what was seen before stays: a change since then must not be missed
    return [
        each if "sha256" in each else each | provenance.describe_input(Path(each["path"])) | each
        for each in inputs
    ]


def tell_up_to_date(
    output: Path, messages: Messages, files: Iterable[Path] = (), version: str = ""
) -> None:
    """Say that an output is there already, and give it and its files the time of now.

    To `make` and its like they would else be older than inputs that were only touched. `version` is
    that of another program which has made it.
    """
    for path in (*files, output):
        with suppress(OSError):  # a place that may only be read
            os.utime(path)
    by = f" (made by sfs {version}; --force makes it again)" if version else ""
    messages.note(f"{output}: up to date{by}")


def is_made(
    place: Path,
    record: Path,
    names: Sequence[str],
    options: Mapping[str, Any],
    inputs: Sequence[InputFile],
    messages: Messages,
    beside: Mapping[str, str] = {},
) -> bool:
    """Tell whether exactly a result is there already, and say so; False where nothing is.

    Parameters
    ----------
    place : Path
        The folder of the result, or its file.
    record : Path
        Where its record is; the other files are beside it.
    names : sequence of str
        The files that would be written.
    options, inputs : dict, sequence of InputFile
        What it depends on.
    messages : Messages
        Receives that it is up to date.
    beside : mapping
        Paths of its files in other places, by their options.

    Raises
    ------
    OutputExistsError
        When another result is there, or files of this one are gone.
    """
    there = [name for name in names if (record.parent / name).exists()]
    if not there:
        return False
    known = provenance.read_record(record) or {}
    try:
        outputs = provenance.outputs_of(known)
        before = known.get("beside", {})
        moved = [o for o in {**before, **beside} if before.get(o) != beside.get(o)]
        other = f"{moved[0]} was another" if moved else ""
        other = other or provenance.difference(known, options, inputs)
    except (KeyError, TypeError, AttributeError):
        outputs, other = [], ""
    files = [*outputs, *beside.values()]
    gone = [name for name in files if not (record.parent / name).exists()]
    if not provenance.is_ours(known):
        what = "files of another program"
    elif not outputs:
        what = "a result whose record is damaged"
    elif other:
        what = f"the result of another run: {other}"
    elif gone:
        what = f"this result, but files of it are gone: {listed(gone)}"
    else:
        paths = [*(record.parent / name for name in files), record]
        tell_up_to_date(place, messages, paths, provenance.made_by(known))
        return True
    raise OutputExistsError(
        f"{place} holds {what}",
        where=", ".join(there),
        hint="give another --out, or replace it with --force",
    )


def ranking_files(config: OutputFields) -> tuple[str, ...]:
    """Return the names of the files that every ranking has, the table first."""
    return (f"ranking.{config.format}", REPORT, PAGE, RANKING, *FOR_MULTIQC)


def ranking_writers(
    config: OutputFields,
    ranking: Ranking,
    page: Page,
    threads: int = 1,
    home: Path | None = None,
) -> Writers:
    """Return what writes the files of a ranking; `threads` make the lines of the table.

    `home` is the folder that the command was given in, where it works in another.
    """
    from sfs_cli.io.results.writers import write_ranking

    def table(path: Path) -> None:
        write_ranking(ranking, path, config.format, ThreadExecutor(threads).map)

    top = next(iter(ranking.feature[: min(1, ranking.n_scored)]), None)
    cells = {
        "title": page.title,
        "method": page.method,
        "n_features": len(ranking),
        "n_unscored": len(ranking) - page.n_scored,
        "top_feature": top,
        "n_warnings": len(page.warnings),
    }
    sections = for_multiqc(config, RANKING, {page.method: cells}, home)
    return {f"ranking.{config.format}": table, **page_files(page), **writing(sections)}


def to_json(page: Page) -> str:
    """Return a page as JSON (RFC 8259), the same bytes for the same page; NaN is null."""
    return json.dumps(provenance.plain(asdict(page)), separators=(",", ":"), allow_nan=False) + "\n"


def page_files(page: Page) -> Writers:
    """Return what writes a page, and what it shows, from which `sfs report` draws it again."""
    from sfs_cli.report.page import from_json, render

    kept = to_json(page)

    def draw(path: Path) -> None:
        path.write_text(render(from_json(kept)), encoding="utf-8")

    return {REPORT: draw, **writing({PAGE: kept.encode()})}


def for_multiqc(
    config: OutputFields,
    name: str,
    rows: Mapping[str, Mapping[str, object]],
    home: Path | None = None,
) -> Tables:
    """Return the files of a result that MultiQC reads, by their names; none without ``--out``.

    `name` is that of its table, which has `rows` of cells: of a method, of lists, or of "", the
    whole result. `home` is as in `ranking_writers`.
    """
    if config.out is None:
        return {}
    named_rows = {row_name(Path(config.out), each, home): cells for each, cells in rows.items()}
    sections = {
        name: section(name, named_rows),
        GENERAL: section(GENERAL, named_rows),
        VERSIONS: {"sfs": provenance.versions()},  # JSON is YAML, too
    }
    return {
        file: f"{json.dumps(provenance.plain(each), indent=1, allow_nan=False)}\n".encode()
        for file, each in sections.items()
    }


def writing(tables: Mapping[str, bytes]) -> Writers:
    """Return what writes files whose contents are known."""
    return {name: partial(Path.write_bytes, data=table) for name, table in tables.items()}


class Made(NamedTuple):
    """What a command has made."""

    facts: dict[str, Any]  # for the record
    table: Callable[[], bytes]  # the main table, for stdout
    complete: Callable[[dict[str, Any]], Writers]  # completes the record, and returns the files
    summarize: Callable[[], None]  # logs what was found


@dataclass
class Beside:
    """A file that a command writes besides its folder."""

    option: str  # that names it, as a field
    path: Path
    folder: bool = False  # whether it is one
    partial: Path | None = None  # where to write it, while it is being made

    @contextmanager
    def written(self, force: bool) -> Iterator[None]:
        """Let the file be written to `partial`; it takes its name when the block is done.

        One that is there is replaced with `force`, a folder of other things never.
        """
        option, path = flag(self.option), self.path
        check_writable(path, option)
        ours = path.is_file()
        if self.folder:
            ours = path.is_dir() and recognize(path).kind in (Kind.STORE, Kind.ZARR)
        if path.exists() and not (force and ours):
            raise OutputExistsError(
                f"{option} {path} exists" + ("" if ours else ", and is something else"),
                hint="give another name" + (", or --force" if ours else ""),
                option=self.option,
            )
        with replacing(path) as self.partial:
            yield


def make_result(
    config: OutputFields,
    messages: Messages,
    files: Sequence[str],
    describe: Callable[[], list[InputFile]],
    make: Callable[[], Made],
    *,
    options: dict[str, Any] | None = None,
    beside: Sequence[Beside] = (),
) -> bytes:
    """Make a result, and write it to ``--out`` with its record; without it return the main table.

    Nothing is made where this result is there already.

    Parameters
    ----------
    config : OutputFields
        The options: where to write, and whether to replace what is there.
    messages : Messages
        Receives what was found and written.
    files : sequence of str
        The names of the main files.
    describe : callable
        Returns the inputs that the result depends on.
    make : callable
        Makes it.
    options : dict, optional
        Those that it depends on; by default those of the configuration.
    beside : sequence of Beside
        Other files, which `make` writes; they take their names after those of the folder.
    """
    started, begun = time.perf_counter(), datetime.now(UTC)
    if config.format == "xlsx":
        need_extra("xlsxwriter", "excel", "--format xlsx needs XlsxWriter")  # before it is made
    if config.out is None:
        with ExitStack() as stack:
            for each in beside:
                stack.enter_context(each.written(config.force))
            made = make()
        made.summarize()
        return made.table()
    out, record = Path(config.out), Path(config.out, provenance.NAME)
    if out.is_file():
        raise InputError(f"--out {out} is a file, not a folder", hint="give another --out")
    check_writable(out, "--out", folder=True)
    names = [*files, record.name]
    refuse_folders(out / name for name in names)
    if options is None:
        options = joined(type(config), config.result_options())
    copies = {flag(each.option): str(each.path.absolute()) for each in beside}
    inputs = describe()
    if not config.force and is_made(out, record, names, options, inputs, messages, copies):
        return b""
    with ExitStack() as stack:
        for each in beside:
            stack.enter_context(each.written(config.force))
        with messages.progress("checking inputs", None):
            inputs = with_digests(inputs)
        made = make()
        facts = {
            **facts_of_run(options, inputs, messages),
            "started": begun.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - started, 3),
            "peak_memory_bytes": peak_resident(),
            **({"beside": copies} if copies else {}),
            **made.facts,
        }
        writers = made.complete(facts)
        before = provenance.outputs_of(provenance.read_record(record) or {})
        with output_folder(out) as folder:
            for name, write in writers.items():
                write(folder.file(name))
            content = provenance.dumps(facts | {"outputs": [*writers]})
            folder.file(record.name).write_text(content, encoding="utf-8")
            folder.commit(last=record.name)
        for name in {*before} - {*writers, record.name}:  # of the result that is replaced
            (out / name).unlink(missing_ok=True)
    messages.kept_in = f"in {out}/{REPORT if REPORT in writers else record.name}"
    made.summarize()
    paths = [*(f"{out}/{name}" for name in writers), *(str(each.path) for each in beside)]
    messages.note(f"wrote {', '.join(paths)}")
    return b""


def facts_of_run(
    options: Mapping[str, Any], inputs: Sequence[InputFile], messages: Messages
) -> dict[str, Any]:
    """Return what every record says of a run."""
    return {
        "command": ["sfs", *map(shown, sys.argv[1:])],
        "config": options,
        "inputs": inputs,
        "warnings": messages.warnings,
        "versions": provenance.versions(),
    }


def ranking_facts(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking in numbers."""
    facts = {
        "n_features": len(ranking),
        "n_scored": ranking.n_scored,
        "unscored": ranking.unscored(),
        "larger_is_better": ranking.larger_is_better,
        "top": ranking.feature[: min(10, ranking.n_scored)],
        "columns": [*ranking.extra],
    }
    if ranking.n_written < len(ranking):
        facts["n_written"] = ranking.n_written
    return facts


def log_ranking(ranking: Ranking, messages: Messages) -> None:
    """Log which features have no score, and which are the best."""
    if unscored := ranking.unscored():
        messages.note(f"without a score: {counts_text(unscored)}")
    messages.note(f"best: {', '.join(ranking.feature[: min(5, ranking.n_scored)])}")
