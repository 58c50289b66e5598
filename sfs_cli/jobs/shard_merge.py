"""``sfs shard merge``: the ranking from the parts of all shards; and how many there are yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.compute.parts import PartsMissingError
from sfs_cli.compute.shards import owner
from sfs_cli.errors import InputError
from sfs_cli.io.lock import Lock
from sfs_cli.jobs import rank_run
from sfs_cli.jobs.kept_matrix import KeptMatrix
from sfs_cli.jobs.opening import Kept
from sfs_cli.jobs.shard_plan import ShardPlan, read_plan
from sfs_cli.jobs.shard_run import numbers, open_parts, shards_of
from sfs_cli.logs import Messages

_PATHS = ("out", "write_h5ad", "weights_out", "scratch")


def merge(
    target: str, messages: Messages, *, finish: bool = False, as_json: bool = False, **given: Any
) -> bytes:
    """Write what `sfs rank` would have written, to the byte.

    Parameters
    ----------
    target : str
        The plan.
    messages : Messages
        Told of what was done.
    finish : bool
        Whether parts that are missing are made here.
    as_json : bool
        Whether ``run.json`` belongs on stdout.
    **given
        Options of `RankConfig` about outputs and how it is run.

    Returns
    -------
    bytes
        What belongs on stdout.

    Raises
    ------
    InputError
        When parts are missing; it names their shards.
    SfsError
        For anything else the user can mend.
    """
    plan = read_plan(target)
    options = {k: v for k, v in given.items() if v is not None}
    for name in _PATHS:
        if name in options:
            options[name] = str(Path(options[name]).absolute())
    config = replace(plan.config, **options)
    rank_run.check(config, as_json)
    parts = open_parts(plan, (0, 1) if finish else None, gather=True)

    @contextmanager
    def keeping(_wanted: str, lock: Lock) -> Iterator[Kept]:
        yield Kept(parts, KeptMatrix(plan.folder, fixed=True), lock.leaves)

    def describe() -> list[dict[str, Any]]:
        plan.check_inputs()
        return plan.inputs

    hint = "run it again with more time: the parts stay"
    with plan.at_home():
        try:
            return rank_run.into_folder(
                config, describe, keeping, messages, as_json=as_json, hint=hint
            )
        except PartsMissingError as missing:
            raise _missing(plan, missing) from None


def _missing(plan: ShardPlan, missing: PartsMissingError) -> InputError:
    number = missing.number + 1
    rest = range(number + 1, (plan.passes or 0) + 1)
    later = "".join(f", and all of pass {i}" for i in rest)
    return InputError(
        f"the parts of {numbers(shards_of(missing, plan.shards))} of pass {number} are missing",
        where=f"{plan.folder}: {len(missing.chunks)} of {missing.total} parts{later}",
        hint="run these shards (again): sfs shard run PLAN I; or make what is missing here, with "
        "--finish",
    )


@dataclass(frozen=True)
class PassStatus:
    """How far a pass is.

    Attributes
    ----------
    done : list of int
        Shards, from 1, of which no part is missing.
    missing : list of int
        The others.
    parts, total : int
        The parts that are there, and how many there will be.
    """

    done: list[int]
    missing: list[int]
    parts: int
    total: int


def status(target: str, *, as_json: bool = False) -> str:
    """Return a table of which shards are done, pass by pass.

    Raises
    ------
    InputError
        When the plan cannot be used.
    """
    plan = read_plan(target)
    parts = open_parts(plan, None)
    found = []
    for number, total in enumerate(parts.totals()):
        absent = [chunk for chunk in range(total) if not parts.has(number, chunk)]
        missing = sorted({owner(chunk, total, plan.shards) + 1 for chunk in absent})
        done = [i for i in range(1, plan.shards + 1) if i not in missing]
        found.append(PassStatus(done, missing, total - len(absent), total))
    if as_json:
        passes = [{"pass": i, **vars(one)} for i, one in enumerate(found, 1)]
        content = {"shards": plan.shards, "passes_expected": plan.passes, "passes": passes}
        return provenance.dumps(content)
    lines = ["pass  shards done  parts    missing"]
    for i, one in enumerate(found, 1):
        waits = numbers(one.missing) if one.missing else "none"
        shares, made = f"{len(one.done)} of {plan.shards}", f"{one.parts}/{one.total}"
        lines.append(f"{i:<6}{shares:<13}{made:<9}{waits}")
    rest = range(len(found) + 1, (plan.passes or 0) + 1)
    lines += [f"{i:<6}{f'0 of {plan.shards}':<13}{'-':<9}not begun" for i in rest]
    return "\n".join(lines) + "\n"
