"""``sfs shard``: a ranking by many processes, which share the passes over the matrix.

`init` reads and checks everything once and makes a folder, the plan: ``plan.json`` holds the
configuration and what was read, ``store/`` the matrix where it was no store already, ``parts/`` the
sums that shards make (`compute.parts`). `run` makes those of one shard, as far as they do not need
others. `merge` ranks as `sfs rank` does, but takes what the shards have made, and makes what is
missing; so the result is the same to ten digits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import uuid
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.compute.parts import IncompletePassError, Parts, ShardDoneError
from sfs_cli.errors import (
    InputError,
    OutputExistsError,
    SfsError,
    UsageError,
    counted,
    reason_of,
)
from sfs_cli.io.files.atomic import check_writable, refuse_dangling, replacing, size_and_time
from sfs_cli.io.matrix.base import is_anndata
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import stated
from sfs_cli.options.grammar import joined
from sfs_cli.options.source import source_of
from sfs_cli.provenance import InputFile
from sfs_cli.run import inputs as matrices
from sfs_cli.run.inputs import Opened
from sfs_cli.run.load import Shared, loaded
from sfs_cli.run.outputs import describe_inputs, tell_up_to_date, with_digests
from sfs_cli.run.rank import check_parts, run, score
from sfs_cli.store.disk import is_store, open_store

NAME, STORE, READING, PARTS = "plan.json", "store", "reading.json", "parts"
FORMAT = "sfs-shards"
VERSION = 7
MAX_SHARDS = 10_000
_AGAIN = "make the plan again: sfs shard init --force"
_SHARD = re.compile(r"(\d+)(?:-of-(\d+))?")
_FACTS = ("shards", "inputs", "parts", "home", "left_out")
"""What ``plan.json`` holds of a `ShardPlan` as it is."""
_PATHS = {"out", "write_h5ad"}


# The plan


@dataclass(frozen=True)
class ShardPlan:
    """What shards work on."""

    folder: Path  # the plan; absolute
    config: RankConfig  # as it was given
    shards: int
    inputs: list[InputFile]  # as they were then
    parts: str  # the folder of what shards make: a shard of a plan before this one writes elsewhere
    home: str  # the folder that paths are relative to
    left_out: str = ""  # what the configuration has left out

    @property
    def place(self) -> Path:
        """Folder of the parts, from that of the plan."""
        return Path(PARTS, self.parts)

    def write(self, file: Path) -> None:
        """Write it as ``plan.json``."""
        sources = {source.name: source.plain() for source in self.config.source}
        content = {
            "format": FORMAT,
            "version": VERSION,
            "config": asdict(self.config) | {"source": sources},
            **{name: getattr(self, name) for name in _FACTS},
            "versions": provenance.deciding_versions(),
        }
        content["digest"] = _digest(content)
        # not `provenance.dumps`, which is for people: paths must stay as they are, to the byte
        file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

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

    def check_inputs(self, *, read: bool) -> None:
        """Refuse inputs that have changed since the plan was made.

        A file of the same size and another time is compared by what it holds, the matrix only with
        `read`: engines stage copies, and not each shard should read it.
        """
        for known in self.inputs:
            path = Path(known["path"])
            is_matrix = known["role"].partition(".")[0] in ("matrix", "files")
            if is_matrix and not is_store(path) and not self._reads_graph():
                continue  # the plan has its own copy
            try:
                size, time = size_and_time(path)
                now = known | {"bytes": size, "modified": time, "sha256": ""}
                by_size = is_matrix and not read
                is_other = size != known["bytes"] if by_size else provenance.changed(known, now)
            except OSError as error:
                raise InputError(
                    f"{path} cannot be read: {reason_of(error)}",
                    where=f"{self.folder}, from {self.home}",
                    hint="paths are relative to the folder in which the plan was made: give "
                    "absolute ones to `sfs shard init` if other machines do not have that folder",
                ) from None
            if is_other:
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

    def shared(self, own: range = range(0), *, gather: bool = False) -> Shared:
        """Return what shards have made; `own` are those whose parts are made here, from 1."""
        folder = self.folder / self.place
        if not folder.is_dir():
            raise InputError("the folder of the parts is missing", where=str(folder), hint=_AGAIN)
        parts = Parts(folder, self.shards, own, gather=gather)
        return Shared(parts, partial(_load_again, self.folder))


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
        sources = config["source"].items()
        lists["source"] = tuple(source_of(name, given.items()) for name, given in sources)
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


def init(target: str, config: RankConfig, shards: int, messages: Messages, *, force: bool) -> None:
    """Make the plan of a ranking by shards, in the folder `target`."""
    if not 1 <= shards <= MAX_SHARDS:
        raise UsageError(
            f"--shards {shards} is out of range", hint=f"give 1 to {MAX_SHARDS:,}", option="shards"
        )
    folder = Path(target)
    check_writable(folder, "PLAN")
    inputs = describe_inputs(config)
    if _is_there(folder, config, shards, inputs, force):
        tell_up_to_date(folder, messages, [folder / NAME])
        return
    own, home = uuid.uuid4().hex[:12], str(Path.cwd())
    plan = ShardPlan(
        folder.absolute(), config, shards, with_digests(inputs), own, home, config.left_out
    )
    with replacing(folder) as begun:
        (begun / plan.place).mkdir(parents=True)
        _rehearse(plan, begun, messages)
        plan.write(begun / NAME)
    messages.note(f"wrote {folder}: {counted(shards, 'shard')}")
    messages.note(
        f"next: sfs shard run {folder} I for I = 1 to {shards}, again for each pass (sfs shard "
        f"status {folder}); then sfs shard merge {folder} --out DIR, which makes what is missing"
    )


def _is_there(
    folder: Path, config: RankConfig, shards: int, inputs: list[InputFile], force: bool
) -> bool:
    """Tell whether a folder is this very plan; refuse anything else that is there."""
    is_plan = (folder / NAME).is_file()
    refuse_dangling(folder, "PLAN")
    if not folder.exists() or (is_plan and force):
        return False
    other = "its plan cannot be read"
    with contextlib.suppress(InputError):
        known = read_plan(folder)
        was, now = (joined(RankConfig, c.result_options()) for c in (known.config, config))
        other = provenance.difference({"config": was, "inputs": known.inputs}, now, inputs)
        if (known.shards, known.home) != (shards, str(Path.cwd())):
            other = f"there are {counted(known.shards, 'shard')}, and paths from {known.home}"
        if not other and (folder / known.place).is_dir():
            if known.left_out != config.left_out:  # the merge warns of what was given last
                with replacing(folder / NAME) as file:
                    replace(known, left_out=config.left_out).write(file)
            return True
    raise OutputExistsError(
        f"{folder} exists, and is not the plan of this ranking: {other or 'its parts are gone'}",
        hint="give another name" + (", or --force" if is_plan else ""),
    )


def _rehearse(plan: ShardPlan, folder: Path, messages: Messages) -> None:
    """Read everything and come to the first pass, so that what cannot be done is refused now."""
    shared = Shared(Parts(folder / plan.place, plan.shards), partial(_load_first, folder))
    try:
        with loaded(plan.config, messages, shared) as ready:
            check_parts(ready)
            score(ready)
    except IncompletePassError:
        return
    except ShardDoneError:
        pass
    raise UsageError(
        f"--method {plan.config.ranker} cannot be split into shards",
        hint="use sfs rank, or --dask ADDRESS, which shares the work of solvers; what scores "
        "each feature by itself can be split: --method f-test or spec",
        option="method",
    )


def _load_first(
    plan: Path,
    config: RankConfig,
    known_samples: list[str],
    memory: int,
    _folder: Path,
    messages: Messages,
) -> Opened:
    """Do what `inputs.load` does, and keep the matrix in the plan, unless it is a store already."""
    if is_store(Path(config.matrix)):
        return matrices.load(config, known_samples, memory, plan / STORE, messages)
    before, store = messages.warnings, plan / STORE
    store.mkdir()
    opened = matrices.load(config, known_samples, memory, store, messages, kept={})
    found = {
        "facts": opened.facts,
        "graphs": list(opened.graphs),
        "warnings": [text for text in messages.warnings if text not in before],
    }
    (plan / READING).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return replace(opened, matrix=open_store(store))


def _load_again(
    plan: Path,
    config: RankConfig,
    known_samples: list[str],
    memory: int,
    folder: Path,
    messages: Messages,
) -> Opened:
    """Open the matrix that the plan holds; warnings are given again, so that the report has them.

    The parameters are those of `inputs.load`, after the folder of the plan.
    """
    if is_store(Path(config.matrix)):
        return matrices.load(config, known_samples, memory, folder, messages)
    try:
        found: dict[str, Any] = json.loads((plan / READING).read_text(encoding="utf-8"))
        opened = Opened(open_store(plan / STORE), found["facts"], tuple(found["graphs"]))
        warnings = [str(text) for text in found["warnings"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the matrix of the plan cannot be read: {error}", where=str(plan), hint=_AGAIN
        ) from None
    for warning in warnings:
        messages.warn(warning)
    return opened


# sfs shard run


def run_shard(target: str, which: str, messages: Messages, **running: Any) -> None:
    """Make what is missing of a shard, pass by pass, until it needs what other shards lack.

    `target` is the plan, `which` the shard (``3`` or ``3-of-8``). `running` are
    options of `RankConfig` about how it is run.
    """
    plan = read_plan(target)
    shard = parse_shard(which, plan.shards)
    config, shared = plan.config_with(running), plan.shared(range(shard, shard + 1))
    parts, missing = shared.parts, None
    with plan.at_home():
        plan.check_inputs(read=False)
        try:
            with loaded(config, messages, shared) as ready:
                score(ready)
        except IncompletePassError as error:
            missing = error
        except ShardDoneError:
            pass
    made = f"shard {shard} of {plan.shards}: made {counted(parts.made, 'part')}"
    if missing is None:
        parts.finish()
        messages.note(f"{made}; its share is done")
    else:
        messages.note(
            f"{made}; pass {missing.number} waits for {shards_text(missing.missing)}: run this "
            "shard again when they are done"
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


def merge(target: str, messages: Messages, **given: Any) -> None:
    """Write what `sfs rank` would have written, to ten digits.

    Parts that are missing are made here. `given` are options of `RankConfig` about outputs and how
    it is run.
    """
    plan = read_plan(target)
    config = plan.config_with(given)
    if plan.left_out:
        messages.warn(plan.left_out, AT_ONCE)

    def describe() -> list[InputFile]:
        plan.check_inputs(read=True)
        return plan.inputs

    home = Path.cwd()
    with plan.at_home():
        shared = plan.shared(range(1, plan.shards + 1), gather=True)
        run(config, messages, describe=describe, shared=shared, home=home)
        with contextlib.suppress(OSError):  # of a plan that may only be read now
            shared.parts.finish()


def status(target: str, *, as_json: bool = False) -> str:
    """Return how far the shards have come: the pass, and who has not made a part of it."""
    plan = read_plan(target)
    state = plan.shared().parts.state()
    if as_json:
        return provenance.dumps(
            {"pass": state.number, "missing": state.missing, "done": state.done}
        )
    if state.done:
        return f"done: {counted(state.number, 'pass')} by {counted(plan.shards, 'shard')}\n"
    return f"pass {state.number}: {shards_text(state.missing)} missing\n"


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
