"""``sfs plan``: passes, bytes, memory and time of a ranking, before it is made.

Passes and memory are those that the run itself plans. The time is an estimate: a few blocks of the
matrix (of random values where it is a text file, which is not read before the run) are read and
multiplied, and every pass is taken for so many products.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.limits import LIMITS
from sfs_cli.compute.matrix import Ids, Span
from sfs_cli.compute.memory import format_size
from sfs_cli.compute.tree import MAX_CHUNKS
from sfs_cli.display import shown
from sfs_cli.features import FEATURES
from sfs_cli.features.step import Foreseen
from sfs_cli.graph.neighbors import SAMPLED_PAIRS
from sfs_cli.graph.pca import OVERSAMPLING
from sfs_cli.io.files.read_limits import reading_within
from sfs_cli.io.files.text import count_lines
from sfs_cli.io.knowledge.coordinates import open_coordinates
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import parse_duration
from sfs_cli.options.graph import (
    DEFAULT_COMPONENTS,
    parse_count,
)
from sfs_cli.run import inputs
from sfs_cli.run.cohort import columns_of, known_samples, read_files
from sfs_cli.run.memory import MemoryPlan, is_dense, memory_budget, memory_plan
from sfs_cli.run.passes import Shape as RunShape
from sfs_cli.run.passes import pass_list, with_defaults
from sfs_cli.store.adjust import Adjustment
from sfs_cli.store.disk import is_store, open_store
from sfs_cli.store.matrix import DenseMatrix, FeatureView, Matrix
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import parse

START = 1.0
"""Seconds in which a process starts, opens a store and sums up."""
READ_SECONDS = 0.5
"""Time that reading a text file is tried for."""
MARGIN = 0.8
"""Fraction of a wall time that is planned for."""
BLOCKS = 4
"""Blocks of every worker that passes are timed on."""
REGIONS = 4
"""Regions of the store that these are read from."""
COLUMNS = 64
"""Columns that they are multiplied with, to see how long one takes."""
SIMPLE, SOLVED = 30, 16
"""Columns that cost as much as what is done to a feature to score it, without a graph; and those
that a solver multiplies the matrix with in a pass."""
OF_GRAPH = 200
"""Columns that cost as much as what a sparse graph takes for each sample."""
TESTED, PERMUTED = 3, 2
"""Times that a score costs with its p-value, and in every permutation."""
WRITTEN = 200_000
"""Rows of a ranking that are ordered and written in a second."""


@dataclass
class Shape:
    """What is known of a matrix before it is read."""

    n: int  # samples
    m: int  # features
    exact: bool  # whether both are known, or one is counted from lines
    stored: np.dtype[Any]
    where: str  # where the values will be
    graphs: tuple[str, ...] = ()  # what the file holds to compare samples by
    _: KW_ONLY
    ids: Callable[[], Ids]  # of the samples, with their annotations
    matrix: Matrix | None = None  # the store
    coordinates: np.ndarray | None = None  # (samples, d), where the graph is made of some
    reading: float = 0.0  # seconds of reading the file once, where it is no store


@dataclass(frozen=True)
class Rates:
    """How fast this machine is, in seconds for all features of the matrix."""

    prepared: float  # to read and prepare them
    column: float  # to multiply them with a column
    least: float  # where the disk is the limit of every pass
    bytes_per_second: float  # of the first read of the blocks
    cached: bool  # whether the blocks seem to have been in memory already


def estimate(config: RankConfig, messages: Messages, wall_time: str | None, as_json: bool) -> str:
    """Return the plan of a run, as text or JSON.

    With `wall_time`, what one job may take, it has the number of shards that this needs. What
    `sfs rank` would refuse before it reads the matrix is refused here.
    """
    limit = None if wall_time is None else parse_duration(wall_time, "wall_time")
    memory = memory_budget(config)
    with reading_within(memory):
        return _estimate(config, messages, limit, memory, as_json)


def _estimate(
    config: RankConfig,
    messages: Messages,
    limit: float | None,
    memory: int,
    as_json: bool,
) -> str:
    shape = _shape(config, memory, messages)
    n, m, stored = shape.n, shape.m, shape.stored
    asked, config = config, with_defaults(config, n, shape.graphs)
    foreseen = _foreseen(config, shape, messages)
    parts = {name: size for each in foreseen.values() for name, size in each.parts.items()}
    taken_out = sum(each.columns for each in foreseen.values())
    width = None
    if config.coordinates_from is not None:
        shape.coordinates = open_coordinates(config.coordinates_from, config.matrix).values
        width = shape.coordinates.shape[1]
    of_run = RunShape(n, m, stored, memory, parts, width)
    passes = pass_list(config, of_run)
    held = 8 * n * taken_out
    room = memory_plan(config, of_run, passes, held)
    rates, columns = _rates(config, shape, room, taken_out), _columns(config, n)
    size = n * m * stored.itemsize
    rows = []
    for each in passes:
        read = each.times * each.fraction
        once = max(rates.least, rates.prepared + columns[each.kind] * rates.column)
        took = {"bytes": round(read * each.of_matrix * size), "seconds": read * each.work * once}
        rows.append(asdict(each) | took)
    seconds = {
        "start": START,
        "reading": shape.reading,
        "passes": sum(row["seconds"] for row in rows),
        "graph": n * columns["graph"] * rates.column / m,
        "writing": m / WRITTEN,
    }
    held = size if shape.where == "held in memory" else 0
    facts: dict[str, Any] = {
        "matrix": config.matrix,
        "samples": n,
        "features": m,
        "shape_is_exact": shape.exact,
        "matrix_bytes": size,
        "stored_as": stored.name,
        "where": shape.where,
        "arithmetic": room.dtype.name,
        "block_size": room.block_size,
        "workers": room.workers,
        "executor": config.executor,
        **{name: each.facts for name, each in foreseen.items()},
        "passes": rows,
        "memory": room.bytes_by_use | {"matrix": held},
        "memory_needed": room.needed + held,
        "memory_allowed": memory,
        "read_rate": rates.bytes_per_second if shape.matrix is not None else None,
        "in_page_cache": rates.cached if shape.matrix is not None else None,
        "seconds": seconds | {"total": sum(seconds.values())},
    }
    if limit is not None:
        facts["shards"] = _shards(asked, facts, limit)
    return provenance.dumps(facts) if as_json else _text(facts, foreseen)


def _shape(config: RankConfig, memory: int, messages: Messages) -> Shape:
    """Return what can be known of the matrix without reading more than a little of it."""
    path = Path(config.matrix)
    if is_store(path):
        matrix = open_store(path)
        where = "the store is read in place"
        return Shape(
            *(matrix.n_samples, matrix.n_features, True, matrix.dtype, where),
            ids=lambda: matrix.ids,
            matrix=matrix,
        )
    known = list(inputs.read_label_table(config) or ())
    known += known_samples(read_files(config))
    reader, rows, why = inputs.peek(config, known, memory)
    try:
        exact = reader.n_rows is not None
        count = reader.n_rows if reader.n_rows is not None else max(2, count_lines(path) - 1)
        columns = len(reader.column_ids)
        n, m = (columns, count) if rows == "features" else (count, columns)
        stored = inputs.storage_dtype(config)
        held = n * m * stored.itemsize <= inputs.held_limit(config, memory)
        where = "held in memory" if held else "a temporary store in the scratch folder"
        messages.note(f"{path.name} ({reader.format}): {why}")
        start, seen = time.perf_counter(), 0
        for block in reader.blocks():
            seen += len(block.ids)
            if time.perf_counter() - start > READ_SECONDS:
                break
        reading = (time.perf_counter() - start) * max(1.0, count / max(seen, 1))
    finally:
        reader.close()
    # of a matrix whose rows are samples the ids are not known yet
    samples = reader.column_ids if rows == "features" else [str(i) for i in range(n)]
    return Shape(
        *(n, m, exact, stored, where, reader.annotations.graphs),
        ids=lambda: Ids([], samples, reader.annotations.obs),
        reading=reading,
    )


def _foreseen(config: RankConfig, shape: Shape, log: Messages) -> dict[str, Foreseen]:
    """Return what is known of the optional parts by the columns of the samples, by their names."""
    ids = shape.ids()
    columns = columns_of(config, read_files(config), ids)
    found = {}
    for feature in FEATURES if columns else ():
        if feature.asked(config):
            known = feature.step(config).foresee(columns, ids.samples, log)
            if known is not None:
                found[feature.name] = known
    return found


def _shards(config: RankConfig, facts: dict[str, Any], limit: float) -> dict[str, Any]:
    """Return how many shards finish each of their jobs within a wall time, by the plan's facts."""
    seconds = facts["seconds"]
    shared = [row["seconds"] for row in facts["passes"] if row["sharing"] != "merge"]
    alone = sum(row["seconds"] for row in facts["passes"] if row["sharing"] == "merge")
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


