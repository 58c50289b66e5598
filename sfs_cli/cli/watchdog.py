"""An end for a process whose main thread does not answer a signal.

Handlers of Python run between two instructions of the main thread. A single call of LAPACK may take
minutes; a scheduler waits for seconds after SIGTERM, and a user less. (What may hold the lock of
the interpreter for ever is not called in this process: see `sfs_cli.io.files.child_process`.)
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """End the process if the main thread does not run for so long after a signal to stop."""
    received, written = os.pipe()
    os.set_blocking(written, False)
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    over = threading.Event()
    watcher = threading.Thread(
        target=_watch,
        args=(received, over, threading.get_ident(), seconds),
        name="sfs-watchdog",
        daemon=True,
    )
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        over.set()
        os.close(written)
        watcher.join()
        os.close(received)


def _watch(received: int, over: threading.Event, main: int, seconds: float) -> None:
    while number := os.read(received, 1):
        place = _place(main)
        if number[0] in _STOPPING and not over.wait(seconds) and _place(main) == place:
            _end(number[0], seconds)


def _place(main: int) -> tuple[int, int] | None:
    """Return the instruction that a thread is at."""
    frame = sys._current_frames().get(main)
    return None if frame is None else (id(frame), frame.f_lasti)


def _end(number: int, seconds: float) -> None:
    with suppress(OSError):
        line = f"interrupted; what was being computed did not stop within {seconds:g} s\n"
        os.write(2, line.encode())
    # if it was not imported there is no scratch folder, and nothing should be imported now
    if (scratch := sys.modules.get("sfs_cli.io.files.scratch")) is not None:
        scratch.remove_scratch()
    os._exit(128 + number)
