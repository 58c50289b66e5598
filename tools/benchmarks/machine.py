"""What machine this is, and with what versions: the head of the table."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "dask")


def processor() -> str:
    """Return the name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def memory() -> str:
    """Return the size of the memory."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return "unknown"
    return f"{size / (1 << 30):.0f} GiB"


def blas() -> str:
    """Return the names and versions of the libraries that NumPy and SciPy multiply with."""
    import numpy as np
    import scipy

    def named(show: Any) -> str:
        facts = show(mode="dicts")["Build Dependencies"]["blas"]
        return f"{facts.get('name')} {facts.get('version')}"

    return f"{named(np.show_config)} (NumPy), {named(scipy.show_config)} (SciPy)"


def of(package: str) -> str:
    """Return the version of a package, or that it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def describe(command: str) -> str:
    """Return the head of the table: machine, versions, date and command."""
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        f"- machine: {processor()}, {os.cpu_count()} cores, {memory()} of memory; load at the "
        f"start: {load}",
        f"- system: {platform.platform()}, Python {platform.python_version()}",
        f"- versions: sfs-cli {of('sfs-cli')}, "
        + ", ".join(f"{name} {of(name)}" for name in PACKAGES),
        f"- BLAS: {blas()}",
        f"- {today}: `{command}`",
    ]
    return "\n".join(lines)
