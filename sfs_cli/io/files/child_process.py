"""Work on a file in a child process, because the library that reads it may crash or never return.

HDF5 follows the addresses that it finds in a file. In a damaged one they may lead it out of its
memory, which ends the process, or round in a circle. It holds the lock of the interpreter
meanwhile, so no thread and no signal handler of Python would run again. In a child process a crash
is an error like any other, a circle is left after some seconds of CPU time, and the parent answers
signals at once: it only waits for the child.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import pickle
import select
import signal
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from io import FileIO
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from sfs_cli.compute.memory import anonymous, format_size
from sfs_cli.errors import COPY_AGAIN, InputError, OutOfMemoryError

T = TypeVar("T")

CALL_SECONDS = 2.0
"""CPU time of one call of the library, for the smallest file; no such call takes a second."""
BYTES_PER_SECOND = 4 << 20
"""For so many bytes of the file a call may take another second."""
_BEAT_SECONDS = 0.25
_LOOK_MILLISECONDS = 20
_PLACE_BYTES = 512
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_HELD = {*_IGNORED, signal.SIGALRM}
_PIPE_BYTES = 1 << 20
_SET_PIPE_SIZE = getattr(fcntl, "F_SETPIPE_SZ", None)

_place: mmap.mmap | None = None  # of a child: what it is reading, for the parent


def reading(what: str) -> None:
    """Note what is read from here on: the parent names it if the child ends there."""
    if _place is not None:
        text = what.encode(errors="replace")[:_PLACE_BYTES]
        _place[:] = text.ljust(_PLACE_BYTES, b"\0")


class _ChildTracebackError(Exception):
    """Where an exception was raised in the child; shown as its cause."""


class ChildReader(Generic[T]):
    """The items of an iterable that is made in a child process, in order.

    Parameters
    ----------
    work : callable
        Makes the iterable; called in the child. Exceptions reach the caller.
    path : Path
        The file, for messages; its size says how long one call of a library may take.
    memory : int, optional
        The bytes that the child may hold more than it begins with: a damaged file may fill the
        machine in the seconds of one call. What it holds is looked at while it is waited for; what
        libraries reserve and do not use, such as the pools of Arrow, is not counted.
    size : int, optional
        The bytes that a call has to go through, where they are more than those of the file: what
        it unpacks to.

    Raises
    ------
    InputError
        From `__next__`, when the child crashed, stayed in one call for too long, or took more
        than `memory`.
    OutOfMemoryError
        From `__next__`, when the system killed it.
    """

    def __init__(
        self,
        work: Callable[[], Iterable[T]],
        path: Path,
        memory: int | None = None,
        size: int | None = None,
    ) -> None:
        self.size = path.stat().st_size if size is None else size
        self._path, self._memory = path, memory
        self._before = anonymous()
        self.owner = os.getpid()
        self.place = mmap.mmap(-1, _PLACE_BYTES)  # shared with the child
        results, write_end = os.pipe()
        held_by_child, life = os.pipe()
        if _SET_PIPE_SIZE is not None:
            with suppress(OSError):  # a limit of this user
                fcntl.fcntl(write_end, _SET_PIPE_SIZE, _PIPE_BYTES)
        self._results = FileIO(results, "rb")
        self._life = life  # closes when this process ends, however it does: the child then ends
        # a signal between the fork and the next lines would find no handler that fits
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
        try:
            with warnings.catch_warnings():
                # threads of the parent do not matter: the child imports nothing that they hold
                warnings.simplefilter("ignore", DeprecationWarning)
                self._pid: int | None = os.fork()
            if self._pid == 0:
                os.close(life)
                os.close(results)
                _run_child(work, self, write_end, held_by_child, before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(write_end)
        os.close(held_by_child)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        kind, item = self._receive()
        if kind == "item":
            return item
        self.close()
        if kind == "end":
            raise StopIteration
        error, text = item
        raise error from _ChildTracebackError(text)

    def _receive(self) -> tuple[str, Any]:
        head = self._read(8)
        count = struct.unpack("<q", head)[0]
        sizes = struct.unpack(f"<{count}q", self._read(8 * count))
        body, *buffers = [self._read(size) for size in sizes]
        found: tuple[str, Any] = pickle.loads(body, buffers=buffers)  # of our own
        return found

    def _read(self, size: int) -> bytearray:
        buffer = bytearray(size)
        left = memoryview(buffer)
        while left:
            self._await()
            got = self._results.readinto(left)
            if not got:
                raise self._ended()
            left = left[got:]
        return buffer

    def _await(self) -> None:
        """Wait until there is something to read; end a child that takes too much meanwhile."""
        if self._memory is None:
            return
        assert self._pid is not None
        ready = select.poll()
        ready.register(self._results, select.POLLIN)
        while not ready.poll(_LOOK_MILLISECONDS):
            taken = anonymous(self._pid) - self._before
            if taken > self._memory:
                where = self._reached()
                self.close()
                raise InputError(
                    f"reading it takes {format_size(taken)}, more than the "
                    f"{format_size(self._memory)} that it may take",
                    where=where,
                    hint=f"{COPY_AGAIN}; if the file is right, raise --memory",
                )

    def _ended(self) -> Exception:
        """Return the error for a child that ended before it was done."""
        status = self._wait()
        where = self._reached()
        if status is None or not os.WIFSIGNALED(status):
            return RuntimeError(f"the process that reads {where} ended by itself")
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL:
            return OutOfMemoryError(
                "the process that reads the file was killed, which is mostly for lack of memory",
                where=where,
                hint="lower --memory, or allow the job more memory",
            )
        what = f"reading it ends in a crash (signal {number})"
        if number == signal.SIGPROF:
            what = "reading it does not come to an end"
        return InputError(what, where=where, hint=COPY_AGAIN)

    def _reached(self) -> str:
        """Return the file, and what of it the child was reading."""
        text = bytes(self.place).rstrip(b"\0").decode(errors="replace")
        return f"{self._path}, {text}" if text else str(self._path)

    def _wait(self) -> int | None:
        if self._pid is None:
            return None
        pid, self._pid = self._pid, None
        with suppress(ChildProcessError):
            return os.waitpid(pid, 0)[1]
        return None

    def close(self) -> None:
        """End the child, whatever it is doing."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._wait()
        if not self._results.closed:
            self._results.close()
            os.close(self._life)

    def __del__(self) -> None:
        if hasattr(self, "_pid") and self.owner == os.getpid():
            self.close()


