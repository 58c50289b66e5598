"""Commands in forked children, with limits on time and memory.

The parent has imported all that commands import, and computes nothing: it has no threads, so that a
child is a fresh process without the second that the imports take.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

GIB = 1 << 30
SECONDS = 10.0
"""The longest processor time of a case, and the longest time that it may wait and do nothing."""
LONGEST = 1800.0
"""The longest time of a case on the clock: other work on the machine must not fail one."""
MEMORY = "256M"
"""The value of --memory in all commands that take it."""
ABOVE_IDLE = (256 << 20) + GIB
"""What a case may take above the size of the idle process: --memory and 1 GiB."""
ADDRESSES = 24 * GIB
"""The limit of the address space, which protects the machine from what grows faster than a look."""
HARNESS = 99
"""The exit code of a child whose files could not be made."""

_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Ended:
    """How the commands of a case ended.

    Attributes
    ----------
    code : int
        The exit code of the last command, or minus the number of the signal that ended it.
    stopped : str
        ``time`` or ``memory`` if the limit was passed, else empty.
    seconds : float
    above : int
        Bytes of the largest resident size above the idle one.
    step : int
        Which of the commands was the last, from 0.
    out, err, fault : str
        What was printed, and what the fault handler wrote.
    """

    code: int
    stopped: str
    seconds: float
    above: int
    step: int
    out: str
    err: str
    fault: str


def warm_up() -> None:
    """Import all that commands import, without starting a thread."""
    for module in (
        *("numpy", "scipy.sparse", "scipy.linalg", "scipy.stats", "scipy.spatial", "scipy.io"),
        *("pandas", "pyarrow.csv", "pyarrow.parquet", "pyarrow.feather", "pyarrow.compute"),
        *("anndata", "h5py", "zarr", "yaml", "jinja2", "rich.console", "rich.progress"),
        *("sklearn.svm", "sklearn.neighbors", "sklearn.cluster", "sklearn.model_selection"),
    ):
        import_module(module)
    import pkgutil

    import sfs_cli

    for found in pkgutil.walk_packages(sfs_cli.__path__, "sfs_cli."):
        if "dask" not in found.name and not found.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):  # numba is an extra
                import_module(found.name)
    gc.collect()
    gc.freeze()


class ChildDiedError(RuntimeError):
    """A child crashed, or took too long."""


def in_child(function: Callable[[], Any], seconds: float = 60) -> Any:
    """Return what a function returns in a forked child; one that raises is a RuntimeError here."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.setpgid(0, 0)
        try:
            answer = pickle.dumps((True, function()))
        except BaseException as error:
            answer = pickle.dumps(
                (False, f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
            )
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writer)
    answer = _read_until(reader, time.monotonic() + seconds)
    os.close(reader)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if not answer:
        raise ChildDiedError("the child died, or took too long")
    good, result = pickle.loads(answer)
    if not good:
        raise RuntimeError(result)
    return result


