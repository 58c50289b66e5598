"""Running commands as processes: wall and processor time, and the memory of the whole tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ONE_THREAD = dict.fromkeys(BLAS, "1")
"""Variables that keep a BLAS on one thread in a process that starts with them, as `sfs` does."""
EVERY = 0.01
"""Seconds between two looks at the memory of a process."""


@dataclass(frozen=True)
class Usage:
    """What a process took.

    Attributes
    ----------
    seconds, processor : float
        Wall time; user and system time of the process and its children.
    peak : int
        Largest resident size in bytes.
    anonymous : int
        Largest sum of the anonymous memory of all processes of the tree, sampled; 0 where it was
        not watched.
    resident : int
        Largest sum of their VmHWM; 0 where it was not watched.
    """

    seconds: float
    processor: float
    peak: int
    anonymous: int = 0
    resident: int = 0


def free_threads() -> dict[str, str]:
    """Return the environment without what limits the threads of a BLAS."""
    return {name: value for name, value in os.environ.items() if name not in ONE_THREAD}


def run(
    command: list[str | Path],
    *,
    watch: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Usage:
    """Run a command to its end; RuntimeError with the end of its messages when it fails."""
    with tempfile.TemporaryFile() as said:
        start, anonymous, resident = time.perf_counter(), 0, 0
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.DEVNULL, stderr=said, env=environment
        )
        while watch:
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            now = [memory(pid) for pid in tree(process.pid)]
            anonymous = max(anonymous, sum(a for a, _ in now))
            resident = max(resident, sum(r for _, r in now))
            time.sleep(EVERY)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            shown = " ".join(str(word) for word in command[1:6])
            end = last_line(said.read().decode(errors="replace"))
            raise RuntimeError(f"{end} (exit code {process.returncode} of {shown})")
    unit = 1 if sys.platform == "darwin" else 1 << 10
    processor = usage.ru_utime + usage.ru_stime
    return Usage(elapsed, processor, usage.ru_maxrss * unit, anonymous, resident)


def sfs(*words: str | Path, watch: bool = False) -> Usage:
    """Run a command line of this project as a process, with its modules kept as bytecode."""
    environment = free_threads()
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has them
    return run([sys.executable, "-m", "sfs_cli", *words], watch=watch, environment=environment)


def python(code: str) -> float:
    """Run Python code as a process; return its wall time."""
    return run([sys.executable, "-c", code]).seconds


def printed(*words: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Run Python with arguments as a process; return the last line that it prints."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(last_line(done.stderr))
    return done.stdout.splitlines()[-1]


def last_line(text: str) -> str:
    """Return the last line of messages that is not empty: where a traceback says what was wrong."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no message")


def memory(pid: int) -> tuple[int, int]:
    """Return the anonymous memory of a process now, and its largest resident size, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0, 0  # not Linux, or it has ended
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    anonymous, resident = (int(fields.get(n, "0").split()[0]) << 10 for n in ("RssAnon", "VmHWM"))
    return anonymous, resident


def tree(pid: int) -> list[int]:
    """Return a process and all that come from it."""
    found = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += tree(int(child))
    except OSError:
        pass  # not Linux, or it has ended
    return found
