"""``sfs plan``: passes, bytes, memory and time of a ranking, before it is made.

Passes and memory are those that the run itself plans. The time is an estimate: a few blocks of the
matrix (of random values where it is a text file, which is not read before the run) are read and
multiplied, and every pass is taken for so many products.
"""

from __future__ import annotations

import math
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.limits import LIMITS
from sfs_cli.compute.matrix import Ids, Span
from sfs_cli.compute.memory import format_size
from sfs_cli.compute.tree import MAX_CHUNKS
from sfs_cli.display import shown
from sfs_cli.errors import counted, listed
from sfs_cli.graph.neighbors import SAMPLED_PAIRS
from sfs_cli.graph.pca import OVERSAMPLING
from sfs_cli.io.files.read_limits import reading_within
from sfs_cli.io.files.text import count_lines
from sfs_cli.io.knowledge.coordinates import open_coordinates
from sfs_cli.logs import Messages
from sfs_cli.methods.significance.tested import DEFAULT_PERMUTATIONS
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import parse_duration
from sfs_cli.options.graph import DEFAULT_COMPONENTS, parse_count
from sfs_cli.run import covariates, inputs
from sfs_cli.run.memory import MemoryPlan, is_dense, memory_budget, memory_plan
from sfs_cli.run.passes import Shape, pass_list, with_defaults
from sfs_cli.store.disk import is_store, open_store
from sfs_cli.store.transforms import parse

START = 1.0
"""Seconds in which a process starts, opens a store and sums up."""
READ_SECONDS = 0.5
"""Time that reading a text file is tried for."""
MARGIN = 0.8
"""Fraction of a wall time that is planned for."""
BLOCKS = 4
"""Blocks of every worker that are read, from places all over a store."""
COLUMNS = 64
"""Columns that a block is multiplied with, to see how long one takes."""
SIMPLE, SOLVED, STEP = 30, 16, 20
"""Columns that cost as much as what is done to a feature to score it, without a graph; those that
a solver multiplies the matrix with in a pass; and a step of the transformation."""
OF_GRAPH = 200
"""Columns that cost as much as what a sparse graph takes for each sample."""
TESTED, PERMUTED = 3, 2
"""Times that a score costs with its p-value, and in every permutation."""
WRITTEN = 200_000
"""Rows of a ranking that are ordered and written in a second."""


@dataclass
class Known:
    """What is known of a matrix before it is read."""

    n: int  # samples
    m: int  # features
    exact: bool  # whether both are known, or one is counted from lines
    stored: np.dtype[Any]
    where: str  # where the values will be
    samples: Sequence[str] | None = None  # their ids, where they are known
    obs: Any = None  # annotations of the samples
    graphs: tuple[str, ...] = ()  # what the file holds to compare samples by
    is_store: bool = False
    reading: float = 0.0  # seconds of reading the file once, where it is no store


@dataclass
class Columns:
    """What is known of covariates and batches before the matrix is read."""

    batches: dict[str, int] = field(default_factory=dict)  # samples of those that are ranked
    width: int = 0  # of the design
    facts: list[dict[str, Any]] = field(default_factory=list)  # of each covariate


@dataclass(frozen=True)
class Rates:
    """How fast this machine is, in seconds for all features of the matrix."""

    read: float  # to read them
    column: float  # to multiply them with a column
    disk: float  # where the disk is the limit of every pass
    bytes_per_second: float  # of the first read of the blocks


def estimate(config: RankConfig, messages: Messages, wall_time: str | None, as_json: bool) -> str:
    """Return the plan of a run, as text or JSON.

    With `wall_time`, what one job may take, it has the number of shards that this needs. What
    `sfs rank` would refuse before it reads the matrix is refused here.
    """
    limit = None if wall_time is None else parse_duration(wall_time, "wall_time")
    memory = memory_budget(config)
    with reading_within(memory):
        facts = _facts(config, messages, memory)
    if limit is not None:
        facts["shards"] = _shards(config, facts, limit)
    return provenance.dumps(facts) if as_json else _text(facts)


