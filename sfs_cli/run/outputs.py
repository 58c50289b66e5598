"""What a run writes: claiming the place, telling whether the result is there, and the files."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli import provenance
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.memory import peak_resident
from sfs_cli.display import shown
from sfs_cli.errors import (
    InputError,
    OutputExistsError,
    UsageError,
    counts_text,
    need_extra,
    reason_of,
    unwritable,
)
from sfs_cli.io.files.atomic import (
    OutputFolder,
    check_writable,
    refuse_dangling,
    refuse_folders,
    replacing,
    size_and_time,
)
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag
from sfs_cli.options.grammar import joined
from sfs_cli.options.paths import is_copied
from sfs_cli.options.rank import OutputFields
from sfs_cli.provenance import InputFile, RankingFacts
from sfs_cli.report.multiqc import (
    GENERAL,
    RANKING,
    ranking_cells,
    row_name,
    section,
)
from sfs_cli.run.config import ReadFile, input_files

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Picked, Ranking
    from sfs_cli.report.model import ReportData

REPORT = "report.html"
VERSIONS = "sfs_mqc_versions.yml"
FOR_MULTIQC = (GENERAL, VERSIONS)
"""General Statistics of MultiQC and its versions of software: beside a table of every result."""

Tables = dict[str, bytes]
"""The contents of files, by their names."""
Writers = dict[str, Callable[[Path], object]]
"""What writes each file of a result, by their names."""


def describe_inputs(config: RankConfig) -> list[InputFile]:
    """Return role (the option), path, size and time of every file that a run reads.

    Where a run reads only a column or a part of a file, that is named too.
    """
    return describe_files(input_files(config))


def describe_files(files: Iterable[ReadFile]) -> list[InputFile]:
    """Return role, path, size and time of files, and the part of each that is read.

    Raises InputError when one cannot be read.
    """
    return _described(_state_of, files)


def _state_of(path: Path) -> dict[str, Any]:
    """Return path, size and time of an input, which tell whether it changed without reading it.

    A copy of standard input or of an address is new each time: there its sha256 tells.
    """
    if is_copied(shown(str(path))):
        return provenance.describe_input(path)
    size, time = size_and_time(path)
    return {"path": str(path), "bytes": size, "modified": time}


def digests_of(files: Iterable[ReadFile]) -> list[InputFile]:
    """Return role, path, size and sha256 of files, which are read for that."""
    return _described(provenance.describe_input, files)


def with_digests(inputs: Iterable[InputFile]) -> list[InputFile]:
    """Return inputs with the sha256 of those that have none."""
    found: list[InputFile] = []
    for each in inputs:
        if "sha256" in each:
            found.append(each)
            continue
        known: Any = each  # what was seen before stays: a change since then must not be missed
        found += digests_of([(each["role"], Path(each["path"]), known)])
    return found


def _described(
    describe: Callable[[Path], dict[str, Any]], files: Iterable[ReadFile]
) -> list[InputFile]:
    try:
        found: Any = [{"role": role} | describe(path) | part for role, path, part in files]
        return found
    except OSError as error:
        raise InputError(
            f"cannot read {error.filename}: {reason_of(error)}",
            hint="check the path and its permissions",
        ) from None


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


def known_result(
    place: Path, record: Path, names: Sequence[str], differs: Callable[[Mapping[str, Any]], str]
) -> dict[str, Any] | None:
    """Return the record of a result that is there already; None where nothing is.

    Parameters
    ----------
    place : Path
        The folder of the result, or its file.
    record : Path
        Where its record is; the other files are beside it.
    names : sequence of str
        The files that would be written.
    differs : callable
        Says in what the run differs from that of a record.

    Raises
    ------
    OutputExistsError
        When another result is there, or files of this one are gone.
    """
    home = record.parent
    there = [name for name in names if (home / name).exists()]
    if not there:
        return None
    known = provenance.read_record(record) or {}
    outputs = provenance.outputs_of(known)
    what, where = "", there
    if not outputs:
        what = "exists" if place.is_file() else "holds files of another program"
    elif other := differs(known):
        what = f"holds the result of another run: {other}"
    else:
        beside = known.get("beside") or {}
        paths = [*(home / name for name in outputs), *(Path(e["path"]) for e in beside.values())]
        where = [path.name for path in paths if not path.exists()]
        if not where:
            return known
        what = "holds this result, but files of it are gone"
    raise OutputExistsError(
        f"{place} {what}",
        where=", ".join(where),
        hint="give another --out, or replace it with --force",
    )


def ranking_files(config: OutputFields) -> tuple[str, ...]:
    """Return the names of the files that every ranking has, the table first."""
    return (f"ranking.{config.format}", REPORT, RANKING, *FOR_MULTIQC)


def ranking_writers(
    config: OutputFields,
    ranking: Ranking,
    data: ReportData,
    threads: int = 1,
    home: Path | None = None,
) -> Writers:
    """Return what writes the files of a ranking; `threads` make the lines of the table.

    `home` is the folder that the command was given in, where it works in another.
    """
    from sfs_cli.io.results.writers import write_ranking
    from sfs_cli.report.page import render

    def table(path: Path) -> None:
        write_ranking(ranking, path, config.format, ThreadExecutor(threads).map)

    def page(path: Path) -> None:
        path.write_text(shown(render(data)), encoding="utf-8")

    sections = for_multiqc(config, RANKING, {data.method: ranking_cells(data)}, home)
    return dict(zip(ranking_files(config), (table, page, *writing(sections).values())))


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


def write_result(
    folder: Path,
    files: Writers,
    record: dict[str, Any],
) -> None:
    """Write the files of a result, by their names, and its record; all of them, or none.

    The record, the content of ``run.json``, gets the names of the files. Files of the result that
    is replaced, which the new one does not have, are removed.
    """
    before = provenance.outputs_of(provenance.read_run(folder))
    with OutputFolder(folder) as out:
        outputs = []
        for name, write in files.items():
            path = out.file(name)
            write(path)
            outputs.append(path.name)
        run = record | {"outputs": outputs}
        out.file(provenance.NAME).write_text(provenance.dumps(run), encoding="utf-8")
        out.commit(last=provenance.NAME)
    for name in {*before} - {*outputs, provenance.NAME}:
        if not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)


class Made(NamedTuple):
    """What a command has made."""

    facts: dict[str, Any]  # for the record
    table: Callable[[], bytes]  # the main table, for stdout
    complete: Callable[[dict[str, Any]], Writers]  # completes the record, and returns the files
    summarize: Callable[[], None]  # logs what was found

    @classmethod
    def of_tables(
        cls, tables: Tables, facts: dict[str, Any], summarize: Callable[[], None]
    ) -> Made:
        """Return what a command has made that makes tables, by their names, the main one first."""
        return cls(
            facts, lambda: next(iter(tables.values())), lambda _record: writing(tables), summarize
        )


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

        One that would replace other things is refused.
        """
        option, path = flag(self.option), self.path
        check_writable(path, option)
        is_folder = path.is_dir()
        kept = is_folder and not (self.folder and recognize(path).kind in (Kind.STORE, Kind.ZARR))
        if kept or (self.folder and path.is_file()):
            what = "a folder of other things" if is_folder else "a file, and this is a folder"
            hint = "give another name"
            raise OutputExistsError(
                f"{option} {path} exists, and is {what}", hint=hint, option=option
            )
        if path.exists() and not force:
            hint = "give another name, or --force"
            raise OutputExistsError(f"{option} {path} exists", hint=hint, option=option)
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
    others = {flag(each.option): each.path for each in beside}
    if config.out is None:
        with ExitStack() as stack:
            for each in beside:
                stack.enter_context(each.written(config.force))
            made = make()
        made.summarize()
        return made.table()
    out = Path(config.out)
    if options is None:
        options = joined(type(config), config.result_options())
    check_writable(out, "--out")
    for option, path in others.items():
        check_writable(path, option)
    _refuse_own(others, out, files)
    _refuse_places(out, [*files, provenance.NAME])
    described = describe()

    def differs(record: Mapping[str, Any]) -> str:
        other = provenance.difference(record, options, described)
        return other or _differs_beside(record.get("beside"), others)

    names = [*files, provenance.NAME]
    if not config.force and (known := known_result(out, out / provenance.NAME, names, differs)):
        own = [out / name for name in (*known["outputs"], provenance.NAME)]
        tell_up_to_date(out, messages, (*others.values(), *own), provenance.made_by(known))
        return b""
    with ExitStack() as stack:
        for each in beside:
            stack.enter_context(each.written(config.force))
        with messages.progress("checking inputs", None):
            described = with_digests(described)
        made = make()
        facts = {
            "command": ["sfs", *map(shown, sys.argv[1:])],
            "config": options,
            "inputs": described,
            "warnings": messages.warnings,
            "versions": provenance.versions(),
            "started": begun.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - started, 3),
            "peak_memory_bytes": peak_resident(),
            **made.facts,
        }
        if beside:
            written = {flag(each.option): each.partial for each in beside if each.partial}
            facts["beside"] = describe_beside(others, written)
        try:
            writers = made.complete(facts)
            _refuse_own(others, out, writers)
            write_result(out, writers, facts)
        except OSError as error:
            raise unwritable(out, error, "--out") from None
    main = REPORT if REPORT in files else provenance.NAME
    messages.kept_in = f"in {out}/{main}"
    made.summarize()
    paths = [f"{out}/{name}" for name in writers]
    messages.note(f"wrote {', '.join([*paths, *map(str, others.values())])}")
    return b""


