"""``sfs shard``: a ranking by many processes, which share the passes over the matrix.

`init` reads and checks everything once and makes a folder, the plan: ``plan.json`` holds the
configuration and what was read, ``store/`` the matrix where it was no store already, ``parts/`` the
sums that shards make (`compute.checkpoints`). `run` makes those of one shard. `merge` ranks as
`sfs rank` does, but loads what the shards have made; so the result is the same to the byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.compute.checkpoints import IncompletePassError, ShardCheckpoints, ShardDoneError
from sfs_cli.errors import (
    InputError,
    OutputExistsError,
    SfsError,
    UsageError,
    counted,
    reason_of,
)
from sfs_cli.features import steps_of
from sfs_cli.io.files.atomic import refuse_dangling, replacing
from sfs_cli.io.files.lock import Lock
from sfs_cli.io.matrix.base import is_anndata
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.options.fields import stated
from sfs_cli.provenance import InputFile
from sfs_cli.run.checkpoints import MatrixCheckpoint, RunCheckpoints, identity_of
from sfs_cli.run.load import loaded
from sfs_cli.run.outputs import check_stores, claimed, describe_inputs, tell_up_to_date
from sfs_cli.run.rank import run, score
from sfs_cli.store.disk import is_store

NAME = "plan.json"
FORMAT = "sfs-shards"
VERSION = 4
MAX_SHARDS = 10_000
_AGAIN = "make the plan again: sfs shard init --force"
_SHARD = re.compile(r"(\d+)(?:-of-(\d+))?")
_FACTS = ("shards", "passes", "inputs", "fingerprint", "home")
"""What ``plan.json`` holds of a `ShardPlan` as it is."""
_PATHS = {"out", "write_h5ad", "weights_out", "scratch"}


# The plan


@dataclass(frozen=True)
class ShardPlan:
    """What shards work on."""

    folder: Path  # the plan; absolute
    config: RankConfig  # as it was given
    shards: int
    inputs: list[InputFile]  # with digests
    fingerprint: str
    home: str  # the folder that paths are relative to
    passes: int | None  # how many are shared, where it is known beforehand

    @property
    def identity(self) -> str:
        """What identifies the checkpoints."""
        return identity_of(self.fingerprint)

    @property
    def parts(self) -> Path:
        """Folder of the checkpoints: those of another plan of the same name were elsewhere."""
        return self.folder / "parts" / self.identity[:12]

    def write(self, folder: Path) -> None:
        """Write ``plan.json``."""
        sources = [str(source) for source in self.config.source]
        content = {
            "format": FORMAT,
            "version": VERSION,
            "config": asdict(self.config) | {"source": sources},
            **{name: getattr(self, name) for name in _FACTS},
            "versions": provenance.deciding_versions(),
        }
        content["digest"] = _digest(content)
        # not `provenance.dumps`, which is for people: paths must stay as they are, to the byte
        (folder / NAME).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def config_with(self, given: dict[str, Any]) -> RankConfig:
        """Return the configuration with the options that are given here, with paths from here."""
        options = stated(given)
        for name in options.keys() & _PATHS:
            options[name] = str(Path(options[name]).absolute())
        return replace(self.config, **options)

    def at_home(self) -> AbstractContextManager[None]:
        """Work where the plan was made, so that paths mean the same, in reports too."""
        # on another machine, which lacks that folder, paths are taken from the current one
        return contextlib.chdir(self.home) if Path(self.home).is_dir() else contextlib.nullcontext()

    def check_inputs(self) -> None:
        """Refuse inputs that have changed since the plan was made."""
        for known in self.inputs:
            path = Path(known["path"])
            if known["role"] == "matrix" and not is_store(path) and not self._reads_graph():
                continue  # the plan has its own copy
            try:
                same = provenance.describe_input(path)["sha256"] == known["sha256"]
            except OSError as error:
                raise InputError(
                    f"{path} cannot be read: {reason_of(error)}",
                    where=f"{self.folder}, from {self.home}",
                    hint="paths are relative to the folder in which the plan was made: give "
                    "absolute ones to `sfs shard init` if other machines do not have that folder",
                ) from None
            if not same:
                raise InputError(
                    f"{path} has changed since the plan was made",
                    where=str(self.folder / NAME),
                    hint=f"put it back as it was, or {_AGAIN}",
                )

    def _reads_graph(self) -> bool:
        """Tell whether a sample graph may be read from the file of the matrix."""
        paths = [source.path for source in self.config.source]
        paths.append(str(self.config.coordinates_from))
        inside = any(path.startswith(("obsp:", "obsm:")) for path in paths)
        return is_anndata(self.config.matrix) and (inside or self.config.graph in (None, "obsp"))

    def checkpoints(self, own: range = range(0), **how: Any) -> ShardCheckpoints:
        """Open the checkpoints; `own` are the shards that are made here, from 0."""
        passes = ShardCheckpoints(self.parts, self.shards, own, **how)
        if not passes.is_of(self.identity):
            raise InputError(
                "the folder of the parts is missing or damaged",
                where=str(self.parts),
                hint=_AGAIN,
            )
        passes.remove_stale()
        return passes


def read_plan(path: str | Path) -> ShardPlan:
    """Read a plan; refuse one that is damaged, or made by other versions."""
    folder = Path(path).absolute()
    file = folder / NAME
    if not file.exists():
        raise InputError(
            f"{path} is not a plan of shards",
            where=f"there is no {file}",
            hint="make one first: sfs shard init PLAN MATRIX --shards N",
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        kind, version = content["format"], content["version"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(file, error) from None
    if (kind, version) != (FORMAT, VERSION):
        raise InputError(
            f"the plan is of format {kind} {version}; this version reads {FORMAT} {VERSION}",
            where=str(file),
            hint=_AGAIN,
        )
    if content.get("digest") != _digest(content):
        raise InputError("the plan has been changed or damaged", where=str(file), hint=_AGAIN)
    try:
        known, config = dict(content["versions"]), content["config"]
        lists = {name: tuple(v) for name, v in config.items() if isinstance(v, list)}
        lists["source"] = tuple(parse_source(text) for text in config["source"])
        plan = ShardPlan(
            folder, RankConfig(**{**config, **lists}), **{name: content[name] for name in _FACTS}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SfsError) as error:
        raise _unreadable(file, error) from None
    for name, here in provenance.deciding_versions().items():
        if known.get(name) != here:
            raise InputError(
                f"the plan was made with {name} {known.get(name)}; here it is {here}",
                where=str(file),
                hint=f"shards would differ in the last digits: use one environment, or {_AGAIN}",
            )
    return plan


def _digest(content: dict[str, Any]) -> str:
    """Return the sha256 of a plan, without that and the versions, which are compared one by one."""
    parts = {name: v for name, v in content.items() if name not in ("digest", "versions")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _unreadable(file: Path, error: Exception) -> InputError:
    return InputError("the plan cannot be read", where=f"{file}: {error}", hint=_AGAIN)


# sfs shard init


def init(
    target: str,
    config: RankConfig,
    shards: int,
    messages: Messages,
    *,
    force: bool,
    dry: bool = False,
) -> str:
    """Make the plan of a ranking by shards, in the folder `target`.

    With `dry` nothing is made: what is refused without looking into the matrix is refused, and the
    fingerprint, by which a script tells the result of another ranking, is returned as a line.
    """
    if not 1 <= shards <= MAX_SHARDS:
        raise UsageError(
            f"--shards {shards} is out of range", hint=f"give 1 to {MAX_SHARDS:,}", option="shards"
        )
    folder = Path(target)
    # a run of a shard may hold the plan: what is only looked at needs no claim
    claim = contextlib.nullcontext() if dry else claimed(folder, messages, option="PLAN")
    with claim as lock:
        inputs = describe_inputs(config)
        fingerprint = provenance.fingerprint(config.result_options(), inputs)
        home = str(Path.cwd())
        plan = ShardPlan(folder.absolute(), config, shards, inputs, fingerprint, home, None)
        known = _is_there(folder, plan, force)
        if lock is None:
            return f"{fingerprint}\n"
        if known:
            check_stores(inputs, config.threads)
            tell_up_to_date(folder, messages, [folder / NAME])
            return ""
        with replacing(folder) as partial:
            partial.mkdir()
            plan = _rehearse(plan, partial, lock, messages)
            plan.write(partial)
    passes = (
        "number of passes not known yet" if plan.passes is None else counted(plan.passes, "pass")
    )
    messages.note(f"wrote {folder}: {counted(shards, 'shard')}, {passes}")
    again = "" if plan.passes == 1 else ", again for each pass"
    messages.note(
        f"next: sfs shard run {folder} I for I = 1 to {shards}{again}; "
        f"then sfs shard merge {folder} --out DIR"
    )
    return ""


def _is_there(folder: Path, plan: ShardPlan, force: bool) -> bool:
    """Tell whether a folder is this very plan; refuse anything else that is there."""
    is_plan = (folder / NAME).is_file()
    refuse_dangling(folder, "PLAN")
    if not folder.exists() or (is_plan and force):
        return False
    with contextlib.suppress(InputError):  # what cannot be read is refused below
        known = read_plan(folder)
        same = (known.fingerprint, known.shards, known.home)
        if same == (plan.fingerprint, plan.shards, plan.home) and known.parts.is_dir():
            return True
    raise OutputExistsError(
        f"{folder} exists and is not the plan of this work",
        hint="give another name" + (", or --force" if is_plan else ""),
    )


def _rehearse(plan: ShardPlan, folder: Path, lock: Lock, messages: Messages) -> ShardPlan:
    """Read everything and come to the first pass, so that what cannot be done is refused now."""
    passes = ShardCheckpoints(folder / plan.parts.relative_to(plan.folder), plan.shards)
    matrix = MatrixCheckpoint(folder)
    passes.claim(plan.identity)
    try:
        with loaded(plan.config, messages, RunCheckpoints(passes, matrix, lock.leaves)) as ready:
            shared = ready.passes.shared
            for step in steps_of(ready.config):
                step.check(ready)
            score(ready)
    except IncompletePassError:
        return replace(plan, passes=shared)
    except ShardDoneError:
        pass
    raise UsageError(
        f"--method {plan.config.ranker} cannot be split into shards",
        hint="use sfs rank, or --executor dask, which shares the work of solvers; what scores "
        "each feature by itself can be split: --method f-test or spec",
        option="method",
    )


# sfs shard run


def run_shard(
    target: str,
    which: str,
    messages: Messages,
    *,
    only: int | None = None,
    **running: Any,
) -> None:
    """Make what is missing of a shard, pass by pass, until it needs what other shards lack.

    `target` is the plan, `which` the shard (``3`` or ``3-of-8``), `only` the one pass to share in
    (from 1). `running` are options of `RankConfig` about how it is run.
    """
    plan = read_plan(target)
    shard = parse_shard(which, plan.shards)
    if only is not None and only < 1:
        raise UsageError(
            f"--pass {only} is too small", hint="passes are numbered from 1", option="only"
        )
    config = plan.config_with(running)
    passes = plan.checkpoints(range(shard - 1, shard), only=None if only is None else only - 1)
    checkpoints = RunCheckpoints(passes, MatrixCheckpoint(plan.folder, fixed=True))
    missing = None
    with plan.at_home():
        plan.check_inputs()
        try:
            with loaded(config, messages, checkpoints) as ready:
                score(ready)
        except (IncompletePassError, ShardDoneError) as error:
            missing = error if isinstance(error, IncompletePassError) else None
    if only is not None and missing is not None and missing.number < only - 1:
        before = missing.number + 1
        raise InputError(
            f"pass {only} needs pass {before}, which is not finished",
            where=f"{plan.folder}: {_waiting(missing)} of pass {before} are missing",
            hint=f"run these shards first: sfs shard run PLAN I --pass {before}",
        )
    if only is not None and missing is None and passes.passes < only:
        raise UsageError(
            f"there is no pass {only}: {counted(passes.passes, 'pass')} can be shared",
            hint=f"give --pass 1 to {passes.passes}, or none; then run sfs shard merge",
            option="only",
        )
    name = f"shard {shard} of {plan.shards}"
    made = f"{name}: made {counted(passes.chunks_made, 'part')}"
    if not (passes.shares and passes.shares[-1]):
        messages.note(f"{name} has nothing to do: there are more shards than parts")
    elif missing is None or missing.number + 1 == plan.passes:
        messages.note(made + ("" if only else "; its share is done"))
    else:
        messages.note(
            f"{made}; pass {missing.number + 1} waits for {_waiting(missing)}: run this shard "
            "again when they are done"
        )


def parse_shard(text: str, shards: int) -> int:
    """Return the number of a shard, from 1."""
    match = _SHARD.fullmatch(text.strip())
    number, of = (0, None) if match is None else (int(match[1]), match[2])
    if not 1 <= number <= shards or (of is not None and int(of) != shards):
        raise UsageError(
            f"there is no shard {text}: the plan has {counted(shards, 'shard')}",
            hint=f"give 1 to {shards}, or 1-of-{shards} to {shards}-of-{shards}",
            option="shard",
        )
    return number


# sfs shard merge, sfs shard status


def merge(
    target: str, messages: Messages, *, finish: bool = False, as_json: bool = False, **given: Any
) -> bytes:
    """Write what `sfs rank` would have written, to the byte; return what belongs on stdout.

    Parts that are missing are refused, with their shards, or made here if `finish`. `given` are
    options of `RankConfig` about outputs and how it is run.
    """
    plan = read_plan(target)
    config = plan.config_with(given)
    passes = plan.checkpoints(range(plan.shards if finish else 0), gather=True)
    kept = RunCheckpoints(passes, MatrixCheckpoint(plan.folder, fixed=True))

    def describe() -> list[InputFile]:
        plan.check_inputs()
        return plan.inputs

    home = Path.cwd()
    with plan.at_home():
        try:
            return run(
                config,
                messages,
                as_json=as_json,
                describe=describe,
                checkpoints=kept,
                home=home,
            )
        except IncompletePassError as missing:
            number = missing.number + 1
            rest = range(number + 1, (plan.passes or 0) + 1)
            later = "".join(f", and all of pass {i}" for i in rest)
            raise InputError(
                f"the parts of {_waiting(missing)} of pass {number} are missing",
                where=f"{plan.folder}: {missing.missing} of {missing.total} parts of pass {number} "
                f"are missing{later}",
                hint="run these shards (again): sfs shard run PLAN I; or make the missing parts "
                "here, with --finish",
            ) from None


def status(target: str, *, as_json: bool = False) -> str:
    """Return a table of which shards are done, pass by pass."""
    plan = read_plan(target)
    rows: list[dict[str, Any]] = []
    for i, shares in enumerate(plan.checkpoints().progress(), 1):
        done = [shard for shard, (made, share) in enumerate(shares, 1) if made == share]
        missing = sorted({*range(1, plan.shards + 1)} - {*done})
        parts, total = (sum(column) for column in zip(*shares))
        rows.append({"pass": i, "done": done, "missing": missing, "parts": parts, "total": total})
    if as_json:
        content = {
            "fingerprint": plan.fingerprint,
            "shards": plan.shards,
            "passes_expected": plan.passes,
            "passes": rows,
        }
        return provenance.dumps(content)
    lines = ["pass  shards done  parts    missing"]
    for row in rows:
        shards = f"{len(row['done'])} of {plan.shards}"
        waits = shards_text(row["missing"]) if row["missing"] else "none"
        parts = f"{row['parts']}/{row['total']}"
        lines.append(f"{row['pass']:<6}{shards:<13}{parts:<9}{waits}")
    rest = range(len(rows) + 1, (plan.passes or 0) + 1)
    lines += [f"{i:<6}{f'0 of {plan.shards}':<13}{'-':<9}not begun" for i in rest]
    return "\n".join(lines) + "\n"


def _waiting(missing: IncompletePassError) -> str:
    """Return the shards that have not finished a pass, for a message."""
    return shards_text(shard + 1 for shard in missing.shards)


def shards_text(shards: Iterable[int]) -> str:
    """Return shards for a message, runs of them joined: ``shards 1-3, 7``."""
    runs: list[list[int]] = []
    for shard in shards:
        if runs and shard == runs[-1][1] + 1:
            runs[-1][1] = shard
        else:
            runs.append([shard, shard])
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"shard{'' if shown.isdigit() else 's'} {shown}"