def _run_child(
    work: Callable[[], Iterable[Any]],
    parent: ChildReader[Any],
    out: int,
    life: int,
    mask: Iterable[int],
) -> NoReturn:
    """Do the work of the child and end."""
    global _place
    code = 1
    try:
        for number in _IGNORED:  # the parent gets them too, and ends the child
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        # without it the child would go on alone in a circle: SIGIO ends a process
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
        if os.getppid() != parent.owner:  # it ended before that
            os._exit(code)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _place = parent.place
        _limit_calls(CALL_SECONDS + parent.size / BYTES_PER_SECOND)
        try:
            for item in work():
                _send(out, ("item", item))
            _send(out, ("end", None))
        except Exception as error:
            _send_error(out, error)
        code = 0
    finally:
        os._exit(code)


def _limit_calls(seconds: float) -> None:
    """End this process by SIGPROF when one call outside of Python takes so much CPU time.

    The handler of the beat runs between two instructions of Python only, and sets the other timer
    back; the default action of that one needs no Python.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def beat(_number: int, _frame: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)

    # by the clock: by a process's own time it would hardly beat where the system takes all of it
    signal.signal(signal.SIGALRM, beat)
    signal.siginterrupt(signal.SIGALRM, False)
    beat(0, None)
    signal.setitimer(signal.ITIMER_REAL, _BEAT_SECONDS, _BEAT_SECONDS)


def _send_error(out: int, error: Exception) -> None:
    text = "".join(traceback.format_exception(error))
    try:
        _send(out, ("error", (error, text)))
    except OSError:
        raise
    except Exception:  # it cannot be pickled
        _send(out, ("error", (RuntimeError(f"{type(error).__name__}: {error}"), text)))


def _send(out: int, item: object) -> None:
    """Write an item: the number and sizes of its pieces, and these; arrays are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(item, protocol=5, buffer_callback=buffers.append)
    pieces = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    head = struct.pack(f"<{len(pieces) + 1}q", len(pieces), *(piece.nbytes for piece in pieces))
    for piece in (memoryview(head), *pieces):
        left = piece
        while left:
            left = left[os.write(out, left) :]


def items_apart(
    work: Callable[[], Generator[T, None, None]],
    path: Path,
    memory: int | None = None,
    size: int | None = None,
) -> ChildReader[T] | Generator[T, None, None]:
    """Return the items of a generator, made in a child process where the system allows that.

    What is imported before is not imported again by each child.
    """
    # the libraries of other systems may have threads, which a child would lack
    return ChildReader(work, path, memory, size) if sys.platform == "linux" else work()


def call_apart(work: Callable[[], T], path: Path, memory: int | None = None) -> T:
    """Call a function in a child process (see `ChildReader`) and return what it returns."""

    def items() -> Generator[T, None, None]:
        yield work()

    with closing(items_apart(items, path, memory)) as found:
        return next(found)