def _facts(config: RankConfig, messages: Messages, memory: int) -> dict[str, Any]:
    known = _known(config, memory, messages)
    n, m, stored = known.n, known.m, known.stored
    config = with_defaults(config, n, known.graphs)
    columns = _columns(config, known, messages)
    width = None
    if config.coordinates_from is not None:
        width = open_coordinates(config.coordinates_from, config.matrix).width
    shape = Shape(n, m, stored, memory, columns.batches, width)
    passes = pass_list(config, shape)
    room = memory_plan(config, shape, passes, 8 * n * columns.width)
    rates, products = _rates(config, known, room), _products(config, n)
    # what covariates explain is projected on their design and back
    prepared = STEP * len(parse(config.transform)) + 2 * columns.width
    size = n * m * stored.itemsize
    rows = []
    for each in passes:
        read = each.times * each.fraction
        once = rates.read + (prepared + products[each.kind]) * rates.column
        took = read * each.work * max(rates.disk, once)
        rows.append(asdict(each) | {"bytes": round(read * each.of_matrix * size), "seconds": took})
    seconds = {
        "start": START,
        "reading": known.reading,
        "passes": sum(row["seconds"] for row in rows),
        # of each sample, with its part of the spectrum
        "graph": n * (OF_GRAPH + (n / 2 if is_dense(config, n) else 0)) * rates.column / m,
        "writing": m / WRITTEN,
    }
    held = size if known.where == "held in memory" else 0
    return {
        "matrix": config.matrix,
        "samples": n,
        "features": m,
        "shape_is_exact": known.exact,
        "matrix_bytes": size,
        "stored_as": stored.name,
        "where": known.where,
        "arithmetic": room.dtype.name,
        "block_size": room.block_size,
        "workers": room.workers,
        "executor": config.executor,
        "covariates": columns.facts,
        "batches": columns.batches,
        "passes": rows,
        "memory": room.bytes_by_use | {"matrix": held},
        "memory_needed": room.needed + held,
        "memory_allowed": memory,
        "read_rate": rates.bytes_per_second if known.is_store else None,
        "in_page_cache": not rates.disk if known.is_store else None,
        "seconds": seconds | {"total": sum(seconds.values())},
    }


def _known(config: RankConfig, memory: int, messages: Messages) -> Known:
    """Return what can be known of the matrix without reading more than a little of it."""
    path = Path(config.matrix)
    if is_store(path):
        store = open_store(path)
        known = Known(
            *(store.n_samples, store.n_features, True, store.dtype),
            "the store is read in place",
            is_store=True,
        )
        if config.adjust or config.batch:
            known.samples, known.obs = store.ids.samples, store.ids.obs
        return known
    names = list(inputs.read_label_table(config) or ())
    names += covariates.known_samples(covariates.read_files(config))
    reader, rows, why = inputs.peek(config, names, memory)
    try:
        count = max(2, count_lines(path) - 1) if reader.n_rows is None else reader.n_rows
        columns = len(reader.column_ids)
        n, m = (columns, count) if rows == "features" else (count, columns)
        stored = inputs.storage_dtype(config)
        held = n * m * stored.itemsize <= inputs.held_limit(config, memory)
        messages.note(f"{path.name} ({reader.format}): {why}")
        start, seen = time.perf_counter(), 0
        for block in reader.blocks():
            seen += len(block.ids)
            if time.perf_counter() - start > READ_SECONDS:
                break
        return Known(
            *(n, m, reader.n_rows is not None, stored),
            "held in memory" if held else "a temporary store in the scratch folder",
            samples=reader.column_ids if rows == "features" else None,
            obs=reader.annotations.obs,
            graphs=reader.annotations.graphs,
            reading=(time.perf_counter() - start) * max(1.0, count / max(seen, 1)),
        )
    finally:
        reader.close()


