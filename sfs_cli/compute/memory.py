"""Amounts of memory: parsing them, what this process may use and what it has used."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sfs_cli.errors import UsageError

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
            f"--memory {text!r} is not an amount of memory", hint="write it as 512M or 4G"
        )
    size = int(float(match[1]) * _UNITS[match[2].upper()])
    if size < MINIMUM:
        raise UsageError(f"--memory {text} is too little", hint="allow at least 16M")
    return size


def format_size(size: float) -> str:
    """Return a size as a person would write it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def available() -> int:
    """Return the bytes this process may still take, by the machine and by its cgroup."""
    limits = [_machine_available()]
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            limits.append(int(text))
    return min(limits)


def _machine_available() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass  # not Linux: the number of pages below is the best there is
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def default_memory() -> int:
    """Return half of what is available, at least 256 MiB."""
    return max(available() // 2, 256 << 20)


def anonymous() -> int:
    """Return the bytes of anonymous memory this process holds now (0 where it cannot be told)."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass  # not Linux: the peak below still tells the resident size
    return 0


def peak_resident() -> int:
    """Return the largest resident size this process has had, in bytes."""
    try:
        # what the kernel hands over at exec in ru_maxrss is the parent's
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10