def _rates(config: RankConfig, shape: Shape, room: MemoryPlan, columns: int) -> Rates:
    """Read some blocks and multiply them; `columns` are taken out of their features."""
    sample, workers = _sample(shape, room), ThreadExecutor(room.workers)
    source = PreparedMatrix(
        sample,
        missing="drop",
        steps=parse(config.transform),
        adjustment=_some_adjustment(columns, shape.n),
    )
    engine = Engine(source, workers, room.dtype, room.block_size)
    source.fit(engine)

    def read(span: Span) -> None:
        sample.read(span, np.empty((span.size, shape.n), sample.dtype))

    def multiply(width: int) -> None:
        ones = np.ones((shape.n, width), room.dtype)
        engine.total(lambda block: (block.values.T @ (block.values @ ones),))

    # the first one finds whether the blocks were in memory, so it comes before all others
    first, again = (_seconds(lambda: list(workers.map(read, engine.spans()))) for _ in range(2))
    one, many = (_seconds(partial(multiply, width)) for width in (1, COLUMNS))
    scale, cached = shape.m / sample.n_features, first <= 3 * again
    return Rates(
        prepared=scale * one,
        column=scale * many / (2 * COLUMNS),  # there and back
        least=0.0 if cached or shape.matrix is None else scale * first,
        bytes_per_second=sample.n_features * shape.n * sample.dtype.itemsize / first,
        cached=cached,
    )


