"""The control groups of this process, by which containers and schedulers limit it."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

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
