"""``sfs shard run``: the parts of one shard, as far as they can be made now."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sfs_cli.compute.parts import PartsMissingError
from sfs_cli.compute.shards import ScatterEndError, ShardFolder, owner
from sfs_cli.config import RankConfig
from sfs_cli.errors import InputError, UsageError, counted
from sfs_cli.jobs.kept_matrix import KeptMatrix
from sfs_cli.jobs.opening import Kept, opened_work
from sfs_cli.jobs.rank import score
from sfs_cli.jobs.shard_plan import ShardPlan, passes, read_plan
from sfs_cli.jobs.time_limit import time_limit
from sfs_cli.logs import Messages

_SHARD = re.compile(r"(\d+)(?:-of-(\d+))?")


def run_shard(
    target: str,
    which: str,
    messages: Messages,
    *,
    only: int | None = None,
    limit: str | None = None,
    **running: Any,
) -> None:
    """Make the parts of a shard that are missing.

    It goes from pass to pass, and ends where the parts of others are needed that are not there.

    Parameters
    ----------
    target : str
        The plan.
    which : str
        Which shard: ``3`` or ``3-of-8``.
    messages : Messages
        Told of what was done.
    only : int, optional
        The only pass to make parts of, from 1.
    limit : str, optional
        When to stop, as `parse_duration` takes it.
    **running
        Options of `RankConfig` about how it is run.

    Raises
    ------
    InputError
        When the plan or its inputs cannot be used, or `only` needs a pass that is not whole.
    UsageError
        When there is no such shard or pass.
    """
    plan = read_plan(target)
    shard = parse_shard(which, plan.shards)
    if only is not None and only < 1:
        raise UsageError(f"--pass {only} is too small", hint="passes are numbered from 1")
    given = {option: value for option, value in running.items() if value is not None}
    config = replace(plan.config, **given)
    parts = open_parts(plan, (shard - 1, plan.shards), only=None if only is None else only - 1)
    kept = Kept(parts, KeptMatrix(plan.folder, fixed=True))
    hint = "run the same shard again: the parts that are made stay"
    with plan.at_home(), time_limit(limit, messages, kept=hint):
        plan.check_inputs()
        missing = _make_parts(config, kept, messages)
    if only is not None and (missing is None or missing.number < only - 1):
        _check_pass(plan, parts, only, missing)
    _tell(plan, shard, parts, messages, only=only, missing=missing)


def parse_shard(text: str, shards: int) -> int:
    """Return the number of a shard, from 1.

    Raises
    ------
    UsageError
        When there is no such shard.
    """
    match = _SHARD.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"shard {text!r} is not a number", hint=f"give 1 to {shards}")
    if match[2] is not None and int(match[2]) != shards:
        raise UsageError(
            f"shard {text}: the plan has {counted(shards, 'shard')}",
            hint=f"give 1-of-{shards} to {shards}-of-{shards}",
        )
    if not 1 <= int(match[1]) <= shards:
        raise UsageError(
            f"there is no shard {int(match[1])}: the plan has {counted(shards, 'shard')}",
            hint=f"give 1 to {shards}",
        )
    return int(match[1])


def open_parts(plan: ShardPlan, shard: tuple[int, int] | None, **how: Any) -> ShardFolder:
    """Open the parts of a plan.

    Raises
    ------
    InputError
        When they are not there.
    """
    parts = ShardFolder(plan.parts, shard, **how)
    if not parts.is_of(plan.identity):
        raise InputError(
            "the folder of the parts is missing or damaged",
            where=str(plan.parts),
            hint="make the plan again: sfs shard init --force",
        )
    parts.tidy()
    return parts


def shards_of(missing: PartsMissingError, shards: int) -> list[int]:
    """Return the shards, from 1, whose parts are missing."""
    return sorted({owner(chunk, missing.total, shards) + 1 for chunk in missing.chunks})


def numbers(shards: Iterable[int]) -> str:
    """Return shards for a message, runs of them joined: ``shards 1-3, 7``."""
    runs: list[list[int]] = []
    for shard in shards:
        if runs and shard == runs[-1][1] + 1:
            runs[-1][1] = shard
        else:
            runs.append([shard, shard])
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    one = len(runs) == 1 and runs[0][0] == runs[0][1]
    return f"shard{'' if one else 's'} {shown}"


def _make_parts(config: RankConfig, kept: Kept, messages: Messages) -> PartsMissingError | None:
    """Make what parts can be made; return what said that those of others are needed for more."""
    try:
        with opened_work(config, messages, kept) as (work, _):
            score(work, messages)
    except PartsMissingError as error:
        return error
    except ScatterEndError:
        pass
    return None


def _check_pass(
    plan: ShardPlan, parts: ShardFolder, only: int, missing: PartsMissingError | None
) -> None:
    if missing is not None:
        before = missing.number + 1
        raise InputError(
            f"pass {only} needs pass {before}, which is not whole",
            where=f"{plan.folder}: {numbers(shards_of(missing, plan.shards))} of pass {before} "
            "are missing",
            hint=f"run these shards first: sfs shard run PLAN I --pass {before}",
        )
    if parts.passes < only:
        raise UsageError(
            f"there is no pass {only}: {passes(parts.passes)} can be shared",
            hint=f"give --pass 1 to {parts.passes}, or none; then gather by `sfs shard merge`",
        )


def _tell(
    plan: ShardPlan,
    shard: int,
    parts: ShardFolder,
    messages: Messages,
    *,
    only: int | None,
    missing: PartsMissingError | None,
) -> None:
    """Say what was made, and what a shard waits for."""
    name = f"shard {shard} of {plan.shards}"
    share = parts.shares[-1] if parts.shares else 0
    made = counted(parts.made, "part")
    last = missing is not None and missing.number + 1 == plan.passes
    if not share:
        messages.note(f"{name} has nothing to do: there are more shards than parts")
    elif missing is None or last:
        messages.note(f"{name}: made {made}" + ("" if only else "; its share is done"))
    else:
        waits = numbers(shards_of(missing, plan.shards))
        messages.note(
            f"{name}: made {made}; pass {missing.number + 1} waits for {waits}: run this shard "
            "again when they are done"
        )
