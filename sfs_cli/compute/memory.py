"""Memory: amounts as text, and what this process may use and has used.

Containers and schedulers limit a process by its control groups, also the processors that it has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

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

    By the machine, the control groups it is in (less what they use already), its job of Slurm and
    ``ulimit``.
    """
    machine = _kernel_bytes("/proc/meminfo", "MemAvailable")
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    whole = pages if machine is None else machine
    return min([whole, *memory_left(), *_job_memory(), *_addresses_left()])


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


ROOT = Path("/")


@cache
def group_folders(controller: str, root: Path = ROOT) -> list[Path]:
    """Return the folders of the groups this process is in, its own first, of version 2 and 1.

    All of them limit it: the smallest limit holds. `root` is where ``/proc`` and ``/sys`` are.
    """
    mount = root / "sys" / "fs" / "cgroup"
    try:
        lines = (root / "proc" / "self" / "cgroup").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    # in a container the path may be that of the host, and its limits those of the mount itself
    found = []
    for line in [*lines, "0::/", f"0:{controller}:/"]:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            tops = (mount, mount / "unified")
        elif controller in controllers.split(","):
            tops = (mount / controller, mount / controllers)
        else:
            continue
        for top in tops:
            own = top / path.lstrip("/")
            found += [
                f for f in (own, *own.parents) if f.is_relative_to(top) and ".." not in f.parts
            ]
    return list(dict.fromkeys(found))


def memory_left(root: Path = ROOT) -> list[int]:
    """Return the bytes that the groups of this process may still use; none without a limit.

    What is used counts without the pages of files that the kernel may drop at any time.
    """
    names = (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    )
    found = []
    for folder in group_folders("memory", root):
        for limit, used, droppable in names:
            with suppress(OSError, ValueError):  # no such limit, or "max"
                most = int((folder / limit).read_text())
                found.append(max(0, most - _bytes_used(folder, used, droppable)))
    return found


def _bytes_used(folder: Path, used: str, droppable: str) -> int:
    with suppress(OSError, ValueError, KeyError):  # a container may show the limit alone
        amounts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, int((folder / used).read_text()) - int(amounts[droppable]))
    return 0


def processor_limits(root: Path = ROOT) -> list[int]:
    """Return the processors whose time the groups may use, rounded up; none without a limit."""
    found = []
    for folder in group_folders("cpu", root):
        for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            with suppress(OSError, ValueError):  # no such limit, or "max"
                text = " ".join((folder / name).read_text() for name in names)
                quota, period = (int(word) for word in text.split())
                if quota > 0 and period > 0:
                    found.append(-(-quota // period))
    return found
