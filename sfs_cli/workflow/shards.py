"""``sfs shard``: a ranking by many processes, which share the passes over the matrix.

`init` reads and checks everything once and makes a folder, the plan: ``plan.json`` holds the
configuration and what was read, ``store/`` the matrix where it was no store already, ``parts/`` the
sums that shards make (`compute.parts`). `run` makes those of one shard, as far as they do not need
others. `merge` ranks as `sfs rank` does, but takes what the shards have made, and makes what is
missing; so the result is the same to ten digits.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from contextlib import AbstractContextManager, chdir, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.catalog import METHODS
from sfs_cli.compute.parts import IncompletePassError, Parts, ShardDoneError
from sfs_cli.errors import InputError, OutputExistsError, UsageError, counted, reason_of
from sfs_cli.io.files.atomic import check_writable, replacing, size_and_time
from sfs_cli.io.files.sniff import is_store
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import stated
from sfs_cli.options.grammar import joined
from sfs_cli.options.source import source_of
from sfs_cli.provenance import InputFile
from sfs_cli.run import inputs as matrices
from sfs_cli.run.inputs import Opened
from sfs_cli.run.load import Shared, loaded
from sfs_cli.run.needs import memory_budget
from sfs_cli.store.disk import open_store
from sfs_cli.workflow.outputs import describe_inputs, tell_up_to_date, with_digests
from sfs_cli.workflow.rank import checked, run, score

NAME, STORE, PARTS = "plan.json", "store", "parts"
_AGAIN = "make the plan again: sfs shard init --force"


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
    left_out: str  # what the configuration has left out
    matrix: dict[str, Any] | None = None  # what is known of the one in the plan, if it has one

    def write(self, file: Path) -> None:
        """Write it as ``plan.json``."""
        content = {name: each for name, each in vars(self).items() if name != "folder"}
        sources = {source.name: source.plain() for source in self.config.source}
        content["config"] = asdict(self.config) | {"source": sources}
        content["versions"] = provenance.deciding_versions()
        # not `provenance.dumps`, which is for people: paths must stay as they are, to the byte
        file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def config_with(self, given: dict[str, Any]) -> RankConfig:
        """Return the configuration with the options that are given here, with paths from here."""
        options = stated(given)
        for name in options.keys() & {"out", "write_h5ad"}:
            options[name] = str(Path(options[name]).absolute())
        return replace(self.config, **options)

    def at_home(self) -> AbstractContextManager[None]:
        """Work where the plan was made, so that paths mean the same, in reports too."""
        # on another machine, which lacks that folder, paths are taken from the current one
        return chdir(self.home if Path(self.home).is_dir() else ".")

    def check_inputs(self, *, read: bool) -> None:
        """Refuse inputs that have changed since the plan was made.

        A file of the same size and another time is compared by what it holds, the matrix only with
        `read`: engines stage copies, and not each shard should read it.
        """
        for known in self.inputs:
            path = Path(known["path"])
            is_matrix = provenance.of_matrix(known["role"])
            if is_matrix and self.matrix is not None and not path.exists():
                continue  # the plan has its own copy
            try:
                size, time = size_and_time(path)
            except OSError as error:
                raise InputError(
                    f"{path} cannot be read: {reason_of(error)}",
                    where=f"{self.folder}, from {self.home}",
                    hint="paths are relative to the folder in which the plan was made: give "
                    "absolute ones to `sfs shard init` if other machines do not have that folder",
                ) from None
            now = {**known, "bytes": size, "modified": time, "sha256": ""}
            if is_matrix and not read:  # by its size alone
                now = {**known, "bytes": size}
            if provenance.changed(known, now):
                raise InputError(
                    f"{path} has changed since the plan was made",
                    where=str(self.folder / NAME),
                    hint=f"put it back as it was, or {_AGAIN}",
                )

    def shared(self, own: range = range(0), *, gather: bool = False) -> Shared:
        """Return what shards have made; `own` are those whose parts are made here, from 1."""
        folder = self.folder / PARTS / self.parts
        if not folder.is_dir():
            raise InputError("the folder of the parts is missing", where=str(folder), hint=_AGAIN)
        return Shared(Parts(folder, self.shards, own, gather=gather), self.load)

    def load(
        self,
        config: RankConfig,
        known_samples: list[str],
        memory: int,
        folder: Path,
        messages: Messages,
    ) -> Opened:
        """Open the matrix, that of the plan if it has one; warnings of it are given again.

        The parameters are those of `inputs.load`.
        """
        if self.matrix is None:
            return matrices.load(config, known_samples, memory, folder, messages)
        for warning in self.matrix["warnings"]:
            messages.warn(warning)
        graphs = tuple(self.matrix["graphs"])
        return Opened(open_store(self.folder / STORE), dict(self.matrix["facts"]), graphs)


def read_plan(path: str | Path) -> ShardPlan:
    """Read a plan; refuse one that was made by other versions."""
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
        known, config = content.pop("versions"), content.pop("config")
        config = {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}
        sources = config["source"].items()
        config["source"] = tuple(source_of(name, given.items()) for name, given in sources)
        plan = ShardPlan(folder, RankConfig(**config), **content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # or of another version
        raise InputError("the plan cannot be read", where=f"{file}: {error}", hint=_AGAIN) from None
    for name, here in provenance.deciding_versions().items():
        if known.get(name) != here:
            raise InputError(
                f"the plan was made with {name} {known.get(name)}; here it is {here}",
                where=str(file),
                hint=f"shards would differ in the last digits: use one environment, or {_AGAIN}",
            )
    return plan


# sfs shard init


def init(target: str, config: RankConfig, shards: int, messages: Messages, *, force: bool) -> None:
    """Make the plan of a ranking by shards, in the folder `target`."""
    folder, home, parts = Path(target), str(Path.cwd()), uuid.uuid4().hex[:12]
    file = folder / NAME
    check_writable(folder, "PLAN", folder=True)
    method = METHODS[config.scorer]
    if config.method and method.iterative and "graph" not in method.needed(config.method_options()):
        raise _not_split(config)  # before anything is read: only the graph would be made in shards
    memory_budget(config)  # which refuses what is no amount
    inputs = describe_inputs(config)
    plan = ShardPlan(folder.absolute(), config, shards, inputs, parts, home, config.left_out)
    if folder.exists() and not (file.is_file() and force):
        other, hint = "it has no plan", "give another name"
        if file.is_file():
            known = read_plan(folder)
            other, hint = _difference(known, plan), f"{hint}, or --force"
        if other:
            what = f"{folder} exists, and is not the plan of this ranking: {other}"
            raise OutputExistsError(what, hint=hint)
        tell_up_to_date(folder, messages, [file])
        return
    plan = replace(plan, inputs=with_digests(inputs))
    with replacing(folder) as begun:
        (begun / PARTS / parts).mkdir(parents=True)
        _rehearsed(plan, begun, messages).write(begun / NAME)
    messages.note(f"wrote {folder}: {counted(shards, 'shard')}")
    messages.note(
        f"next: sfs shard run {folder} I for I = 1 to {shards}, again for each pass (sfs shard "
        f"status {folder}); then sfs shard merge {folder} --out DIR, which makes what is missing"
    )


def _difference(known: ShardPlan, plan: ShardPlan) -> str:
    """Return in what a plan differs from the one that is asked for; nothing if it is the same."""
    if (known.shards, known.home) != (plan.shards, plan.home):
        return f"there are {counted(known.shards, 'shard')}, and paths from {known.home}"
    was, now = (joined(RankConfig, each.config.result_options()) for each in (known, plan))
    return provenance.difference({"config": was, "inputs": known.inputs}, now, plan.inputs)


def _rehearsed(plan: ShardPlan, folder: Path, messages: Messages) -> ShardPlan:
    """Read everything and come to the first pass, so that what cannot be done is refused now.

    The matrix is kept in the `folder`, unless it is a store already; the plan that is returned
    knows it.
    """
    kept: dict[str, Any] | None = None

    def load(
        config: RankConfig, known_samples: list[str], memory: int, _: Path, log: Messages
    ) -> Opened:
        nonlocal kept
        before, store = log.warnings, folder / STORE
        if is_store(Path(config.matrix)):
            return matrices.load(config, known_samples, memory, store, log)
        store.mkdir()
        opened = matrices.load(config, known_samples, memory, store, log, kept={})
        warnings = [text for text in log.warnings if text not in before]
        kept = {"facts": dict(opened.facts), "graphs": opened.graphs, "warnings": warnings}
        return replace(opened, matrix=open_store(store))

    parts = Parts(folder / PARTS / plan.parts, plan.shards)
    try:
        with loaded(plan.config, messages, Shared(parts, load)) as ready:
            checked(ready)
            with ready.progress("ranking"):
                score(ready)
    except IncompletePassError:
        return replace(plan, matrix=kept)
    except ShardDoneError:  # the method is what the data choose, or on a graph of a file
        pass
    raise _not_split(plan.config)


def _not_split(config: RankConfig) -> UsageError:
    return UsageError(
        f"--method {config.ranker} cannot be split into shards",
        hint="use sfs rank, or --dask ADDRESS, which shares the work of solvers; what scores "
        "each feature by itself can be split: --method f-test or spec",
        option="method",
    )


# sfs shard run


def run_shard(target: str, which: str, messages: Messages, **running: Any) -> None:
    """Make what is missing of a shard, pass by pass, until it needs what other shards lack.

    `target` is the plan, `which` the shard (``3`` or ``3-of-8``). `running` are
    options of `RankConfig` about how it is run.
    """
    plan = read_plan(target)
    shard = parse_shard(which, plan.shards)
    config, shared = plan.config_with(running), plan.shared(range(shard, shard + 1))
    state = "its share is done"
    messages.notes = False  # `init` has shown those of reading
    with plan.at_home():
        plan.check_inputs(read=False)
        try:
            with (
                suppress(ShardDoneError),
                loaded(config, messages, shared) as ready,
                ready.progress("ranking"),
            ):
                score(ready)
            shared.parts.finish()
        except IncompletePassError as error:
            state = (
                f"pass {error.number} waits for {shards_text(error.missing)}: run this shard again "
                "when they are done"
            )
    made, messages.notes = counted(shared.parts.made, "part"), True
    messages.note(f"shard {shard} of {plan.shards}: made {made}; {state}")


def parse_shard(text: str, shards: int) -> int:
    """Return the number of a shard, from 1."""
    number, _, of = text.partition("-of-")
    if number not in map(str, range(1, shards + 1)) or of not in ("", str(shards)):
        raise UsageError(
            f"there is no shard {text}: the plan has {counted(shards, 'shard')}",
            hint=f"give 1 to {shards}, or 1-of-{shards} to {shards}-of-{shards}",
            option="shard",
        )
    return int(number)


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
        with suppress(OSError):  # of a plan that may only be read now
            shared.parts.finish()


def status(target: str, *, as_json: bool = False) -> str:
    """Return how far the shards have come: the pass, and who has not made a part of it."""
    plan = read_plan(target)
    state = plan.shared().parts.state()
    if as_json:
        facts = {"pass": state.number, "missing": state.missing, "done": state.done}
        return provenance.dumps(facts)
    if state.done:
        return f"done: {counted(state.number, 'pass')} by {counted(plan.shards, 'shard')}\n"
    return f"pass {state.number}: {shards_text(state.missing)} missing\n"


def shards_text(shards: Iterable[int]) -> str:
    """Return shards for a message, runs of them joined: ``shards 1-3, 7``."""
    found = np.array([*shards])
    runs = np.split(found, np.flatnonzero(np.diff(found) > 1) + 1)
    shown = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
    return f"shard{'s' * (len(found) > 1)} {shown}"
