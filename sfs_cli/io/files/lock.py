"""One run at a time for an output, and what to clean up after runs that were killed.

The lock is a file beside the output, locked by the kernel, which releases it however a process
ends. Its lines tell who holds it and what would be left behind. Where kernel locks do not reach
other machines (some network file systems), the holder touches the file as a sign of life.

Others may be able to write to that folder. So no link is followed and nothing but a regular file
with one name is written to; what lines of other users announce is not believed.

The package filelock has none of this but the lock itself: it leaves its file behind, treats a file
system without locks as an error, and has no place for the lines.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfs_cli.errors import InputError, OutputBusyError, SfsError, unwritable
from sfs_cli.io.files.atomic import absent, beside, remove_empty

TOUCH_SECONDS = 60.0
STALE_SECONDS = 300.0
"""A holder on another machine that has not touched the file for so long is taken for dead."""
_NO_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO)  # of a link, a folder, a socket
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass
class Lock:
    """A lock that is held."""

    path: Path  # its file
    handle: int  # the descriptor of that
    left: list[str] = field(default_factory=list)  # what killed runs had announced to `leaves`
    stale: dict[str, Any] | None = None  # the holder that was killed

    def leaves(self, path: Path) -> None:
        """Announce what is to be removed if this run is killed."""
        self.append({"leaves": str(path)})

    def append(self, line: dict[str, Any]) -> None:
        """Add a line to the file, in one write, so that a kill loses nothing that is there."""
        content = f"\n{json.dumps(line)}\n".encode()  # the line before it may be incomplete
        try:
            if os.write(self.handle, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        except OSError as error:
            raise unwritable(self.path, error) from None


@contextmanager
def output_lock(
    output: Path, option: str = "--out", touch_seconds: float = TOUCH_SECONDS
) -> Iterator[Lock]:
    """Hold the lock of a file or folder, which need not exist; `option` names it in messages.

    Raises
    ------
    OutputBusyError
        When another run holds it.
    InputError
        When the lock file cannot be written.
    """
    path = beside(output, "sfs-lock")
    made = absent(path.parent)
    stop = threading.Event()

    def touch() -> None:
        while not stop.wait(touch_seconds):
            with suppress(OSError):
                os.utime(lock.handle)

    try:
        lock = _acquire(path, output)
    except BaseException as error:
        remove_empty(made)
        if isinstance(error, OSError):
            raise unwritable(output, error, option) from None
        raise
    try:  # at once: a signal that comes before this would leave the file behind
        now = datetime.now(UTC).isoformat(timespec="seconds")
        pid, host = os.getpid(), socket.gethostname()
        started = {"pid": pid, "started": _started(pid), "since": now}
        lock.append({"host": host, "boot": boot_id()} | started)
        threading.Thread(target=touch, daemon=True).start()
        yield lock
    finally:
        stop.set()
        with suppress(OSError):
            path.unlink()  # while it is held: a waiting run then sees that the file is another
        os.close(lock.handle)
        remove_empty(made)


def _acquire(path: Path, output: Path) -> Lock:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(path, flags, 0o666)
        except FileNotFoundError:
            if path.parent.is_dir():
                raise
            continue  # a run that has failed has made the folder, and removed it
        except OSError as error:
            if error.errno in _NO_FILE:
                raise _not_ours(path, output) from None
            raise
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                raise _not_ours(path, output)
            free = lock_file(handle) is not False
            holder, left = _read(handle)
            if found.st_uid != os.geteuid():
                left = []
            if not free or (holder is not None and _may_live(handle, holder)):
                known = {"pid": "unknown", "host": "unknown"} | (holder or {})
                since = f", since {known['since']}" if "since" in known else ""
                raise OutputBusyError(
                    f"another run is writing {output}",
                    where=f"process {known['pid']} on {known['host']}{since} ({path})",
                    hint="wait until it is done, or write elsewhere; if that process no longer "
                    "runs, remove the lock file",
                )
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.lstat()):
                    return Lock(path, handle, left, holder)
        except BaseException as error:
            with suppress(OSError):  # a signal: a file that says nothing yet goes again
                unused = not isinstance(error, SfsError) and os.fstat(handle).st_size == 0
                if unused and lock_file(handle):
                    path.unlink()
            os.close(handle)
            raise
        os.close(handle)  # its holder has removed the file meanwhile: try again


def _not_ours(path: Path, output: Path) -> InputError:
    """Return the error for what has the place of a lock file."""
    return InputError(
        f"{output} cannot be locked: what has the name of its lock file is a link, a folder, or "
        "something else that sfs does not make",
        where=path,
        hint="see what it is, and remove it; or write elsewhere",
    )


def lock_file(handle: int) -> bool | None:
    """Take the kernel's lock: False if another process has it, None if there are no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def _read(handle: int) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the last holder, and the paths that were announced."""
    content = os.pread(handle, 1 << 20, 0).decode(errors="replace")
    holder: dict[str, Any] | None = None
    left: list[str] = []
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):  # an incomplete line, or what is no path
            found = json.loads(line)
            if isinstance(found, dict) and "leaves" in found:
                path = str(found["leaves"])
                if b"\0" not in os.fsencode(path):
                    left.append(path)
            elif isinstance(found, dict):
                holder = found
    return holder, left


def _may_live(handle: int, holder: dict[str, Any]) -> bool:
    """Say whether a holder may live although this process could take the lock."""
    boot = boot_id()
    if boot is not None and holder.get("boot") == boot:
        # the same machine: the kernel's lock tells, and without one the process table
        pid, started = holder.get("pid"), holder.get("started")
        other = isinstance(pid, int) and pid != os.getpid() and started is not None
        return other and not lock_file(handle) and _started(pid) == started
    return time.time() - os.fstat(handle).st_mtime < STALE_SECONDS


def boot_id() -> str | None:
    """Return the id of this start of this machine's kernel, which containers share."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _started(pid: int | None) -> int | None:
    """Return when a process of this machine was started, in clock ticks."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