def _read_until(descriptor: int, deadline: float) -> bytes:
    import select

    pieces = []
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return b""
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def idle_size() -> int:
    """Return the largest resident size of a child that does nothing, in bytes."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return os.wait4(pid, 0)[2].ru_maxrss << 10


def _nothing(_folder: Path) -> None:
    """Make no file."""


class Runner:
    """Runs cases, each in a folder of its own below `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.idle = idle_size()

    def run(
        self,
        prepare: Callable[[Path], None],
        steps: Sequence[Sequence[str]],
        *,
        stdin: bytes = b"",
        variables: dict[str, str] | None = None,
        seconds: float = SECONDS,
        apart: bool = False,
    ) -> Ended:
        """Make the files of a case in ``home/work``, and run its commands there.

        With `apart` the files are made in a process of their own, outside of all limits.
        """
        shutil.rmtree(self.home, ignore_errors=True)
        for name in ("work", "tmp"):
            (self.home / name).mkdir(parents=True)
        (self.home / "stdin").write_bytes(stdin)
        if apart:
            in_child(partial(prepare, self.home / "work"), 600)
            prepare = _nothing
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _be_the_command(self.home, prepare, steps, variables or {})
        status, used, stopped = self._watch(pid, seconds)
        code = os.waitstatus_to_exitcode(status)
        above = max(0, (used.ru_maxrss << 10) - self.idle)
        if above > ABOVE_IDLE:
            stopped = stopped or "memory"
        step = self._text("step")
        return Ended(
            code,
            stopped,
            time.monotonic() - started,
            above,
            int(step or 0),
            self._text("stdout"),
            self._text("stderr"),
            self._text("fault"),
        )

    def _watch(self, pid: int, seconds: float) -> tuple[int, Any, str]:
        pause, stopped = 0.001, ""
        started = moved = time.monotonic()
        spent = 0.0
        while True:
            found, status, used = os.wait4(pid, os.WNOHANG)
            if found:
                _kill_group(pid)  # what a command has left running
                return status, used, stopped
            now, before, (spent, waits) = time.monotonic(), spent, _activity(pid)
            moved = moved if waits and spent == before else now
            if spent > seconds or now - moved > seconds or now - started > LONGEST + seconds:
                stopped = "time"
            elif _resident(pid) > self.idle + ABOVE_IDLE:
                stopped = "memory"
            if stopped:
                status, used = _end(pid)
                return status, used, stopped
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def _text(self, name: str) -> str:
        path = self.home / name
        if not path.exists():
            return ""
        with path.open("rb") as file:
            return file.read(1 << 20).decode("utf-8", "backslashreplace")


def _end(pid: int) -> tuple[int, Any]:
    """Have a process write where it is, and kill it."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGABRT)  # which the fault handler answers, in a loop of C as well
    for _ in range(40):
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            _kill_group(pid)
            return status, used
        time.sleep(0.05)
    _kill_group(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    return status, used


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _activity(pid: int) -> tuple[float, bool]:
    """Return the processor time of a process and its children, and whether all of them wait.

    Children that ended count too. One that could run, but for other work on the machine or for the
    disk, does not wait.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return 0.0, True
    found = [_activity(int(child)) for child in children]
    own = sum(map(int, fields[11:15])) / _TICKS, fields[0] not in "RD"
    return sum(s for s, _ in (own, *found)), all(w for _, w in (own, *found))


def _be_the_command(
    home: Path,
    prepare: Callable[[Path], None],
    steps: Sequence[Sequence[str]],
    variables: dict[str, str],
) -> NoReturn:
    """Become the process of the command line; never return."""
    os.setpgid(0, 0)
    code = HARNESS
    try:
        work = home / "work"
        _redirect(home)
        prepare(work)
        (home / "before").write_bytes(pickle.dumps(digests(work)))
        os.chdir(work)
        import tempfile

        tempfile.tempdir = None
        os.environ |= {"TMPDIR": str(home / "tmp"), "COLUMNS": "80"} | variables
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        fault = (home / "fault").open("w")
        faulthandler.enable(fault)
        code = _run_steps(home, steps)
        threading._shutdown()  # as the interpreter does: threads are waited for
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        code = HARNESS if code == HARNESS else 1
        traceback.print_exc()
        with suppress(Exception):
            sys.stderr.flush()
    finally:
        os._exit(code)


def _run_steps(home: Path, steps: Sequence[Sequence[str]]) -> int:
    from sfs_cli.cli.app import main

    code = 0
    # `main` would hide what libraries warn of, which here tells of numbers that nobody checked
    sys.warnoptions.append("default")
    for step, words in enumerate(steps):
        (home / "step").write_text(str(step))
        try:
            main(list(words))
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:  # as the interpreter: a traceback and 1
            traceback.print_exc()
            return 1
        if code:
            return code
    return code


def _redirect(home: Path) -> None:
    """Give the process the files that stand for its three streams."""
    os.dup2(os.open(home / "stdin", os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(home / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of every file below a folder; of links and others what they are."""
    import hashlib
    import stat

    found = {}
    for home, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(home, name)
            key, mode = str(path.relative_to(folder)), path.lstat().st_mode
            try:
                content = path.read_bytes() if stat.S_ISREG(mode) else None
            except PermissionError:
                content = b"unreadable"
            found[key] = f"{stat.S_IFMT(mode):o}"
            if content is not None:
                found[key] += hashlib.sha1(content).hexdigest()
    return found
