"""Running the command line, in this process or as one of its own, and what it must leave behind."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def proposal(words: list[str], capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what `sfs inspect` says, with the command that it proposes."""
    done = run_here(["inspect", *words, "--json"], capfd)
    assert done.code == 0, done.err
    facts: dict[str, Any] = json.loads(done.out)
    return facts


def check_that_it_runs(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Run a command that was proposed: no warning may name an option that it lacks."""
    program, *words = shlex.split(command)
    assert program == "sfs"
    done = run_here(words, capfd)
    assert done.code == 0, done.err
    warnings = json.loads(Path("results", "run.json").read_text())["warnings"]
    assert [text for text in warnings if "--" in text] == []


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
