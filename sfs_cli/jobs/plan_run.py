"""``sfs plan``: passes, bytes, memory and time of a ranking, before it is made."""

from __future__ import annotations

import math
import shlex
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.compute.memory import format_size
from sfs_cli.compute.tree import MAX_CHUNKS
from sfs_cli.config import RankConfig
from sfs_cli.config.durations import parse_duration
from sfs_cli.io.lines import count_lines
from sfs_cli.io.registry import open_matrix
from sfs_cli.jobs import inputs
from sfs_cli.jobs.calibration import Timed, calibrate
from sfs_cli.jobs.graph import default_graph
from sfs_cli.jobs.opening import memory_budget
from sfs_cli.jobs.plan import Plan
from sfs_cli.jobs.planned import Pass, passes_of
from sfs_cli.jobs.work import needed, plan_shape
from sfs_cli.logs import Messages
from sfs_cli.store.disk import open_store
from sfs_cli.store.manifest import is_store
from sfs_cli.store.matrix import Matrix

START = 1.0
"""Seconds in which a process starts, opens a store and says what it has done."""
TRIED = 0.5
"""Seconds of a text file that is read for its rate."""
MARGIN = 0.8
"""Part of a wall time that is planned for."""


@dataclass
class Shape:
    """What is known of a matrix before it is read.

    Attributes
    ----------
    n, m : int
        Samples and features.
    exact : bool
        Whether both are known, or counted from lines.
    stored : dtype
        Type of the values.
    where : str
        Where the values will be.
    graphs : tuple of str
        Sample graphs that the file holds.
    matrix : Matrix, optional
        The store.
    reading : float
        Seconds of reading the file once, where it is no store.
    """

    n: int
    m: int
    exact: bool
    stored: np.dtype[Any]
    where: str
    graphs: tuple[str, ...] = ()
    matrix: Matrix | None = None
    reading: float = 0.0


def plan(config: RankConfig, messages: Messages, wall_time: str | None, as_json: bool) -> str:
    """Return the plan of a run, as text or JSON, from what can be known without reading it all.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    messages : Messages
        Told of the orientation.
    wall_time : str, optional
        What one job may take; how many shards that needs is told.
    as_json : bool
        Whether for machines.

    Raises
    ------
    SfsError
        For what `rank` would refuse before reading.
    """
    limit = None if wall_time is None else parse_duration(wall_time, "--wall-time")
    memory = memory_budget(config)
    shape = _shape(config, memory, messages)
    ids = () if shape.matrix is None else shape.matrix.ids.features
    made = plan_shape(config, shape.n, shape.m, shape.stored, shape.graphs, memory, ids)
    graph = None
    if "graph" in needed(config):
        graph = default_graph(config, shape.n, shape.graphs)
    passes = passes_of(config, shape.n, shape.m, graph)
    timed = calibrate(config, made, shape.matrix, graph, {each.kind for each in passes})
    facts = _facts(config, shape, made, passes, timed, memory)
    if limit is not None:
        facts["shards"] = _shards(config, made, passes, timed, shape, limit)
    return provenance.dumps(facts) if as_json else _text(facts)


def _shape(config: RankConfig, memory: int, messages: Messages) -> Shape:
    path = Path(config.matrix)
    if is_store(path):
        matrix = open_store(path)
        where = "the store is read in place"
        return Shape(matrix.n_samples, matrix.n_features, True, matrix.dtype, where, matrix=matrix)
    reader, rows, why = inputs.peek(config, list(inputs.read_label_table(config) or ()), memory)
    try:
        exact = reader.n_rows is not None
        count = reader.n_rows if reader.n_rows is not None else max(2, count_lines(path) - 1)
        columns = len(reader.column_ids)
        n, m = (columns, count) if rows == "features" else (count, columns)
        stored = inputs.storage_dtype(config)
        held = n * m * stored.itemsize <= inputs.held_limit(config, memory)
        where = "held in memory" if held else "a temporary store in the scratch folder"
        messages.note(f"{path.name} ({reader.format}): {why}")
        graphs = reader.annotations.graphs
    finally:
        reader.close()
    reading = _reading(config, memory, count)
    return Shape(n, m, exact, stored, where, graphs, reading=reading)


def _reading(config: RankConfig, memory: int, rows: int) -> float:
    """Return the seconds in which a file is read and parsed, from its first rows."""
    start, seen = time.perf_counter(), 0
    reader = open_matrix(Path(config.matrix), inputs.read_options(config, memory))
    try:
        for block in reader.blocks():
            seen += len(block.ids)
            if time.perf_counter() - start > TRIED:
                break
    finally:
        reader.close()
    return (time.perf_counter() - start) * max(1.0, rows / max(seen, 1))


