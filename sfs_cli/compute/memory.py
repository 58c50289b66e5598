"""Memory: amounts as text, what this process may use and has used, and what a run will take."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.cgroups import memory_limits
from sfs_cli.compute.matrix import arithmetic_dtype, block_features
from sfs_cli.errors import OutOfMemoryError, UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*$", re.IGNORECASE)
MINIMUM = 16 << 20


def parse_size(text: str) -> int:
    """Return the bytes that ``512M``, ``4G`` or ``1.5GiB`` mean (powers of 1024).

    Raises
    ------
    UsageError
        When the text is not a size, or less than 16 MiB.
    """
    match = _SIZE.match(text)
    if match is None:
        raise UsageError(
            f"--memory {text!r} is not an amount of memory",
            hint="write it as 512M or 4G",
            option="memory",
        )
    size = int(float(match[1]) * _UNITS[match[2].upper()])
    if size < MINIMUM:
        raise UsageError(
            f"--memory {text} is too little", hint="allow at least 16M", option="memory"
        )
    return size


def format_size(size: float) -> str:
    """Return a size as a person would write it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def check_memory(what: str, needed: int, allowed: int, hint: str, *others: str) -> None:
    """Refuse work that needs more bytes than are allowed.

    Raises
    ------
    OutOfMemoryError
        `what` (a subject and "need" or "needs"), the two sizes and the hint; it is about the option
        ``memory`` and `others`.
    """
    if needed > allowed:
        raise OutOfMemoryError(
            f"{what} {format_size(needed)}",
            where=f"--memory allows {format_size(allowed)}",
            hint=hint,
            option=("memory", *others),
        )


def _kernel_bytes(file: str, key: str) -> int | None:
    """Return an amount that a file of the kernel tells in KiB; None where there is no such file."""
    try:
        for line in Path(file).read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass  # not Linux
    return None


def available() -> int:
    """Return the bytes this process may still take.

    By the machine, the control groups it is in, its job of Slurm and ``ulimit``.
    """
    machine = _kernel_bytes("/proc/meminfo", "MemAvailable")
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    whole = pages if machine is None else machine
    return min([whole, *memory_limits(), *_job_memory(), *_addresses_left()])


def _job_memory() -> list[int]:
    """Return the bytes that a job of Slurm has on this machine; nothing outside of one."""
    found = {
        name: int(value)
        for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE", "CPUS_PER_TASK")
        if (value := os.environ.get(f"SLURM_{name}", "")).isdigit()
    }
    processors = found.get("CPUS_ON_NODE") or found.get("CPUS_PER_TASK") or 1
    sizes = (found.get("MEM_PER_NODE", 0), found.get("MEM_PER_CPU", 0) * processors)
    return [size << 20 for size in sizes if size]  # 0 stands for all that the machine has