def _columns(config: RankConfig, n: int) -> dict[str, float]:
    """Return by the kind of a pass how many products its values take, about."""
    scores = SIMPLE + (n if is_dense(config, n) else 0)
    if config.pvalues is not None:
        scores *= TESTED + PERMUTED * config.permutations
    width = (parse_count(config.components or DEFAULT_COMPONENTS) or 0) + OVERSAMPLING
    return {
        # of each sample, with its part of the spectrum
        "graph": OF_GRAPH + (n / 2 if is_dense(config, n) else 0),
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


def _sample(shape: Shape, room: MemoryPlan) -> Matrix:
    """Return some blocks of the store, or blocks of random counts."""
    rows = min(shape.m, BLOCKS * room.workers * room.block_size)
    if shape.matrix is not None:
        starts = np.linspace(0, shape.m - rows // REGIONS, REGIONS).astype(int)
        chosen = np.unique(np.concatenate([lo + np.arange(rows // REGIONS) for lo in starts]))
        return FeatureView(shape.matrix, chosen if len(chosen) > 1 else np.arange(shape.m))
    # counts above zero, which every step takes
    values = np.random.default_rng(0).integers(1, 1000, (rows, shape.n)).astype(np.float32)
    names = [str(i) for i in range(max(rows, shape.n))]
    return DenseMatrix(values, Ids(names[:rows], names[: shape.n]))


def _some_adjustment(columns: int, n: int) -> Adjustment | None:
    """Return an adjustment that takes as long as one of so many columns."""
    if not columns or n < 2:
        return None
    # waves: their number is what counts, and they are cheap
    at = np.arange(1, min(columns, n - 1) + 1)[:, None] * (np.arange(n) + 0.5) * np.pi / n
    return Adjustment(np.sqrt(2 / n) * np.cos(at))


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _text(facts: dict[str, Any], foreseen: dict[str, Foreseen]) -> str:
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
    lines += [each.line for each in foreseen.values()]
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
    seconds = facts["seconds"]
    each = ", ".join(f"{k} {_duration(v)}" for k, v in seconds.items() if k != "total")
    lines.append(("time", f"about {_duration(seconds['total'])} ({each})"))
    lines.append(("", "an estimate: a few blocks were read and multiplied on this machine"))
    shards = facts.get("shards")
    if shards:
        each = ", ".join(f"{k} {_duration(v)}" for k, v in shards["seconds"].items())
        lines.append(("shards", f"{shards['shards']} for {shards['wall_time']:,.0f} s: {each}"))
        if not shards["fits"]:
            lines.append(("", "no number of shards is enough: allow more time"))
        lines += [("", command) for command in shards["commands"]]
    return "".join(shown(f"{name:<11}{text}".rstrip()) + "\n" for name, text in lines)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
