"""``sfs plan``: passes, bytes, memory and time of a ranking, before it is made.

Passes and memory are those that the run itself plans. The time is an estimate: a few blocks of the
matrix (of random values in place of a file's, with as many zeros as its first rows have) are read
and multiplied, and every pass counts as a number of products. Components of a sparse matrix are
timed on stored values alone, as they are found.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Ids, Span
from sfs_cli.compute.memory import format_size
from sfs_cli.compute.tree import MAX_CHUNKS
from sfs_cli.display import shown
from sfs_cli.errors import counted, listed
from sfs_cli.features import steps_of
from sfs_cli.io.files.text import count_lines
from sfs_cli.io.matrix.base import LeavesOut
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import parse_duration
from sfs_cli.run import inputs
from sfs_cli.run.cohort import taken_as
from sfs_cli.run.inputs import Opened
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.passes import is_dense
from sfs_cli.store.build import table_of
from sfs_cli.store.disk import is_store
from sfs_cli.store.ids import Texts
from sfs_cli.store.matrix import DenseMatrix, FeatureView, Matrix, SparseMatrix, like_cells

IN_MEMORY = "held in memory"
"""Where the values will be of a matrix that is small."""
START = 2.0
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
OF_GRAPH = 200
"""Columns that cost as much as what a sparse graph takes for each sample."""
WRITTEN = 200_000
"""Rows of a ranking that are ordered and written in a second."""


@dataclass(frozen=True)
class Rates:
    """How fast this machine is, in seconds for all features of the matrix."""

    alone: tuple[float, float]  # the next two, of stored values alone where these are enough
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
    # nothing is written, so that a scratch folder need not be there
    with loaded(replace(config, scratch=None), messages, outline=outline) as run:
        facts = _facts(run)
    if limit is not None:
        facts["shards"] = _shards(config, facts, limit)
    return provenance.dumps(facts) if as_json else _text(facts)


def outline(
    config: RankConfig, known_samples: list[str], memory: int, folder: Path, messages: Messages
) -> Opened:
    """Return what can be known of a matrix without reading more than a little of it.

    The parameters are those of `inputs.load`. A store is opened. Of a file the ids of the features
    are left empty, and the values are zeros that take no memory; it is read through only if its
    rows are samples whose ids come with the values, and options name samples by their ids, or
    which are annotated.
    """
    path = Path(config.matrix)
    if is_store(path) or config.files:  # which features all files have shows when all are read
        start = time.perf_counter()
        opened = inputs.load(config, known_samples, memory, folder, messages)
        took = time.perf_counter() - start if config.files else 0.0
        where = "a temporary store" if config.files else "the store is read in place"
        opened.facts |= {"exact": True, "where": where, "reading": took}
        return opened
    reader, rows, why = inputs.peek(config, known_samples, memory, folder)
    try:
        exact, ids = reader.n_rows is not None, list(reader.first_row_ids())
        count = reader.n_rows if reader.n_rows is not None else max(2, count_lines(path) - 1)
        messages.note(f"{path.name} ({reader.format}): {why}")
        named = known_samples or config.coordinates_from or config.similarity_file
        beside = isinstance(reader, LeavesOut) and bool(reader.beside)
        through = rows == "samples" and ((len(ids) < count and bool(named)) or beside)
        found, nonzeros, sparse = list[str](), 0, False
        texts = Texts(str(path))
        start = time.perf_counter()
        for block in reader.blocks():
            found += block.ids
            sparse = not isinstance(block.values, np.ndarray)
            nonzeros += len(block.values.nonzero()[0])
            texts.add(block.texts)
            if not through and time.perf_counter() - start > READ_SECONDS:
                break
        reading = (time.perf_counter() - start) * max(1.0, count / max(len(found), 1))
    finally:
        reader.close()
    if through:
        exact, count = True, len(found)
    obs = reader.annotations.obs
    if rows == "samples":
        obs = table_of(known) if (known := texts.finish()) else obs
        samples = next((each for each in (ids, found) if len(each) == count), None)
        samples, m = samples or [str(i) for i in range(count)], len(reader.column_ids)
    else:
        samples, m = list(reader.column_ids), count
    stored, cells = inputs.storage_dtype(config), max(1, len(found) * len(reader.column_ids))
    held = len(samples) * m * stored.itemsize <= inputs.held_limit(config, memory)
    facts = {
        "format": reader.format,
        "exact": exact and config.collapse is None,  # how many are joined shows when all are read
        "where": IN_MEMORY if held else "a temporary store in the scratch folder",
        "reading": reading,
        "like_cells": like_cells(nonzeros, cells, m),
    }
    both, shape = Ids([""] * m, samples, obs), (m, len(samples))
    matrix: Matrix = DenseMatrix(np.broadcast_to(stored.type(0), shape), both)
    if sparse:
        from scipy.sparse import csr_array

        matrix = SparseMatrix(csr_array(shape, dtype=stored), both)
        facts["density"] = nonzeros / cells
    return Opened(matrix, facts, reader.annotations.graphs)


def _facts(run: Run) -> dict[str, Any]:
    """Return what the plan says of a run, as JSON has it."""
    config, shape, room, opened = run.config, run.shape, run.plan, run.opened
    n, m, stored = shape.n, shape.m, shape.stored
    rates = _rates(run)
    size = n * m * stored.itemsize
    rows = []
    for each in run.passes:
        read = each.times * each.fraction
        of_dense = rates.prepared, rates.column
        prepared, column = rates.alone if each.kind == "components" else of_dense
        once = max(rates.least, prepared + each.columns * column)
        took = {"bytes": round(read * each.of_matrix * size), "seconds": read * each.work * once}
        rows.append(asdict(each) | took)
    of_sample = OF_GRAPH + (n / 2 if is_dense(config, n) else 0)  # with its part of the spectrum
    of_sample += sum(step.graph_columns(n) for step in steps_of(config))
    seconds = {
        "start": START,
        "reading": opened.facts["reading"],
        "passes": sum(row["seconds"] for row in rows),
        "graph": n * of_sample * rates.column / m,
        "writing": m / WRITTEN,
    }
    held = size if opened.facts["where"] == IN_MEMORY else 0
    of_store = opened.facts["format"] == "store"
    return {
        "matrix": config.matrix,
        "samples": n,
        "features": m,
        "shape_is_exact": opened.facts["exact"],
        "matrix_bytes": size,
        "stored_as": stored.name,
        "where": opened.facts["where"],
        "arithmetic": room.dtype.name,
        "block_size": room.block_size,
        "workers": room.workers,
        "executor": config.executor,
        "covariates": run.cohort.covariates,
        "batches": {part.name: len(part.samples) for part in run.cohort.parts},
        "passes": rows,
        "memory": room.bytes_by_use | {"matrix": held},
        "memory_needed": room.needed + held,
        "memory_allowed": shape.memory,
        "read_rate": rates.bytes_per_second if of_store else None,
        "in_page_cache": rates.cached if of_store else None,
        "seconds": seconds | {"total": sum(seconds.values())},
    }


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


def _rates(run: Run) -> Rates:
    """Read and prepare some blocks of the matrix, and multiply them."""
    room, matrix = run.plan, run.opened.matrix
    sample, workers = _sample(run), ThreadExecutor(room.workers)
    source = replace(run.matrix, matrix=sample, missing="drop")
    engine = Engine(source, workers, room.dtype, room.block_size)
    source.fit(engine)

    def read(span: Span) -> None:
        sample.read(span, np.empty((span.size, sample.n_samples), sample.dtype))

    def rate(engine: Engine) -> tuple[float, float]:
        """Return the seconds of preparing the matrix, and of multiplying it with a column."""

        def multiply(width: int) -> None:
            def products(span: Span) -> tuple[np.ndarray]:
                block = engine.read(span, room.dtype)
                values = block.as_rows() if engine.nonzeros else block.values
                return (values.T @ (values @ ones),)

            ones = np.ones((source.n_samples, width), room.dtype)
            engine.total_over(products)

        multiply(1)  # the first time, memory is taken and code is compiled
        one, many = (_seconds(partial(multiply, width)) for width in (1, COLUMNS))
        return scale * one, scale * max(many - one, 0) / (2 * (COLUMNS - 1))  # there and back

    # the first one finds whether the blocks were in memory, so it comes before all others
    first, again = (_seconds(lambda: list(workers.map(read, engine.spans()))) for _ in range(2))
    scale, cached = matrix.n_features / sample.n_features, first <= 3 * again
    dense = rate(engine)
    enough = source.keeps_zeros or source.basis is not None
    return Rates(
        alone=rate(replace(engine, nonzeros=True)) if enough else dense,
        prepared=dense[0],
        column=dense[1],
        least=0.0 if cached or run.opened.facts["format"] != "store" else scale * first,
        bytes_per_second=sample.n_features * sample.n_samples * sample.dtype.itemsize / first,
        cached=cached,
    )


def _sample(run: Run) -> Matrix:
    """Return some blocks of a store or of several files, else blocks of random counts."""
    matrix, m = run.opened.matrix, run.opened.matrix.n_features
    rows = min(m, BLOCKS * run.plan.workers * run.plan.block_size)
    if run.opened.facts["format"] in ("store", "files"):
        starts = np.linspace(0, m - rows // REGIONS, REGIONS).astype(int)
        chosen = np.unique(np.concatenate([lo + np.arange(rows // REGIONS) for lo in starts]))
        return FeatureView(matrix, chosen if len(chosen) > 1 else np.arange(m))
    # counts above zero, which every step takes
    rng, ids = np.random.default_rng(0), Ids([""] * rows, matrix.ids.samples)
    values = rng.integers(1, 1000, (rows, matrix.n_samples)).astype(np.float32)
    if not matrix.sparse:
        return DenseMatrix(values, ids)
    from scipy.sparse import csr_array

    # of the first feature no sample lacks a count, so that none is empty
    values[1:] *= rng.random(values[1:].shape) < run.opened.facts["density"]
    return SparseMatrix(csr_array(values), ids)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _text(facts: dict[str, Any]) -> str:
    about = "" if facts["shape_is_exact"] else "about "
    name, _, address = facts["executor"].partition(":")
    workers = counted(facts["workers"], "thread")
    if address:
        workers += f", and the Dask cluster at {address}"
    elif name != "local":
        workers = f"{counted(facts['workers'], 'process')} of a Dask cluster"
    size = format_size(facts["matrix_bytes"])
    lines = [
        ("shape", f"{about}{facts['samples']:,} samples x {facts['features']:,} features"),
        ("matrix", f"{size} as {facts['stored_as']}; {facts['where']}"),
        ("arithmetic", f"{facts['arithmetic']}, {workers}"),
    ]
    if facts["covariates"]:
        lines.append(("adjusting", f"for {taken_as(facts['covariates'])}"))
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