def _addresses_left() -> list[int]:
    """Return the bytes of addresses that are left (``ulimit -v``); nothing without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _kernel_bytes("/proc/self/status", "VmSize")
    return [] if limit == resource.RLIM_INFINITY or used is None else [max(0, limit - used)]


def default_memory() -> int:
    """Return half of what is available, at least 256 MiB."""
    return max(available() // 2, 256 << 20)


def anonymous(process: int | str = "self") -> int:
    """Return the bytes of anonymous memory a process holds now (0 where it cannot be told)."""
    return _kernel_bytes(f"/proc/{process}/status", "RssAnon") or 0


_before_reset = 0
"""The largest resident size before the kernel was asked to count anew."""


def peak_resident() -> int:
    """Return the largest resident size this process has had, in bytes."""
    return max(_before_reset, _counted_peak())


@contextmanager
def measured_peak() -> Iterator[Callable[[], int | None]]:
    """Give the function that returns the largest resident size since the block began.

    None where the system cannot count anew: only Linux can.
    """
    global _before_reset
    _before_reset = peak_resident()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        yield lambda: None
    else:
        yield _counted_peak


def _counted_peak() -> int:
    # ru_maxrss is the last resort: at exec the kernel hands over that of the parent
    peak = _kernel_bytes("/proc/self/status", "VmHWM")
    if peak is not None:
        return peak
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


BUFFERS = 5
"""Blocks of one worker: as read, prepared, centered and their products."""
SERIES_BUFFERS = 12
"""Blocks of one worker where a series or an iteration takes the place of a matrix."""
SQUARES = 4
"""n x n arrays of a dense sample graph: products, distances, weights, operator; before that, the
sums of products that wait for each other."""
DOUBLE_SQUARES = 2
"""n x n arrays of finished tasks, beside one for each worker, where sums are in float64."""
SENT_SQUARES = 3
"""n x n arrays of a worker in another process, which adds up several blocks and sends the sum."""
ID_BYTES = 40
"""An id, where ids are not read yet."""
FEATURE_BYTES = {"score": 32, "solve": 136, "compare": 240, "prune": 40, "classes": 104}
"""A feature beside its id: a score, a status and a position in the table; what a solver knows of
it; several rankings that are compared; beside one of these, what a pruned table adds, and a
comparison of classes: a p-value, a q-value, two means and their difference, before and after they
are put in order."""


@dataclass(frozen=True)
class MemoryModel:
    """What a run holds in memory beside the matrix, in bytes where nothing else is said."""

    dense_graph: bool  # whether the sample graph is an n x n array
    distances: bool  # whether a pass finds the distances of the samples
    squares: int = SQUARES  # n x n arrays that are held at a time, where the graph is one
    buffers: int = BUFFERS  # blocks of a worker
    panel: int = 0  # of a worker that finds neighbors: distances, sums of principal components
    held: int = 0  # principal components, where neighbors are searched among those
    sums: int = 1  # n x n arrays of a worker that sums products
    feature_bytes: int = ID_BYTES + FEATURE_BYTES["score"]  # of every feature, with its id

    def graph_bytes(self, n: int, dtype: np.dtype[Any]) -> int:
        """Return the bytes of the graph of n samples, and of what it is made from."""
        doubles = DOUBLE_SQUARES if self.distances and dtype.itemsize == 8 else 0
        return (self.squares + doubles) * self._square(n) + self.held

    def worker_bytes(self, n: int, block_size: int) -> int:
        """Return the bytes of one worker: its blocks and sums."""
        sums = self.sums * self._square(n) if self.distances else 0
        return self.buffers * block_size * n * 8 + self.panel + sums

    def _square(self, n: int) -> int:
        return n * n * 8 if self.dense_graph else 0


@dataclass(frozen=True)
class MemoryPlan:
    """How a run fits into memory."""

    n_samples: int
    n_features: int
    dtype: np.dtype[Any]  # of the dense arithmetic
    block_size: int  # features in a block
    workers: int  # threads that run at a time, as far as the memory allows
    needed: int  # bytes of anonymous memory, without the matrix itself
    bytes_by_use: dict[str, int]  # what `needed` is made of: features, graph, threads


def plan_memory(
    n: int,
    m: int,
    stored: np.dtype[Any],
    model: MemoryModel,
    *,
    threads: int,
    memory: int,
    block_size: int | None = None,
) -> MemoryPlan:
    """Fit a run into memory, with fewer workers than `threads` where it must.

    Raises
    ------
    OutOfMemoryError
        When one worker alone does not fit.
    """
    dtype = arithmetic_dtype(n, m, stored)
    size = min(m, block_size or block_features(n, dtype.itemsize))
    features, graph = model.feature_bytes * m, model.graph_bytes(n, dtype)
    each = model.worker_bytes(n, size)
    workers = min(threads, max(1, -(-m // size)))
    # blocks are not made smaller: they decide how sums are rounded, and memory must not
    while workers > 1 and features + graph + each * workers > memory:
        workers -= 1
    needed = features + graph + each * workers
    if needed > memory:
        dense = model.dense_graph and model.squares * n * n * 8 > memory
        raise OutOfMemoryError(
            f"{n:,} samples x {m:,} features need {needed / 2**20:,.0f} MiB beside the matrix",
            where=f"--memory allows {memory / 2**20:,.0f} MiB",
            hint="raise --memory"
            + (", or take --similarity knn, which stays sparse" if dense else ""),
        )
    uses = {"features": features, "graph": graph, "threads": each * workers}
    return MemoryPlan(n, m, dtype, size, workers, needed, uses)