def _columns(config: RankConfig, known: Known, log: Messages) -> Columns:
    """Return the covariates and batches of a run.

    Of a matrix whose rows are samples the ids are not known yet: those of the files are taken.
    """
    if not config.adjust and config.batch is None:
        return Columns()
    samples = known.samples or [str(i) for i in range(known.n)]
    ids = Ids([], samples, known.obs)
    asked = covariates.columns_of(config, covariates.read_files(config), ids)

    def used(values: dict[str, Any]) -> list[Any]:
        return [values[s] for s in samples if s in values] or list(values.values())

    found = Columns()
    for each in asked.adjust:
        levels = len(set(used(each.values))) if each.kind == "categorical" else None
        found.width += 1 if levels is None else levels - 1
        found.facts.append({"name": each.name, "taken_as": each.kind, "levels": levels})
    if asked.batch is not None:
        sizes = {str(k): count for k, count in sorted(Counter(used(asked.batch.values)).items())}
        few = [name for name, count in sizes.items() if count < config.smallest_batch]
        if few:
            log.note(f"batches of fewer than {config.smallest_batch} samples: {listed(few)}")
        found.batches = {name: count for name, count in sizes.items() if name not in few}
        found.width += max(0, len(found.batches) - 1)
    found.width = min(found.width, max(0, known.n - covariates.LEAST_LEFT))
    return found


