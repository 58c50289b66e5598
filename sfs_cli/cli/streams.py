"""The standard streams, whatever a shell, a container or a cron daemon has made of them."""

from __future__ import annotations

import errno
import os
import sys
from io import RawIOBase
from typing import BinaryIO

from sfs_cli.errors import InputError

LAST = 2
"""The number of the last standard stream."""


def fill_closed() -> None:
    """Open what is closed of the standard streams, to nowhere.

    Else the files that are opened next get their numbers, and with them what a library says there.
    ``sys.stdout`` stays None, so that a result for it is still known to be lost.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= LAST:
        pass
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(LAST, "w", closefd=False)  # noqa: SIM115 - as long as the process


def write_stdout(content: str | bytes) -> None:
    """Write a result to standard output: all of it, or it is an error.

    Under ``PYTHONUNBUFFERED``, which containers like to set, Python writes what fits a disk or a
    pipe at once and drops the rest without a word. A reader that closes the pipe has what it wants.

    Raises
    ------
    InputError
        When standard output is closed.
    OSError
        When not all of it can be written.
    """
    if sys.stdout is None:
        raise InputError(
            "standard output is closed, and the result belongs there",
            hint="redirect it to a file, or give --out where the command has it",
        )
    stdout: BinaryIO | RawIOBase = sys.stdout.buffer
    left = memoryview(content.encode() if isinstance(content, str) else content)
    try:
        while left:
            written = stdout.write(left)
            if written is None:  # a pipe that does not wait, without a buffer
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), "standard output")
            left = left[written:]
        stdout.flush()
    except BrokenPipeError:
        close_stdout()
    except OSError:
        close_stdout()
        raise


def close_stdout() -> None:
    """Keep the interpreter from writing what is left to it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