def _facts(
    config: RankConfig,
    shape: Shape,
    made: Plan,
    passes: list[Pass],
    timed: Timed,
    memory: int,
) -> dict[str, Any]:
    size = shape.n * shape.m * shape.stored.itemsize
    rows = [
        asdict(each)
        | {"bytes": round(each.times * each.part * size), "seconds": _seconds(each, timed)}
        for each in passes
    ]
    seconds = {
        "start": START,
        "reading": shape.reading,
        "passes": sum(row["seconds"] for row in rows),
        "graph": timed.fixed,
        "writing": timed.writing,
    }
    held = size if shape.where == "held in memory" else 0
    return {
        "matrix": config.matrix,
        "samples": shape.n,
        "features": shape.m,
        "shape_is_exact": shape.exact,
        "matrix_bytes": size,
        "stored_as": shape.stored.name,
        "where": shape.where,
        "arithmetic": made.dtype.name,
        "block_size": made.block_size,
        "workers": made.workers,
        "executor": config.executor,
        "passes": rows,
        "memory": made.parts | {"matrix": held},
        "memory_needed": made.needed + held,
        "memory_allowed": memory,
        "read_rate": timed.read_rate if shape.matrix is not None else None,
        "in_page_cache": timed.cached if shape.matrix is not None else None,
        "seconds": seconds | {"total": sum(seconds.values())},
    }


def _seconds(each: Pass, timed: Timed) -> float:
    return each.times * each.part * timed.passes[each.kind]


def _shards(
    config: RankConfig,
    made: Plan,
    passes: list[Pass],
    timed: Timed,
    shape: Shape,
    limit: float,
) -> dict[str, Any]:
    """Return how many shards finish each of their jobs within a wall time."""
    shared = [_seconds(each, timed) for each in passes if each.split]
    alone = sum(_seconds(each, timed) for each in passes if not each.split)
    most = min(MAX_CHUNKS, -(-made.n_features // made.block_size))
    free = MARGIN * limit - START
    count = max(1, math.ceil(sum(shared) / free)) if free > 0 else most
    init = START + shape.reading
    merge = START + timed.fixed + alone + timed.writing
    fits = count <= most and max(init, merge) <= limit
    count = min(count, most)
    words = shlex.join(config.command()[2:])
    return {
        "wall_time": limit,
        "shards": count,
        "fits": fits,
        "seconds": {
            "init": init,
            "run": START + sum(shared) / count,
            "merge": merge,
        },
        "commands": [
            f"sfs shard init PLAN {words} --shards {count}",
            f"sfs shard run PLAN I  # I = 1..{count}, once for each of {len(shared)} passes",
            "sfs shard merge PLAN --out DIR",
        ],
    }


def _text(facts: dict[str, Any]) -> str:
    about = "" if facts["shape_is_exact"] else "about "
    seconds = facts["seconds"]
    lines = [
        ("shape", f"{about}{facts['samples']:,} samples x {facts['features']:,} features"),
        (
            "matrix",
            f"{format_size(facts['matrix_bytes'])} as {facts['stored_as']}; {facts['where']}",
        ),
        ("arithmetic", f"{facts['arithmetic']}, {facts['workers']} {_workers(facts['executor'])}"),
    ]
    for row in facts["passes"]:
        times = "" if row["times"] == 1 else f", {'' if row['exact'] else 'about '}{row['times']}x"
        lines.append(
            (
                "pass",
                f"{row['purpose']}{times}: {format_size(row['bytes'])} read, "
                f"{_duration(row['seconds'])}",
            )
        )
    parts = ", ".join(f"{name} {format_size(size)}" for name, size in facts["memory"].items())
    lines += [
        ("blocks", f"of {facts['block_size']:,} features"),
        (
            "memory",
            f"{format_size(facts['memory_needed'])} of {format_size(facts['memory_allowed'])} "
            f"({parts})",
        ),
    ]
    if facts["read_rate"] is not None:
        cached = "from memory, as far as a sample tells" if facts["in_page_cache"] else "from disk"
        lines.append(("reading", f"{format_size(facts['read_rate'])} a second, {cached}"))
    told = ", ".join(f"{k} {_duration(v)}" for k, v in seconds.items() if k != "total")
    lines.append(("time", f"about {_duration(seconds['total'])} ({told})"))
    shards = facts.get("shards")
    if shards:
        each = ", ".join(f"{k} {_duration(v)}" for k, v in shards["seconds"].items())
        lines.append(("shards", f"{shards['shards']} for {shards['wall_time']:,.0f} s: {each}"))
        if not shards["fits"]:
            lines.append(("", "no number of shards does: give more time"))
        lines += [("", command) for command in shards["commands"]]
    return "".join(f"{name:<11}{text}".rstrip() + "\n" for name, text in lines)


def _workers(executor: str) -> str:
    """Return what runs the tasks."""
    name, _, address = executor.partition(":")
    if not address:
        return "threads" if name == "local" else "processes of a Dask cluster"
    return f"threads, and the Dask cluster at {address}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
