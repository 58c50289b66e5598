"""``sfs shard init``: everything read and checked once, for all shards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfs_cli import provenance
from sfs_cli.compute.parts import PartsMissingError
from sfs_cli.compute.shards import ScatterEndError, ShardFolder
from sfs_cli.config import RankConfig
from sfs_cli.errors import InputError, OutputExistsError, UsageError, counted
from sfs_cli.graph.options import NEIGHBOUR_GRAPHS, SIMILARITIES
from sfs_cli.io.atomic import replacing
from sfs_cli.io.lock import Lock
from sfs_cli.jobs.claim import claimed
from sfs_cli.jobs.graph import default_graph, reductions
from sfs_cli.jobs.kept_matrix import KeptMatrix
from sfs_cli.jobs.opening import Kept, memory_budget, opened_work
from sfs_cli.jobs.outputs import describe_inputs
from sfs_cli.jobs.rank import score
from sfs_cli.jobs.shard_plan import NAME, ShardPlan, passes, read_plan
from sfs_cli.jobs.work import needed
from sfs_cli.logs import QUIET, Messages
from sfs_cli.methods.catalog import METHODS
from sfs_cli.sources.neighbours import DENSE_DISTANCES
from sfs_cli.store.transforms import SAMPLE_STEPS
from sfs_cli.store.transforms import parse as parse_transform

MAX_SHARDS = 10_000


def init(target: str, config: RankConfig, shards: int, messages: Messages, *, force: bool) -> None:
    """Make the plan of a ranking in shares.

    Parameters
    ----------
    target : str
        The folder to make.
    config : RankConfig
        What `sfs rank` would be asked for.
    shards : int
        How many shares there are to be.
    messages : Messages
        Told of what was decided.
    force : bool
        Whether another plan may be replaced.

    Raises
    ------
    SfsError
        For anything the user can mend, as `sfs rank` would.
    """
    if not 1 <= shards <= MAX_SHARDS:
        raise UsageError(f"--shards {shards} cannot be", hint=f"give 1 to {MAX_SHARDS:,}")
    folder = Path(target)
    with claimed(folder, messages, option="PLAN") as lock:
        inputs = describe_inputs(config)
        fingerprint = provenance.fingerprint(config.result_options(), inputs)
        home = str(Path.cwd())
        plan = ShardPlan(folder.absolute(), config, shards, inputs, fingerprint, home, None)
        if _is_there(folder, plan, force):
            messages.note(f"{folder}: up to date")
            return
        with replacing(folder) as partial:
            partial.mkdir()
            plan = _rehearse(plan, partial, lock, messages)
            plan.write(partial)
    known = "as many passes as it takes" if plan.passes is None else passes(plan.passes)
    messages.note(f"wrote {folder}: {counted(shards, 'shard')}, {known}")
    again = "" if plan.passes == 1 else ", again for each pass"
    messages.note(
        f"next: sfs shard run {folder} I for I = 1 to {shards}{again}; "
        f"then sfs shard merge {folder} --out DIR"
    )


def _is_there(folder: Path, plan: ShardPlan, force: bool) -> bool:
    """Tell whether a folder is this very plan; refuse anything else that is there."""
    if not folder.exists():
        return False
    is_plan = (folder / NAME).is_file()
    if is_plan and force:
        return False
    if is_plan:
        try:
            known = read_plan(folder)
        except InputError:
            known = None  # it is refused below
        if known is not None:
            same = (known.fingerprint, known.shards, known.home)
            if same == (plan.fingerprint, plan.shards, plan.home) and known.parts.is_dir():
                return True
    raise OutputExistsError(
        f"{folder} exists and is not the plan of this work",
        hint="give another name" + (", or --force" if is_plan else ""),
    )


def _rehearse(plan: ShardPlan, folder: Path, lock: Lock, messages: Messages) -> ShardPlan:
    """Read everything and come to the first pass, so that what cannot be done is refused now."""
    parts, matrix = ShardFolder(folder / plan.parts.relative_to(plan.folder)), KeptMatrix(folder)
    parts.claim(plan.identity)
    kept = Kept(parts, matrix, lock.leaves)
    try:
        with opened_work(plan.config, messages, kept) as (work, _):
            score(work, messages)
    except PartsMissingError:
        return replace(plan, passes=_count_passes(plan.config, matrix))
    except ScatterEndError:
        pass
    raise UsageError(
        f"--method {plan.config.method} makes no pass that could be shared like this",
        hint="run it by `sfs rank`; --executor dask shares the work of solvers",
    )


def _count_passes(config: RankConfig, matrix: KeptMatrix) -> int | None:
    """Return how many passes are made in parts, where that is known beforehand.

    One more is made where samples are near duplicates of each other, and single precision does
    not tell them apart.
    """
    if config.source or config.members:
        return None
    opened = matrix.load(config, [], memory_budget(config), Messages(QUIET))
    steps = sum(step in SAMPLE_STEPS for step in parse_transform(config.transform))
    scoring = int(METHODS[config.scorer].load("solve") is None)
    if "graph" not in needed(config):
        return steps + scoring
    n = opened.matrix.n_samples
    name = default_graph(config, n, opened.graphs)
    if name not in SIMILARITIES or name == "label":
        return steps + scoring
    if n > DENSE_DISTANCES and name in NEIGHBOUR_GRAPHS:
        return None
    if reductions(config, name, n, opened.matrix.n_features):
        return None
    return steps + 1 + scoring