def _shards(config: RankConfig, facts: dict[str, Any], limit: float) -> dict[str, Any]:
    """Return how many shards finish each of their jobs within a wall time, by the plan's facts."""
    seconds = facts["seconds"]
    shared = [row["seconds"] for row in facts["passes"] if row["sharing"] != "merge"]
    alone = seconds["passes"] - sum(shared)
    most = min(MAX_CHUNKS, -(-facts["features"] // facts["block_size"]))
    free = MARGIN * limit - START
    count = max(1, math.ceil(sum(shared) / free)) if free > 0 else most
    init = START + seconds["reading"]
    merge = START + seconds["graph"] + alone + seconds["writing"]
    fits = count <= most and max(init, merge) <= limit
    count = min(count, most)
    words = shlex.join(config.command()[2:])
    return {
        "wall_time": limit,
        "shards": count,
        "fits": fits,
        "seconds": {"init": init, "run": START + sum(shared) / count, "merge": merge},
        "commands": [
            f"sfs shard init PLAN {words} --shards {count}",
            f"sfs shard run PLAN I  # I = 1..{count}, once for each of {len(shared)} passes",
            "sfs shard merge PLAN --out DIR",
        ],
    }


def _rates(config: RankConfig, known: Known, room: MemoryPlan) -> Rates:
    """Read some blocks of the store, or copy random values, and multiply those."""
    n, m, workers = known.n, known.m, room.workers
    size, executor = min(m, room.block_size), ThreadExecutor(workers)
    values = np.random.default_rng(0).random((size, n), np.float32).astype(room.dtype)
    ones = np.ones((n, COLUMNS), room.dtype)
    places = np.linspace(0, m - size, BLOCKS * workers).astype(int).tolist()
    spans = [Span(lo, lo + size) for lo in places]

    def reader() -> Callable[[Span], object]:
        if not known.is_store:
            return lambda _: values.copy()
        # opened each time anew, so that it compares the checksums each time
        store = open_store(Path(config.matrix))
        return lambda span: store.read(span, np.empty((span.size, n), store.dtype))

    def seconds_of(work: Callable[[Span], object]) -> float:
        start = time.perf_counter()
        list(executor.map(work, spans))
        return time.perf_counter() - start

    reader()(Span(0, 1))  # whatever is loaded once
    # the first one finds whether the blocks were in memory
    first, again = seconds_of(reader()), seconds_of(reader())
    product = seconds_of(lambda _: values.T @ (values @ ones))
    scale = m / (size * len(spans))
    return Rates(
        read=scale * again,
        column=scale * product / (2 * COLUMNS),  # there and back
        disk=scale * first if known.is_store and first > 3 * again else 0.0,
        bytes_per_second=size * len(spans) * n * known.stored.itemsize / first,
    )


def _products(config: RankConfig, n: int) -> dict[str, float]:
    """Return by the kind of a pass how many products its values take, about."""
    scores = SIMPLE + (n if is_dense(config, n) else 0)
    null, _, count = (config.pvalues or "").partition(":")
    if null:
        drawn = int(float(count or DEFAULT_PERMUTATIONS)) if null == "permutation" else 0
        scores *= TESTED + PERMUTED * drawn
    width = (parse_count(config.components or DEFAULT_COMPONENTS) or 0) + OVERSAMPLING
    return {
        "sums": 1,
        "gram": n / 2,  # of a symmetric product
        "pairs": 2 * SAMPLED_PAIRS / n,
        "panels": LIMITS.panel,
        "components": 2 * width,
        "score": scores,
        "solve": SOLVED,
        "prune": config.kept_features,
        "modules": config.modules_of,
    }


def _text(facts: dict[str, Any]) -> str:
    about = "" if facts["shape_is_exact"] else "about "
    name, _, address = facts["executor"].partition(":")
    workers = "threads" if name == "local" else "processes of a Dask cluster"
    workers = f"threads, and the Dask cluster at {address}" if address else workers
    size = format_size(facts["matrix_bytes"])
    lines = [
        ("shape", f"{about}{facts['samples']:,} samples x {facts['features']:,} features"),
        ("matrix", f"{size} as {facts['stored_as']}; {facts['where']}"),
        ("arithmetic", f"{facts['arithmetic']}, {facts['workers']} {workers}"),
    ]
    if facts["covariates"]:
        taken = [
            f"{c['name']} ({counted(c['levels'], 'level') if c['levels'] else c['taken_as']})"
            for c in facts["covariates"]
        ]
        lines.append(("adjusting", f"for {', '.join(taken)}"))
    if facts["batches"]:
        sizes = [f"{name} ({size:,})" for name, size in facts["batches"].items()]
        lines.append(("batches", f"{len(sizes)}: {listed(sizes, 12)}"))
    for row in facts["passes"]:
        times = "" if row["times"] == 1 else f", {'' if row['exact'] else 'about '}{row['times']}x"
        read, took = format_size(row["bytes"]), _duration(row["seconds"])
        lines.append(("pass", f"{row['purpose']}{times}: {read} read, {took}"))
    uses = ", ".join(f"{name} {format_size(size)}" for name, size in facts["memory"].items())
    need, allowed = (format_size(facts[f"memory_{key}"]) for key in ("needed", "allowed"))
    lines += [
        ("blocks", f"of {facts['block_size']:,} features"),
        ("memory", f"{need} of {allowed} ({uses})"),
    ]
    if facts["read_rate"] is not None:
        source = "probably from memory" if facts["in_page_cache"] else "from disk"
        lines.append(("reading", f"{format_size(facts['read_rate'])} per second, {source}"))
    seconds = dict(facts["seconds"])
    total = _duration(seconds.pop("total"))
    lines.append(("time", f"about {total} ({_durations(seconds)})"))
    lines.append(("", "an estimate: a few blocks were read and multiplied on this machine"))
    if shards := facts.get("shards"):
        limit, each = shards["wall_time"], _durations(shards["seconds"])
        lines.append(("shards", f"{shards['shards']} for {limit:,.0f} s: {each}"))
        if not shards["fits"]:
            lines.append(("", "no number of shards is enough: allow more time"))
        lines += [("", command) for command in shards["commands"]]
    return "".join(shown(f"{name:<11}{text}".rstrip()) + "\n" for name, text in lines)


def _durations(seconds: dict[str, float]) -> str:
    return ", ".join(f"{name} {_duration(value)}" for name, value in seconds.items())


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
