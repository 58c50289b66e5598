"""Running the command line, in this process or as one of its own, and what it must leave behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sfs_cli.cli.app import run

MODULE = (sys.executable, "-m", "sfs_cli")


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str


Sfs = Callable[..., Finished]
"""Runs a command of some words."""


def run_here(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> Finished:
    """Run the command line in this process."""
    capfd.readouterr()
    with handlers_restored():
        code = run(arguments)
    out, err = capfd.readouterr()
    return Finished(code, out, err)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def handlers_restored() -> Iterator[None]:
    """Keep the handlers of the test runner, which the command line in this process replaces.

    `signal.signal` itself must do its work: processes that read files set handlers, too.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    hook = sys.unraisablehook
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def run_apart(
    arguments: list[str], *, launcher: tuple[str, ...] = MODULE, **variables: str
) -> Finished:
    """Run the command line in a process of its own."""
    done = subprocess.run(
        [*launcher, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | variables,
        timeout=120,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def shown_on(terminal: int, seconds: float = 120) -> str:
    """Return what is shown on a pseudo terminal until its other side is closed, and close it."""
    shown = b""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and select.select([terminal], [], [], seconds)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    return shown.decode()


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Return every file (with its content) and folder (None) below a folder, by relative path."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
