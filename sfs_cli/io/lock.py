"""One run at a time for an output, and tidying up after runs that were killed.

The lock is a file beside the output. The kernel releases it when a process ends in whatever way;
on file systems where locks do not reach other machines, the file is touched now and then as a sign
of life.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfs_cli.errors import OutputBusyError, unwritable
from sfs_cli.io.atomic import absent, beside, remove_empty

SUFFIX = "sfs-lock"
TOUCH_SECONDS = 60.0
"""How often a run gives a sign of life."""
STALE_SECONDS = 300.0
"""A run on another machine that gives none for so long is taken for dead."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass
class Lock:
    """A lock that is held.

    Attributes
    ----------
    path : Path
        Its file.
    handle : int
        Its descriptor.
    left : list of str
        What runs that were killed had said they would leave.
    stale : dict, optional
        The holder that was killed.
    """

    path: Path
    handle: int
    left: list[str] = field(default_factory=list)
    stale: dict[str, Any] | None = None

    def leaves(self, path: Path) -> None:
        """Note what is to be tidied up if this run is killed.

        Raises
        ------
        InputError
            When that cannot be written.
        """
        self.append({"leaves": str(path)})

    def append(self, line: dict[str, Any]) -> None:
        """Add a line to the file; nothing that is there is lost if the run is killed now.

        Raises
        ------
        InputError
            When that cannot be written.
        """
        content = f"\n{json.dumps(line)}\n".encode()  # a line before it may have been cut off
        try:
            if os.write(self.handle, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        except OSError as error:
            raise unwritable(self.path, error) from None


@contextmanager
def output_lock(output: Path, option: str = "--out") -> Iterator[Lock]:
    """Hold the lock of an output.

    Parameters
    ----------
    output : Path
        The file or folder, which need not be there.
    option : str
        What names it.

    Raises
    ------
    OutputBusyError
        When another run holds it.
    InputError
        When the file cannot be written.
    """
    path = beside(output, SUFFIX)
    made = absent(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _acquire(path, output)
    except OSError as error:
        remove_empty(made)
        raise unwritable(output, error, option) from None
    stop = threading.Event()
    try:
        lock.append(_holder())
        threading.Thread(target=_keep_alive, args=(lock.handle, stop), daemon=True).start()
        yield lock
    finally:
        stop.set()
        with suppress(OSError):
            path.unlink()  # while it is held: who waits for it finds that it is another file
        os.close(lock.handle)
        remove_empty(made)


def _acquire(path: Path, output: Path) -> Lock:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            reaches = _flock(handle)
            holder, left = _read(handle)
            if not reaches or (holder is not None and _may_live(handle, holder)):
                raise _busy(output, path, holder or {})
            if _is_same(handle, path):
                return Lock(path, handle, left, holder)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the holder has removed it meanwhile


def _flock(handle: int) -> bool:
    """Take the kernel's lock; tell whether another process does not have it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _is_same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _holder() -> dict[str, Any]:
    pid = os.getpid()
    return {
        "host": socket.gethostname(),
        "boot": _boot(),
        "pid": pid,
        "started": _started(pid),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _read(handle: int) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the last holder, and what it has said it would leave."""
    content = os.pread(handle, 1 << 20, 0).decode(errors="replace")
    holder: dict[str, Any] | None = None
    left: list[str] = []
    for line in content.splitlines():
        with suppress(ValueError):  # a line that was cut off
            found = json.loads(line)
            if isinstance(found, dict) and "leaves" in found:
                left.append(str(found["leaves"]))
            elif isinstance(found, dict):
                holder = found
    return holder, left


def _may_live(handle: int, holder: dict[str, Any]) -> bool:
    """Tell whether a holder may live although the kernel has given its lock to this process."""
    boot = _boot()
    if boot is not None and holder.get("boot") == boot:
        # the same machine: the lock is enough, but for file systems without any
        same = holder.get("pid") != os.getpid() and holder.get("started") is not None
        return same and not _has_locks(handle) and _started(holder["pid"]) == holder["started"]
    return time.time() - os.fstat(handle).st_mtime < STALE_SECONDS


def _has_locks(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _boot() -> str | None:
    """Return what tells this start of this machine's kernel from others, in containers too."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _started(pid: Any) -> int | None:
    """Return when a process of this machine was started, in ticks of its clock."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _keep_alive(handle: int, stop: threading.Event) -> None:
    while not stop.wait(TOUCH_SECONDS):
        with suppress(OSError):
            os.utime(handle)


def _busy(output: Path, path: Path, holder: dict[str, Any]) -> OutputBusyError:
    who = f"process {holder.get('pid', 'unknown')} on {holder.get('host', 'unknown')}"
    since = f", since {holder['since']}" if "since" in holder else ""
    return OutputBusyError(
        f"another run is writing {output}",
        where=f"{who}{since} ({path})",
        hint="wait until it is done, or write elsewhere; if that process is gone, remove the lock "
        "file",
    )