def describe_beside(
    paths: Mapping[str, Path], written: Mapping[str, Path] | None = None
) -> dict[str, Any]:
    """Return place and size of outputs in other places by their flags; `written` are new ones."""
    return {
        name: {"path": str(path.absolute()), "bytes": size_and_time((written or paths)[name])[0]}
        for name, path in paths.items()
    }


def _differs_beside(recorded: Any, others: Mapping[str, Path]) -> str:
    """Return in which output in another place, by its flag, a run differs from a recorded one.

    One that is gone is not looked at.
    """
    known = recorded if isinstance(recorded, dict) else {}
    for name in [*others, *known]:
        there = known.get(name, {}).get("path", "not given")
        if name not in others or there != str(others[name].absolute()):
            return f"there {name} is {there}"
    changed = (
        path
        for name, path in others.items()
        if path.exists() and size_and_time(path)[0] != known[name]["bytes"]
    )
    return next((f"{path} had another size" for path in changed), "")


def _refuse_places(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder that is a file, and files that are folders."""
    refuse_dangling(folder, "--out")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder} is a file, not a folder", hint="give another --out")
    refuse_folders(folder / name for name in names)


def _refuse_own(others: Mapping[str, Path], out: Path, names: Iterable[str]) -> None:
    """Refuse outputs, by their flags, in the place of a file of the result itself."""
    own = {os.path.realpath(out / name) for name in (*names, provenance.NAME)}  # links may be loops
    for option, path in others.items():
        if os.path.realpath(path) in own:
            what = f"{option} {path} is the place of a file of the result"
            raise UsageError(what, hint="give another name", option=option)


def ranking_facts(ranking: Ranking) -> RankingFacts:
    """Return a ranking in numbers."""
    facts: RankingFacts = {
        "n_features": len(ranking),
        "n_scored": ranking.n_scored,
        "unscored": ranking.unscored(),
        "larger_is_better": ranking.larger_is_better,
        "top": ranking.feature[: min(10, ranking.n_scored)],
        "columns": {name: _kind_of(column) for name, column in ranking.extra.items()},
    }
    if ranking.n_written < len(ranking):
        facts["n_written"] = ranking.n_written
    return facts


def _kind_of(column: np.ndarray | Picked) -> str:
    if not isinstance(column, np.ndarray):
        return "text"
    return "integer" if column.dtype.kind in "iu" else "number"


def log_ranking(ranking: Ranking, messages: Messages) -> None:
    """Log which features have no score, and which are the best."""
    if unscored := ranking.unscored():
        messages.note(f"without a score: {counts_text(unscored)}")
    messages.note(f"best: {', '.join(ranking.feature[: min(5, ranking.n_scored)])}")
